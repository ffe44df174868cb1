//! Updates as requests: who is believed, and what each is answered. The HTTP server is the application's, what an update means
//! is left to `arrivals`.

use std::{
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use tokio::{
    sync::{Notify, oneshot, watch},
    time::{Instant, sleep_until, timeout},
};
use tracing::{info, warn};
use url::Url;
use watchfloor_channel::{ChannelId, ChannelState, Refusal};

use super::{
    address,
    arrivals::{Counts, Fault, Read, Shared},
    gather::{Gather, Whole},
    trouble::Trouble,
    updates::{self, WebhookInfo},
};
use crate::errors::CallError;

const SECRET: &str = "x-telegram-bot-api-secret-token";
/// Far above the longest update.
const LONGEST_BODY: usize = 4 * 1024 * 1024;
/// Telegram waits about a minute.
const VERDICT: Duration = Duration::from_secs(25);
/// Updates that may wait for the store. Further ones are left for Telegram to bring again.
const WAITING: usize = 1_000;
/// Requests at the same time: the pieces of a paste must not wait for each other.
const CONNECTIONS: u8 = 20;
/// One line in this time about requests that aren't believed: anybody can send them.
const WARN_EVERY: Duration = Duration::from_secs(60);

type Ticket = oneshot::Sender<bool>;

/// Where Telegram's requests knock. It is open while we know who we are and nobody asked for an end.
pub(crate) struct Door {
    channel: ChannelId,
    secret: SecretString,
    url: Option<Url>,
    counts: Arc<Counts>,
    open: Mutex<Option<Arc<Shared>>>,
    gather: Mutex<Gather<Ticket>>,
    held: Notify,
    warned: Mutex<Option<Instant>>,
}

impl Door {
    pub(crate) fn new(
        channel: ChannelId,
        secret: SecretString,
        url: Option<Url>,
        counts: Arc<Counts>,
        pause: Duration,
    ) -> Self {
        Self {
            channel,
            secret,
            url,
            counts,
            open: Mutex::default(),
            gather: Mutex::new(Gather::new(pause)),
            held: Notify::new(),
            warned: Mutex::default(),
        }
    }

    /// Open until `shared.stop`.
    pub(crate) async fn keep_open(
        &self,
        shared: Arc<Shared>,
        state: &watch::Sender<ChannelState>,
    ) -> Result<(), Refusal> {
        let _closes = Open::new(self, shared.clone());
        let registered = async {
            let mut trouble = Trouble::new(&shared.config, state, shared.stop.clone());
            if let Some(url) = &self.url {
                while let Err(error) = self.register(&shared, url).await {
                    if !trouble.with(error).await? {
                        return Ok(());
                    }
                }
                info!(channel.id = %self.channel, "Telegram delivers to our address");
            }
            trouble.is_over();
            address::watch(&shared, self.url.as_ref(), &mut trouble).await
        };
        tokio::select! {
            ended = registered => ended,
            never = self.tend(&shared) => match never {},
        }
    }

    async fn register(&self, shared: &Shared, url: &Url) -> Result<(), CallError> {
        let request = json!({
            "url": url,
            "secret_token": self.secret.expose_secret(),
            "max_connections": CONNECTIONS,
            "allowed_updates": updates::KINDS,
        });
        let limit = shared.config.call_timeout;
        let call = async {
            shared.api.raw::<Value>("setWebhook", &request, limit).await?;
            shared.api.raw::<WebhookInfo>("getWebhookInfo", &json!({}), limit).await
        };
        let info = shared.stop.run_until_cancelled(call).await;
        match info {
            Some(info) if info.as_ref().is_ok_and(|info| info.url != url.as_str()) => {
                Err(CallError::Unclear("Telegram names another address than the one it was told".to_owned()))
            }
            Some(info) => info.map(|_| ()),
            None => Ok(()),
        }
    }

    /// Delivers what has waited for its other pieces.
    async fn tend(&self, shared: &Arc<Shared>) -> std::convert::Infallible {
        loop {
            let next = self.gather().next_due();
            tokio::select! {
                () = self.held.notified() => {}
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                    let due = self.gather().due(Instant::now());
                    for whole in due {
                        let shared = shared.clone();
                        shared.deliveries.clone().spawn(async move {
                            shared.give_up.run_until_cancelled(deliver(&shared, whole)).await;
                        });
                    }
                }
            }
        }
    }

    /// Whatever isn't 2xx is brought again by Telegram, for a day.
    pub(crate) async fn answer(self: &Arc<Self>, request: Request<Bytes>) -> Response<Bytes> {
        let (head, body) = request.into_parts();
        let given = head.headers.get(SECRET).map(http::HeaderValue::as_bytes).unwrap_or_default();
        let wanted = self.secret.expose_secret().as_bytes();
        if wanted.is_empty() || !bool::from(given.ct_eq(wanted)) {
            return self.refuse(StatusCode::UNAUTHORIZED, "its secret token is missing or wrong");
        }
        if body.len() > LONGEST_BODY {
            return self.refuse(StatusCode::PAYLOAD_TOO_LARGE, "it is too long");
        }
        let Ok(update @ Value::Object(_)) = serde_json::from_slice(&body) else {
            return self.refuse(StatusCode::BAD_REQUEST, "it is no JSON object");
        };
        // Not signed in yet, or about to end: Telegram brings it again.
        let Some(shared) = self.shared() else { return status(StatusCode::SERVICE_UNAVAILABLE) };
        if shared.deliveries.len() >= WAITING {
            return status(StatusCode::SERVICE_UNAVAILABLE);
        }
        let (tell, told) = oneshot::channel();
        // The request may end before its delivery; then Telegram brings the update again and learns nothing new.
        shared.deliveries.clone().spawn({
            let (door, shared) = (self.clone(), shared.clone());
            async move {
                let give_up = shared.give_up.clone();
                give_up.run_until_cancelled(door.take(&shared, &update, tell)).await;
            }
        });
        match timeout(VERDICT, told).await {
            Ok(Ok(true)) => status(StatusCode::OK),
            _ => {
                warn!(channel.id = %self.channel, "an update is not written down; Telegram will bring it again");
                status(StatusCode::SERVICE_UNAVAILABLE)
            }
        }
    }

    async fn take(&self, shared: &Arc<Shared>, update: &Value, tell: Ticket) {
        let id = update.get("update_id").and_then(Value::as_i64);
        let done = match shared.guarded(shared.read(update)).await {
            Ok(Read::Message(piece)) => {
                let whole = self.gather().offer(piece.with(tell), Instant::now());
                self.held.notify_one();
                for whole in whole {
                    deliver(shared, whole).await;
                }
                return;
            }
            Ok(Read::Edit(edited)) => {
                let waits = self.gather().edit(&edited);
                if waits { Ok(()) } else { shared.guarded(shared.hand_over(edited.alone())).await.map(|_| ()) }
            }
            Ok(Read::Press(press)) => {
                let pressed = async {
                    shared.pressed(*press).await;
                    Ok(())
                };
                shared.guarded(pressed).await
            }
            Ok(Read::Nothing) => Ok(()),
            Err(fault) => Err(fault),
        };
        let _ = tell.send(settled(shared, id, update, done).await);
    }

    fn gather(&self) -> std::sync::MutexGuard<'_, Gather<Ticket>> {
        self.gather.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shared(&self) -> Option<Arc<Shared>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).clone();
        open.filter(|shared| !shared.stop.is_cancelled())
    }

    fn refuse(&self, with: StatusCode, why: &'static str) -> Response<Bytes> {
        let so_far = self.counts.refused.fetch_add(1, Ordering::Relaxed) + 1;
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
            *warned = Some(Instant::now());
            warn!(channel.id = %self.channel, why, so_far, "a request that claims to be Telegram's was refused");
        }
        status(with)
    }
}

async fn deliver(shared: &Shared, whole: Whole<Ticket>) {
    let done = shared.guarded(shared.deliver(&whole)).await;
    let written = settled(shared, None, &whole.inbound, done).await;
    for ticket in whole.tickets {
        let _ = ticket.send(written);
    }
}

/// True: Telegram needn't bring it again.
async fn settled(shared: &Shared, id: Option<i64>, update: &(impl Serialize + Sync), done: Result<(), Fault>) -> bool {
    match done {
        Ok(()) => true,
        Err(Fault::Hopeless(why)) => shared.set_aside(id, update, why).await.is_ok(),
        Err(Fault::Store(why)) => {
            warn!(channel.id = %shared.config.id, why, "an update could not be written down");
            false
        }
    }
}

/// Closes the door however `keep_open` ends. What is held is forgotten: Telegram brings it again.
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
        self.0.gather().forget();
    }
}

pub(crate) fn status(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}
