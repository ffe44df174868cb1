//! The Web API's transport: tokens, faults, budgets, and the form of answers. What a method does is `methods`'.

use std::{sync::Arc, time::Instant};

use axum::{
    Json, Router,
    extract::{ConnectInfo, Path, Request, State},
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::{any, post},
};
use serde_json::{Map, Value, json};

use super::{
    APP_TOKEN, Shared,
    args::Args,
    faults::Fault,
    files, interact,
    methods::{self, Done, Outcome, Refused},
    world::{Call, World},
};
use crate::server::Line;

const BODY_LIMIT: usize = 4 * 1024 * 1024;

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/api/{method}", any(call))
        .route("/response/{id}", post(interact::respond))
        .with_state(shared.clone())
        .merge(files::router(shared))
}

async fn call(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(line): ConnectInfo<Line>,
    Path(method): Path<String>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let text_header = |name| head.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let Ok(body) = axum::body::to_bytes(body, BODY_LIMIT).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let read = Args::read(&head.uri, text_header(header::CONTENT_TYPE), body).await;
    let (mut args, unreadable) = match read {
        Ok(args) => (args, None),
        Err(unreadable) => (Args::default(), Some(unreadable.0)),
    };
    let in_args = args.0.remove("token");
    let bearer = text_header(header::AUTHORIZATION).strip_prefix("Bearer ");
    let token = bearer.or(in_args.as_ref().and_then(Value::as_str)).unwrap_or_default().to_owned();

    let (index, fault) = shared.world.change(|world| {
        let args = Value::Object(args.0.clone());
        let at = world.started.elapsed();
        world.calls.push(Call { method: method.clone(), args, at, answer: None });
        (world.calls.len() - 1, world.faults.get_mut(&method).and_then(|queue| queue.pop_front()))
    });
    let note = |answer: Value| shared.world.change(|world| world.calls[index].answer = Some(answer));

    if let Some(answer) = before(&shared, &fault).await {
        let (answer, noted) = answer;
        note(noted);
        return answer;
    }
    let done = shared.world.change(|world| {
        if let Err(wait) = world.rates.spend(&method, args.text("channel"), Instant::now()) {
            return Err(Held::Rate(wait));
        }
        if let Some(error) = unreadable {
            return Ok(Err(Refused::because(error)));
        }
        Ok(admit(world, &method, &token).and_then(|()| match method.as_str() {
            "apps.connections.open" => Ok(Done::default()),
            _ => methods::perform(&method, world, &args),
        }))
    });
    let outcome = match done {
        Ok(outcome) => outcome,
        Err(Held::Rate(wait)) => {
            note(json!({"ok": false, "error": "ratelimited"}));
            return rate_limited(wait);
        }
    };
    let mut body = settle(&shared, &method, outcome);
    match fault {
        Some(Fault::DropResponse) => {
            line.cut();
            return StatusCode::NO_CONTENT.into_response();
        }
        Some(Fault::HttpAfter(status)) => {
            note(json!({"http": status}));
            return bare(status);
        }
        Some(Fault::DelayAfter(wait)) => tokio::time::sleep(wait).await,
        Some(Fault::Besides(fields)) => {
            if let (Value::Object(body), Value::Object(fields)) = (&mut body, fields) {
                body.extend(fields);
            }
        }
        _ => {}
    }
    note(body.clone());
    ([("x-oauth-scopes", shared.scopes())], Json(body)).into_response()
}

enum Held {
    Rate(u64),
}

/// Faults that come before the method, with the note for the list of calls.
async fn before(shared: &Shared, fault: &Option<Fault>) -> Option<(Response, Value)> {
    let limited = json!({"ok": false, "error": "ratelimited"});
    Some(match fault.as_ref()? {
        Fault::RateLimited { http_200: true, .. } => (Json(limited.clone()).into_response(), limited),
        Fault::RateLimited { retry_after_secs, .. } => (rate_limited(*retry_after_secs), limited),
        Fault::Error(error) => {
            let body = json!({"ok": false, "error": error});
            (Json(body.clone()).into_response(), body)
        }
        Fault::Answer(body) => (Json(body.clone()).into_response(), body.clone()),
        Fault::Http(status) => (bare(*status), json!({"http": status})),
        Fault::HtmlPage(status) => {
            let page = Html("<!DOCTYPE html><html><body><h1>Server Error</h1></body></html>");
            ((code(*status), page).into_response(), json!({"http": status}))
        }
        Fault::Hang => {
            // Ends when the client gives up, which drops this future, or with the simulator.
            shared.tasks.stop.cancelled().await;
            (bare(503), Value::Null)
        }
        Fault::DelayBefore(wait) => {
            tokio::time::sleep(*wait).await;
            return None;
        }
        Fault::DelayAfter(_) | Fault::Besides(_) | Fault::DropResponse | Fault::HttpAfter(_) => return None,
    })
}

fn admit(world: &mut World, method: &str, token: &str) -> Result<(), Refused> {
    let wants_app = method == "apps.connections.open";
    let team = world.teams.iter().find(|team| team.bot_token == token).cloned();
    let of_bot = team.is_some();
    world.caller = team.unwrap_or_default();
    Err(Refused::because(match token {
        "" => "not_authed",
        token if world.revoked.contains(token) => "token_revoked",
        _ if of_bot && wants_app => "not_allowed_token_type",
        APP_TOKEN if !wants_app && method != "auth.test" => "not_allowed_token_type",
        APP_TOKEN => return Ok(()),
        _ if of_bot => return Ok(()),
        _ => "invalid_auth",
    }))
}

/// The body of the answer. Events go out before it, as they may in the real world.
fn settle(shared: &Arc<Shared>, method: &str, outcome: Outcome) -> Value {
    let done = match outcome {
        Ok(done) => done,
        Err(Refused { error, hints, needed }) => {
            let mut body = json!({"ok": false, "error": error});
            if let Some(needed) = needed {
                body["needed"] = needed.into();
                body["provided"] = shared.scopes().into();
            }
            if !hints.is_empty() {
                body["response_metadata"] = json!({"messages": hints});
            }
            return body;
        }
    };
    for event in done.events {
        shared.deliver(event);
    }
    let mut body = Map::from_iter([("ok".to_owned(), Value::Bool(true))]);
    body.extend(done.body);
    if method == "apps.connections.open" {
        let ticket = shared.lines.change(|lines| {
            let ticket = format!("sim-{}", lines.next_id());
            lines.tickets.insert(ticket.clone());
            ticket
        });
        body.insert("url".into(), format!("ws://{}/link/?ticket={ticket}&app_id=sim", shared.socket).into());
    }
    Value::Object(body)
}

fn rate_limited(wait: u64) -> Response {
    let body = Json(json!({"ok": false, "error": "ratelimited"}));
    (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, wait.to_string())], body).into_response()
}

fn bare(status: u16) -> Response {
    code(status).into_response()
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
