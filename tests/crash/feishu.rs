//! The same in a Feishu tenant: what was not written down comes again, a post is known by its key, and the answer that was
//! thought out is shown once.

use std::{fs::File, time::Duration};

use tempfile::TempDir;
use watchfloor_sim::{
    FeishuSim, ModelSim,
    feishu::{self, ALICE, EventId, Fault, GROUP, MENTION, Message},
    model::{self, Rule},
};

use crate::{
    bench::{NEVER, until},
    database::Database,
    process::Process,
};

const ANSWER: &str = "The pool is full.";

struct Bench {
    feishu: FeishuSim,
    model: ModelSim,
    database: Database,
    place: TempDir,
    process: Option<Process>,
}

impl Bench {
    async fn started() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = feishu::FeishuConfig {
            ack_deadline: Duration::from_millis(500),
            redeliver_after: [0, 200, 500, 1_000, 2_000, 4_000].map(Duration::from_millis).to_vec(),
            patience: Duration::from_secs(20),
            ..feishu::FeishuConfig::default()
        };
        let feishu = FeishuSim::start(config).await.unwrap();
        let model = ModelSim::start(vec![Rule::reply(ANSWER)]).await.unwrap();
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("watchfloor.toml"), configuration(&feishu, &model)).unwrap();
        let mut bench = Self { feishu, model, database: Database::None, place, process: None };
        bench.start().await;
        bench.database = Database::sqlite(&bench.place.path().join("watchfloor.db")).await;
        bench
    }

    /// Returns when the process is connected.
    async fn start(&mut self) {
        let log = File::options().create(true).append(true).open(self.place.path().join("log")).unwrap();
        self.process = Some(Process::start(&self.place.path().join("watchfloor.toml"), log));
        self.feishu.connected(1).await;
    }

    /// SIGKILL. Returns when Feishu knows that the connection is gone.
    async fn kill(&mut self) {
        self.process.take().unwrap().kill().await;
        until("the end of the connection", async || self.feishu.connections() == 0).await;
    }

    async fn kill_and_start(&mut self) {
        self.kill().await;
        self.start().await;
    }

    async fn ask(&self) -> String {
        self.feishu.say(ALICE, GROUP, &format!("{MENTION} why?")).await
    }

    fn ours(&self) -> Vec<Message> {
        let mut messages = self.feishu.messages(GROUP);
        messages.retain(Message::is_of_bot);
        messages
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.place.path().join("log")).unwrap_or_default()
    }

    /// Taken once, answered by one message, and nothing is owed any more.
    async fn answered(mut self) {
        let database = &mut self.database;
        until("one message and nothing owed", async || {
            // In this order: a message is taken before it is owed an answer.
            let messages = database.messages().await;
            messages == 1 && database.owed().await.is_empty()
        })
        .await;
        let shown: Vec<_> = self.ours().iter().map(Message::text).collect();
        assert_eq!(shown, [ANSWER], "{}", self.log());
        assert_eq!(self.model.complaints(), [""; 0]);
        let mut odd = self.feishu.unread();
        // A repeated post may say something newer; it is brought up to date by an edit.
        odd.retain(|odd| !odd.contains("comes again with another content"));
        assert_eq!(odd, [""; 0], "{}", self.log());
        self.process.unwrap().kill().await;
        self.feishu.stop().await;
        self.model.stop().await;
    }
}

fn configuration(feishu: &FeishuSim, model: &ModelSim) -> String {
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
kind = "feishu"
name = "feishu"
app_id = "{app}"
app_secret = "{secret}"
base_url = "{feishu}"
allow_rooms = ["*"]
"#,
        model = model.base_url(),
        key = model::API_KEY,
        app = feishu::APP_ID,
        secret = feishu::APP_SECRET,
        feishu = feishu.base_url(),
    )
}

#[tokio::test]
async fn b009_an_event_that_could_not_be_written_down_is_redelivered_and_answered_once() {
    let mut bench = Bench::started().await;
    bench.database.lock().await;
    bench.ask().await;
    bench.kill().await;
    assert!(bench.feishu.acks().iter().all(|ack| ack.code != 200 && ack.code != 0), "{:?}", bench.feishu.acks());
    bench.database.unlock().await;
    bench.start().await;
    bench.answered().await;
}

#[tokio::test]
async fn b001_b007_an_event_written_down_and_redelivered_after_the_restart_is_answered_once() {
    let mut bench = Bench::started().await;
    bench.model.hold();
    let question = bench.ask().await;
    bench.model.wait_for_open_streams(1).await;
    bench.kill_and_start().await;
    for id in [EventId::Same, EventId::New] {
        bench.feishu.redeliver(&question, id).await;
    }
    bench.feishu.heard().await;
    bench.model.release();
    bench.answered().await;
}

#[tokio::test]
async fn a_placeholder_that_was_posted_and_not_noted_is_known_by_its_key() {
    let mut bench = Bench::started().await;
    bench.feishu.fault("reply", Fault::DelayAfter(NEVER));
    bench.model.hold();
    bench.ask().await;
    let placeholder = bench.feishu.next_message(GROUP).await;
    bench.kill_and_start().await;
    bench.model.wait_for_open_streams(1).await;
    bench.model.release();
    bench.feishu.wait_for_text(&placeholder.id, |text| text == ANSWER).await;
    let keys: Vec<_> = bench.feishu.calls("reply").iter().map(|call| call.body["uuid"].clone()).collect();
    assert!(keys.len() == 2 && keys[0] == keys[1], "{keys:?}");
    bench.answered().await;
}

#[tokio::test]
async fn a_placeholder_that_was_not_posted_is_posted_after_the_restart() {
    let mut bench = Bench::started().await;
    bench.feishu.fault("reply", Fault::DelayBefore(NEVER));
    bench.model.hold();
    bench.ask().await;
    bench.feishu.wait_for_calls("reply", 1).await;
    bench.kill().await;
    assert!(bench.ours().is_empty());
    bench.start().await;
    bench.feishu.next_message(GROUP).await;
    bench.model.release();
    bench.answered().await;
}

#[tokio::test]
async fn b051_an_answer_whose_edit_was_under_way_is_shown_without_asking_the_model_again() {
    for fault in [Fault::DelayBefore(NEVER), Fault::DelayAfter(NEVER)] {
        let mut bench = Bench::started().await;
        bench.feishu.fault("edit", fault);
        bench.ask().await;
        bench.feishu.wait_for_calls("edit", 1).await;
        let placeholder = bench.ours().remove(0);
        bench.kill_and_start().await;
        bench.feishu.wait_for_text(&placeholder.id, |text| text == ANSWER).await;
        assert_eq!((bench.model.requests().len(), bench.feishu.calls("reply").len()), (1, 1));
        bench.answered().await;
    }
}

#[tokio::test]
async fn a_replaced_placeholder_is_removed_by_the_next_process() {
    for fault in [Fault::DelayBefore(NEVER), Fault::DelayAfter(NEVER)] {
        let mut bench = Bench::started().await;
        bench.feishu.fault("edit", Fault::Code { code: 230_075, http: 400 });
        bench.feishu.fault("recall", fault);
        bench.ask().await;
        bench.feishu.wait_for_calls("recall", 1).await;
        let old = bench.feishu.calls("recall").remove(0);
        bench.kill_and_start().await;
        bench.feishu.wait_for_answers("recall", 1).await;
        assert!(bench.feishu.message(&old.about[0]).recalled);
        assert_eq!((bench.model.requests().len(), bench.feishu.calls("reply").len()), (1, 2));
        bench.answered().await;
    }
}
