//! What is served over HTTP: health for operators and orchestrators, intakes for machines. Every intake has a secret of its
//! own and is closed without one.

mod changes;
mod health;
mod problem;

use std::{fmt, sync::Arc};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};
use secrecy::SecretString;
use tokio::sync::watch;
use watchfloor_channel::ChannelState;

use crate::{clock::SharedClock, store::Store};

/// Largest body of an intake.
const BODY_BYTES: usize = 1 << 20;

/// What the routes need.
#[derive(Clone)]
pub struct Http {
    pub store: Store,
    pub clock: SharedClock,
    pub channels: Arc<[ChannelHealth]>,
    /// `None`: the intake of changes is closed.
    pub changes_token: Option<SecretString>,
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
}

pub fn routes(http: Http) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(health::ready))
        .route("/api/v1/hooks/changes", post(changes::take))
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .with_state(http)
}
