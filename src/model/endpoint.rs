//! One HTTP address of a provider: client, time limits, and answers read piece by piece. Every error that leaves here is
//! free of addresses and keys; what the bytes mean is the wire format's business.

use std::{error::Error, fmt, net::IpAddr, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout_at};
use url::{Host, Url};

use super::{ModelError, refusal, scrub::Scrub};
use crate::clock::SharedClock;

/// An answer is never longer than this, so that a runaway server can't fill the memory.
const MAX_ANSWER_BYTES: usize = 64 << 20;
const MAX_REFUSAL_BYTES: usize = 64 << 10;

/// There is no limit on a whole answer: a long one is fine as long as something keeps coming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From sending the request to the first byte of the answer's body.
    pub first_byte: Duration,
    /// Between two pieces of the body; a comment that keeps the connection alive counts.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), first_byte: Duration::from_secs(120), idle: Duration::from_secs(120) }
    }
}

/// What is wrong with a provider's configuration.
#[derive(Debug, thiserror::Error)]
pub enum ProviderSetup {
    #[error("base_url must be an http or https address")]
    BaseUrl,
    #[error("api_key holds characters that a key can't have")]
    Key,
    #[error("the HTTP client can't be built: {0}")]
    Client(String),
}

/// Why there is no answer.
pub(super) struct Refused {
    pub(super) error: ModelError,
    /// All that the server said, for a format to learn from. Never shown: it may hold secrets.
    pub(super) said: String,
}

impl From<ModelError> for Refused {
    fn from(error: ModelError) -> Self {
        Self { error, said: String::new() }
    }
}

/// A key without the line ending that a file or a shell leaves behind.
pub(super) fn usable(key: Option<SecretString>) -> Option<SecretString> {
    let key = key.map(|key| SecretString::from(key.expose_secret().trim()));
    key.filter(|key| !key.expose_secret().is_empty())
}

pub(super) struct Endpoint {
    client: reqwest::Client,
    url: Url,
    timeouts: Timeouts,
    clock: SharedClock,
    scrub: Scrub,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// `path` is appended to the base address, whose own path and query stay.
    pub(super) fn new(
        base_url: &Url,
        path: &[&str],
        key: Option<&SecretString>,
        mut headers: HeaderMap,
        timeouts: Timeouts,
        clock: SharedClock,
    ) -> Result<Self, ProviderSetup> {
        let mut url = base_url.clone();
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(ProviderSetup::BaseUrl);
        }
        let scrub = Scrub::new(key.map(ExposeSecret::expose_secret).into_iter().chain(url.password()));
        if key.is_some() {
            // The address' own user and password would take the key's place.
            url.set_username("").and_then(|()| url.set_password(None)).map_err(|()| ProviderSetup::BaseUrl)?;
        }
        url.path_segments_mut().map_err(|()| ProviderSetup::BaseUrl)?.pop_if_empty().extend(path);
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("watchfloor/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(timeouts.connect)
            // A conversation goes where the operator said, nowhere else.
            .redirect(reqwest::redirect::Policy::none());
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|e| ProviderSetup::Client(scrub.clean(&innermost(&e.without_url()))))?;
        Ok(Self { client, url, timeouts, clock, scrub })
    }

    /// Sends the request. Any status but 2xx is an error already.
    pub(super) async fn post(&self, body: Bytes) -> Result<Answer, Refused> {
        let deadline = Instant::now() + self.timeouts.first_byte;
        let sent = self.client.post(self.url.clone()).body(body).send();
        let response = match timeout_at(deadline, sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.failed(error).into()),
            Err(_) => return Err(silent(self.timeouts.first_byte).into()),
        };
        let mut answer = Answer {
            response,
            scrub: self.scrub.clone(),
            idle: self.timeouts.idle,
            deadline,
            limit: self.timeouts.first_byte,
            read: 0,
        };
        let status = answer.response.status();
        let request_id = answer.header("x-request-id").or_else(|| answer.header("request-id"));
        tracing::debug!(http.status = status.as_u16(), http.request_id = request_id, "model endpoint answered");
        if status.is_success() {
            return Ok(answer);
        }
        let body = answer.read_refusal().await;
        let refusal = refusal::Refusal {
            status: status.as_u16(),
            headers: answer.response.headers(),
            body: &body,
            now_ms: self.clock.now_ms(),
        };
        Err(Refused { error: refusal.error(&self.scrub), said: String::from_utf8_lossy(&body).into_owned() })
    }

    pub(super) fn scrub(&self) -> &Scrub {
        &self.scrub
    }

    fn failed(&self, error: reqwest::Error) -> ModelError {
        if error.is_builder() {
            return ModelError::Rejected(self.scrub.clean(&innermost(&error.without_url())));
        }
        broken(error, &self.scrub)
    }
}

/// The body of a 2xx answer.
pub(super) struct Answer {
    response: reqwest::Response,
    scrub: Scrub,
    idle: Duration,
    deadline: Instant,
    /// The time limit that `deadline` comes from.
    limit: Duration,
    read: usize,
}

impl Answer {
    /// The next piece; `None` at a clean end. Waits until the time limit, or until `latest` if that is earlier.
    pub(super) async fn next(&mut self, latest: Option<Instant>) -> Result<Option<Bytes>, ModelError> {
        let until = latest.map_or(self.deadline, |latest| latest.min(self.deadline));
        let piece = match timeout_at(until, self.response.chunk()).await {
            Ok(Ok(piece)) => piece,
            Ok(Err(error)) => return Err(broken(error, &self.scrub)),
            Err(_) => return Err(silent(self.limit)),
        };
        self.limit = self.idle;
        self.deadline = Instant::now() + self.limit;
        self.read += piece.as_ref().map_or(0, Bytes::len);
        if self.read > MAX_ANSWER_BYTES {
            return Err(ModelError::Rejected(format!("its answer is longer than {MAX_ANSWER_BYTES} bytes")));
        }
        Ok(piece)
    }

    pub(super) fn is_web_page(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/html"))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// As much of an error's text as comes.
    async fn read_refusal(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        let latest = Instant::now() + Duration::from_secs(5).min(self.idle);
        while body.len() < MAX_REFUSAL_BYTES {
            match self.next(Some(latest)).await {
                Ok(Some(piece)) => body.extend_from_slice(&piece),
                Ok(None) | Err(_) => break,
            }
        }
        body.truncate(MAX_REFUSAL_BYTES);
        body
    }
}

fn silent(limit: Duration) -> ModelError {
    ModelError::Unavailable(format!("nothing came for {} s", limit.as_secs_f32().ceil()))
}

fn broken(error: reqwest::Error, scrub: &Scrub) -> ModelError {
    let what = if error.is_connect() { "no connection" } else { "the connection broke" };
    let error = error.without_url();
    ModelError::Unavailable(format!("{what} ({})", scrub.clean(&innermost(&error))))
}

/// The cause that says something; the layers above it say only "error sending request".
fn innermost(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => IpAddr::V4(ip).is_loopback(),
        Some(Host::Ipv6(ip)) => IpAddr::V6(ip).is_loopback(),
        None => false,
    }
}
