//! `POST /api/v1/hooks/changes`: deploys, flags and settings as they happen, for `query_change_events`.

use axum::{
    Json,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header},
};
use jiff::Timestamp;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use subtle::ConstantTimeEq;

use super::{Http, problem::Problem};
use crate::store::NewChange;

/// Events in one request.
const BATCH: usize = 1000;
const TITLE_CHARS: usize = 500;
const DETAILS_CHARS: usize = 20_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    time: Option<String>,
    kind: String,
    title: String,
    service: Option<String>,
    author: Option<String>,
    url: Option<String>,
    details: Option<Value>,
}

#[derive(Debug, Serialize)]
pub(super) struct Taken {
    ids: Vec<String>,
}

/// 202 with the ids in the order of the request; nothing is kept of a request with one wrong event.
pub(super) async fn take(
    State(http): State<Http>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<Taken>), Problem> {
    let Some(token) = &http.changes_token else {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "closed",
            "This intake is closed. Set hooks.changes_token in the configuration to open it.",
        ));
    };
    let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let sent = sent.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    if !bool::from(sent.as_bytes().ct_eq(token.expose_secret().as_bytes())) {
        return Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "Send the header `Authorization: Bearer <hooks.changes_token>`.",
        ));
    }
    let now = http.clock.now_ms();
    let changes = parse(&body)?
        .into_iter()
        .enumerate()
        .map(|(index, change)| change.row(index, now))
        .collect::<Result<Vec<_>, _>>()?;
    let ids = changes.iter().map(|change| change.id.clone()).collect();
    http.store.changes().insert(changes).await.map_err(|error| {
        tracing::error!(%error, "changes could not be written down");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "store", "The events could not be stored. Send them again.")
    })?;
    Ok((StatusCode::ACCEPTED, Json(Taken { ids })))
}

fn parse(body: &[u8]) -> Result<Vec<Change>, Problem> {
    let wrong = |error: serde_json::Error| {
        Problem::new(
            StatusCode::BAD_REQUEST,
            "bad_json",
            format!("The body is not a change or a list of changes: {error}"),
        )
    };
    let value: Value = serde_json::from_slice(body).map_err(wrong)?;
    let list = match value {
        Value::Array(list) => list,
        one => vec![one],
    };
    if list.len() > BATCH {
        let detail = format!("{} events in one request; send at most {BATCH}.", list.len());
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_many", detail));
    }
    list.into_iter()
        .enumerate()
        .map(|(index, value)| serde_json::from_value(value).map_err(|error| wrong(error).at(format!("[{index}]"))))
        .collect()
}

impl Change {
    fn row(self, index: usize, now: i64) -> Result<NewChange, Problem> {
        let field = |name: &str| format!("[{index}].{name}");
        let bad =
            |name: &str, detail: &str| Err(Problem::new(StatusCode::BAD_REQUEST, "bad_field", detail).at(field(name)));
        if self.kind.trim().is_empty() {
            return bad("kind", "A kind is needed, such as \"deploy\".");
        }
        if self.title.trim().is_empty() {
            return bad("title", "A title is needed: one line that says what changed.");
        }
        if self.title.chars().count() > TITLE_CHARS {
            return bad("title", "The title is too long; put the rest into details.");
        }
        let time = match &self.time {
            None => now,
            Some(time) => match time.parse::<Timestamp>() {
                Ok(time) => time.as_millisecond(),
                Err(_) => return bad("time", "Write the time as RFC 3339, such as 2026-11-30T03:12:00Z."),
            },
        };
        let details = self.details.map(|details| match details {
            Value::String(text) => text,
            other => other.to_string(),
        });
        if details.as_ref().is_some_and(|details| details.chars().count() > DETAILS_CHARS) {
            return bad("details", "The details are too long; link to them with url.");
        }
        Ok(NewChange {
            id: uuid::Uuid::now_v7().to_string(),
            time,
            kind: self.kind,
            title: self.title,
            service: self.service,
            author: self.author,
            url: self.url,
            details,
            received_at: now,
        })
    }
}
