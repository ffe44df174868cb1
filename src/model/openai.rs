//! Models behind the chat-completions wire format, OpenAI's own and the many servers that speak it. Writing a request is
//! `wire`'s business, reading an answer `assemble`'s.

mod assemble;
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
    ModelProvider, ModelRequest, ModelStream, ProviderSetup, Timeouts, ToolChoice,
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
    /// Then calls may come that were not asked for; who reads the answer leaves them alone.
    without_choice: bool,
}

impl Format for ChatCompletions {
    type Assembler = Assembler;
    type Lessons = Lessons;

    fn body(request: &ModelRequest, lessons: &Lessons) -> Result<Vec<u8>, serde_json::Error> {
        wire::body(request, lessons)
    }

    fn assembler(model: &Arc<str>) -> Assembler {
        Assembler::new(Arc::clone(model))
    }

    fn learn(refusal: &str, request: &ModelRequest, lessons: &mut Lessons) {
        // Such as "property 'stream_options' is unsupported", or a path `["body", "stream_options", "include_usage"]`.
        lessons.without_usage |= refusal.contains("stream_options") || refusal.contains("include_usage");
        lessons.without_choice |= refusal.contains("tool_choice") && request.tool_choice == ToolChoice::None;
    }
}
