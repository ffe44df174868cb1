//! `POST /api/v1/hooks/changes`: deploys, flags and settings as they happen, for `query_change_events`. How an event must
//! look is said in `event`.

mod event;

use axum::{
    Json,
    extract::{Request, State},
    http::StatusCode,
};
use serde::Serialize;

use super::{Http, intake, problem::Problem};

#[derive(Debug, Serialize)]
pub(super) struct Taken {
    ids: Vec<String>,
}

/// 202 with the ids in the order of the request; nothing is kept of a request with one wrong event.
pub(super) async fn take(State(http): State<Http>, request: Request) -> Result<(StatusCode, Json<Taken>), Problem> {
    let body = intake::open(http.changes_token.as_ref(), "hooks.changes_token", request).await?;
    let changes = event::parse(&body, http.clock.now_ms())?;
    let ids = changes.iter().map(|change| change.id.clone()).collect();
    http.store.changes().insert(changes).await.map_err(|error| {
        tracing::error!(%error, "changes could not be written down");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "store", "The events could not be stored. Send them again.")
    })?;
    Ok((StatusCode::ACCEPTED, Json(Taken { ids })))
}
