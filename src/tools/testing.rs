//! What the tests of tools share: a small server on loopback, a client and a context.

use axum::Router;
use reqwest::{Client, Url};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{DynTool, Tool, ToolContext, ToolError, ToolOutput, source::http_client};
use crate::store::Store;

/// 2026-01-31T09:30:00Z
pub(super) const NOW: i64 = 1_769_851_800_000;

/// Lives as long as this value.
pub(super) struct Server {
    base: String,
    _tasks: JoinSet<()>,
}

impl Server {
    pub(super) async fn start(router: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base, _tasks: tasks }
    }

    pub(super) fn url(&self, path: &str) -> Url {
        format!("{}{path}", self.base).parse().unwrap()
    }

    /// An address nobody listens on.
    pub(super) async fn closed() -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}", listener.local_addr().unwrap()).parse().unwrap()
    }
}

pub(super) fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    http_client().unwrap()
}

pub(super) fn context() -> ToolContext {
    ToolContext {
        session_id: "s1".into(),
        evidence_of: "s1".into(),
        turn_id: "t1".into(),
        call_id: "c1".into(),
        now_ms: NOW,
        cancel: CancellationToken::new(),
    }
}

/// In memory, with its tables.
pub(super) async fn store() -> Store {
    let store = Store::open("sqlite::memory:").await.unwrap();
    store.migrate().await.unwrap();
    store
}

/// As the model would call it.
pub(super) async fn call<T: Tool>(tool: T, arguments: serde_json::Value) -> Result<ToolOutput, ToolError> {
    let prepared = DynTool::prepare(std::sync::Arc::new(tool), &arguments.to_string())?;
    (prepared.run)(context()).await
}
