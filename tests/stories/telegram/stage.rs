//! A running bot on a simulated Telegram, and what a story does with it. A story ends with [`Stage::done`], which looks for
//! what was left over.

use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use watchfloor::{
    app::App,
    store::{SessionRow, Tally, TurnRow},
};
use watchfloor_sim::{
    ModelSim, TelegramSim, TelemetrySim,
    model::Rule,
    telegram::{Author, Call, Message, OPS},
};

use super::{front::Front, setting::Setting};
use crate::setting::start;

pub(crate) const POST: &str = "sendMessage";
pub(crate) const EDIT: &str = "editMessageText";

const PATIENCE: Duration = Duration::from_secs(20);
/// Longer than any story's work: what is still running then would not have ended.
const DRAIN: Duration = Duration::from_secs(5);
const TAKEN: &str = "👀";

pub(crate) struct Stage {
    pub(crate) telegram: TelegramSim,
    pub(crate) model: ModelSim,
    pub(crate) telemetry: TelemetrySim,
    pub(crate) app: App,
    /// The configuration.
    pub(crate) text: String,
    pub(crate) place: TempDir,
    /// In webhook mode.
    pub(crate) front: Option<Front>,
}

impl Stage {
    /// The usual setting, with these rules for the model.
    pub(crate) async fn with(rules: impl IntoIterator<Item = Rule>) -> Self {
        Setting::default().rules(rules).open().await
    }

    /// A mention in the group, which has no topics. Its id names the conversation.
    pub(crate) async fn ask(&self, person: i64, text: &str) -> i64 {
        self.ask_in(OPS, person, text).await
    }

    pub(crate) async fn ask_in(&self, chat: i64, person: i64, text: &str) -> i64 {
        self.telegram.say(person, chat, &format!("@ops_bot {text}")).await
    }

    /// An answer to any message of the group, without a mention.
    pub(crate) async fn reply(&self, person: i64, to: i64, text: &str) -> i64 {
        self.telegram.reply(person, OPS, to, text).await
    }

    /// The next message of the bot in the group.
    pub(crate) async fn placeholder(&self) -> Message {
        self.telegram.next_message(OPS).await
    }

    /// The next message of the bot in a chat, as it is in the end.
    pub(crate) async fn answer_in(&self, chat: i64) -> Message {
        let message = self.telegram.next_message(chat).await;
        self.idle().await;
        self.telegram.message(chat, message.id)
    }

    /// What the next message of the bot in the group says in the end.
    pub(crate) async fn answer(&self) -> String {
        self.answer_in(OPS).await.text().to_owned()
    }

    /// The bot's messages in a chat, oldest first.
    pub(crate) fn ours(&self, chat: i64) -> Vec<Message> {
        let mut messages = self.telegram.messages(chat);
        messages.retain(|message| message.author == Author::Bot);
        messages
    }

    pub(crate) fn shown(&self, chat: i64) -> Vec<String> {
        self.ours(chat).iter().map(|message| message.text().to_owned()).collect()
    }

    /// Every text that a message has had.
    pub(crate) fn versions(&self, chat: i64, message: i64) -> Vec<String> {
        self.telegram.edits(chat, message).into_iter().map(|version| version.text).collect()
    }

    /// Posts and edits that Telegram refused.
    pub(crate) fn refused(&self) -> Vec<Call> {
        let calls = [POST, EDIT].map(|method| self.telegram.calls(method));
        calls.into_iter().flatten().filter(|call| call.error().is_some()).collect()
    }

    /// Waits for the sign that a message was taken while the bot is at work.
    pub(crate) async fn taken(&self, message: i64) {
        let signed = async {
            while !self.telegram.message(OPS, message).reactions.iter().any(|sign| sign == TAKEN) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(timeout(PATIENCE, signed).await.is_ok(), "{message} was not taken: {:#?}", self.telegram.unread());
    }

    pub(crate) async fn tally(&self) -> Tally {
        self.app.store.tally().await.unwrap()
    }

    /// Turns and messages so far.
    pub(crate) async fn counted(&self) -> (i64, i64) {
        let tally = self.tally().await;
        (tally.turns, tally.messages)
    }

    /// Waits until all that was said is heard and nothing is under way.
    pub(crate) async fn idle(&self) {
        self.telegram.heard().await;
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

    /// A conversation, by its thread: see [`chain`].
    pub(crate) async fn session(&self, chat: i64, thread: &str) -> Option<SessionRow> {
        self.app.store.sessions().find("telegram", &chat.to_string(), thread, "").await.unwrap()
    }

    /// The newest turn of a conversation.
    pub(crate) async fn turn(&self, chat: i64, thread: &str) -> TurnRow {
        let session = self.session(chat, thread).await.unwrap();
        let rows = self.app.store.messages().transcript(&session.id).await.unwrap();
        let turn = rows.last().unwrap().turn_id.clone();
        self.app.store.turns().get(&turn).await.unwrap().unwrap()
    }

    /// Waits until the one placeholder's row knows of it.
    pub(crate) async fn placed(&self) {
        let known = async {
            while self.app.store.deliveries().unsettled().await.unwrap().iter().all(|row| row.message_id.is_none()) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(timeout(PATIENCE, known).await.is_ok(), "no row knows of the placeholder");
    }

    /// The process ends with whatever is under way, and another one takes its place.
    pub(crate) async fn restarted(mut self, drain: Duration) -> Self {
        assert!(timeout(DRAIN * 2, self.app.stop(drain)).await.is_ok(), "the bot didn't stop");
        self.app = start(&self.text, self.place.path()).await;
        if let Some(front) = &self.front {
            front.leads_to(Some(self.app.address()));
        }
        self
    }

    /// Ends the story.
    pub(crate) async fn done(self) {
        self.idle().await;
        assert_eq!(self.model.complaints(), [""; 0], "the model's complaints");
        assert_eq!(self.model.open_streams(), 0, "streams that were left open");
        assert_eq!(self.telegram.complaints(), [""; 0], "Telegram's complaints");
        assert_eq!(self.telegram.unseen(), [""; 0], "left over in Telegram");
        assert_eq!(self.telegram.unanswered(), [""; 0], "presses that were not answered");
        let unsettled = self.app.store.deliveries().unsettled().await.unwrap();
        assert!(unsettled.is_empty(), "never settled: {unsettled:#?}");
        self.ended().await;
    }

    /// Ends the bot, whatever state the world is in.
    pub(crate) async fn ended(self) {
        assert!(timeout(DRAIN * 2, self.app.stop(DRAIN)).await.is_ok(), "the bot didn't stop");
        self.telegram.stop().await;
        self.model.stop().await;
        self.telemetry.stop().await;
    }
}

/// The thread of a chain of replies, by the message that began it.
pub(crate) fn chain(root: i64) -> String {
    format!("m{root}")
}
