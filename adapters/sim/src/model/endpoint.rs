//! `/v1/chat/completions` and `/v1/messages` over HTTP: key, referee, the rule that answers, and how the bytes leave.

use std::{collections::VecDeque, io, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::Body,
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json};

use super::{Shared, answer::Answer, dialect::Dialect, request::Asked, script::ModelFault};

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(|state, headers, bytes| complete(Dialect::Chat, state, headers, bytes)))
        .route("/v1/messages", post(|state, headers, bytes| complete(Dialect::Messages, state, headers, bytes)))
        .route("/v1/models", get(models))
        .layer(DefaultBodyLimit::max(64 * 1024 * 1024))
        .with_state(shared)
}

async fn models(headers: HeaderMap) -> Response {
    // Both formats have their list here; the header tells who asks.
    let dialect = if headers.contains_key("x-api-key") { Dialect::Messages } else { Dialect::Chat };
    if let Some(refusal) = dialect.refuse(&headers) {
        return refusal;
    }
    if dialect == Dialect::Messages {
        let model = json!({"type": "model", "id": "sim", "display_name": "Sim", "created_at": "1970-01-01T00:00:01Z"});
        let list = json!({"data": [model], "has_more": false, "first_id": "sim", "last_id": "sim"});
        return Json(list).into_response();
    }
    let model = json!({"id": "sim", "object": "model", "created": 1, "owned_by": "sim"});
    Json(json!({"object": "list", "data": [model]})).into_response()
}

async fn complete(dialect: Dialect, State(shared): State<Arc<Shared>>, headers: HeaderMap, bytes: Bytes) -> Response {
    if let Some(refusal) = dialect.refuse(&headers) {
        return refusal;
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let body: Value = match serde_json::from_str(&text) {
        Ok(body) => body,
        Err(problem) => {
            let message = format!("the request is no JSON: {problem}");
            shared.board.change(|state| state.complaints.push(message.clone()));
            return dialect.error(StatusCode::BAD_REQUEST, &message, "invalid_request_error");
        }
    };
    let chat = dialect.as_chat(&body);
    let asked = Asked::new(&chat);
    let chosen = shared.board.change(|state| {
        state.requests.push(body.clone());
        if let Err(complaint) = dialect.check(&body, &text, state) {
            state.complaints.push(complaint.clone());
            return Err((StatusCode::BAD_REQUEST, complaint, "invalid_request_error"));
        }
        let fits = |entry: &&mut super::Entry| {
            entry.rule.times.is_none_or(|times| entry.used < times) && entry.rule.when.holds(&asked)
        };
        let Some(entry) = state.rules.iter_mut().find(fits) else {
            let complaint = format!("no rule of the script fits; {}", asked.last_words());
            state.complaints.push(complaint.clone());
            return Err((StatusCode::INTERNAL_SERVER_ERROR, complaint, "server_error"));
        };
        entry.used += 1;
        let rule = entry.rule.clone();
        state.answers += 1;
        let calls = &mut state.calls;
        let next_call = || {
            *calls += 1;
            dialect.call_id(*calls)
        };
        let answer = Answer::new(&rule.reply, state.answers, asked.model(), text.len(), next_call);
        if dialect == Dialect::Messages {
            state.thoughts.keep(&answer, &body);
        }
        state.open += 1;
        Ok((rule, answer))
    });
    let (rule, answer) = match chosen {
        Ok(chosen) => chosen,
        Err((status, message, kind)) => {
            tracing::warn!(%status, message, "request refused by the simulated model");
            return dialect.error(status, &message, kind);
        }
    };
    // From here on a client that goes away is noticed, because this future or the stream is dropped.
    let open = Open { shared: Arc::clone(&shared), finished: false };
    shared.wait_for_release().await;
    if let Some(delay) = rule.delay {
        tokio::time::sleep(delay).await;
    }
    let says_nothing = rule.reply.text.is_none() && rule.reply.calls.is_empty();
    match &rule.fault {
        Some(ModelFault::Status { status, retry_after }) => {
            open.finish();
            return dialect.failed(*status, *retry_after);
        }
        Some(ModelFault::Hang) if says_nothing || !asked.streams() => {
            shared.stop.cancelled().await;
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        Some(ModelFault::ErrorEvent(kind)) if !asked.streams() => {
            open.finish();
            return dialect.error(StatusCode::INTERNAL_SERVER_ERROR, "the simulated model failed", kind);
        }
        _ => {}
    }
    let pieces =
        if asked.streams() { dialect.events(&answer, &body) } else { vec![dialect.whole(&answer).to_string()] };
    let steps = steps(dialect, pieces, rule.fault.as_ref());
    let kind = if asked.streams() { "text/event-stream; charset=utf-8" } else { "application/json" };
    let body = Body::from_stream(play(steps, rule.pace, open));
    let mut response = ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], body).into_response();
    dialect.stamp(&mut response);
    response
}

enum Step {
    Send(Bytes),
    Hang,
    Break,
}

fn steps(dialect: Dialect, pieces: Vec<String>, fault: Option<&ModelFault>) -> VecDeque<Step> {
    let send = |piece: String| Step::Send(piece.into());
    let beginning = dialect.beginning().min(pieces.len());
    match fault {
        None | Some(ModelFault::Status { .. }) => pieces.into_iter().map(send).collect(),
        Some(ModelFault::CutAfterBytes(bytes)) => {
            let mut all = pieces.concat().into_bytes();
            all.truncate(*bytes);
            [Step::Send(all.into()), Step::Break].into()
        }
        Some(ModelFault::Hang) => pieces.into_iter().take(beginning).map(send).chain([Step::Hang]).collect(),
        Some(ModelFault::ErrorEvent(kind)) => {
            pieces.into_iter().take(beginning).chain([dialect.error_event(kind)]).map(send).collect()
        }
    }
}

fn play(
    steps: VecDeque<Step>,
    pace: Option<Duration>,
    open: Open,
) -> impl futures::Stream<Item = io::Result<Bytes>> + Send {
    stream::unfold((steps, open, true), move |(mut steps, open, first)| async move {
        match steps.pop_front() {
            Some(Step::Send(bytes)) => {
                if let Some(pace) = pace.filter(|_| !first) {
                    tokio::time::sleep(pace).await;
                }
                Some((Ok(bytes), (steps, open, false)))
            }
            Some(Step::Hang) => {
                open.shared.stop.cancelled().await;
                None
            }
            Some(Step::Break) => {
                // What was sent before shall leave the buffer first.
                tokio::time::sleep(Duration::from_millis(5)).await;
                let broken = io::Error::from(io::ErrorKind::ConnectionReset);
                Some((Err(broken), (VecDeque::new(), open, false)))
            }
            None => {
                open.finish();
                None
            }
        }
    })
}

/// An answer under way, counted until it is complete or dropped.
struct Open {
    shared: Arc<Shared>,
    finished: bool,
}

impl Open {
    fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let abandoned = usize::from(!self.finished);
        self.shared.board.change(|state| {
            state.open -= 1;
            if self.finished {
                state.ended.push(std::time::Instant::now());
            }
            state.abandoned += abandoned;
        });
    }
}
