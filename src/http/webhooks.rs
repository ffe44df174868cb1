//! `POST /channels/{name}/events`: a platform's requests, handed to the channel of that name. Whether they are believed and
//! what they mean is the channel's.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, Path, Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{ChannelAdapter, Inbox};

use super::{Http, problem::Problem};

/// Largest body; some events are large.
pub(super) const BODY_BYTES: usize = 2 << 20;
/// Platforms wait three seconds in all: a body that takes longer is of no use to anybody.
const BODY: Duration = Duration::from_secs(3);
/// Requests at the same time. Anybody can send them, and each may fill memory with a body.
const AT_ONCE: usize = 64;
/// One line in this time about bodies that aren't read: anybody can send them.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// The channels that are on, by name.
#[derive(Clone)]
pub struct Webhooks {
    channels: Arc<HashMap<String, Desk>>,
    inbox: Inbox,
    /// Nothing new is taken; what is under way is finished.
    closing: CancellationToken,
    room: Arc<Semaphore>,
}

/// A channel, and what was sent to it that it never saw.
struct Desk {
    channel: Arc<dyn ChannelAdapter>,
    unread: AtomicU64,
    warned: Mutex<Option<Instant>>,
}

impl Webhooks {
    pub fn new(
        channels: impl IntoIterator<Item = Arc<dyn ChannelAdapter>>,
        inbox: Inbox,
        closing: CancellationToken,
    ) -> Self {
        let desk = |channel: Arc<dyn ChannelAdapter>| {
            let name = channel.id().as_str().to_owned();
            (name, Desk { channel, unread: AtomicU64::new(0), warned: Mutex::default() })
        };
        let channels = channels.into_iter().map(desk).collect();
        Self { channels: Arc::new(channels), inbox, closing, room: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Bodies that were too long, too slow or broken off.
    pub(super) fn unread(&self, name: &str) -> u64 {
        self.channels.get(name).map_or(0, |desk| desk.unread.load(Ordering::Relaxed))
    }
}

impl Desk {
    fn leave_unread(&self, why: &'static str) {
        let so_far = self.unread.fetch_add(1, Ordering::Relaxed) + 1;
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
            *warned = Some(Instant::now());
            tracing::warn!(channel.id = %self.channel.id(), why, so_far, "the body of a request was not read");
        }
    }
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.channels.keys()).finish()
    }
}

pub(super) async fn take(
    State(http): State<Http>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let Webhooks { channels, inbox, closing, room } = &http.webhooks;
    let Some(desk) = channels.get(&name) else {
        return Err(Problem::new(StatusCode::NOT_FOUND, "not_found", "There is no channel of this name."));
    };
    if closing.is_cancelled() {
        return Err(unavailable("This process is about to end. Send it again."));
    }
    let Ok(_place) = room.try_acquire() else {
        return Err(unavailable("Too many requests are under way. Send it again."));
    };
    let (head, body) = request.into_parts();
    let body = match timeout(BODY, Bytes::from_request(Request::from_parts(head.clone(), body), &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(rejection)) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            desk.leave_unread("it is too long");
            let detail = format!("The body is longer than {BODY_BYTES} bytes.");
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
        }
        Ok(Err(_)) => {
            desk.leave_unread("it broke off");
            let detail = "The body could not be read to its end. Send it again.";
            return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_body", detail));
        }
        Err(_) => {
            desk.leave_unread("it took too long");
            let detail = "The body took too long. Send it again.";
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", detail));
        }
    };
    let answer = desk.channel.webhook(Request::from_parts(head, body), inbox).await;
    Ok(answer.map(Body::from).into_response())
}

fn unavailable(detail: &str) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
}
