//! Slack's JSON as far as we read it. Every field is optional and a misfit counts as absent: one odd field must never
//! cost a message. What the fields mean is decided elsewhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value};

/// One text frame of Socket Mode: hello, disconnect or an envelope.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Frame {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub(crate) kind: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) envelope_id: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) payload: Value,
    #[serde(deserialize_with = "lenient")]
    pub(crate) accepts_response_payload: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) retry_attempt: u32,
    #[serde(deserialize_with = "lenient")]
    pub(crate) reason: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) num_connections: usize,
}

/// The payload of an `events_api` envelope.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Callback {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub(crate) kind: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) event_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) api_app_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) is_ext_shared_channel: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) event: Message,
}

/// A message, as an event, inside an event, or in a listing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Message {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub(crate) kind: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) subtype: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) user: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) bot_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) app_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) bot_profile: BotProfile,
    #[serde(deserialize_with = "lenient")]
    pub(crate) user_profile: UserProfile,
    #[serde(deserialize_with = "lenient")]
    pub(crate) username: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) text: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) ts: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) thread_ts: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) channel: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) channel_type: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) team: Option<String>,
    /// The author's own team, and the one the author wrote from: told where several organisations meet.
    #[serde(deserialize_with = "lenient")]
    pub(crate) user_team: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) source_team: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) edited: Option<Value>,
    #[serde(deserialize_with = "lenient_list")]
    pub(crate) attachments: Vec<Attachment>,
    #[serde(deserialize_with = "lenient_list")]
    pub(crate) blocks: Vec<Value>,
    #[serde(deserialize_with = "lenient_list")]
    pub(crate) files: Vec<File>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) metadata: Metadata,
    /// The message itself, where the event tells of a change.
    #[serde(deserialize_with = "lenient")]
    pub(crate) message: Option<Box<Message>>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) previous_message: Option<Box<Message>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct BotProfile {
    #[serde(deserialize_with = "lenient")]
    pub(crate) app_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) name: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) team_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct UserProfile {
    #[serde(deserialize_with = "lenient")]
    pub(crate) team: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) display_name: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) real_name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Attachment {
    #[serde(deserialize_with = "lenient")]
    pub(crate) pretext: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) title: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) title_link: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) text: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) fallback: String,
    #[serde(deserialize_with = "lenient_list")]
    pub(crate) fields: Vec<Field>,
    #[serde(deserialize_with = "lenient_list")]
    pub(crate) blocks: Vec<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Field {
    #[serde(deserialize_with = "lenient")]
    pub(crate) title: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) value: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct File {
    #[serde(deserialize_with = "lenient")]
    pub(crate) id: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) name: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) mimetype: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) size: u64,
    #[serde(deserialize_with = "lenient")]
    pub(crate) mode: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) file_access: String,
    /// By kind of channel, then by channel: the messages that show it.
    #[serde(deserialize_with = "lenient")]
    pub(crate) shares: BTreeMap<String, BTreeMap<String, Vec<Share>>>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) url_private: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) url_private_download: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Share {
    #[serde(deserialize_with = "lenient")]
    pub(crate) ts: String,
}

/// The answer of `files.info`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FileInfo {
    #[serde(deserialize_with = "lenient")]
    pub(crate) file: File,
}

/// The answer of `files.getUploadURLExternal`. The address lets anybody write: never log it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct UploadUrl {
    #[serde(deserialize_with = "lenient")]
    pub(crate) upload_url: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) file_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Metadata {
    #[serde(deserialize_with = "lenient")]
    pub(crate) event_type: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) event_payload: Map<String, Value>,
}

/// A page of `conversations.replies` or `conversations.history`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Page {
    #[serde(deserialize_with = "lenient_list")]
    pub(crate) messages: Vec<Message>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) response_metadata: Cursor,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Cursor {
    #[serde(deserialize_with = "lenient")]
    pub(crate) next_cursor: String,
}

/// The answer of `chat.postMessage`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Posted {
    #[serde(deserialize_with = "lenient")]
    pub(crate) channel: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) ts: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) message: Option<Message>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) warning: Option<String>,
}

/// The answer of `conversations.open`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Chat {
    #[serde(deserialize_with = "lenient")]
    pub(crate) channel: Room,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Room {
    #[serde(deserialize_with = "lenient")]
    pub(crate) id: String,
}

/// The answer of `auth.test`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AuthTest {
    #[serde(deserialize_with = "lenient")]
    pub(crate) user_id: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) bot_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) team_id: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) enterprise_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) is_enterprise_install: bool,
}

/// The answer of `apps.connections.open`. The address holds a ticket: never log it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Opened {
    #[serde(deserialize_with = "lenient")]
    pub(crate) url: String,
}

/// Takes what fits and the default for what doesn't.
pub(crate) fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).unwrap_or_default())
}

/// Takes the elements that fit.
pub(crate) fn lenient_list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
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
            "type": "message", "text": "kept", "ts": 12, "user": null, "metadata": {"event_payload": {"n": 1}},
            "attachments": [{"id": "x", "title": "kept too"}, 7, null], "files": "none", "blocks": {"a": 1},
            "bot_profile": "?", "edited": null,
        }))
        .unwrap();
        assert_eq!(message.text, "kept");
        assert_eq!(message.ts, "");
        assert_eq!(message.user, None);
        assert_eq!(message.attachments.len(), 1);
        assert_eq!(message.attachments[0].title, "kept too");
        assert!(message.edited.is_none());
        assert_eq!(message.metadata.event_payload.get("n"), Some(&json!(1)));
    }

    #[test]
    fn one_odd_message_does_not_poison_its_page() {
        let page: Page = serde_json::from_value(json!({"ok": true, "messages": [
            {"ts": "1.000001", "text": "a", "metadata": {}}, "tombstone", {"ts": "1.000002", "text": "b", "metadata": 3},
        ]}))
        .unwrap();
        assert_eq!(page.messages.iter().map(|m| m.text.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(page.response_metadata.next_cursor, "");
    }
}
