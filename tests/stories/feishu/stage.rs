//! A running bot in a simulated Feishu tenant, and what a story does with it. A story ends with [`Stage::done`], which looks
//! for what was left over.

use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use watchfloor::{
    app::App,
    store::{Tally, TurnRow},
};
use watchfloor_sim::{
    FeishuSim, ModelSim, TelemetrySim,
    feishu::{GROUP, MENTION, Message},
    model::Rule,
};

use super::setting::Setting;
use crate::setting::start;

pub(super) const WEI: &str = "ou_wei";
/// Another app's bot in the same groups.
pub(super) const OTHER_BOT: &str = "ou_deployer";

pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than any story's work: what is still running then would not have ended.
const DRAIN: Duration = Duration::from_secs(5);

pub(super) struct Stage {
    pub(super) feishu: FeishuSim,
    pub(super) model: ModelSim,
    pub(super) telemetry: TelemetrySim,
    pub(super) app: App,
    /// The configuration.
    pub(super) text: String,
    pub(super) place: TempDir,
    pub(super) webhook: bool,
}

impl Stage {
    /// The usual setting, with these rules for the model.
    pub(super) async fn with(rules: impl IntoIterator<Item = Rule>) -> Self {
        Setting::new(rules).open().await
    }

    /// Waits until what is said in the tenant arrives.
    pub(super) async fn reached(&self) {
        if self.webhook {
            let url = format!("http://{}/channels/feishu/events", self.app.address());
            self.feishu.subscribe(&url).await.unwrap();
        } else {
            self.feishu.connected(1).await;
        }
    }

    /// A mention in the group.
    pub(super) async fn ask(&self, person: &str, text: &str) -> String {
        self.ask_at(GROUP, person, text).await
    }

    pub(super) async fn ask_at(&self, chat: &str, person: &str, text: &str) -> String {
        self.feishu.say(person, chat, &format!("{MENTION} {text}")).await
    }

    /// Asks, and waits until the model is at it and the placeholder stands there.
    pub(super) async fn ask_and_hold(&self, chat: &str, person: &str, text: &str) -> (String, Message) {
        self.model.hold();
        let question = self.ask_at(chat, person, text).await;
        let placeholder = self.feishu.next_message(chat).await;
        self.model.wait_for_open_streams(1).await;
        (question, placeholder)
    }

    /// What the bot shows beneath the first message of this one's thread or chain of replies, oldest first.
    pub(super) fn beneath(&self, message: &str) -> Vec<Message> {
        let message = self.feishu.message(message);
        let root = message.root.unwrap_or(message.id);
        let mut messages = self.feishu.messages(&message.chat);
        messages.retain(|message| message.is_of_bot() && message.root.as_deref() == Some(root.as_str()));
        messages
    }

    pub(super) fn shown(&self, message: &str) -> Vec<String> {
        self.beneath(message).iter().map(Message::text).collect()
    }

    /// Lets the model go on, and tells what stands beneath the question in the end.
    pub(super) async fn goes_on(&self, question: &str) -> Vec<String> {
        self.model.release();
        self.idle().await;
        self.shown(question)
    }

    pub(super) async fn tally(&self) -> Tally {
        self.app.store.tally().await.unwrap()
    }

    /// Calls that Feishu answered with a code other than success.
    pub(super) fn refused(&self) -> Vec<(String, i64)> {
        let calls = self.feishu.all_calls().into_iter();
        calls.filter_map(|call| call.code().filter(|code| *code != 0).map(|code| (call.name, code))).collect()
    }

    /// Waits until all that was said is heard and nothing is under way.
    pub(super) async fn idle(&self) {
        self.feishu.heard().await;
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
            let (complaints, refused) = (self.model.complaints(), self.refused());
            panic!("still at work: {:?}; refused: {refused:?}; complaints: {complaints:#?}", self.tally().await);
        }
    }

    /// The newest turn of a conversation.
    pub(super) async fn turn(&self, chat: &str, thread: &str) -> TurnRow {
        let session = self.app.store.sessions().find("feishu", chat, thread, "").await.unwrap().unwrap();
        let rows = self.app.store.messages().transcript(&session.id).await.unwrap();
        let turn = rows.last().unwrap().turn_id.clone();
        self.app.store.turns().get(&turn).await.unwrap().unwrap()
    }

    /// Stops the bot and starts it anew, whatever it is at.
    pub(super) async fn restarted(mut self) -> Self {
        assert!(timeout(DRAIN * 2, self.app.stop(Duration::ZERO)).await.is_ok(), "the bot didn't stop");
        self.app = start(&self.text, self.place.path()).await;
        self.reached().await;
        self
    }

    pub(super) async fn done(self) {
        self.done_but(&[]).await;
    }

    /// Ends the story. `odd` are the oddities that the story means to leave.
    pub(super) async fn done_but(self, odd: &[&str]) {
        self.idle().await;
        assert_eq!(self.model.complaints(), [""; 0], "the model's complaints");
        assert_eq!(self.model.open_streams(), 0, "streams that were left open");
        assert_eq!(self.feishu.unread(), odd, "left over in Feishu");
        let unsettled = self.app.store.deliveries().unsettled().await.unwrap();
        assert!(unsettled.is_empty(), "never settled: {unsettled:#?}");
        assert!(timeout(DRAIN * 2, self.app.stop(DRAIN)).await.is_ok(), "the bot didn't stop");
        self.feishu.stop().await;
        self.model.stop().await;
        self.telemetry.stop().await;
    }
}
