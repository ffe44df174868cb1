//! The wire formats of one model: where they differ, this says how. Rules, faults and timing are the same for all.

use axum::{
    Json,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    API_KEY, State,
    answer::Answer,
    memory::Seen,
    messages::{self, Check},
    referee,
};

/// The one of the documentation, and the one that Anthropic's own client sends.
const VERSIONS: [&str; 2] = ["2023-06-01", "2026-10-21"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// OpenAI's chat completions.
    Chat,
    /// Anthropic's messages.
    Messages,
}

impl Dialect {
    /// The answer to a request that may not come in at all.
    pub(crate) fn refuse(self, headers: &HeaderMap) -> Option<Response> {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = || header(header::AUTHORIZATION.as_str())?.strip_prefix("Bearer ");
        match self {
            Self::Chat => {
                let given = bearer();
                let (kind, code) = ("invalid_request_error", Some("invalid_api_key"));
                (given != Some(API_KEY))
                    .then(|| chat_error(StatusCode::UNAUTHORIZED, "Incorrect API key provided.", kind, code))
            }
            // Anthropic's own client sends the key as a bearer token, as the others do; its documentation says `x-api-key`.
            Self::Messages if header("x-api-key").or_else(bearer) != Some(API_KEY) => {
                Some(self.error(StatusCode::UNAUTHORIZED, "invalid x-api-key", "authentication_error"))
            }
            Self::Messages if !header("anthropic-version").is_some_and(|version| VERSIONS.contains(&version)) => {
                let message = "anthropic-version: header is required and must be a valid version";
                Some(self.error(StatusCode::BAD_REQUEST, message, "invalid_request_error"))
            }
            Self::Messages => None,
        }
    }

    pub(crate) fn error(self, status: StatusCode, message: &str, kind: &str) -> Response {
        match self {
            Self::Chat => chat_error(status, message, kind, None),
            Self::Messages => {
                let mut response = (status, Json(messages_error(kind, message))).into_response();
                self.stamp(&mut response);
                response
            }
        }
    }

    /// Anthropic names every answer, a stream too: its client shows the name with an error in the middle.
    pub(crate) fn stamp(self, response: &mut Response) {
        if self == Self::Messages {
            response.headers_mut().insert("request-id", header::HeaderValue::from_static("req_sim"));
        }
    }

    /// What the provider answers when it fails as a script says.
    pub(crate) fn failed(self, status: u16, retry_after: Option<u64>) -> Response {
        let (kind, message) = match (status, self) {
            (429, Self::Chat) => ("rate_limit_exceeded", "Rate limit reached."),
            (401 | 403 | 400, Self::Chat) => ("invalid_request_error", "The request was refused."),
            (_, Self::Chat) => ("server_error", "The server had an error."),
            (400, Self::Messages) => ("invalid_request_error", "The request was refused."),
            (401, Self::Messages) => ("authentication_error", "invalid x-api-key"),
            (403, Self::Messages) => ("permission_error", "Your key may not use this."),
            (413, Self::Messages) => ("request_too_large", "The request exceeds the maximum size."),
            (429, Self::Messages) => ("rate_limit_error", "This request would exceed your rate limit."),
            (529, Self::Messages) => ("overloaded_error", "Overloaded"),
            (_, Self::Messages) => ("api_error", "Internal server error"),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = match self {
            Self::Chat => chat_error(status, message, kind, Some(kind)),
            Self::Messages => self.error(status, message, kind),
        };
        if let Some(wait) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, wait.into());
        }
        response
    }

    /// An error in the middle of a stream.
    pub(crate) fn error_event(self, kind: &str) -> String {
        let message = "the simulated model failed";
        match self {
            Self::Chat => format!("data: {}\n\n", json!({"error": {"message": message, "type": kind, "code": kind}})),
            Self::Messages => format!("event: error\ndata: {}\n\n", messages_error(kind, message)),
        }
    }

    /// The referee's verdict; the sentence is the answer's error message.
    pub(crate) fn check(self, body: &Value, text: &str, state: &mut State) -> Result<(), String> {
        let seen = match self {
            Self::Chat => {
                referee::check(body, &state.unknown_tools)?;
                Seen::chat(body, text)
            }
            Self::Messages => {
                Check::new(&state.unknown_tools, &state.thoughts).request(body)?;
                messages::seen(text)
            }
        };
        if state.rewrites_allowed { Ok(()) } else { state.memory.check(seen) }
    }

    /// The request in the shape of chat completions, as the matchers of a script read it.
    pub(crate) fn as_chat(self, body: &Value) -> Value {
        match self {
            Self::Chat => body.clone(),
            Self::Messages => messages::as_chat(body),
        }
    }

    pub(crate) fn call_id(self, number: u64) -> String {
        match self {
            Self::Chat => format!("call_{number}"),
            Self::Messages => format!("toolu_{number}"),
        }
    }

    pub(crate) fn whole(self, answer: &Answer) -> Value {
        match self {
            Self::Chat => answer.whole(),
            Self::Messages => messages::whole(answer),
        }
    }

    pub(crate) fn events(self, answer: &Answer, body: &Value) -> Vec<String> {
        match self {
            Self::Chat => answer.chunks(body.pointer("/stream_options/include_usage") == Some(&Value::Bool(true))),
            Self::Messages => messages::events(answer),
        }
    }

    /// How many events begin an answer, up to the first piece of what is said.
    pub(crate) fn beginning(self) -> usize {
        match self {
            Self::Chat => 2,
            Self::Messages => 4,
        }
    }
}

fn chat_error(status: StatusCode, message: &str, kind: &str, code: Option<&str>) -> Response {
    let body = json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
    (status, Json(body)).into_response()
}

fn messages_error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_sim"})
}
