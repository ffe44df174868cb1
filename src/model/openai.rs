//! Models behind the chat-completions wire format, OpenAI's own and the many servers that speak it. Writing a request is
//! `wire`'s business, reading an answer `assemble`'s.

mod assemble;
mod by_turns;
mod calls;
mod reasoning;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, header};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::{
    Message, ModelError, ModelProvider, ModelRequest, ModelStream, ProviderSetup, Timeouts, ToolChoice,
    endpoint::{self, Endpoint},
    exchange::{Format, Line},
};
use crate::clock::SharedClock;
pub(in crate::model) use assemble::Assembler;

#[derive(Clone, Debug)]
pub struct OpenAiConfig {
    /// Up to and including the version, such as `https://api.openai.com/v1`.
    pub base_url: Url,
    /// Servers on one's own machine often need none.
    pub api_key: Option<SecretString>,
    pub timeouts: Timeouts,
    /// For delays that a provider states as a point in time.
    pub clock: SharedClock,
}

#[derive(Clone, Debug)]
pub struct OpenAi {
    line: Arc<Line<ChatCompletions>>,
}

impl OpenAi {
    /// Needs rustls' process-wide crypto provider to be installed.
    pub fn new(config: OpenAiConfig) -> Result<Self, ProviderSetup> {
        let key = endpoint::usable(config.api_key);
        let mut headers = HeaderMap::new();
        if let Some(key) = &key {
            let bearer = format!("Bearer {}", key.expose_secret());
            let mut value = HeaderValue::try_from(bearer).map_err(|_| ProviderSetup::Key)?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        let path = ["chat", "completions"];
        let endpoint = Endpoint::new(&config.base_url, &path, key.as_ref(), headers, config.timeouts, config.clock)?;
        Ok(Self { line: Line::new(endpoint) })
    }
}

impl ModelProvider for OpenAi {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        self.line.stream(request)
    }
}

#[derive(Debug)]
struct ChatCompletions;

/// What servers refuse that call themselves compatible.
#[derive(Clone, Debug, Default, PartialEq)]
struct Lessons {
    /// Then nothing is known about the tokens.
    without_usage: bool,
    /// What may not be called is then left out itself: the cache is lost, the last answer isn't.
    without_choice: bool,
    /// Some want back what the model thought, and some refuse it.
    without_reasoning: bool,
    /// Some templates refuse two messages of a user in a row, or one behind a result.
    by_turns: bool,
}

impl Format for ChatCompletions {
    type Assembler = Assembler;
    type Lessons = Lessons;

    fn body(request: &ModelRequest, lessons: &Lessons) -> Result<Vec<u8>, serde_json::Error> {
        wire::body(request, lessons)
    }

    fn assembler(request: &ModelRequest) -> Assembler {
        Assembler::new(Arc::clone(&request.model))
    }

    fn learn(said: &str, error: &ModelError, request: &ModelRequest, lessons: &mut Lessons) {
        let before = lessons.clone();
        // Some fail over it instead of refusing it.
        if matches!(error, ModelError::Rejected(_) | ModelError::Unavailable(_)) {
            lessons.by_turns |= said.contains("must alternate") || said.contains("after role 'tool'");
        }
        if !matches!(error, ModelError::Rejected(_)) {
            return;
        }
        // Such as "property 'stream_options' is unsupported", or a path `["body", "stream_options", "include_usage"]`.
        lessons.without_usage |= said.contains("stream_options") || said.contains("include_usage");
        let thinks = |message: &Message| match message {
            Message::Assistant { reasoning, .. } => !reasoning::fields(reasoning, &request.model).is_empty(),
            _ => false,
        };
        lessons.without_reasoning |= said.contains("reasoning") && request.messages.iter().any(thinks);
        // Some refuse it without a name, such as Zhipu with its code 1210. What didn't help is not remembered.
        if *lessons == before {
            lessons.without_choice |= request.tool_choice == ToolChoice::None && !request.tools.is_empty();
        }
    }

    fn keep(lessons: Lessons, kept: &mut Lessons) {
        kept.without_usage |= lessons.without_usage;
        kept.without_choice |= lessons.without_choice;
        kept.without_reasoning |= lessons.without_reasoning;
        kept.by_turns |= lessons.by_turns;
    }
}
