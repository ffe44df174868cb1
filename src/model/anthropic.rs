//! Models behind the messages wire format: Anthropic's own, and servers that speak it. Writing a request is `wire`'s
//! business, reading an answer `assemble`'s.

mod assemble;
mod ids;
#[cfg(test)]
mod tests;
mod thoughts;
mod wire;

use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::{
    Message, ModelProvider, ModelRequest, ModelStream, ProviderSetup, Timeouts, ToolChoice,
    endpoint::{self, Endpoint},
    exchange::{Format, Line},
};
use crate::clock::SharedClock;
pub(in crate::model) use assemble::Assembler;

/// Every model since Claude 3.7 can write as much; one that can't says how much it can, and is asked for that. The format
/// wants a number, and thoughts count too.
const MAX_TOKENS: u64 = 16_384;

#[derive(Clone, Debug)]
pub struct AnthropicConfig {
    /// With or without the version: `https://api.anthropic.com` or `https://api.anthropic.com/v1`.
    pub base_url: Url,
    /// Servers on one's own machine often need none.
    pub api_key: Option<SecretString>,
    pub timeouts: Timeouts,
    /// For delays that a provider states as a point in time.
    pub clock: SharedClock,
}

#[derive(Clone, Debug)]
pub struct Anthropic {
    line: Arc<Line<Messages>>,
}

impl Anthropic {
    /// Needs rustls' process-wide crypto provider to be installed.
    pub fn new(config: AnthropicConfig) -> Result<Self, ProviderSetup> {
        let key = endpoint::usable(config.api_key);
        let mut headers = HeaderMap::new();
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        if let Some(key) = &key {
            let mut value = HeaderValue::try_from(key.expose_secret()).map_err(|_| ProviderSetup::Key)?;
            value.set_sensitive(true);
            headers.insert("x-api-key", value);
        }
        let base = &config.base_url;
        let last = base.path_segments().and_then(|mut path| path.rfind(|segment| !segment.is_empty()));
        let path: &[&str] = if last == Some("v1") { &["messages"] } else { &["v1", "messages"] };
        let endpoint = Endpoint::new(base, path, key.as_ref(), headers, config.timeouts, config.clock)?;
        Ok(Self { line: Line::new(endpoint) })
    }
}

impl ModelProvider for Anthropic {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        self.line.stream(request)
    }
}

#[derive(Debug)]
struct Messages;

/// What one model, or a server that only speaks the format, refuses.
#[derive(Clone, Debug, Default, PartialEq)]
struct Lessons {
    /// The most it can write.
    max_tokens: Option<u64>,
    /// Signatures can be bound to everything before them, also to the reminder, which moves. The answer is what counts.
    without_thoughts: bool,
    without_marks: bool,
    /// Then calls may come that were not asked for; who reads the answer leaves them alone.
    without_choice: bool,
}

impl Format for Messages {
    type Assembler = Assembler;
    type Lessons = Lessons;

    fn body(request: &ModelRequest, lessons: &Lessons) -> Result<Vec<u8>, serde_json::Error> {
        wire::body(request, lessons)
    }

    fn assembler(model: &Arc<str>) -> Assembler {
        Assembler::new(Arc::clone(model))
    }

    fn learn(refusal: &str, request: &ModelRequest, lessons: &mut Lessons) {
        let names = |word: &str| refusal.contains(word);
        if lessons.max_tokens.is_none() {
            lessons.max_tokens = most_tokens(refusal).filter(|most| (1..MAX_TOKENS).contains(most));
        }
        let thinks = |message: &Message| match message {
            Message::Assistant { reasoning, .. } => thoughts::of(reasoning, &request.model).is_some(),
            _ => false,
        };
        lessons.without_thoughts |= (names("thinking") || names("signature")) && request.messages.iter().any(thinks);
        lessons.without_marks |= names("cache_control");
        lessons.without_choice |= names("tool_choice") && request.tool_choice == ToolChoice::None;
    }
}

/// From `max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens`.
fn most_tokens(refusal: &str) -> Option<u64> {
    let refusal = refusal.replace("\\u003e", ">");
    let (_, told) = refusal.split_once("max_tokens")?;
    let (asked, most) = told.split_once('>')?;
    let digits = |text: &str| text.trim_start().chars().take_while(char::is_ascii_digit).collect::<String>();
    digits(asked.trim_start_matches([':', '`'])).parse::<u64>().ok()?;
    digits(most).parse().ok()
}
