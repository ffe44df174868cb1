//! Messages, requests and what comes back, in a form both wire formats can be written from.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One entry of a transcript as a model sees it. Stored as JSON in `chat_messages` and never changed afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    User {
        text: String,
        /// Shown to models that take pictures; a provider of others is given requests without.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    Assistant {
        text: String,
        /// Reasoning blocks as the provider sent them, to be returned unchanged.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reasoning: Vec<Value>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// The result of one call of the assistant message before it.
    Tool { call_id: String, name: String, text: String },
}

impl Message {
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), images: Vec::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// Base64, as every provider takes it.
    pub data: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// JSON text exactly as the model wrote it: it goes back unchanged, also when it doesn't parse.
    pub arguments: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON schema of the arguments.
    pub parameters: Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    #[default]
    Auto,
    /// The tools stay in the request (its prefix must not change), but none may be called.
    None,
}

/// `system`, `tools` and `messages` are the stable prefix: byte-identical from call to call, only ever extended.
/// `reminder` changes from call to call and is sent last, as a user message that is no part of the transcript. A provider
/// whose thoughts are signed together with it keeps it beside them.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The provider's own name of the model.
    pub model: Arc<str>,
    pub system: Arc<str>,
    pub tools: Arc<[ToolSpec]>,
    pub messages: Vec<Message>,
    pub reminder: Option<String>,
    pub tool_choice: ToolChoice,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// A piece of the answer's text, in order (a delta, never a snapshot).
    Text(String),
    /// The call's name is known, its arguments are still coming.
    CallStarted { name: String },
    /// The last event. Everything in one piece.
    Done(Completion),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    pub text: String,
    pub reasoning: Vec<Value>,
    pub calls: Vec<ToolCall>,
    pub stop: StopReason,
    pub usage: Usage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    End,
    ToolCalls,
    /// The provider's output limit: the text is cut.
    Length,
    /// The provider's content filter.
    Filtered,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub input_tokens: u64,
    /// The part of `input_tokens` that came from the provider's cache.
    pub cached_tokens: u64,
    pub output_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.cached_tokens += other.cached_tokens;
        self.output_tokens += other.output_tokens;
    }
}
