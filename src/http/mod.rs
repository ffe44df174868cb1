//! What is served over HTTP: health for operators and orchestrators, intakes for machines, requests of chat platforms. Every
//! intake has a secret of its own and is closed without one; a platform signs its requests.

mod api;
mod changes;
mod health;
mod intake;
mod problem;
#[cfg(test)]
mod tests;
mod webhooks;

use std::{fmt, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request},
    http::StatusCode,
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use secrecy::SecretString;
use tokio::{sync::watch, time::timeout};
use watchfloor_channel::{ChannelAdapter, ChannelState};

use self::problem::Problem;
pub use self::{
    api::{Door, Key, Skill},
    webhooks::Webhooks,
};
use crate::{clock::SharedClock, persona::Keeper, store::Store};

/// From the end of a request's head to its answer; a body that trickles in is given up.
const LONGEST_REQUEST: Duration = Duration::from_secs(30);

/// What the routes need.
#[derive(Clone)]
pub struct Http {
    pub store: Store,
    pub clock: SharedClock,
    pub channels: Arc<[ChannelHealth]>,
    pub personas: Keeper,
    /// The tools of the active bag.
    pub skills: Arc<[Skill]>,
    pub door: Door,
    /// `None`: the intake of changes is closed.
    pub changes_token: Option<SecretString>,
    pub webhooks: Webhooks,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Http")
    }
}

/// One configured channel, as health shows it.
#[derive(Clone, Debug)]
pub struct ChannelHealth {
    pub name: String,
    pub kind: &'static str,
    pub state: watch::Receiver<ChannelState>,
    pub figures: Figures,
}

/// The numbers of a channel that are worth watching, as they are at this moment. A channel that is off has none.
#[derive(Clone, Default)]
pub struct Figures(Option<Arc<dyn ChannelAdapter>>);

impl Figures {
    pub fn of(adapter: Arc<dyn ChannelAdapter>) -> Self {
        Self(Some(adapter))
    }

    fn now(&self) -> Vec<(&'static str, u64)> {
        self.0.as_ref().map(|adapter| adapter.figures()).unwrap_or_default()
    }
}

impl fmt::Debug for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Figures({:?})", self.now())
    }
}

pub fn routes(http: Http) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(health::ready))
        .merge(api::routes())
        .route("/api/v1/hooks/changes", post(changes::take))
        .route("/channels/{name}/events", post(webhooks::take).layer(DefaultBodyLimit::max(webhooks::BODY_BYTES)))
        .fallback(|| async { Problem::new(StatusCode::NOT_FOUND, "not_found", "There is nothing at this address.") })
        .method_not_allowed_fallback(|| async {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", "This address does not answer that method.")
        })
        .layer(DefaultBodyLimit::max(intake::BODY_BYTES))
        .layer(middleware::from_fn(in_time))
        .with_state(http)
}

async fn in_time(request: Request, next: Next) -> Response {
    let too_late = || Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", "The request took too long. Send it again.");
    timeout(LONGEST_REQUEST, next.run(request)).await.unwrap_or_else(|_| too_late().into_response())
}
