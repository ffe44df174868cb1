//! Models behind the messages wire format: Anthropic's own, and servers that speak it. Writing a request is `wire`'s
//! business, reading an answer `assemble`'s.

mod assemble;
mod ids;
#[cfg(test)]
mod tests;
mod thoughts;
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

/// Every model since Claude 3.7 can write as much; one that can't says how much it can, and is asked for that. The format
/// wants a number, and thoughts count too.
const MAX_TOKENS: u64 = 16_384;

/// An answer that may not even be as long as this is none.
const LEAST_TOKENS: u64 = 1_024;

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
            // Servers of others want it where every other format has it; some look nowhere else.
            if !is_anthropics_own(&config.base_url) {
                let bearer = format!("Bearer {}", key.expose_secret());
                let mut value = HeaderValue::try_from(bearer).map_err(|_| ProviderSetup::Key)?;
                value.set_sensitive(true);
                headers.insert(header::AUTHORIZATION, value);
            }
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

fn is_anthropics_own(base: &Url) -> bool {
    base.domain().is_some_and(|host| host == "anthropic.com" || host.ends_with(".anthropic.com"))
}

#[derive(Debug)]
struct Messages;

/// What one model, or a server that only speaks the format, refuses.
#[derive(Clone, Debug, Default, PartialEq)]
struct Lessons {
    /// The most it can write.
    max_tokens: Option<u64>,
    /// What this conversation leaves of the context window.
    room: Option<u64>,
    /// Of this conversation: signatures are bound to what stands before them, which may be older than the rule. The answer
    /// is what counts.
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

    fn assembler(request: &ModelRequest) -> Assembler {
        Assembler::new(Arc::clone(&request.model)).reminded(request.reminder.as_deref())
    }

    fn learn(said: &str, error: &ModelError, request: &ModelRequest, lessons: &mut Lessons) {
        match error {
            ModelError::TooLong(_) => lessons.ask_for_less(said),
            // Some gateways refuse a signature with the status of a rate limit.
            ModelError::RateLimited { .. } if said.contains("signature") => lessons.leave_out(said, request),
            ModelError::Rejected(_) => lessons.leave_out(said, request),
            _ => {}
        }
    }

    fn keep(lessons: Lessons, kept: &mut Lessons) {
        kept.max_tokens = kept.max_tokens.into_iter().chain(lessons.max_tokens).min();
        kept.without_marks |= lessons.without_marks;
        kept.without_choice |= lessons.without_choice;
    }
}

impl Lessons {
    fn asked(&self) -> u64 {
        self.max_tokens.into_iter().chain(self.room).fold(MAX_TOKENS, u64::min)
    }

    /// The window holds question and answer: a shorter answer may still fit.
    fn ask_for_less(&mut self, said: &str) {
        if !["max_tokens", "completion", "output"].iter().any(|word| said.contains(word)) {
            return;
        }
        let asked = self.asked();
        if let Some(window) = number_after(said, "maximum context length is ").filter(|window| *window <= asked) {
            self.max_tokens = Some(window / 4).filter(|most| *most > 0);
        } else {
            self.room = Some(room(said).unwrap_or(asked / 4)).filter(|room| (LEAST_TOKENS..asked).contains(room));
        }
    }

    fn leave_out(&mut self, said: &str, request: &ModelRequest) {
        let before = self.clone();
        let names = |word: &str| said.contains(word);
        if self.max_tokens.is_none() {
            self.max_tokens = most_tokens(said).filter(|most| (1..MAX_TOKENS).contains(most));
        }
        let thinks = |message: &Message| match message {
            Message::Assistant { reasoning, .. } => thoughts::of(reasoning, &request.model).is_some(),
            _ => false,
        };
        self.without_thoughts |= (names("thinking") || names("signature")) && request.messages.iter().any(thinks);
        self.without_marks |= names("cache_control");
        // A guess, where nothing is named. What didn't help is not remembered.
        if *self == before {
            self.without_choice |= request.tool_choice == ToolChoice::None && !request.tools.is_empty();
        }
    }
}

/// From `exceed context limit: 190000 + 16384 > 200000`.
fn room(said: &str) -> Option<u64> {
    let said = said.replace("\\u003e", ">");
    let (sum, limit) = said.split_once(" > ")?;
    let (input, _) = sum.rsplit_once(" + ")?;
    let input: u64 = input.rsplit(' ').next()?.parse().ok()?;
    number_after(limit, "")?.checked_sub(input)
}

fn number_after(said: &str, words: &str) -> Option<u64> {
    let (_, rest) = said.split_once(words)?;
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
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
