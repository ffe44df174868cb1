//! A running bot among simulators, and what a story does with it. A story ends with [`Stage::done`], which looks for what
//! was left over.

use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use watchfloor::{
    app::App,
    store::{SessionRow, Tally, TurnRow},
};
use watchfloor_sim::{
    ModelSim, SlackSim, TelemetrySim,
    model::Rule,
    slack::{Author, Message},
};

use crate::setting::{Setting, start};

pub(crate) const ROOM: &str = "C0OPS";
pub(crate) const ALICE: &str = "U0ALICE";
pub(crate) const BOB: &str = "U0BOB";
pub(crate) const CAROL: &str = "U0CAROL";
pub(crate) const CHANGES_TOKEN: &str = "story";
pub(crate) const PLACEHOLDER: &str = "Looking into it…";

const PATIENCE: Duration = Duration::from_secs(15);
/// Longer than any story's work: what is still running then would not have ended.
const DRAIN: Duration = Duration::from_secs(5);

/// A model that says "One." to the first question of a conversation, "Two." to the second, "Three." to the third.
pub(crate) fn by_step() -> impl Iterator<Item = Rule> {
    ["One.", "Two.", "Three."].into_iter().enumerate().map(|(step, text)| Rule::reply(text).when_step(step))
}

pub(crate) struct Stage {
    pub(crate) slack: SlackSim,
    pub(crate) model: ModelSim,
    pub(crate) telemetry: TelemetrySim,
    pub(crate) app: App,
    /// The configuration.
    pub(crate) text: String,
    pub(crate) place: TempDir,
}

impl Stage {
    /// The usual setting, with these rules for the model.
    pub(crate) async fn with(rules: impl IntoIterator<Item = Rule>) -> Self {
        Setting::default().rules(rules).open().await
    }

    /// A mention at top level.
    pub(crate) async fn ask(&self, person: &str, text: &str) -> String {
        self.slack.say(person, ROOM, &format!("<@U0BOT> {text}")).await
    }

    /// A mention in a thread.
    pub(crate) async fn ask_in(&self, thread: &str, person: &str, text: &str) -> String {
        self.slack.reply(person, ROOM, thread, &format!("<@U0BOT> {text}")).await
    }

    /// Something said in a thread without a mention.
    pub(crate) async fn say_in(&self, thread: &str, person: &str, text: &str) -> String {
        self.slack.reply(person, ROOM, thread, text).await
    }

    /// What the bot shows in a thread of the room.
    pub(crate) fn shown(&self, thread: &str) -> Vec<String> {
        let mut messages = self.slack.messages(ROOM, Some(thread));
        messages.retain(|message| message.author == Author::Bot);
        messages.iter().map(|message| message.text().to_owned()).collect()
    }

    /// The next message of the bot in the room, with the text it has in the end.
    pub(crate) async fn answer(&self) -> String {
        let message = self.slack.next_message(ROOM).await;
        self.idle().await;
        self.slack.message(&message.ts).text().to_owned()
    }

    pub(crate) async fn placeholder(&self) -> Message {
        self.slack.next_message(ROOM).await
    }

    /// Reports changes as a deploy pipeline does.
    pub(crate) async fn report_changes(&self, token: &str, changes: &Value) -> u16 {
        let url = format!("http://{}/api/v1/hooks/changes", self.app.address());
        let client = reqwest::Client::builder().timeout(PATIENCE).build().unwrap();
        client.post(url).bearer_auth(token).json(changes).send().await.unwrap().status().as_u16()
    }

    pub(crate) async fn tally(&self) -> Tally {
        self.app.store.tally().await.unwrap()
    }

    /// Waits until all that was said is heard and nothing is under way.
    pub(crate) async fn idle(&self) {
        self.slack.heard().await;
        let quiet = async {
            loop {
                let tally = self.tally().await;
                if tally.waiting == 0 && tally.open_turns == 0 && self.app.open_conversations() == 0 {
                    return;
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        if timeout(PATIENCE, quiet).await.is_err() {
            let complaints = self.model.complaints();
            panic!("still at work: {:?}; the model's complaints: {complaints:#?}", self.tally().await);
        }
    }

    /// The conversation of a thread of the room.
    pub(crate) async fn session(&self, thread: &str) -> Option<SessionRow> {
        self.app.store.sessions().find("slack", ROOM, thread, "").await.unwrap()
    }

    /// The newest turn of a thread of the room.
    pub(crate) async fn turn(&self, thread: &str) -> TurnRow {
        let session = self.session(thread).await.unwrap();
        let rows = self.app.store.messages().transcript(&session.id).await.unwrap();
        let turn = rows.last().unwrap().turn_id.clone();
        self.app.store.turns().get(&turn).await.unwrap().unwrap()
    }

    /// Stops the bot in order and starts it anew, with this written in its configuration in place of that.
    pub(crate) async fn restarted(mut self, that: &str, this: &str) -> Self {
        self.idle().await;
        assert!(timeout(DRAIN * 2, self.app.stop(DRAIN)).await.is_ok(), "the bot didn't stop");
        self.text = self.text.replace(that, this);
        self.app = start(&self.text, self.place.path()).await;
        self.slack.connected(1).await;
        self
    }

    pub(crate) async fn done(self) {
        self.done_but(&[]).await;
    }

    /// Ends the story. `odd` are the oddities that the story means to leave.
    pub(crate) async fn done_but(self, odd: &[&str]) {
        self.idle().await;
        assert_eq!(self.model.complaints(), [""; 0], "the model's complaints");
        assert_eq!(self.model.open_streams(), 0, "streams that were left open");
        assert_eq!(self.slack.unread(), odd, "left over in Slack");
        let unsettled = self.app.store.deliveries().unsettled().await.unwrap();
        assert!(unsettled.is_empty(), "never settled: {unsettled:#?}");
        let stopped = timeout(DRAIN * 2, self.app.stop(DRAIN)).await;
        assert!(stopped.is_ok(), "the bot didn't stop");
        self.slack.stop().await;
        self.model.stop().await;
        self.telemetry.stop().await;
    }
}
