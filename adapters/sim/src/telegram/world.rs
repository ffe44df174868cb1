//! The world of one bot: users, chats, messages, and what was asked of the server. Rules of the methods live elsewhere.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};

use super::{
    BOT_ID, BOT_USERNAME, TelegramConfig,
    callbacks::Callbacks,
    chats::{Chat, Kind, Standing, User},
    faults::Fault,
    message::{Author, Message, Version},
    rates::Rates,
    updates::Updates,
    webhook::Webhook,
};
use crate::time;

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) users: BTreeMap<i64, User>,
    pub(crate) chats: BTreeMap<i64, Chat>,
    pub(crate) messages: Vec<Message>,
    pub(crate) calls: Vec<Call>,
    /// By method in lower case.
    pub(crate) faults: HashMap<String, VecDeque<Fault>>,
    pub(crate) updates: Updates,
    pub(crate) webhook: Webhook,
    pub(crate) callbacks: Callbacks,
    pub(crate) rates: Rates,
    /// Things a real server lets pass or refuses, and that are a mistake of the caller either way.
    pub(crate) complaints: Vec<String>,
    pub(crate) actions: Vec<Action>,
    /// Command menus by scope and language.
    pub(crate) commands: BTreeMap<String, Value>,
    pub(crate) downloads: Vec<String>,
    pub(crate) revoked: bool,
    pub(crate) reads_all: bool,
    pub(crate) started: Instant,
    last_id: u64,
}

/// One call of a method.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// As the caller spelled it.
    pub method: String,
    pub args: Value,
    /// Names of the parts that came with files.
    pub files: Vec<String>,
    /// Since the simulator started.
    pub at: Duration,
    /// Absent while the answer is awaited, and for ever if a fault swallowed it.
    pub answer: Option<Value>,
}

impl Call {
    /// The description it was refused with.
    pub fn error(&self) -> Option<&str> {
        self.answer.as_ref()?.get("description")?.as_str()
    }
}

/// A chat action, such as `typing`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    pub chat: i64,
    pub topic: Option<i64>,
    pub action: String,
    pub at: Duration,
}

impl World {
    pub(crate) fn new(config: &TelegramConfig) -> Self {
        Self {
            users: BTreeMap::new(),
            chats: BTreeMap::new(),
            messages: Vec::new(),
            calls: Vec::new(),
            faults: HashMap::new(),
            updates: Updates::new(config.press_lifetime),
            webhook: Webhook::default(),
            callbacks: Callbacks::new(config.press_lifetime),
            rates: Rates::new(config.enforce_rates),
            complaints: Vec::new(),
            actions: Vec::new(),
            commands: BTreeMap::new(),
            downloads: Vec::new(),
            revoked: false,
            reads_all: config.can_read_all_group_messages,
            started: Instant::now(),
            last_id: 0,
        }
    }

    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn complain(&mut self, what: impl Into<String>) {
        self.complaints.push(what.into());
    }

    pub(crate) fn bot_wire(&self) -> Value {
        json!({"id": BOT_ID, "is_bot": true, "first_name": "Ops bot", "username": BOT_USERNAME})
    }

    /// A fresh message with the next id of its chat, not yet in the world.
    pub(crate) fn draft(&mut self, chat: i64, author: Author, version: Version) -> Message {
        let id = self.chat_mut(chat).next_message();
        Message {
            chat,
            id,
            author,
            date: time::now().as_secs(),
            edit_date: None,
            topic: None,
            reply_to: None,
            edits: vec![version],
            file: None,
            deleted: false,
            silent: false,
            reactions: Vec::new(),
            thread: None,
            extra: Map::new(),
            looked_at: false,
        }
    }

    pub(crate) fn version(&self, text: String, entities: Vec<Value>, keyboard: Option<Value>) -> Version {
        Version { text, entities, keyboard, at: self.started.elapsed() }
    }

    /// Puts the message into its topic and its chain of replies.
    pub(crate) fn place(&self, message: &mut Message, topic: Option<i64>, reply_to: Option<i64>) {
        let replied = reply_to.and_then(|id| self.message(message.chat, id));
        message.reply_to = reply_to;
        message.topic = topic.or(replied.and_then(|replied| replied.topic));
        // In General a chain has a thread id as well, though it is no topic.
        let chains = |chat: &Chat| matches!(chat.kind, Kind::Supergroup | Kind::Forum);
        if message.topic.is_none() && self.chats.get(&message.chat).is_some_and(chains) {
            message.thread = replied.map(|replied| replied.thread.unwrap_or(replied.id));
        }
    }

    pub(crate) fn message(&self, chat: i64, id: i64) -> Option<&Message> {
        self.messages.iter().find(|m| m.chat == chat && m.id == id && !m.deleted)
    }

    pub(crate) fn message_mut(&mut self, chat: i64, id: i64) -> Option<&mut Message> {
        self.messages.iter_mut().find(|m| m.chat == chat && m.id == id && !m.deleted)
    }

    /// The message as the bot gets it, with the message it answers.
    pub(crate) fn wire(&self, message: &Message) -> Value {
        let mut wire = self.bare(message);
        let creation = message.topic.filter(|&topic| topic != message.id);
        let replied = message.reply_to.or(creation).and_then(|id| self.message(message.chat, id));
        if let Some(replied) = replied {
            wire.insert("reply_to_message".into(), Value::Object(self.bare(replied)));
        }
        Value::Object(wire)
    }

    fn bare(&self, message: &Message) -> Map<String, Value> {
        let mut wire = Map::new();
        wire.insert("message_id".into(), message.id.into());
        if let Some(thread) = message.topic.or(message.thread) {
            wire.insert("message_thread_id".into(), thread.into());
        }
        if message.topic.is_some() {
            wire.insert("is_topic_message".into(), true.into());
        }
        let chat = self.chats.get(&message.chat).map_or(Value::Null, |chat| self.chat_wire(chat));
        let from = match message.author {
            Author::Bot => Some(self.bot_wire()),
            Author::User(id) => Some(self.user_wire(id)),
            Author::Anonymous | Author::Service => Some(json!({
                "id": 1_087_968_824, "is_bot": true, "first_name": "Group", "username": "GroupAnonymousBot"})),
            Author::Channel => None,
        };
        if let Some(from) = from {
            wire.insert("from".into(), from);
        }
        if matches!(message.author, Author::Anonymous | Author::Channel | Author::Service) {
            wire.insert("sender_chat".into(), chat.clone());
        }
        wire.insert("chat".into(), chat);
        wire.insert("date".into(), message.date.into());
        if let Some(edited) = message.edit_date {
            wire.insert("edit_date".into(), edited.into());
        }
        let (text, entities) = match &message.file {
            Some(file) => {
                let (kind, value) = file.wire();
                wire.insert(kind.into(), value);
                ("caption", "caption_entities")
            }
            None => ("text", "entities"),
        };
        if !message.text().is_empty() {
            wire.insert(text.into(), message.text().into());
        }
        if !message.entities().is_empty() {
            wire.insert(entities.into(), message.entities().into());
        }
        if let Some(keyboard) = message.keyboard() {
            wire.insert("reply_markup".into(), keyboard.clone());
        }
        wire.extend(message.extra.clone());
        wire
    }

    /// Whether the bot gets to see it: never its own; in groups with privacy on only what is meant for it.
    pub(crate) fn hears(&self, message: &Message) -> bool {
        let Some(chat) = self.chats.get(&message.chat) else { return false };
        if message.author == Author::Bot || !chat.bot.is_in() {
            return false;
        }
        let service = message.text().is_empty() && message.file.is_none();
        if self.reads_all
            || service
            || chat.bot == Standing::Admin
            || matches!(chat.kind, Kind::Private | Kind::Channel)
        {
            return true;
        }
        let answers_bot = message.reply_to.and_then(|id| self.message(message.chat, id));
        if answers_bot.is_some_and(|replied| replied.author == Author::Bot) {
            return true;
        }
        let bot_wrote = self.messages.iter().any(|m| m.chat == message.chat && m.author == Author::Bot);
        message.marked("bot_command").iter().any(|command| match command.split_once('@') {
            Some((_, name)) => name.eq_ignore_ascii_case(BOT_USERNAME),
            None => bot_wrote,
        })
    }

    /// Keeps the message and tells the bot, if it gets to see it.
    pub(crate) fn publish(&mut self, message: Message) -> i64 {
        let id = message.id;
        let hears = self.hears(&message);
        let wire = self.wire(&message);
        let kind = if message.author == Author::Channel { "channel_post" } else { "message" };
        self.messages.push(message);
        if hears {
            self.updates.push(kind, wire);
        }
        id
    }

    /// What a failed wait shows.
    pub(crate) fn summary(&self) -> String {
        let mut lines = Vec::new();
        for message in &self.messages {
            let gone = if message.deleted { " (deleted)" } else { "" };
            let text: String = message.text().chars().take(200).collect();
            let (chat, id, author, topic) = (message.chat, message.id, message.author, message.topic);
            lines.push(format!("  {chat} {id} topic {topic:?} {author:?}{gone}: {text}"));
        }
        for call in self.calls.iter().rev().filter(|call| !call.method.eq_ignore_ascii_case("getUpdates")).take(10) {
            let outcome = match (&call.answer, call.error()) {
                (None, _) => "no answer",
                (Some(_), None) => "ok",
                (Some(_), Some(error)) => error,
            };
            lines.push(format!("  call {}: {outcome} (latest first)", call.method));
        }
        lines.push(format!("  updates unconfirmed: {}", self.updates.waiting().len()));
        lines.extend(self.complaints.iter().map(|complaint| format!("  complaint: {complaint}")));
        lines.join("\n")
    }
}
