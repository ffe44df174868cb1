//! `POST /channels/{name}/events`: a platform's requests, handed to the channel of that name. Whether they are believed and
//! what they mean is the channel's.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, Path, Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{ChannelAdapter, Inbox};

use super::{Http, problem::Problem};

/// Largest body; some events are large.
pub(super) const BODY_BYTES: usize = 2 << 20;
/// Platforms wait three seconds in all: a body that takes longer is of no use to anybody.
const BODY: Duration = Duration::from_secs(3);
/// Requests at the same time. Anybody can send them, and each may fill memory with a body.
const AT_ONCE: usize = 64;

/// The channels that are on, by name.
#[derive(Clone)]
pub struct Webhooks {
    channels: Arc<HashMap<String, Arc<dyn ChannelAdapter>>>,
    inbox: Inbox,
    /// Nothing new is taken; what is under way is finished.
    closing: CancellationToken,
    room: Arc<Semaphore>,
}

impl Webhooks {
    pub fn new(
        channels: impl IntoIterator<Item = Arc<dyn ChannelAdapter>>,
        inbox: Inbox,
        closing: CancellationToken,
    ) -> Self {
        let channels = channels.into_iter().map(|channel| (channel.id().as_str().to_owned(), channel)).collect();
        Self { channels: Arc::new(channels), inbox, closing, room: Arc::new(Semaphore::new(AT_ONCE)) }
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
    let Some(channel) = channels.get(&name) else {
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
            let detail = format!("The body is longer than {BODY_BYTES} bytes.");
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
        }
        Ok(Err(_)) => {
            let detail = "The body could not be read to its end. Send it again.";
            return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_body", detail));
        }
        Err(_) => {
            let detail = "The body took too long. Send it again.";
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", detail));
        }
    };
    let answer = channel.webhook(Request::from_parts(head, body), inbox).await;
    Ok(answer.map(Body::from).into_response())
}

fn unavailable(detail: &str) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
}
