//! One message with everything that ever happened to it, and its form on the wire.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{APP_ID, BOT_ID, BOT_USER, TEAM_ID};

/// A message as the workspace keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub channel: String,
    pub ts: String,
    /// The parent's `ts`; absent at top level.
    pub thread_ts: Option<String>,
    pub author: Author,
    /// Every text it has had. The first is the one it was posted with.
    pub edits: Vec<Edit>,
    pub blocks: Option<Value>,
    pub attachments: Option<Value>,
    pub metadata: Option<Value>,
    pub reactions: Vec<Reaction>,
    pub deleted: bool,
    /// The one person who can see it.
    pub ephemeral_to: Option<String>,
    /// Wire fields that have no meaning here, such as `subtype`, `files` and `client_msg_id`.
    pub extra: Map<String, Value>,
    /// Whether the reader is shown that it was edited: not for edits that carry blocks.
    pub marked_edited: Option<String>,
    pub(crate) looked_at: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    Person(String),
    /// The bot under test.
    Bot,
    /// Some other app, by its bot id.
    OtherBot(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    pub text: String,
    pub blocks: Option<Value>,
    /// Since the simulator started.
    pub at: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaction {
    pub name: String,
    pub by: String,
}

impl Edit {
    /// Whether the blocks say what the text says, letter by letter and in its order. Without blocks there is nothing to compare.
    pub fn blocks_agree(&self) -> bool {
        let Some(blocks) = &self.blocks else { return true };
        let mut told = String::new();
        collect_texts(blocks, &mut told);
        let (said, shown) = (letters(&self.text), letters(&told));
        let mut rest = shown.chars();
        // Where a table is cut its head comes again: more of the same is no disagreement.
        said.chars().all(|c| rest.any(|shown| shown == c))
            && told.split_whitespace().all(|word| said.contains(&letters(word)))
    }
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

impl Message {
    /// The text it has now.
    pub fn text(&self) -> &str {
        self.edits.last().map_or("", |edit| &edit.text)
    }

    /// What the reader can read: the text, or the texts in blocks and attachments if the text is only their summary.
    pub fn everything(&self) -> String {
        let mut all = self.text().to_owned();
        for part in [&self.blocks, &self.attachments].into_iter().flatten() {
            collect_texts(part, &mut all);
        }
        all
    }

    pub(crate) fn thread(&self) -> &str {
        self.thread_ts.as_deref().unwrap_or(&self.ts)
    }

    /// The message object, as events and `conversations.*` show it.
    pub(crate) fn wire(&self) -> Map<String, Value> {
        let mut wire = self.extra.clone();
        wire.insert("type".into(), "message".into());
        match &self.author {
            Author::Person(id) => {
                wire.insert("user".into(), id.as_str().into());
                wire.entry("team").or_insert(TEAM_ID.into());
            }
            Author::Bot => {
                wire.entry("user").or_insert(BOT_USER.into());
                wire.entry("bot_id").or_insert(BOT_ID.into());
                wire.insert("app_id".into(), APP_ID.into());
                wire.entry("team").or_insert(TEAM_ID.into());
                let profile = json!({"id": BOT_ID, "app_id": APP_ID, "name": "watchfloor", "deleted": false,
                    "updated": 1, "icons": {}, "team_id": TEAM_ID});
                wire.entry("bot_profile").or_insert(profile);
            }
            Author::OtherBot(id) => {
                wire.insert("bot_id".into(), id.as_str().into());
            }
        }
        wire.insert("text".into(), self.text().into());
        wire.insert("ts".into(), self.ts.as_str().into());
        for (key, part) in [("blocks", &self.blocks), ("attachments", &self.attachments)] {
            if let Some(part) = part {
                wire.insert(key.into(), part.clone());
            }
        }
        if let Some(thread) = &self.thread_ts {
            wire.insert("thread_ts".into(), thread.as_str().into());
        }
        if let Some(at) = &self.marked_edited {
            let user = wire.get("user").cloned().unwrap_or_default();
            wire.insert("edited".into(), json!({"user": user, "ts": at}));
        }
        if !self.reactions.is_empty() {
            wire.insert("reactions".into(), self.reaction_counts());
        }
        wire
    }

    fn reaction_counts(&self) -> Value {
        let mut counts: Vec<(&str, Vec<&str>)> = Vec::new();
        for reaction in &self.reactions {
            match counts.iter_mut().find(|(name, _)| *name == reaction.name) {
                Some((_, users)) => users.push(&reaction.by),
                None => counts.push((&reaction.name, vec![&reaction.by])),
            }
        }
        counts.into_iter().map(|(name, users)| json!({"name": name, "count": users.len(), "users": users})).collect()
    }
}

fn collect_texts(part: &Value, all: &mut String) {
    match part {
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, all)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if ["text", "title", "value", "fallback"].contains(&key.as_str()) => {
                        all.push('\n');
                        all.push_str(text);
                    }
                    Value::Array(_) | Value::Object(_) => collect_texts(value, all),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}
