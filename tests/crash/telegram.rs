//! Killed on Telegram, which confirms by an offset and can't tell what was posted: nothing is lost, nothing is answered twice,
//! and at most one placeholder is left over, which is counted.

use std::{
    fs::File,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use watchfloor_sim::{
    ModelSim, TelegramSim,
    model::{self, Rule},
    telegram::{self, ALICE, Author, Fault, Message, OPS, TelegramConfig},
};

use crate::{
    bench::{NEVER, until},
    database::Database,
    process::Process,
};

const ANSWER: &str = "The pool is full.";
const PLACEHOLDER: &str = "Looking into it…";
const POST: &str = "sendMessage";
const EDIT: &str = "editMessageText";
const COUNTED: &str = "possible_duplicates=1";
const PATIENCE: Duration = Duration::from_secs(20);

struct Bench {
    telegram: TelegramSim,
    model: ModelSim,
    database: Database,
    place: TempDir,
    process: Option<Process>,
    starts: usize,
}

impl Bench {
    /// A running program on SQLite whose model knows the answer.
    async fn started() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = TelegramConfig { patience: PATIENCE, ..TelegramConfig::default() };
        let telegram = TelegramSim::start(config).await.unwrap();
        let model = ModelSim::start(vec![Rule::reply(ANSWER)]).await.unwrap();
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("watchfloor.toml"), configuration(&telegram, &model)).unwrap();
        let mut bench = Self { telegram, model, database: Database::None, place, process: None, starts: 0 };
        bench.start();
        // The first poll follows the migrations.
        bench.telegram.wait_for_calls("getUpdates", 1).await;
        bench.database = Database::sqlite(&bench.place.path().join("watchfloor.db")).await;
        bench
    }

    fn start(&mut self) {
        self.starts += 1;
        let log = File::create(self.place.path().join(format!("{}.log", self.starts))).unwrap();
        self.process = Some(Process::start(&self.place.path().join("watchfloor.toml"), log));
    }

    /// SIGKILL.
    async fn kill(&mut self) {
        self.process.take().unwrap().kill().await;
    }

    async fn kill_and_start(&mut self) {
        self.kill().await;
        self.start();
    }

    async fn ask(&self) -> i64 {
        self.telegram.say(ALICE, OPS, "@ops_bot why?").await
    }

    /// The placeholder, once its row knows of it: from then on a restart goes on with it.
    async fn placed(&mut self) -> Message {
        let placeholder = self.telegram.next_message(OPS).await;
        let database = &mut self.database;
        let known = "SELECT COUNT(*) FROM deliveries WHERE state = 'sent'";
        until("the placeholder's row", async || database.count(known).await == 1).await;
        placeholder
    }

    fn shown(&self) -> Vec<String> {
        let mut messages = self.telegram.messages(OPS);
        messages.retain(|message| message.author == Author::Bot);
        messages.iter().map(|message| message.text().to_owned()).collect()
    }

    fn posts(&self) -> usize {
        self.telegram.calls(POST).len()
    }

    fn log(&self) -> String {
        let read = |start| std::fs::read_to_string(self.place.path().join(format!("{start}.log"))).unwrap_or_default();
        (1..=self.starts).map(|start| format!("--- start {start}\n{}", read(start))).collect()
    }

    async fn logged(&self, words: &str) {
        until(words, async || self.log().contains(words)).await;
    }

    /// One message was taken, nothing is owed, everything is confirmed, and the group shows these messages of the bot.
    async fn answered(&mut self, texts: &[&str]) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (messages, owed) = (self.database.messages().await, self.database.owed().await);
            if messages == 1 && owed.is_empty() && self.telegram.unread().is_empty() {
                break;
            }
            let seen = self.shown();
            assert!(Instant::now() < deadline, "{messages} taken; owed: {owed:?}; seen: {seen:#?}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(self.shown(), texts, "{}", self.log());
        assert_eq!([self.model.complaints(), self.telegram.complaints()].concat(), [""; 0]);
    }

    async fn stop(self) {
        if let Some(process) = self.process {
            process.kill().await;
        }
        self.telegram.stop().await;
        self.model.stop().await;
    }
}

fn configuration(telegram: &TelegramSim, model: &ModelSim) -> String {
    format!(
        r#"
[server]
listen = "127.0.0.1:0"
[store]
url = "sqlite://watchfloor.db"
[models]
default = "recorded/crash"
default_provider = "recorded"
[models.providers.recorded]
api = "openai"
base_url = "{model}"
api_key = "{key}"
[[channels]]
kind = "telegram"
name = "telegram"
bot_token = "{token}"
api_url = "{telegram}"
allow_rooms = ["*"]
"#,
        model = model.base_url(),
        key = model::API_KEY,
        token = telegram::BOT_TOKEN,
        telegram = telegram.api_url(),
    )
}

#[tokio::test]
async fn b009_what_the_store_does_not_take_is_not_confirmed_and_comes_again() {
    let mut bench = Bench::started().await;
    bench.database.refuse("INSERT ON inbox").await;
    bench.ask().await;
    bench.logged("an update is not confirmed").await;
    assert_eq!(bench.telegram.unread().len(), 1);
    bench.kill().await;
    assert_eq!((bench.telegram.unread().len(), bench.posts()), (1, 0));
    bench.database.refuse_nothing().await;
    bench.start();
    bench.answered(&[ANSWER]).await;
    assert_eq!(bench.posts(), 1);
    bench.stop().await;
}

#[tokio::test]
async fn what_the_store_takes_later_is_confirmed_later_by_the_same_process() {
    let mut bench = Bench::started().await;
    bench.database.refuse("INSERT ON inbox").await;
    bench.ask().await;
    bench.logged("an update is not confirmed").await;
    bench.database.refuse_nothing().await;
    bench.answered(&[ANSWER]).await;
    assert_eq!(bench.posts(), 1);
    bench.stop().await;
}

#[tokio::test]
async fn b008_killed_between_the_claim_and_the_offset_it_is_answered_once() {
    let mut bench = Bench::started().await;
    bench.database.refuse("INSERT ON channel_notes WHEN NEW.key = 'offset'").await;
    bench.model.hold();
    bench.ask().await;
    bench.placed().await;
    bench.model.wait_for_open_streams(1).await;
    bench.logged("an update is not confirmed").await;
    bench.kill().await;
    assert_eq!(bench.telegram.unread().len(), 1);
    bench.database.refuse_nothing().await;
    bench.start();
    bench.model.wait_for_open_streams(1).await;
    bench.telegram.heard().await;
    bench.model.release();
    bench.answered(&[ANSWER]).await;
    assert_eq!(bench.posts(), 1);
    bench.stop().await;
}

#[tokio::test]
async fn b007_updates_that_come_again_after_the_restart_are_answered_once() {
    let mut bench = Bench::started().await;
    bench.model.hold();
    bench.ask().await;
    bench.placed().await;
    bench.model.wait_for_open_streams(1).await;
    bench.telegram.heard().await;
    bench.kill().await;
    bench.telegram.redeliver();
    bench.start();
    bench.telegram.heard().await;
    bench.model.release();
    bench.answered(&[ANSWER]).await;
    assert_eq!(bench.posts(), 1);
    bench.stop().await;
}

#[tokio::test]
async fn killed_between_the_post_and_its_row_one_placeholder_is_left_over_and_counted() {
    let mut bench = Bench::started().await;
    bench.telegram.fault(POST, Fault::DelayAfter(NEVER));
    bench.model.hold();
    bench.ask().await;
    bench.telegram.next_message(OPS).await;
    bench.kill_and_start().await;
    bench.telegram.wait_for_calls(POST, 2).await;
    bench.model.release();
    bench.answered(&[PLACEHOLDER, ANSWER]).await;
    assert_eq!(bench.posts(), 2);
    assert!(bench.log().contains(COUNTED), "{}", bench.log());
    bench.stop().await;
}

#[tokio::test]
async fn a_post_whose_answer_is_lost_is_repeated_once_and_counted() {
    let mut bench = Bench::started().await;
    bench.telegram.fault(POST, Fault::DropResponse);
    bench.ask().await;
    bench.answered(&[PLACEHOLDER, ANSWER]).await;
    assert_eq!(bench.posts(), 2);
    assert!(bench.log().contains(COUNTED), "{}", bench.log());
    bench.stop().await;
}

#[tokio::test]
async fn killed_before_the_post_the_placeholder_is_posted_after_the_restart() {
    let mut bench = Bench::started().await;
    bench.telegram.fault(POST, Fault::DelayBefore(NEVER));
    bench.model.hold();
    bench.ask().await;
    bench.telegram.wait_for_calls(POST, 1).await;
    bench.kill_and_start().await;
    bench.telegram.next_message(OPS).await;
    bench.model.release();
    bench.answered(&[ANSWER]).await;
    bench.stop().await;
}

#[tokio::test]
async fn b052_killed_while_the_model_thinks_it_goes_on_in_the_same_placeholder() {
    let mut bench = Bench::started().await;
    bench.model.hold();
    bench.ask().await;
    let placeholder = bench.placed().await;
    bench.model.wait_for_open_streams(1).await;
    bench.kill_and_start().await;
    bench.model.wait_for_open_streams(1).await;
    bench.model.release();
    bench.answered(&[ANSWER]).await;
    assert_eq!((bench.telegram.message(OPS, placeholder.id).text(), bench.posts()), (ANSWER, 1));
    bench.stop().await;
}

#[tokio::test]
async fn killed_while_the_last_edit_is_under_way_the_edit_is_repeated_and_nothing_is_posted() {
    for fault in [Fault::DelayBefore(NEVER), Fault::DelayAfter(NEVER)] {
        let mut bench = Bench::started().await;
        bench.model.hold();
        bench.ask().await;
        bench.telegram.next_message(OPS).await;
        bench.model.wait_for_open_streams(1).await;
        bench.telegram.fault(EDIT, fault.clone());
        bench.model.release();
        bench.telegram.wait_for_calls(EDIT, 1).await;
        bench.kill_and_start().await;
        bench.answered(&[ANSWER]).await;
        assert_eq!((bench.posts(), bench.model.requests().len()), (1, 1), "{fault:?}");
        bench.stop().await;
    }
}

#[tokio::test]
async fn a_stop_said_while_the_process_is_down_ends_the_resumed_turn() {
    let mut bench = Bench::started().await;
    bench.model.hold();
    bench.ask().await;
    let placeholder = bench.placed().await;
    bench.model.wait_for_open_streams(1).await;
    bench.kill().await;
    bench.telegram.reply(ALICE, OPS, placeholder.id, "/stop").await;
    bench.start();
    bench.answered(&["Stopped by Alice. Mention me again to start over."]).await;
    assert_eq!(bench.posts(), 1);
    bench.stop().await;
}
