//! The open API's transport: tokens, faults, quotas, and the form of answers. What a call does is `methods`'.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use axum::{
    Json, Router,
    body::Body,
    extract::{ConnectInfo, Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    APP_ID, APP_SECRET, Shared,
    delivery::SERVICE,
    faults::Fault,
    methods::{self, Done, Refused},
    world::{Call, World},
};
use crate::server::Line;

/// Somewhat more than the largest upload.
const BODY_LIMIT: usize = 32 * 1024 * 1024;

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(call).with_state(shared)
}

/// A call as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) name: String,
    /// The ids in the path.
    pub(crate) about: Vec<String>,
    pub(crate) query: BTreeMap<String, Vec<String>>,
    pub(crate) body: Value,
    pub(crate) raw: Bytes,
    pub(crate) content_type: String,
}

impl Asked {
    pub(crate) fn query(&self, key: &str) -> Option<&str> {
        self.query.get(key)?.first().map(String::as_str)
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.body[key].as_str().unwrap_or_default()
    }

    /// The id in the path.
    pub(crate) fn id(&self) -> &str {
        self.about.first().map_or("", String::as_str)
    }
}

/// The short name of a call, and the ids in its path.
fn name(method: &Method, path: &str) -> Option<(&'static str, Vec<String>)> {
    let parts: Vec<_> = path.trim_start_matches('/').split('/').collect();
    let (name, about): (_, &[&str]) = match (method.as_str(), parts.as_slice()) {
        ("POST", ["callback", "ws", "endpoint"]) => ("endpoint", &[]),
        ("POST", ["open-apis", "auth", "v3", "tenant_access_token", "internal"]) => ("token", &[]),
        ("GET", ["open-apis", "bot", "v3", "info"]) => ("bot_info", &[]),
        ("GET", ["open-apis", "application", "v6", "scopes"]) => ("scopes", &[]),
        ("POST", ["open-apis", "contact", "v3", "users", "basic_batch"]) => ("users", &[]),
        (method, ["open-apis", "im", "v1", rest @ ..]) => match (method, rest) {
            ("POST", ["messages"]) => ("send", &[]),
            ("GET", ["messages"]) => ("list", &[]),
            ("GET", ["messages", "mget"]) => ("mget", &[]),
            ("POST", ["messages", id, "reply"]) => ("reply", &[*id]),
            ("PUT", ["messages", id]) => ("edit", &[*id]),
            ("PATCH", ["messages", id]) => ("patch", &[*id]),
            ("DELETE", ["messages", id]) => ("recall", &[*id]),
            ("GET", ["messages", id]) => ("get", &[*id]),
            ("POST", ["messages", id, "reactions"]) => ("react", &[*id]),
            ("DELETE", ["messages", id, "reactions", reaction]) => ("unreact", &[*id, *reaction]),
            ("GET", ["messages", id, "resources", key]) => ("resource", &[*id, *key]),
            ("POST", ["images"]) => ("upload_image", &[]),
            ("POST", ["files"]) => ("upload_file", &[]),
            ("GET", ["chats", id]) => ("chat", &[*id]),
            _ => return None,
        },
        _ => return None,
    };
    Some((name, about.iter().map(|part| (*part).to_owned()).collect()))
}

async fn call(State(shared): State<Arc<Shared>>, ConnectInfo(line): ConnectInfo<Line>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let text_header = |name| head.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    let Ok(raw) = axum::body::to_bytes(body, BODY_LIMIT).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let known = name(&head.method, head.uri.path());
    let unknown = known.is_none();
    let (name, about) = match known {
        Some((name, about)) => (name.to_owned(), about),
        None => (format!("{} {}", head.method, head.uri.path()), Vec::new()),
    };
    let mut query = BTreeMap::<_, Vec<_>>::new();
    let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&head.uri);
    for (key, value) in pairs.map(|pairs| pairs.0).unwrap_or_default() {
        query.entry(key).or_default().push(value);
    }
    let body = serde_json::from_slice(&raw).unwrap_or_default();
    let content_type = text_header(header::CONTENT_TYPE);
    let asked = Asked { name: name.clone(), about, query, body, raw, content_type };
    let token = text_header(header::AUTHORIZATION);
    let token = token.strip_prefix("Bearer ").unwrap_or_default();

    let (index, fault) = shared.world.change(|world| {
        world.calls.push(seen(world, &asked));
        (world.calls.len() - 1, world.faults.get_mut(&name).and_then(|queue| queue.pop_front()))
    });
    let note = |http: u16, answer: Value| {
        shared.world.change(|world| {
            if let Some(call) = world.calls.get_mut(index) {
                (call.answer, call.http) = (Some(answer), Some(http));
            }
        });
    };
    if shared.world.look().held.contains(&name) {
        // Ends when the client gives up, which drops this future, or with the simulator.
        let day = std::time::Duration::from_secs(86_400);
        shared.world.until(day, |world| !world.held.contains(&name)).await;
    }
    if let Some((answer, http, noted)) = before(&shared, &fault).await {
        note(http, noted);
        return answer;
    }
    if unknown {
        shared.world.change(|world| world.complaints.push(format!("unknown call {name}")));
        note(404, Value::Null);
        return (StatusCode::NOT_FOUND, "404 page not found").into_response();
    }
    let outcome = match name.as_str() {
        "endpoint" => Ok(Done::Flat(discover(&shared, &asked.body))),
        _ => shared.world.change(|world| perform(world, &asked, token)),
    };
    match fault {
        Some(Fault::DropResponse) => {
            line.cut();
            return StatusCode::NO_CONTENT.into_response();
        }
        Some(Fault::HttpAfter(status)) => {
            note(status, Value::Null);
            return code(status).into_response();
        }
        Some(Fault::DelayAfter(wait)) => tokio::time::sleep(wait).await,
        _ => {}
    }
    let log_id = format!("sim-log-{index:06}");
    let (http, body, reset) = match outcome {
        Ok(Done::Data(data)) => (200, json!({"code": 0, "msg": "success", "data": data}), None),
        Ok(Done::Flat(body)) => (200, body, None),
        Ok(Done::Bytes(name, bytes)) => {
            note(200, json!({"code": 0, "bytes": bytes.len()}));
            let disposition = format!("attachment; filename=\"{name}\"");
            let headers = [("content-type", "application/octet-stream"), ("content-disposition", disposition.as_str())];
            return (headers, Body::from(bytes)).into_response();
        }
        Err(refused) => (refused.http, refusal(&refused, &log_id), refused.reset_secs),
    };
    note(http, body.clone());
    let mut answer = (code(http), [("x-tt-logid", log_id)], Json(body)).into_response();
    if let Some(secs) = reset {
        limit_headers(&mut answer, secs);
    }
    answer
}

/// For the list of calls, without secrets.
fn seen(world: &World, asked: &Asked) -> Call {
    let mut body = asked.body.clone();
    for secret in ["app_secret", "AppSecret"] {
        if body[secret].is_string() {
            body[secret] = "…".into();
        }
    }
    let one = |values: &Vec<String>| if let [one] = values.as_slice() { json!(one) } else { json!(values) };
    let query = asked.query.iter().map(|(key, values)| (key.clone(), one(values))).collect();
    let (name, about, at) = (asked.name.clone(), asked.about.clone(), world.started.elapsed());
    Call { name, about, query, body, at, answer: None, http: None }
}

fn perform(world: &mut World, asked: &Asked, token: &str) -> Result<Done, Refused> {
    if asked.name == "token" {
        return methods::token(world, asked);
    }
    let stale = world.stale_status;
    let known = world.tokens.iter().find(|known| known.value == token);
    match known {
        None if token.is_empty() => {
            return Err(Refused::because(99_991_661, "Missing access token for authorization."));
        }
        None => return Err(Refused::because(99_991_663, "Invalid access token for authorization.").with_http(stale)),
        Some(token) if token.revoked || token.ends <= Instant::now() => {
            return Err(Refused::because(99_991_663, "Invalid access token for authorization.").with_http(stale));
        }
        Some(_) => {}
    }
    let counts = !matches!(asked.name.as_str(), "users");
    if counts && world.monthly_calls.is_some_and(|most| world.counted >= most) {
        let why = "This month's API call quota has been exceeded.";
        return Err(Refused::because(99_991_403, why).with_http(429));
    }
    let done = methods::perform(world, asked)?;
    // Failed calls are not counted.
    world.counted += u64::from(counts);
    Ok(done)
}

/// The address for one connection.
fn discover(shared: &Shared, body: &Value) -> Value {
    match (body["AppID"].as_str(), body["AppSecret"].as_str()) {
        (Some(APP_ID), Some(APP_SECRET)) => {}
        (Some(APP_ID), Some(_)) => return json!({"code": 10_015, "msg": "app secret invalid"}),
        (Some(_), Some(_)) => return json!({"code": 10_014, "msg": "app not found"}),
        _ => return json!({"code": 1_000_040_344, "msg": "no credential"}),
    }
    let (device, ticket) = shared.lines.change(|lines| {
        let id = lines.next_id();
        let ticket = format!("sim-ticket-{id:06}");
        lines.tickets.push(ticket.clone());
        (id, ticket)
    });
    let url = format!(
        "ws://{}/ws/v2?device_id={device}&service_id={SERVICE}&access_key=sim-access-key&ticket={ticket}",
        shared.socket
    );
    let mut data = json!({"URL": url});
    if let Some(config) = &shared.config.client_config {
        data["ClientConfig"] = config.clone();
    }
    json!({"code": 0, "msg": "", "data": data})
}

/// Faults that come before the call, with the note for the list of calls.
async fn before(shared: &Shared, fault: &Option<Fault>) -> Option<(Response, u16, Value)> {
    let wrapped = |http: u16, body: Value| {
        let log_id = body["error"]["log_id"].as_str().unwrap_or_default().to_owned();
        ((code(http), [("x-tt-logid", log_id)], Json(body.clone())).into_response(), http, body)
    };
    Some(match fault.as_ref()? {
        Fault::Code { code, http } => {
            let refused = Refused::because(*code, "refused on purpose").with_http(*http);
            wrapped(*http, refusal(&refused, "sim-log-fault"))
        }
        Fault::RateLimited { reset_secs, http } => {
            let refused = Refused::because(99_991_400, "request trigger frequency limit").with_http(*http);
            let (mut answer, http, body) = wrapped(*http, refusal(&refused, "sim-log-fault"));
            limit_headers(&mut answer, *reset_secs);
            (answer, http, body)
        }
        Fault::Answer { http, body } => wrapped(*http, body.clone()),
        Fault::Http(status) => (code(*status).into_response(), *status, Value::Null),
        Fault::HtmlPage(status) => {
            let page = Html("<!DOCTYPE html><html><body><h1>Server Error</h1></body></html>");
            ((code(*status), page).into_response(), *status, Value::Null)
        }
        Fault::Hang => {
            // Ends when the client gives up, which drops this future, or with the simulator.
            shared.tasks.stop.cancelled().await;
            (code(503).into_response(), 503, Value::Null)
        }
        Fault::DelayBefore(wait) => {
            tokio::time::sleep(*wait).await;
            return None;
        }
        Fault::DelayAfter(_) | Fault::DropResponse | Fault::HttpAfter(_) => return None,
    })
}

fn refusal(refused: &Refused, log_id: &str) -> Value {
    let mut error = json!({"log_id": log_id, "troubleshooter": "https://open.feishu.cn/search?from=openapi"});
    if let Some(scopes) = &refused.missing {
        let violation = |scope: &&str| json!({"type": "action_scope_required", "subject": scope});
        error["permission_violations"] = scopes.iter().map(violation).collect();
    }
    json!({"code": refused.code, "msg": refused.msg, "error": error})
}

fn limit_headers(answer: &mut Response, reset_secs: u64) {
    answer.headers_mut().insert("x-ogw-ratelimit-limit", HeaderValue::from_static("50"));
    answer.headers_mut().insert("x-ogw-ratelimit-reset", reset_secs.into());
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
