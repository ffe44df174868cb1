//! Prometheus and Alertmanager on loopback, over a recorded world that is always fresh.

mod alertmanager;
mod fresh;
mod matcher;
mod params;
mod prometheus;
mod script;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{StatusCode, Uri},
    middleware::Next,
    response::{IntoResponse, Response},
};

use self::params::Params;
pub use self::script::{AlertmanagerScript, PrometheusScript, QueryError, QueryScript, TelemetryScript};
use crate::{
    board::Board,
    server::{self, Door, Owner},
};

/// How long the waiting verbs wait before they panic.
const PATIENCE: Duration = Duration::from_secs(10);

/// A handle; clones share the servers. They end with the last handle, or with [`TelemetrySim::stop`].
#[derive(Clone, Debug)]
pub struct TelemetrySim {
    owner: Arc<Owner>,
    prometheus: (SocketAddr, Door),
    alertmanager: (SocketAddr, Door),
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    board: Board<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    script: TelemetryScript,
    requests: Vec<TelemetryRequest>,
    delay: Duration,
    unavailable: bool,
    held: bool,
    /// Requests that wait for the release.
    waiting: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Prometheus,
    Alertmanager,
}

/// One request, its parameters in the order in which they came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelemetryRequest {
    pub source: Source,
    pub path: String,
    pub params: Vec<(String, String)>,
}

impl TelemetryRequest {
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl Shared {
    fn note(&self, source: Source, uri: &Uri, params: &Params) {
        let request = TelemetryRequest { source, path: uri.path().to_owned(), params: params.0.clone() };
        self.board.change(|recorded| recorded.requests.push(request));
    }
}

/// One request before its release, counted until it goes on or its client goes away.
struct Waiting(Arc<Shared>);

impl Waiting {
    fn at(shared: &Arc<Shared>) -> Self {
        shared.board.change(|recorded| recorded.waiting += 1);
        Self(Arc::clone(shared))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.board.change(|recorded| recorded.waiting -= 1);
    }
}

/// What stands before every endpoint: a hold, delays, and a server that answers 503.
async fn gate(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let held = shared.board.look().held;
    if held {
        let _waiting = Waiting::at(&shared);
        let forever = Duration::from_secs(86_400);
        shared.board.until(forever, |recorded| !recorded.held).await;
    }
    let (delay, unavailable) = {
        let recorded = shared.board.look();
        (recorded.delay, recorded.unavailable)
    };
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    if unavailable {
        return (StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable\n").into_response();
    }
    next.run(request).await
}

impl TelemetrySim {
    pub async fn start(mut script: TelemetryScript) -> io::Result<Self> {
        script.freshen();
        let owner = Owner::default();
        let (prometheus_down, alertmanager_down) = (script.prometheus.down, script.alertmanager.down);
        let shared = Arc::new(Shared { board: Board::new(Recorded { script, ..Recorded::default() }) });
        let prometheus = server::serve(prometheus::router(Arc::clone(&shared)), &owner.0).await?;
        let alertmanager = server::serve(alertmanager::router(Arc::clone(&shared)), &owner.0).await?;
        prometheus.1.shut(prometheus_down);
        alertmanager.1.shut(alertmanager_down);
        Ok(Self { owner: Arc::new(owner), prometheus, alertmanager, shared })
    }

    /// For `sources.prometheus.url`.
    pub fn prometheus_url(&self) -> String {
        format!("http://{}", self.prometheus.0)
    }

    /// For `sources.alertmanager.url`.
    pub fn alertmanager_url(&self) -> String {
        format!("http://{}", self.alertmanager.0)
    }

    pub fn requests(&self) -> Vec<TelemetryRequest> {
        self.shared.board.look().requests.clone()
    }

    /// Waits until there were `count` requests.
    ///
    /// # Panics
    /// If they don't come in time.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<TelemetryRequest> {
        let enough = self.shared.board.until(PATIENCE, |recorded| recorded.requests.len() >= count).await;
        assert!(enough, "waited in vain for {count} requests; seen: {:#?}", self.requests());
        self.requests()
    }

    /// Takes both servers down, or brings them back.
    pub fn down(&self, down: bool) {
        self.source_down(Source::Prometheus, down);
        self.source_down(Source::Alertmanager, down);
    }

    /// A server that is down ends every connection before it answers.
    pub fn source_down(&self, source: Source, down: bool) {
        let door = match source {
            Source::Prometheus => &self.prometheus.1,
            Source::Alertmanager => &self.alertmanager.1,
        };
        door.shut(down);
        if down {
            door.cut();
        }
    }

    /// Both servers answer 503 in plain text, as a gateway does.
    pub fn unavailable(&self, unavailable: bool) {
        self.shared.board.change(|recorded| recorded.unavailable = unavailable);
    }

    /// Every answer comes this much later.
    pub fn delay(&self, delay: Duration) {
        self.shared.board.change(|recorded| recorded.delay = delay);
    }

    /// From now on requests wait before anything is done with them.
    pub fn hold(&self) {
        self.shared.board.change(|recorded| recorded.held = true);
    }

    /// Lets the waiting requests go, and later ones pass.
    pub fn release(&self) {
        self.shared.board.change(|recorded| recorded.held = false);
    }

    /// Waits until exactly `count` requests wait for the release.
    ///
    /// # Panics
    /// If that doesn't happen in time.
    pub async fn wait_for_waiting(&self, count: usize) {
        let reached = self.shared.board.until(PATIENCE, |recorded| recorded.waiting == count).await;
        assert!(reached, "waited in vain for {count} held requests; there are {}", self.shared.board.look().waiting);
    }

    /// Replaces the recorded world: the incident goes on, or ends.
    pub fn replace(&self, mut script: TelemetryScript) {
        script.freshen();
        self.shared.board.change(|recorded| recorded.script = script);
    }

    pub async fn stop(self) {
        self.owner.stop().await;
    }
}
