//! The transport: tokens, faults, and the form of answers. What a method does is `methods`'.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{ConnectInfo, Path, Request, State},
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::{any, get},
};
use serde_json::{Value, json};

use super::{
    BOT_TOKEN, Shared,
    args::Args,
    faults::Fault,
    files,
    methods::{self, Refused},
    updates, webhook,
    world::{Call, World},
};
use crate::server::Line;

const BODY_LIMIT: usize = files::UPLOAD_LIMIT as usize + 1024 * 1024;

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let not_found = || async { refuse(&Refused::new(404, "Not Found")) };
    Router::new()
        .route("/{bot}/{method}", any(call))
        .route("/file/{bot}/{*path}", get(files::download))
        .fallback(not_found)
        .with_state(shared)
}

async fn call(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(line): ConnectInfo<Line>,
    Path((bot, method)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, BODY_LIMIT).await else {
        return refuse(&Refused::new(413, "Request Entity Too Large"));
    };
    let content_type = head.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let read = Args::read(&head.uri, content_type, &body);
    let args = read.clone().unwrap_or_default();
    let lower = method.to_ascii_lowercase();

    let admitted = shared.world.change(|world| {
        admit(world, &bot)?;
        let fault = world.faults.get_mut(&lower).and_then(|queue| queue.pop_front());
        let mut files: Vec<_> = args.files.keys().cloned().collect();
        files.sort();
        let at = world.started.elapsed();
        world.calls.push(Call { method, args: Value::Object(args.fields.clone()), files, at, answer: None });
        Ok((world.calls.len() - 1, fault))
    });
    let (index, fault) = match admitted {
        Ok(admitted) => admitted,
        Err(refused) => return refuse(&refused),
    };
    let note = |answer: Value| shared.world.change(|world| world.calls[index].answer = Some(answer));

    if let Some(answer) = before(&shared, &line, &fault, &note).await {
        return answer;
    }
    let outcome = match (&read, lower.as_str()) {
        (None, _) => {
            shared.world.change(|world| world.complain(format!("the body of {lower} can't be read")));
            Err(Refused::bad("can't parse request"))
        }
        (_, "getupdates") => updates::poll(&shared, &args).await,
        (_, "setwebhook") => webhook::set(&shared, &args),
        (_, "deletewebhook") => webhook::delete(&shared, &args),
        _ => shared.world.change(|world| methods::perform(&lower, world, &args)),
    };
    match fault {
        Some(Fault::DropResponse) => {
            line.cut();
            return StatusCode::NO_CONTENT.into_response();
        }
        Some(Fault::HtmlPageAfter(status)) => {
            note(json!({"http": status}));
            return page(status);
        }
        Some(Fault::HangAfter) => shared.tasks.stop.cancelled().await,
        Some(Fault::DelayAfter(wait)) => tokio::time::sleep(wait).await,
        _ => {}
    }
    let (code, body) = form(outcome);
    note(body.clone());
    answer(code, body)
}

/// Faults that come before the method.
async fn before(shared: &Shared, line: &Line, fault: &Option<Fault>, note: &impl Fn(Value)) -> Option<Response> {
    Some(match fault.as_ref()? {
        Fault::Answer(code, body) => {
            note(body.clone());
            answer(*code, body.clone())
        }
        Fault::HtmlPage(code) => {
            note(json!({"http": code}));
            page(*code)
        }
        Fault::Garbage => {
            note(Value::Null);
            ([(header::CONTENT_TYPE, "application/json")], "{\"ok\":true,\"resu").into_response()
        }
        Fault::DropRequest => {
            line.cut();
            StatusCode::NO_CONTENT.into_response()
        }
        Fault::Hang => {
            // Ends when the client gives up, which drops this future, or with the simulator.
            shared.tasks.stop.cancelled().await;
            status(503).into_response()
        }
        Fault::DelayBefore(wait) => {
            tokio::time::sleep(*wait).await;
            return None;
        }
        Fault::DropResponse | Fault::HtmlPageAfter(_) | Fault::HangAfter | Fault::DelayAfter(_) => return None,
    })
}

/// `bot` is the part of the path that holds the token.
pub(crate) fn admit(world: &World, bot: &str) -> Result<(), Refused> {
    let token = bot.strip_prefix("bot").unwrap_or_default();
    let (id, secret) = token.split_once(':').unwrap_or_default();
    let shaped = !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()) && secret.len() >= 30;
    match () {
        () if !shaped => Err(Refused::new(404, "Not Found")),
        () if world.revoked || token != BOT_TOKEN => Err(Refused::new(401, "Unauthorized")),
        () => Ok(()),
    }
}

/// Status and body of an answer.
pub(crate) fn form(outcome: methods::Outcome) -> (u16, Value) {
    match outcome {
        Ok(result) => (200, json!({"ok": true, "result": result})),
        Err(Refused { code, description, parameters }) => {
            let mut body = json!({"ok": false, "error_code": code, "description": description});
            if let Some(parameters) = parameters {
                body["parameters"] = parameters;
            }
            (code, body)
        }
    }
}

pub(crate) fn refuse(refused: &Refused) -> Response {
    let (code, body) = form(Err(refused.clone()));
    answer(code, body)
}

fn answer(code: u16, body: Value) -> Response {
    let mut answer = (status(code), Json(&body)).into_response();
    if let Some(wait) = body["parameters"]["retry_after"].as_u64() {
        answer.headers_mut().insert(header::RETRY_AFTER, wait.into());
    }
    answer
}

fn page(code: u16) -> Response {
    let page = Html("<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>nginx</body>\r\n</html>");
    (status(code), page).into_response()
}

pub(crate) fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
