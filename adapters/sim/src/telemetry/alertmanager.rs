//! Alertmanager's HTTP API over the recorded world. Errors are bare JSON strings, as there.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::{Value, json};

use super::{Shared, Source, matcher::Matcher, params::Params};

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/api/v2/alerts", get(alerts))
        .route("/api/v2/alerts/groups", get(groups))
        .route("/api/v2/silences", get(silences))
        .route("/api/v2/receivers", get(async || Json(json!([{"name": "on-call"}]))))
        .route("/api/v2/status", get(status))
        .route("/-/ready", get(async || "OK"))
        .route("/-/healthy", get(async || "OK"))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&shared), super::gate))
        .with_state(shared)
}

async fn status() -> Response {
    Json(
        json!({"cluster": {"status": "disabled", "peers": []}, "config": {"original": "route:\n  receiver: on-call\n"},
        "versionInfo": {"version": "0.28.0", "revision": "sim", "branch": "HEAD", "buildDate": "", "buildUser": "",
            "goVersion": ""},
        "uptime": "2026-01-01T00:00:00.000Z"}),
    )
    .into_response()
}

fn chosen(shared: &Shared, params: &Params) -> Result<Vec<Value>, String> {
    let mut matchers = Vec::new();
    for filter in params.all("filter") {
        matchers.push(Matcher::parse(filter).ok_or_else(|| format!("bad matcher format: {filter}"))?);
    }
    let some = |alert: &Value, key: &str| alert["status"][key].as_array().is_some_and(|list| !list.is_empty());
    let fits = |alert: &&Value| {
        let state = |name: &str| alert["status"]["state"] == name;
        (params.unless_false("active") || !state("active"))
            && (params.unless_false("unprocessed") || !state("unprocessed"))
            && (params.unless_false("silenced") || !some(alert, "silencedBy"))
            && (params.unless_false("inhibited") || !some(alert, "inhibitedBy"))
            && alert["labels"].as_object().is_some_and(|labels| matchers.iter().all(|m| m.accepts(labels)))
    };
    Ok(shared.board.look().script.alertmanager.alerts.iter().filter(fits).cloned().collect())
}

fn bad(message: &str) -> Response {
    (StatusCode::BAD_REQUEST, Json(json!(message))).into_response()
}

async fn alerts(State(shared): State<Arc<Shared>>, uri: Uri, params: Params) -> Response {
    shared.note(Source::Alertmanager, &uri, &params);
    chosen(&shared, &params).map_or_else(|message| bad(&message), |alerts| Json(alerts).into_response())
}

/// One group per alert name, which is what most routes are set to.
async fn groups(State(shared): State<Arc<Shared>>, uri: Uri, params: Params) -> Response {
    shared.note(Source::Alertmanager, &uri, &params);
    let alerts = match chosen(&shared, &params) {
        Ok(alerts) => alerts,
        Err(message) => return bad(&message),
    };
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for alert in alerts {
        let name = alert["labels"]["alertname"].clone();
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, list)) => list.push(alert),
            None => groups.push((name, vec![alert])),
        }
    }
    let wire = |(name, alerts): (Value, Vec<Value>)| json!({"labels": {"alertname": name}, "receiver": {"name": "on-call"}, "alerts": alerts});
    Json(groups.into_iter().map(wire).collect::<Value>()).into_response()
}

async fn silences(State(shared): State<Arc<Shared>>, uri: Uri, params: Params) -> Response {
    shared.note(Source::Alertmanager, &uri, &params);
    Json(shared.board.look().script.alertmanager.silences.clone()).into_response()
}
