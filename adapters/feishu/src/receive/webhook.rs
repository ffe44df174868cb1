//! Events and clicks as HTTP requests: who is believed, and what each is answered. What an event means is left to `arrivals`,
//! the HTTP server to the application.

use std::{
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tracing::{info, warn};
use watchfloor_channel::{ChannelState, Refusal, RefusalKind, backoff::Backoff};

use super::{
    arrivals::{Arrival, Counters, Shared},
    crypto::{self, Untrusted},
    events,
    frames::Answer,
    wire::text,
};
use crate::{FeishuConfig, Transport, errors, errors::CallError};

/// Feishu gives each request three seconds; the way back takes some.
const VERDICT: Duration = Duration::from_millis(2500);
/// One line in this time about requests that aren't believed: anybody can send them.
const WARN_EVERY: Duration = Duration::from_secs(60);
const LONGEST_BODY: usize = 4 << 20;

/// Where Feishu's requests knock. It is open while we know who we are and nobody asked for an end.
pub(super) struct Door {
    config: Arc<FeishuConfig>,
    counters: Arc<Counters>,
    open: Mutex<Option<Arc<Shared>>>,
    warned: Mutex<Option<Instant>>,
}

/// What we and Feishu both know.
struct Secrets<'a> {
    verification_token: Option<&'a str>,
    encrypt_key: Option<&'a str>,
}

/// Why a request is turned away.
enum Turned {
    Untrusted(Untrusted),
    Unreadable,
}

impl Door {
    pub(super) fn new(config: Arc<FeishuConfig>, counters: Arc<Counters>) -> Self {
        Self { config, counters, open: Mutex::new(None), warned: Mutex::new(None) }
    }

    /// Open until `shared.stop`.
    pub(super) async fn keep_open(
        &self,
        shared: &Arc<Shared>,
        state: &watch::Sender<ChannelState>,
    ) -> Result<(), Refusal> {
        if self.secrets().is_none_or(|secrets| secrets.are_missing()) {
            let remedy =
                "in webhook mode set encrypt_key or verification_token: without them anybody could speak as Feishu";
            return Err(errors::refused(RefusalKind::Credentials, "no_secret", remedy));
        }
        let open = async {
            self.learn_who_we_are(shared, state).await;
            let _closes = Open::new(self, shared.clone());
            state.send_replace(shared.api.quota.connected());
            std::future::pending::<()>().await;
        };
        shared.stop.run_until_cancelled(open).await;
        Ok(())
    }

    /// Until then Feishu is asked to come again: we couldn't tell what is for us.
    async fn learn_who_we_are(&self, shared: &Shared, state: &watch::Sender<ChannelState>) {
        let reconnect = &self.config.reconnect;
        let mut backoff = Backoff::new(reconnect.first, reconnect.longest);
        while let Err(error) = shared.api.identity().await {
            let at_least = match &error {
                CallError::RateLimited(wait) => *wait,
                _ => Duration::ZERO,
            };
            warn!(channel.id = %self.config.id, %error, "Feishu does not say who the bot is");
            state.send_replace(match error {
                CallError::Refused(refusal) => ChannelState::Off(refusal.remedy),
                error => ChannelState::Disconnected(error.to_string()),
            });
            let wait = backoff.next(&mut rand::rng()).max(at_least);
            sleep(wait).await;
        }
    }

    fn secrets(&self) -> Option<Secrets<'_>> {
        let Transport::Webhook { verification_token, encrypt_key } = &self.config.transport else { return None };
        Some(Secrets { verification_token: exposed(verification_token), encrypt_key: exposed(encrypt_key) })
    }

    /// Whatever isn't 200 is brought again by Feishu, but for clicks.
    pub(super) async fn answer(&self, request: Request<Bytes>) -> Response<Bytes> {
        let Some(secrets) = self.secrets() else { return status(StatusCode::NOT_FOUND) };
        let (head, body) = request.into_parts();
        if body.len() > LONGEST_BODY {
            self.counters.malformed.fetch_add(1, Ordering::Relaxed);
            return status(StatusCode::PAYLOAD_TOO_LARGE);
        }
        let payload = match secrets.open(&head.headers, &body, self.config.now.millis().div_euclid(1000)) {
            Ok(payload) if !events::is_for(&payload, &self.config.app_id) => {
                Err(Turned::Untrusted(Untrusted::OtherApp))
            }
            opened => opened,
        };
        match payload {
            Ok(payload) if is_address_check(&payload) => {
                info!(channel.id = %self.config.id, "Feishu verified the request URL");
                json(&json!({"challenge": text(&payload, "/challenge")}))
            }
            Ok(payload) => self.event(&payload).await,
            Err(Turned::Untrusted(why)) => {
                self.counters.refused.fetch_add(1, Ordering::Relaxed);
                self.warn(&why.to_string());
                status(StatusCode::UNAUTHORIZED)
            }
            Err(Turned::Unreadable) => {
                self.counters.malformed.fetch_add(1, Ordering::Relaxed);
                self.warn("its body is not readable");
                status(StatusCode::BAD_REQUEST)
            }
        }
    }

    async fn event(&self, payload: &Value) -> Response<Bytes> {
        // Not signed in yet, or about to end: Feishu brings it again.
        let Some(shared) = self.shared() else { return status(StatusCode::SERVICE_UNAVAILABLE) };
        if text(payload, "/schema") != "2.0" {
            shared.once(events::name(payload), "an event in the old form; acknowledged");
            return status(StatusCode::OK);
        }
        let work = match shared.event(payload) {
            Arrival::Work(work) => work,
            Arrival::Nothing => return status(StatusCode::OK),
            Arrival::Later => return status(StatusCode::SERVICE_UNAVAILABLE),
        };
        // The request may end before its delivery; then Feishu brings the event again and learns that it is a duplicate.
        let delivery = shared.deliveries.spawn({
            let shared = shared.clone();
            async move { shared.work(work).await }
        });
        match timeout(VERDICT, delivery).await {
            Ok(Ok(Answer::Taken)) => status(StatusCode::OK),
            Ok(Ok(Answer::Result(result))) => json(&result),
            Ok(Ok(Answer::NotStored) | Err(_)) => status(StatusCode::SERVICE_UNAVAILABLE),
            Err(_) => {
                warn!(channel.id = %self.config.id, "an event is not written down yet; Feishu will bring it again");
                status(StatusCode::SERVICE_UNAVAILABLE)
            }
        }
    }

    fn shared(&self) -> Option<Arc<Shared>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).clone();
        open.filter(|shared| !shared.stop.is_cancelled())
    }

    fn warn(&self, why: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
            *warned = Some(Instant::now());
            warn!(channel.id = %self.config.id, "a request that claims to be Feishu's was refused: {why}");
        }
    }
}

/// An empty secret is none.
fn exposed(secret: &Option<SecretString>) -> Option<&str> {
    secret.as_ref().map(SecretString::expose_secret).filter(|secret| !secret.is_empty())
}

impl Secrets<'_> {
    fn are_missing(&self) -> bool {
        self.verification_token.is_none() && self.encrypt_key.is_none()
    }

    /// What the request says, if it is Feishu's.
    fn open(&self, headers: &HeaderMap, body: &[u8], now: i64) -> Result<Value, Turned> {
        if self.are_missing() {
            return Err(Turned::Untrusted(Untrusted::NoSecret));
        }
        let object = |bytes: &[u8]| match serde_json::from_slice(bytes) {
            Ok(object @ Value::Object(_)) => Ok(object),
            _ => Err(Turned::Unreadable),
        };
        let outer = object(body)?;
        let encrypted = outer.get("encrypt").and_then(Value::as_str);
        let Some(key) = self.encrypt_key else {
            if encrypted.is_some() {
                return Err(Turned::Untrusted(Untrusted::Encrypted));
            }
            return self.with_token(outer);
        };
        let encrypted = encrypted.ok_or(Turned::Untrusted(Untrusted::Plain))?;
        let signed = || crypto::check(key, now, headers, body).map_err(Turned::Untrusted);
        let Some(plain) = crypto::decrypt(key, encrypted) else {
            // With another key it is forged or set up wrongly; with ours it is damaged.
            return Err(signed().err().unwrap_or(Turned::Unreadable));
        };
        let Ok(payload) = object(&plain) else { return Err(signed().err().unwrap_or(Turned::Unreadable)) };
        // The address check is not signed. Who can encrypt it knows the key.
        if is_address_check(&payload) {
            return match self.verification_token {
                Some(_) => self.with_token(payload),
                None => Ok(payload),
            };
        }
        signed()?;
        Ok(payload)
    }

    fn with_token(&self, payload: Value) -> Result<Value, Turned> {
        let sent = match text(&payload, "/header/token") {
            "" => text(&payload, "/token"),
            token => token,
        };
        match self.verification_token {
            Some(ours) if crypto::is_same(ours, sent) => Ok(payload),
            _ => Err(Turned::Untrusted(Untrusted::WrongToken)),
        }
    }
}

fn is_address_check(payload: &Value) -> bool {
    text(payload, "/type") == "url_verification" && payload.get("schema").is_none()
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

fn status(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

fn json(body: &Value) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body.to_string()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    response
}
