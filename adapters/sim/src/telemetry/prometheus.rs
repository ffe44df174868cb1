//! Prometheus' HTTP API over the recorded world.

use std::{collections::BTreeSet, sync::Arc};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::{StatusCode, Uri},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::{Map, Value, json};

use super::{Shared, Source, matcher, params::Params, script::QueryScript};
use crate::time;

/// More points than this in one series are refused.
const MOST_POINTS: f64 = 11_000.0;

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/api/v1/query", get(query).post(query))
        .route("/api/v1/query_range", get(query).post(query))
        .route("/api/v1/rules", get(rules))
        .route("/api/v1/alerts", get(alerts))
        .route("/api/v1/series", get(series).post(series))
        .route("/api/v1/labels", get(labels).post(labels))
        .route("/api/v1/label/{name}/values", get(label_values))
        .route("/api/v1/metadata", get(async || success(json!({}))))
        .route("/api/v1/status/buildinfo", get(async || success(json!({"version": "3.5.0", "revision": "sim"}))))
        .route("/-/ready", get(async || "Prometheus Server is Ready.\n"))
        .route("/-/healthy", get(async || "Prometheus Server is Healthy.\n"))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&shared), super::gate))
        .with_state(shared)
}

fn success(data: Value) -> Response {
    Json(json!({"status": "success", "data": data})).into_response()
}

fn failure(kind: &str, message: &str) -> Response {
    let status = match kind {
        "bad_data" => StatusCode::BAD_REQUEST,
        "execution" => StatusCode::UNPROCESSABLE_ENTITY,
        "timeout" => StatusCode::SERVICE_UNAVAILABLE,
        "not_found" => StatusCode::NOT_FOUND,
        "not_acceptable" => StatusCode::NOT_ACCEPTABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, Json(json!({"status": "error", "errorType": kind, "error": message}))).into_response()
}

async fn query(State(shared): State<Arc<Shared>>, uri: Uri, params: Params) -> Response {
    shared.note(Source::Prometheus, &uri, &params);
    let range = uri.path().ends_with("query_range");
    let Some(text) = params.one("query").filter(|text| !text.trim().is_empty()) else {
        return failure(
            "bad_data",
            "invalid parameter \"query\": unknown position: parse error: no expression found in input",
        );
    };
    let window = match if range { window(&params) } else { instant(&params) } {
        Ok(window) => window,
        Err(message) => return failure("bad_data", &message),
    };
    let endpoint = if range { "query_range" } else { "query" };
    let fits = |query: &&QueryScript| {
        text.contains(query.contains.as_str()) && query.endpoint.as_deref().is_none_or(|wanted| wanted == endpoint)
    };
    let found = shared.board.look().script.prometheus.queries.iter().find(fits).cloned();
    let found = found.unwrap_or_default();
    if let Some(delay) = found.delay {
        tokio::time::sleep(delay).await;
    }
    if let Some(error) = found.error {
        return failure(&error.kind, &error.message);
    }
    let data = match found.result {
        Some(result) if range => as_matrix(&result, window),
        Some(result) => as_vector(&result, window.1),
        None => json!({"resultType": if range { "matrix" } else { "vector" }, "result": []}),
    };
    let mut body = json!({"status": "success", "data": data});
    if !found.warnings.is_empty() {
        body["warnings"] = json!(found.warnings);
    }
    Json(body).into_response()
}

type Window = (f64, f64);

fn instant(params: &Params) -> Result<Window, String> {
    let at = params.one("time").map(|text| time::unix(text).ok_or_else(|| invalid("time", text))).transpose()?;
    // A script that was loaded a moment ago has samples of that moment.
    Ok((0.0, at.unwrap_or_else(|| time::now().as_secs_f64() + 1.0)))
}

fn window(params: &Params) -> Result<Window, String> {
    let moment = |name: &str| {
        let text = params.one(name).unwrap_or_default();
        time::unix(text).ok_or_else(|| invalid(name, text))
    };
    let (start, end) = (moment("start")?, moment("end")?);
    if end < start {
        return Err("invalid parameter \"end\": end timestamp must not be before start time".to_owned());
    }
    let text = params.one("step").unwrap_or_default();
    let step = text.parse().ok().or_else(|| time::span(text).map(|span| span.as_secs_f64()));
    let step: f64 = step.ok_or_else(|| invalid("step", text))?;
    if step <= 0.0 {
        return Err("invalid parameter \"step\": zero or negative query resolution step widths are not accepted. \
                    Try a positive integer"
            .to_owned());
    }
    if (end - start) / step > MOST_POINTS {
        return Err("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query \
                    resolution (?step=XX)"
            .to_owned());
    }
    // Clients round to whole seconds or milliseconds.
    Ok((start - 1.0, end + 1.0))
}

fn invalid(name: &str, text: &str) -> String {
    format!("invalid parameter \"{name}\": cannot parse \"{text}\" to a valid value")
}

/// A range query only ever gives a matrix: the samples inside the window, as they were recorded.
fn as_matrix(result: &Value, (start, end): Window) -> Value {
    let inside = |sample: &&Value| sample[0].as_f64().is_some_and(|at| at >= start && at <= end);
    let mut series = Vec::new();
    for element in result["result"].as_array().into_iter().flatten() {
        let samples = element["values"].as_array().into_iter().flatten().chain(element.get("value"));
        let values: Vec<_> = samples.filter(inside).cloned().collect();
        if !values.is_empty() {
            series.push(json!({"metric": element["metric"], "values": values}));
        }
    }
    json!({"resultType": "matrix", "result": series})
}

fn as_vector(result: &Value, at: f64) -> Value {
    if result["resultType"] != "matrix" {
        return result.clone();
    }
    let mut vector = Vec::new();
    for element in result["result"].as_array().into_iter().flatten() {
        let mut samples = element["values"].as_array().into_iter().flatten().rev();
        if let Some(last) = samples.find(|sample| sample[0].as_f64().is_some_and(|t| t <= at)) {
            vector.push(json!({"metric": element["metric"], "value": last}));
        }
    }
    json!({"resultType": "vector", "result": vector})
}

async fn rules(State(shared): State<Arc<Shared>>, uri: Uri, params: Params) -> Response {
    shared.note(Source::Prometheus, &uri, &params);
    let wanted = |name: &str, value: &Value| {
        let mut names = params.all(name).peekable();
        names.peek().is_none() || names.any(|name| value == name)
    };
    let kind = params.one("type").map(|kind| if kind == "alert" { "alerting" } else { "recording" });
    let mut groups = shared.board.look().script.prometheus.rules.clone();
    groups.retain(|group| wanted("rule_group[]", &group["name"]));
    for group in &mut groups {
        if let Some(rules) = group["rules"].as_array_mut() {
            rules.retain(|rule| kind.is_none_or(|kind| rule["type"] == kind) && wanted("rule_name[]", &rule["name"]));
            if params.one("exclude_alerts") == Some("true") {
                rules.iter_mut().for_each(|rule| rule["alerts"] = json!([]));
            }
        }
    }
    groups.retain(|group| group["rules"].as_array().is_some_and(|rules| !rules.is_empty()));
    success(json!({"groups": groups}))
}

async fn alerts(State(shared): State<Arc<Shared>>, uri: Uri, params: Params) -> Response {
    shared.note(Source::Prometheus, &uri, &params);
    let groups = shared.board.look().script.prometheus.rules.clone();
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let rules = groups.iter().flat_map(|group| list(group, "rules"));
    let alerts: Vec<_> = rules.flat_map(|rule| list(&rule, "alerts")).collect();
    success(json!({"alerts": alerts}))
}

/// The label sets of every recorded series that one of the selectors accepts; all of them without a selector.
fn known(shared: &Shared, params: &Params) -> Result<Vec<Map<String, Value>>, String> {
    let mut selectors = Vec::new();
    for text in params.all("match[]") {
        selectors.push(matcher::selector(text).ok_or_else(|| invalid("match[]", text))?);
    }
    let accepted = |labels: &Map<String, Value>| {
        selectors.is_empty() || selectors.iter().any(|all| all.iter().all(|matcher| matcher.accepts(labels)))
    };
    let mut known: Vec<Map<String, Value>> = Vec::new();
    let board = shared.board.look();
    let results = board.script.prometheus.queries.iter().filter_map(|query| query.result.as_ref());
    for element in results.flat_map(|result| result["result"].as_array().into_iter().flatten()) {
        if let Some(labels) = element["metric"].as_object().filter(|labels| accepted(labels))
            && !known.contains(labels)
        {
            known.push(labels.clone());
        }
    }
    Ok(known)
}

async fn series(State(shared): State<Arc<Shared>>, uri: Uri, params: Params) -> Response {
    shared.note(Source::Prometheus, &uri, &params);
    if params.one("match[]").is_none() {
        return failure("bad_data", "no match[] parameter provided");
    }
    known(&shared, &params).map_or_else(|message| failure("bad_data", &message), |known| success(json!(known)))
}

async fn labels(State(shared): State<Arc<Shared>>, uri: Uri, params: Params) -> Response {
    shared.note(Source::Prometheus, &uri, &params);
    match known(&shared, &params) {
        Ok(known) => success(json!(known.iter().flat_map(Map::keys).collect::<BTreeSet<_>>())),
        Err(message) => failure("bad_data", &message),
    }
}

async fn label_values(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    uri: Uri,
    params: Params,
) -> Response {
    shared.note(Source::Prometheus, &uri, &params);
    match known(&shared, &params) {
        Ok(known) => {
            let values = known.iter().filter_map(|labels| labels.get(&name)?.as_str());
            success(json!(values.collect::<BTreeSet<_>>()))
        }
        Err(message) => failure("bad_data", &message),
    }
}
