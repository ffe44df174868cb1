//! A change as it is sent: one JSON object, or a list of them. Every mistake names the event and the field.

use axum::http::StatusCode;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::{http::problem::Problem, store::NewChange};

/// Events in one request.
const BATCH: usize = 1000;
const KIND_CHARS: usize = 100;
const TEXT_CHARS: usize = 500;
const URL_CHARS: usize = 2000;
const DETAILS_CHARS: usize = 20_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    time: Option<String>,
    kind: String,
    title: String,
    service: Option<String>,
    author: Option<String>,
    url: Option<String>,
    details: Option<Value>,
}

pub(super) fn parse(body: &[u8], now: i64) -> Result<Vec<NewChange>, Problem> {
    let value: Value = serde_json::from_slice(body).map_err(|error| bad_json(&error))?;
    let list = match value {
        Value::Array(list) => list,
        one => vec![one],
    };
    if list.len() > BATCH {
        let detail = format!("{} events in one request; send at most {BATCH}.", list.len());
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_many", detail));
    }
    let read = |(index, value): (usize, Value)| {
        let event: Event = serde_json::from_value(value).map_err(|error| bad_json(&error).at(format!("[{index}]")))?;
        event.row(now).map_err(|(field, detail)| {
            Problem::new(StatusCode::BAD_REQUEST, "bad_field", detail).at(format!("[{index}].{field}"))
        })
    };
    list.into_iter().enumerate().map(read).collect()
}

fn bad_json(error: &serde_json::Error) -> Problem {
    let detail = format!("The body is not a change or a list of changes: {error}");
    Problem::new(StatusCode::BAD_REQUEST, "bad_json", detail)
}

type Wrong = (&'static str, String);

impl Event {
    fn row(self, now: i64) -> Result<NewChange, Wrong> {
        let details = self.details.and_then(|details| match details {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        });
        Ok(NewChange {
            id: uuid::Uuid::now_v7().to_string(),
            time: self.time.map_or(Ok(now), |time| moment(&time))?,
            kind: needed("kind", self.kind, KIND_CHARS, "A kind is needed, such as \"deploy\".")?,
            title: needed("title", self.title, TEXT_CHARS, "A title is needed: one line that says what changed.")?,
            service: optional("service", self.service, TEXT_CHARS)?,
            author: optional("author", self.author, TEXT_CHARS)?,
            url: optional("url", self.url, URL_CHARS)?,
            details: optional("details", details, DETAILS_CHARS)?,
            received_at: now,
        })
    }
}

fn moment(text: &str) -> Result<i64, Wrong> {
    let time: Timestamp = text
        .trim()
        .parse()
        .map_err(|_| ("time", "Write the time as RFC 3339, such as 2026-11-30T03:12:00Z.".to_owned()))?;
    Ok(time.as_millisecond())
}

fn needed(field: &'static str, text: String, longest: usize, missing: &str) -> Result<String, Wrong> {
    optional(field, Some(text), longest)?.ok_or_else(|| (field, missing.to_owned()))
}

/// What holds nothing is as if it was not sent.
fn optional(field: &'static str, text: Option<String>, longest: usize) -> Result<Option<String>, Wrong> {
    let Some(text) = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()) else { return Ok(None) };
    match text.chars().count() {
        chars if chars > longest => Err((field, format!("{chars} characters are too many; send at most {longest}."))),
        _ => Ok(Some(text)),
    }
}
