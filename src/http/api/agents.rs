//! Personas and tools: what there is, what is wrong with it, and the personas that are written here.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
    http::StatusCode,
};
use serde::Serialize;
use serde_json::Value;

use super::{
    super::{Http, problem::Problem},
    Items,
    caller::Caller,
};
use crate::{
    coordinator::Role,
    persona::{Entry, KeeperError, ParseProblem, Reloaded},
};

/// A tool of the active bag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skill {
    pub name: &'static str,
    /// The least that a call of it does: `read`, `write` or `destructive`.
    pub class: &'static str,
    /// `native`: part of the program.
    pub origin: &'static str,
}

type Answer<T> = Result<T, Problem>;

pub(super) async fn all(caller: Caller, State(http): State<Http>) -> Answer<Json<Items<Entry>>> {
    caller.may(Role::Viewer)?;
    Ok(Json(Items::all(http.personas.personas().now().entries())))
}

pub(super) async fn one(caller: Caller, State(http): State<Http>, Path(name): Path<String>) -> Answer<Json<Entry>> {
    caller.may(Role::Viewer)?;
    let registry = http.personas.personas().now();
    let unknown = || KeeperError::Unknown {
        name: name.chars().take(80).collect(),
        names: registry.personas().map(|persona| persona.name.clone()).collect(),
    };
    registry.entry(&name).map(Json).ok_or_else(|| unknown().into())
}

pub(super) async fn warnings(caller: Caller, State(http): State<Http>) -> Answer<Json<Items<ParseProblem>>> {
    caller.may(Role::Viewer)?;
    Ok(Json(Items::all(http.personas.warnings())))
}

pub(super) async fn skills(caller: Caller, State(http): State<Http>) -> Answer<Json<Items<Skill>>> {
    caller.may(Role::Viewer)?;
    Ok(Json(Items::all(http.skills.to_vec())))
}

pub(super) async fn reload(caller: Caller, State(http): State<Http>) -> Answer<Json<Reloaded>> {
    caller.may(Role::Admin)?;
    Ok(Json(http.personas.reload().await?))
}

pub(super) async fn write(caller: Caller, State(http): State<Http>, body: Bytes) -> Answer<(StatusCode, Json<Entry>)> {
    caller.may(Role::Admin)?;
    Ok((StatusCode::CREATED, Json(http.personas.put(&read(&body)?).await?)))
}

pub(super) async fn change(
    caller: Caller,
    State(http): State<Http>,
    Path(name): Path<String>,
    body: Bytes,
) -> Answer<Json<Entry>> {
    caller.may(Role::Admin)?;
    Ok(Json(http.personas.patch(&name, &read(&body)?).await?))
}

pub(super) async fn remove(caller: Caller, State(http): State<Http>, Path(name): Path<String>) -> Answer<StatusCode> {
    caller.may(Role::Admin)?;
    http.personas.delete(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn read(body: &[u8]) -> Answer<Value> {
    serde_json::from_slice(body).map_err(|error| {
        Problem::new(StatusCode::BAD_REQUEST, "not_json", format!("The body isn't JSON: {error}. Send one object."))
    })
}

impl From<KeeperError> for Problem {
    fn from(error: KeeperError) -> Self {
        let (status, code) = match &error {
            KeeperError::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
            KeeperError::Exists(_) => (StatusCode::CONFLICT, "exists"),
            KeeperError::NotUser { .. } => (StatusCode::CONFLICT, "not_user"),
            KeeperError::Unknown { .. } => (StatusCode::NOT_FOUND, "not_found"),
            KeeperError::Shelf(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            KeeperError::Broken(_) => (StatusCode::INTERNAL_SERVER_ERROR, "broken"),
        };
        if status.is_server_error() {
            tracing::error!(%error, "a request about personas failed");
            return Self::new(status, code, "The personas can't be reached now. Try again; the log says why.");
        }
        let problem = Self::new(status, code, error.to_string());
        let field = match &error {
            KeeperError::Invalid(problems) => problems.iter().find(|problem| problem.is_error()).map(|it| &it.field),
            _ => None,
        };
        match field.filter(|field| !field.is_empty()) {
            Some(field) => problem.at(field),
            None => problem,
        }
    }
}
