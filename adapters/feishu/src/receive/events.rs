//! What an event says, in our words. Pure: who is meant is decided by what is handed in, and what it takes to know more is
//! left to `arrivals`.

use serde_json::Value;
use watchfloor_channel::{Act, Aside, Author, ChannelId, ConversationId, MessageId};

use super::{
    content::{self, Said},
    mentions::Mentions,
    threads::Place,
    wire::{millis, some, text},
};

pub(super) const MESSAGE: &str = "im.message.receive_v1";
pub(super) const RECALLED: &str = "im.message.recalled_v1";
pub(super) const CLICK: &str = "card.action.trigger";

/// What an event calls itself, for one log line a kind.
pub(super) fn name(payload: &Value) -> &str {
    let named = ["/header/event_type", "/event/type", "/type"].map(|pointer| text(payload, pointer));
    named.into_iter().find(|name| !name.is_empty()).unwrap_or("event without a type")
}

/// Events say which app they are for; the oldest ones don't.
pub(super) fn is_for(payload: &Value, app_id: &str) -> bool {
    let named = text(payload, "/header/app_id");
    named.is_empty() || named == app_id
}

/// It should say something that we use, and doesn't.
pub(super) fn is_damaged(payload: &Value, kind: &str) -> bool {
    matches!(kind, MESSAGE | RECALLED | CLICK) && text(payload, "/event/message/message_type") != "system"
}

/// Something goes on without us from now on.
pub(super) fn farewell(kind: &str) -> Option<&'static str> {
    match kind {
        "im.chat.member.bot.added_v1" => Some("the bot was added to a group"),
        "im.chat.member.bot.deleted_v1" => Some("the bot was removed from a group"),
        "im.chat.disbanded_v1" => Some("a group was dissolved"),
        _ => None,
    }
}

/// A message as the event tells it.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) message_id: String,
    pub(super) room: String,
    pub(super) private: bool,
    pub(super) root_id: String,
    pub(super) parent_id: String,
    pub(super) thread_id: String,
    pub(super) kind: String,
    pub(super) mentions: Mentions,
    pub(super) said: Said,
    pub(super) author: Author,
    pub(super) event_id: Option<String>,
    pub(super) sent_at: Option<i64>,
}

impl Heard {
    /// `None`: no message that a conversation could use.
    pub(super) fn of(payload: &Value) -> Option<Self> {
        let message = payload.pointer("/event/message")?;
        let message_id = some(message, "/message_id")?;
        let room = some(message, "/chat_id")?;
        let kind = some(message, "/message_type")?;
        if kind == "system" {
            return None;
        }
        let mentions = Mentions::of(message.get("mentions"));
        let sender = payload.pointer("/event/sender").unwrap_or(&Value::Null);
        Some(Self {
            said: content::said(&kind, text(message, "/content"), &mentions, &message_id),
            // Kinds of chats are an open list; whatever isn't private is a group.
            private: text(message, "/chat_type") == "p2p",
            root_id: text(message, "/root_id").to_owned(),
            parent_id: text(message, "/parent_id").to_owned(),
            thread_id: text(message, "/thread_id").to_owned(),
            author: Author {
                // Whatever isn't a person is a machine, however it is called.
                is_bot: text(sender, "/sender_type") != "user",
                ..person(payload, sender.get("sender_id").unwrap_or(&Value::Null), text(sender, "/tenant_key"))
            },
            event_id: some(payload, "/header/event_id"),
            sent_at: millis(message, "/create_time").or_else(|| millis(payload, "/header/create_time")),
            mentions,
            kind,
            room,
            message_id,
        })
    }

    pub(super) fn place(&self) -> Place<'_> {
        Place {
            private: self.private,
            message_id: &self.message_id,
            root_id: &self.root_id,
            thread_id: &self.thread_id,
        }
    }

    /// The message that this one quotes. Inside a topic every message names the first one, which is no quote.
    pub(super) fn quotes(&self) -> Option<&str> {
        Some(self.parent_id.as_str()).filter(|parent| !parent.is_empty() && self.thread_id.is_empty())
    }
}

/// The tenant of the event is ours; whoever is of another one, or of none that is told, is a guest.
fn person(payload: &Value, ids: &Value, tenant: &str) -> Author {
    let ours = text(payload, "/header/tenant_key");
    let id = ["/open_id", "/union_id", "/user_id"].into_iter().find_map(|pointer| some(ids, pointer));
    Author {
        id: id.unwrap_or_default(),
        name: None,
        is_bot: false,
        is_self: false,
        is_outsider: !ours.is_empty() && tenant != ours,
    }
}

/// A recalled message and its room.
pub(super) fn recalled(payload: &Value) -> Option<(String, String)> {
    Some((some(payload, "/event/message_id")?, some(payload, "/event/chat_id")?))
}

/// The thread is left to whoever knows the message. `None`: no click on a button of a message.
pub(super) fn click(channel: &ChannelId, payload: &Value) -> Option<Aside> {
    let event = payload.get("event")?;
    let room = some(event, "/context/open_chat_id")?;
    let id = some(event, "/context/open_message_id")?;
    let operator = event.get("operator").unwrap_or(&Value::Null);
    let value = event.pointer("/action/value").unwrap_or(&Value::Null);
    // As we set it, or as a text that holds it.
    let parsed = value.as_str().and_then(|text| serde_json::from_str(text).ok());
    let value = parsed.as_ref().unwrap_or(value);
    let action = some(value, "/action").or_else(|| some(event, "/action/name"));
    Some(Aside {
        conversation: ConversationId { channel: channel.clone(), room: room.clone(), thread: String::new() },
        author: person(payload, operator, text(operator, "/tenant_key")),
        act: Act::Click {
            message: MessageId { room, id },
            action: action.unwrap_or_default(),
            value: some(value, "/value").or_else(|| value.as_str().map(str::to_owned)).unwrap_or_default(),
        },
    })
}
