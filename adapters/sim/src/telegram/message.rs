//! Messages as people see them, with every version they have had.

use std::time::Duration;

use serde_json::{Map, Value};

use super::files::SimFile;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    Bot,
    User(i64),
    /// An administrator who writes as the group.
    Anonymous,
    /// A channel's post.
    Channel,
    /// The service itself.
    Service,
}

/// What a message said from then on. Of a file it is the caption.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    pub text: String,
    /// As on the wire.
    pub entities: Vec<Value>,
    /// The inline keyboard, as on the wire.
    pub keyboard: Option<Value>,
    /// Since the simulator started.
    pub at: Duration,
}

#[derive(Clone, Debug)]
pub struct Message {
    pub chat: i64,
    pub id: i64,
    pub author: Author,
    /// Unix seconds.
    pub date: u64,
    pub edit_date: Option<u64>,
    /// The forum topic; nothing in General and outside forums.
    pub topic: Option<i64>,
    /// What it answers, if its author said so.
    pub reply_to: Option<i64>,
    /// Every version, the first included.
    pub edits: Vec<Version>,
    pub file: Option<SimFile>,
    pub deleted: bool,
    /// Sent with `disable_notification`.
    pub silent: bool,
    /// Reactions of the bot.
    pub reactions: Vec<String>,
    /// First message of the chain of replies, where the wire tells it.
    pub(crate) thread: Option<i64>,
    /// Further fields on the wire.
    pub(crate) extra: Map<String, Value>,
    pub(crate) looked_at: bool,
}

impl Message {
    fn now(&self) -> Option<&Version> {
        self.edits.last()
    }

    pub fn text(&self) -> &str {
        self.now().map_or("", |version| &version.text)
    }

    pub fn entities(&self) -> &[Value] {
        self.now().map_or(&[], |version| &version.entities)
    }

    pub fn keyboard(&self) -> Option<&Value> {
        self.now()?.keyboard.as_ref()
    }

    /// Label and data of each button, row after row.
    pub fn buttons(&self) -> Vec<(String, String)> {
        let rows = self.keyboard().and_then(|keyboard| keyboard["inline_keyboard"].as_array());
        let buttons = rows.into_iter().flatten().filter_map(Value::as_array).flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        buttons.map(|button| (text(&button["text"]), text(&button["callback_data"]))).collect()
    }

    /// The parts of the text under entities of this kind.
    pub fn marked(&self, kind: &str) -> Vec<String> {
        let units: Vec<u16> = self.text().encode_utf16().collect();
        let of_kind = self.entities().iter().filter(|entity| entity["type"] == kind);
        let number = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
        let part = |entity: &Value| {
            let part = units.iter().skip(number(&entity["offset"])).take(number(&entity["length"]));
            String::from_utf16_lossy(&part.copied().collect::<Vec<_>>())
        };
        of_kind.map(part).collect()
    }
}
