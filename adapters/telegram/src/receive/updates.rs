//! Telegram's JSON as far as we read it. Every field is optional and a misfit counts as absent: one odd field must never
//! cost a message. What the fields mean is decided elsewhere.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

/// Asked for by name: the server remembers what an earlier caller wanted.
pub(crate) const KINDS: [&str; 4] = ["message", "edited_message", "callback_query", "my_chat_member"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Update {
    #[serde(deserialize_with = "lenient")]
    pub(crate) message: Option<Box<Message>>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) edited_message: Option<Box<Message>>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) callback_query: Option<Box<Press>>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) my_chat_member: Option<Box<Membership>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Message {
    #[serde(deserialize_with = "lenient")]
    pub(crate) message_id: i32,
    #[serde(deserialize_with = "lenient")]
    pub(crate) message_thread_id: Option<i32>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) is_topic_message: bool,
    #[serde(deserialize_with = "lenient")]
    pub(crate) from: Option<User>,
    /// The message was written on behalf of a chat.
    #[serde(deserialize_with = "lenient")]
    pub(crate) sender_chat: Option<Chat>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) author_signature: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) is_automatic_forward: bool,
    #[serde(deserialize_with = "lenient")]
    pub(crate) chat: Chat,
    /// Seconds.
    #[serde(deserialize_with = "lenient")]
    pub(crate) date: i64,
    #[serde(deserialize_with = "lenient")]
    pub(crate) media_group_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) text: String,
    #[serde(deserialize_with = "lenient_list")]
    pub(crate) entities: Vec<Entity>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) caption: String,
    #[serde(deserialize_with = "lenient_list")]
    pub(crate) caption_entities: Vec<Entity>,
    /// A kind of text that is younger than this code: only its words are taken.
    #[serde(deserialize_with = "lenient")]
    pub(crate) rich_message: Value,
    #[serde(deserialize_with = "lenient")]
    pub(crate) reply_to_message: Option<Box<Message>>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) quote: Quote,
    #[serde(deserialize_with = "lenient")]
    pub(crate) forward_origin: Option<Origin>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) forum_topic_created: Option<Value>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) migrate_to_chat_id: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) migrate_from_chat_id: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) document: Option<Media>,
    /// The same picture in several sizes, the largest last.
    #[serde(deserialize_with = "lenient_list")]
    pub(crate) photo: Vec<Media>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) video: Option<Media>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) animation: Option<Media>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) audio: Option<Media>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) voice: Option<Media>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) video_note: Option<Media>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct User {
    #[serde(deserialize_with = "lenient")]
    pub(crate) id: i64,
    #[serde(deserialize_with = "lenient")]
    pub(crate) is_bot: bool,
    #[serde(deserialize_with = "lenient")]
    pub(crate) first_name: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) last_name: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) username: Option<String>,
    /// Only `getMe` tells it.
    #[serde(deserialize_with = "lenient")]
    pub(crate) can_read_all_group_messages: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Chat {
    #[serde(deserialize_with = "lenient")]
    pub(crate) id: i64,
    /// `private`, `group`, `supergroup` or `channel`.
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub(crate) kind: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) title: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) is_forum: bool,
}

/// `offset` and `length` count UTF-16 units.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Entity {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub(crate) kind: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) offset: usize,
    #[serde(deserialize_with = "lenient")]
    pub(crate) length: usize,
    #[serde(deserialize_with = "lenient")]
    pub(crate) url: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) user: Option<User>,
}

/// The part of the replied message that somebody marked.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Quote {
    #[serde(deserialize_with = "lenient")]
    pub(crate) text: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Origin {
    #[serde(deserialize_with = "lenient")]
    pub(crate) sender_user: Option<User>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) sender_user_name: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) sender_chat: Option<Chat>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) chat: Option<Chat>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Media {
    #[serde(deserialize_with = "lenient")]
    pub(crate) file_id: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) file_name: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) mime_type: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) file_size: u64,
}

/// A button under a message of ours was pressed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Press {
    #[serde(deserialize_with = "lenient")]
    pub(crate) id: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) from: User,
    /// Of an old message only chat and number are told.
    #[serde(deserialize_with = "lenient")]
    pub(crate) message: Option<Box<Message>>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) data: String,
}

/// What we may do in a chat has changed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Membership {
    #[serde(deserialize_with = "lenient")]
    pub(crate) chat: Chat,
    #[serde(deserialize_with = "lenient")]
    pub(crate) new_chat_member: Standing,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Standing {
    #[serde(deserialize_with = "lenient")]
    pub(crate) status: String,
}

/// The answer of `getWebhookInfo`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WebhookInfo {
    #[serde(deserialize_with = "lenient")]
    pub(crate) url: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) pending_update_count: u64,
    #[serde(deserialize_with = "lenient")]
    pub(crate) last_error_message: String,
}

impl User {
    /// As people call her.
    pub(crate) fn name(&self) -> Option<String> {
        let name = format!("{} {}", self.first_name, self.last_name);
        let name = name.trim();
        (!name.is_empty()).then(|| name.to_owned()).or_else(|| self.username.clone())
    }
}

impl Chat {
    pub(crate) fn is_private(&self) -> bool {
        match self.kind.as_str() {
            "private" => true,
            "" => self.id > 0,
            _ => false,
        }
    }
}

impl Message {
    /// What is said, in the message itself or under its file.
    pub(crate) fn said(&self) -> (&str, &[Entity]) {
        if self.text.is_empty() { (&self.caption, &self.caption_entities) } else { (&self.text, &self.entities) }
    }
}

/// What an update is, for one log line a kind.
pub(crate) fn kind_of(update: &Value) -> String {
    let mut fields = update.as_object().into_iter().flat_map(|fields| fields.keys());
    fields.find(|name| *name != "update_id").cloned().unwrap_or_else(|| "nothing".to_owned())
}

/// Takes what fits and the default for what doesn't.
fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).unwrap_or_default())
}

/// Takes the elements that fit.
fn lenient_list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let Value::Array(items) = Value::deserialize(deserializer)? else { return Ok(Vec::new()) };
    Ok(items.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_odd_field_costs_only_itself() {
        let message: Message = serde_json::from_value(json!({
            "message_id": 7, "text": "kept", "entities": [{"type": "bold", "offset": -1, "length": 4}, 7, null,
                {"type": "shape_of_next_year", "offset": 0, "length": 4, "user": "?"}],
            "from": {"id": "x", "first_name": "Alice"}, "chat": {"id": -4001, "type": 3}, "date": "today",
            "photo": {"file_id": "x"}, "quote": 3, "reply_to_message": 5, "document": {"file_id": "d", "file_size": -1},
        }))
        .unwrap();
        assert_eq!((message.message_id, message.text.as_str(), message.entities.len()), (7, "kept", 2));
        assert_eq!(message.from.map(|from| (from.id, from.first_name)), Some((0, "Alice".to_owned())));
        assert_eq!((message.chat.id, message.date), (-4001, 0));
        assert_eq!(message.document.map(|file| file.file_id), Some("d".to_owned()));
        assert!(message.photo.is_empty() && message.reply_to_message.is_none() && message.quote.text.is_empty());
    }

    #[test]
    fn an_update_says_what_it_is() {
        for (update, kind) in [
            (json!({"update_id": 1, "message": {}}), "message"),
            (json!({"poll": {}, "update_id": 1}), "poll"),
            (json!({"update_id": 1}), "nothing"),
            (json!([]), "nothing"),
        ] {
            assert_eq!(kind_of(&update), kind);
        }
    }
}
