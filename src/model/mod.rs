//! The words in which the coordinator speaks with a language model, and the seam each provider implements.
//!
//! A provider turns a [`ModelRequest`] into one HTTP call and its stream into [`ModelEvent`]s. It decides nothing: when to
//! retry is [`Retry`]'s business, what to do with a call is the turn's.

mod anthropic;
mod catalog;
mod decode;
mod delay;
mod endpoint;
mod exchange;
#[cfg(test)]
mod loopback;
mod message;
mod names;
mod openai;
mod reference;
mod refusal;
mod retry;
mod scrub;
mod sse;
#[cfg(test)]
mod streams;

pub use anthropic::{Anthropic, AnthropicConfig};
pub use catalog::{ModelChoice, ModelLookup, Models};
pub use endpoint::{ProviderSetup, Timeouts};
pub use message::{
    Completion, Image, Message, ModelEvent, ModelRequest, StopReason, ToolCall, ToolChoice, ToolSpec, Usage,
};
pub use openai::{OpenAi, OpenAiConfig};
pub use reference::{Aliases, ModelRef, ReferenceError, resolve};
pub use retry::{Retry, RetryPolicy};
pub use sse::{SseError, SseEvent, SseParser};

use std::{fmt, pin::Pin, time::Duration};

use futures::Stream;

pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// One way to reach a model. The stream ends with exactly one [`ModelEvent::Done`] or one error, and after either with
/// nothing; a stream that is cut before the provider said it was complete is an error, never a short answer. Dropping the
/// stream cancels the call.
pub trait ModelProvider: fmt::Debug + Send + Sync + 'static {
    fn stream(&self, request: ModelRequest) -> ModelStream;
}

/// Named by the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("the model's provider asks to wait{}", after.map(|d| format!(" {} s", d.as_secs())).unwrap_or_default())]
    RateLimited { after: Option<Duration> },
    #[error("the model's provider is overloaded")]
    Overloaded { after: Option<Duration> },
    /// Connection, time-out, 5xx, a stream that broke off.
    #[error("the model could not be reached: {0}")]
    Unavailable(String),
    #[error("the conversation is too long for the model: {0}")]
    TooLong(String),
    #[error("the model's provider refused the key: {0}")]
    Auth(String),
    /// The request is wrong in itself; the same request will fail again.
    #[error("the model's provider rejected the request: {0}")]
    Rejected(String),
}

impl ModelError {
    /// Whether the same request may succeed a little later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Overloaded { .. } | Self::Unavailable(_))
    }
}
