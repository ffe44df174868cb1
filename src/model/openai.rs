//! Models behind the chat-completions wire format, OpenAI's own and the many servers that speak it. Writing a request is
//! `wire`'s business, reading an answer `decode`'s; this file moves the bytes.

mod assemble;
mod calls;
mod decode;
mod reasoning;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod tests;
mod wire;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::stream;
use http::{HeaderMap, HeaderValue, header};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;
use url::Url;

use super::{
    ModelError, ModelEvent, ModelProvider, ModelRequest, ModelStream, ProviderSetup, Timeouts,
    endpoint::{Answer, Endpoint},
};
use crate::clock::SharedClock;
use decode::Decoder;

/// Once the answer is complete, only its token counts are still waited for.
const AFTERWORD: Duration = Duration::from_secs(3);

const SETTLE: Duration = Duration::from_millis(20);

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
    endpoint: Arc<Endpoint>,
}

impl OpenAi {
    /// Needs rustls' process-wide crypto provider to be installed.
    pub fn new(config: OpenAiConfig) -> Result<Self, ProviderSetup> {
        let key = config.api_key.map(|key| SecretString::from(key.expose_secret().trim()));
        let key = key.filter(|key| !key.expose_secret().is_empty());
        let mut headers = HeaderMap::new();
        if let Some(key) = &key {
            let bearer = format!("Bearer {}", key.expose_secret());
            let mut value = HeaderValue::try_from(bearer).map_err(|_| ProviderSetup::Key)?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        let path = ["chat", "completions"];
        let endpoint = Endpoint::new(&config.base_url, &path, key.as_ref(), headers, config.timeouts, config.clock)?;
        Ok(Self { endpoint: Arc::new(endpoint) })
    }
}

impl ModelProvider for OpenAi {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        let exchange =
            Exchange { endpoint: Arc::clone(&self.endpoint), phase: Phase::Ask(request), out: VecDeque::new() };
        Box::pin(stream::unfold(exchange, |mut exchange| async move { Some((exchange.next().await?, exchange)) }))
    }
}

struct Exchange {
    endpoint: Arc<Endpoint>,
    phase: Phase,
    /// Read, but not asked for yet.
    out: VecDeque<ModelEvent>,
}

enum Phase {
    Ask(ModelRequest),
    Read(Box<Reading>),
    Failed(ModelError),
    Over,
}

struct Reading {
    answer: Answer,
    decoder: Decoder,
    /// Set when the answer is complete.
    latest: Option<Instant>,
}

impl Exchange {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.out.pop_front() {
                return Some(Ok(event));
            }
            // Taken out first: whatever happens to this future, nothing is done twice.
            let step = match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Failed(error) => return Some(Err(error)),
                Phase::Ask(request) => self.ask(&request).await,
                Phase::Read(reading) => reading.step(&mut self.out).await,
            };
            self.phase = step.unwrap_or_else(Phase::Failed);
        }
    }

    async fn ask(&self, request: &ModelRequest) -> Result<Phase, ModelError> {
        let body = wire::body(request).map_err(|e| ModelError::Rejected(e.to_string()))?;
        let answer = self.endpoint.post(Bytes::from(body)).await?;
        if answer.is_web_page() {
            return Err(ModelError::Rejected("it answered with a web page: base_url is wrong".to_owned()));
        }
        let decoder = Decoder::new(Arc::clone(&request.model), self.endpoint.scrub().clone());
        Ok(Phase::Read(Box::new(Reading { answer, decoder, latest: None })))
    }
}

impl Reading {
    /// Reads one piece.
    async fn step(mut self: Box<Self>, out: &mut VecDeque<ModelEvent>) -> Result<Phase, ModelError> {
        let over = match self.answer.next(self.latest).await {
            Ok(Some(piece)) => {
                self.decoder.push(&piece, out)?;
                self.decoder.is_over()
            }
            Ok(None) => true,
            // The connection fails after the last word: the answer is whole all the same.
            Err(_) if self.decoder.is_answered() => true,
            Err(error) => return Err(error),
        };
        if over {
            if self.decoder.is_over() {
                // Reading to the very end lets the connection be used again.
                let _ = self.answer.next(Some(Instant::now() + SETTLE)).await;
            }
            let completion = self.decoder.end(out)?;
            out.push_back(ModelEvent::Done(completion));
            return Ok(Phase::Over);
        }
        if self.latest.is_none() && self.decoder.is_answered() {
            self.latest = Some(Instant::now() + AFTERWORD);
        }
        Ok(Phase::Read(self))
    }
}
