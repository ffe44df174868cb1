//! The API: each route says which role it needs, and lists are `{items, next}`. Who asks is settled before anything else.

mod agents;
mod caller;

use axum::{
    Router,
    routing::{get, patch, post},
};
use serde::Serialize;

use super::Http;
pub use agents::Skill;
pub use caller::{Door, Key};

/// Of the persona routes, which also stand under `/v1`.
fn personas() -> Router<Http> {
    Router::new()
        .route("/agents", get(agents::all))
        .route("/agents/warnings", get(agents::warnings))
        .route("/agents/reload", post(agents::reload))
        .route("/agents/custom", post(agents::write))
        .route("/agents/custom/{name}", patch(agents::change).delete(agents::remove))
        .route("/agents/{name}", get(agents::one))
}

pub(super) fn routes() -> Router<Http> {
    Router::new().nest("/v1", personas()).nest("/api/v1", personas().route("/skills", get(agents::skills)))
}

#[derive(Debug, Serialize)]
struct Items<T> {
    items: Vec<T>,
    /// Where the next page begins; these lists have one page.
    next: Option<String>,
}

impl<T> Items<T> {
    fn all(items: Vec<T>) -> Self {
        Self { items, next: None }
    }
}
