//! One message with everything that ever happened to it, and its forms on the wire.

use std::time::Duration;

use serde_json::{Value, json};

use super::{APP_ID, BOT_NAME, BOT_OPEN_ID, TENANT_KEY, content};

/// A message as the tenant keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub id: String,
    pub chat: String,
    pub author: Author,
    /// `omt_…`, if it is in a thread.
    pub thread: Option<String>,
    pub root: Option<String>,
    pub parent: Option<String>,
    /// Every content it has had. The first is the one it was sent with.
    pub edits: Vec<Edit>,
    /// Whom it mentions, in the order of `@_user_1`, `@_user_2`, …
    pub mentions: Vec<Mention>,
    pub reactions: Vec<Reaction>,
    pub recalled: bool,
    /// What a merged forward is made of.
    pub forwarded: Vec<String>,
    /// What the sender gave to make it unique.
    pub uuid: Option<String>,
    /// How many of its edits were PUT.
    pub puts: usize,
    /// Milliseconds since 1970.
    pub created: u64,
    pub updated: u64,
    pub(crate) looked_at: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    Person(String),
    /// The bot under test.
    Bot,
    /// Some other app, by the open_id of its bot.
    OtherBot(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// `text`, `post`, `interactive`, …
    pub kind: String,
    /// The JSON text as it was sent.
    pub content: String,
    /// Since the simulator started.
    pub at: Duration,
}

impl Edit {
    /// What a reader can read of it.
    pub fn text(&self) -> String {
        content::readable(&self.kind, &self.content)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// `@_user_1`, or `@_all`.
    pub key: String,
    /// Empty for everybody.
    pub open_id: String,
    pub name: String,
    pub bot: bool,
    pub tenant: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaction {
    pub id: String,
    pub emoji: String,
    pub by: String,
}

impl Message {
    /// What a reader can read of it now.
    pub fn text(&self) -> String {
        self.edits.last().map(Edit::text).unwrap_or_default()
    }

    pub fn kind(&self) -> &str {
        self.edits.last().map_or("", |edit| &edit.kind)
    }

    /// The JSON text as it was sent or last edited.
    pub fn content(&self) -> &str {
        self.edits.last().map_or("", |edit| &edit.content)
    }

    /// As an object, for a look at a post's nodes or a card's elements.
    pub fn json(&self) -> Value {
        serde_json::from_str(self.content()).unwrap_or_default()
    }

    pub fn is_of_bot(&self) -> bool {
        self.author == Author::Bot
    }

    /// `message` of `im.message.receive_v1`.
    pub(crate) fn in_event(&self, chat_type: &str, with_thread: bool) -> Value {
        let mut wire = json!({"message_id": self.id, "create_time": self.created.to_string(),
            "update_time": self.updated.to_string(), "chat_id": self.chat, "chat_type": chat_type,
            "message_type": self.kind(), "content": content::received(self.kind(), self.content())});
        let thread = self.thread.as_ref().filter(|_| with_thread);
        for (key, id) in [("root_id", &self.root), ("parent_id", &self.parent), ("thread_id", &thread.cloned())] {
            if let Some(id) = id {
                wire[key] = id.as_str().into();
            }
        }
        if !self.mentions.is_empty() {
            wire["mentions"] = self.mentions.iter().map(Mention::in_event).collect();
        }
        wire
    }

    /// As the message calls give it. `body` may be withheld.
    pub(crate) fn item(&self) -> Value {
        let sender = match &self.author {
            Author::Bot => json!({"id": APP_ID, "id_type": "app_id", "sender_type": "app", "tenant_key": TENANT_KEY}),
            Author::OtherBot(id) => {
                json!({"id": format!("cli_{id}"), "id_type": "app_id", "sender_type": "app", "tenant_key": TENANT_KEY})
            }
            Author::Person(id) => {
                json!({"id": id, "id_type": "open_id", "sender_type": "user", "tenant_key": TENANT_KEY})
            }
        };
        let content = match self.recalled {
            true => "This message was recalled".to_owned(),
            false => content::received(self.kind(), self.content()),
        };
        let mut wire = json!({"message_id": self.id, "msg_type": self.kind(), "create_time": self.created.to_string(),
            "update_time": self.updated.to_string(), "deleted": self.recalled, "updated": self.edits.len() > 1,
            "chat_id": self.chat, "sender": sender, "body": {"content": content}});
        for (key, id) in [("root_id", &self.root), ("parent_id", &self.parent), ("thread_id", &self.thread)] {
            if let Some(id) = id {
                wire[key] = id.as_str().into();
            }
        }
        if !self.mentions.is_empty() {
            wire["mentions"] = self.mentions.iter().map(Mention::in_item).collect();
        }
        wire
    }
}

impl Mention {
    pub(crate) fn of_bot(key: String) -> Self {
        let (open_id, name, tenant) = (BOT_OPEN_ID.to_owned(), BOT_NAME.to_owned(), TENANT_KEY.to_owned());
        Self { key, open_id, name, bot: true, tenant }
    }

    fn in_event(&self) -> Value {
        if self.open_id.is_empty() {
            return json!({"key": self.key, "id": {"open_id": "", "union_id": "", "user_id": ""}, "name": self.name,
                "tenant_key": ""});
        }
        let kind = if self.bot { "bot" } else { "user" };
        json!({"key": self.key, "id": {"open_id": self.open_id, "union_id": union_id(&self.open_id)},
            "mentioned_type": kind, "name": self.name, "tenant_key": self.tenant})
    }

    fn in_item(&self) -> Value {
        json!({"key": self.key, "id": self.open_id, "id_type": "open_id", "name": self.name, "tenant_key": self.tenant})
    }
}

pub(crate) fn union_id(open_id: &str) -> String {
    open_id.replacen("ou_", "on_", 1)
}
