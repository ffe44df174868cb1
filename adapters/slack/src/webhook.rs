//! Events, clicks and commands as signed HTTP requests: who is believed, and what each is answered. What an event means is
//! left to `arrivals`, the HTTP server to the application.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use secrecy::SecretString;
use serde_json::{Map, Value};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout},
};
use tracing::{info, warn};
use url::form_urlencoded;
use watchfloor_channel::{ChannelId, ChannelState, Now};

use crate::{
    arrivals::{Arrival, Shared},
    interact, signature,
};

/// Slack gives each request three seconds; the way back takes some.
const VERDICT: Duration = Duration::from_millis(2500);
/// One line in this time about requests that aren't believed: anybody can send them.
const WARN_EVERY: Duration = Duration::from_secs(60);
/// Slack repeats each minute that it holds events back.
const HELD_BACK: Duration = Duration::from_secs(150);

/// Where Slack's requests knock. It is open while the account is signed in and nobody asked for an end.
pub(crate) struct Door {
    channel: ChannelId,
    secret: SecretString,
    now: Now,
    open: Mutex<Option<Arc<Shared>>>,
    warned: Mutex<Option<Instant>>,
    /// Requests that weren't believed, or weren't readable.
    refused: AtomicU64,
}

impl Door {
    pub(crate) fn new(channel: ChannelId, secret: SecretString, now: Now) -> Self {
        Self { channel, secret, now, open: Mutex::new(None), warned: Mutex::new(None), refused: AtomicU64::new(0) }
    }

    /// Open until `shared.stop`.
    pub(crate) async fn keep_open(&self, shared: Arc<Shared>, state: &watch::Sender<ChannelState>) {
        let _closes = Open::new(self, shared.clone());
        state.send_replace(ChannelState::Connected);
        let mut held_back_until = None;
        loop {
            tokio::select! {
                () = shared.stop.cancelled() => return,
                () = shared.held_back.notified() => {
                    held_back_until = Some(Instant::now() + HELD_BACK);
                    let why = "Slack holds events back: there are more than it delivers to an app in an hour";
                    state.send_replace(ChannelState::Degraded(why.to_owned()));
                }
                () = sleep_until(held_back_until.unwrap_or_else(Instant::now)), if held_back_until.is_some() => {
                    held_back_until = None;
                    state.send_replace(ChannelState::Connected);
                }
            }
        }
    }

    /// Whatever isn't 2xx is brought again by Slack, but for what it can't mend.
    pub(crate) async fn answer(&self, request: Request<Bytes>) -> Response<Bytes> {
        let (head, body) = request.into_parts();
        if let Err(why) = signature::check(&self.secret, self.now.seconds(), &head.headers, &body) {
            return self.refuse(StatusCode::UNAUTHORIZED, &why.to_string());
        }
        let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
        let kind = header("content-type").unwrap_or_default().split(';').next().unwrap_or_default().trim();
        let retry = header("x-slack-retry-num").and_then(|number| number.parse().ok()).unwrap_or(0);
        if kind.eq_ignore_ascii_case("application/json") {
            match serde_json::from_slice(&body) {
                Ok(payload @ Value::Object(_)) => self.json(&payload, retry).await,
                _ => self.refuse(StatusCode::BAD_REQUEST, "it is no JSON object"),
            }
        } else if kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            self.form(&body).await
        } else {
            self.refuse(StatusCode::BAD_REQUEST, "its content type is none of Slack's")
        }
    }

    async fn json(&self, payload: &Value, retry: u32) -> Response<Bytes> {
        if payload.get("type").and_then(Value::as_str) == Some("url_verification") {
            let challenge = payload.get("challenge").and_then(Value::as_str).unwrap_or_default();
            info!(channel.id = %self.channel, "Slack verified the request URL");
            let challenge = Bytes::copy_from_slice(challenge.as_bytes());
            return with_body(HeaderValue::from_static("text/plain; charset=utf-8"), challenge);
        }
        // Not signed in yet, or about to end: Slack brings it again.
        let Some(shared) = self.shared() else { return status(StatusCode::SERVICE_UNAVAILABLE) };
        let arrived = match shared.event(payload, retry).await {
            Arrival::Message(arrived) => arrived,
            Arrival::Nothing => return status(StatusCode::OK),
            Arrival::Later => return status(StatusCode::SERVICE_UNAVAILABLE),
        };
        // The request may end before its delivery; then Slack brings the event again and learns that it is a duplicate.
        let delivery = shared.deliveries.spawn({
            let shared = shared.clone();
            async move { shared.write_down(arrived).await }
        });
        match timeout(VERDICT, delivery).await {
            Ok(Ok(true)) => status(StatusCode::OK),
            Ok(Ok(false) | Err(_)) => status(StatusCode::SERVICE_UNAVAILABLE),
            Err(_) => {
                warn!(channel.id = %self.channel, "an event is not written down yet; Slack will bring it again");
                status(StatusCode::SERVICE_UNAVAILABLE)
            }
        }
    }

    async fn form(&self, body: &[u8]) -> Response<Bytes> {
        let Some(shared) = self.shared() else { return status(StatusCode::SERVICE_UNAVAILABLE) };
        let fields = form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.into_owned().into()));
        let fields = Value::Object(fields.collect::<Map<_, Value>>());
        if let Some(payload) = fields.get("payload").and_then(Value::as_str) {
            let Ok(payload) = serde_json::from_str::<Value>(payload) else {
                return self.refuse(StatusCode::BAD_REQUEST, "its payload is no JSON");
            };
            shared.interaction(&payload).await;
            return status(StatusCode::OK);
        }
        let Some((_, asked)) = shared.command(&fields) else {
            // Slack also looks whether the address is there and its certificate good.
            return status(StatusCode::OK);
        };
        match shared.sentence(asked.aside).await {
            Some(sentence) => {
                let answer = interact::for_her_alone(&sentence).to_string();
                with_body(HeaderValue::from_static("application/json"), answer.into())
            }
            None => status(StatusCode::OK),
        }
    }

    fn shared(&self) -> Option<Arc<Shared>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).clone();
        open.filter(|shared| !shared.stop.is_cancelled())
    }

    /// Since the start; for health.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn refuse(&self, with: StatusCode, why: &str) -> Response<Bytes> {
        let so_far = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
            *warned = Some(Instant::now());
            warn!(channel.id = %self.channel, so_far, "a request that claims to be Slack's was refused: {why}");
        }
        status(with)
    }
}

/// Closes the door however `keep_open` ends.
struct Open<'d>(&'d Door);

impl<'d> Open<'d> {
    fn new(door: &'d Door, shared: Arc<Shared>) -> Self {
        *door.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(shared);
        Self(door)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

pub(crate) fn status(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

fn with_body(kind: HeaderValue, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
