//! What a provider's error means: by status, by code and by wording, in the shapes that servers use. Shared by both wire
//! formats.

use http::HeaderMap;
use serde_json::Value;

use super::{ModelError, delay, scrub::Scrub};

/// An HTTP answer that is not 2xx.
pub(super) struct Refusal<'a> {
    pub(super) status: u16,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
    pub(super) now_ms: i64,
}

impl Refusal<'_> {
    pub(super) fn error(&self, scrub: &Scrub) -> ModelError {
        if (300..400).contains(&self.status) {
            let status = self.status;
            return ModelError::Rejected(format!("HTTP {status}, it redirects: base_url must be the final address"));
        }
        let told = match serde_json::from_slice(self.body) {
            Ok(body) => Told::read(&body),
            Err(_) => Told { message: plain_text(self.body), kinds: Vec::new(), status: None },
        };
        if self.status == 404 && told.kinds.is_empty() {
            let message = told.say(Some(404), scrub);
            return ModelError::Rejected(format!("{message} (base_url or the model's name may be wrong)"));
        }
        match told.error(Some(self.status), scrub) {
            ModelError::RateLimited { .. } => {
                ModelError::RateLimited { after: delay::asked(self.headers, self.now_ms) }
            }
            // Its limits aren't the reason, so the times of their resets say nothing. Also one that is down may know for
            // how long.
            error if error.is_transient() => match delay::retry_after(self.headers, self.now_ms) {
                None => error,
                after => ModelError::Overloaded { after },
            },
            error => error,
        }
    }
}

/// An error inside an answer that began well.
pub(super) fn in_stream(body: &Value, scrub: &Scrub) -> ModelError {
    let told = Told::read(body);
    told.error(told.status, scrub)
}

/// A page meant for a browser says nothing here.
fn plain_text(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if text.trim_start().starts_with('<') { String::new() } else { text.into_owned() }
}

#[derive(Debug)]
struct Told {
    message: String,
    /// Code, type and status words, in lower case.
    kinds: Vec<String>,
    /// A numeric code that is an HTTP status.
    status: Option<u16>,
}

impl Told {
    /// `{"error": {…}}`, `{"error": "…"}`, `[{"error": …}]`, the bare object, `{"detail": …}`, or a bare string.
    fn read(body: &Value) -> Self {
        let body = body.get(0).unwrap_or(body);
        let error = body.get("error").filter(|e| !e.is_null()).unwrap_or(body);
        let text = |key: &str| error.get(key).and_then(Value::as_str).filter(|t| !t.is_empty());
        let upstream = error.pointer("/metadata/raw").and_then(Value::as_str);
        let detail = error.pointer("/detail/0/msg").and_then(Value::as_str);
        let message = upstream.or(text("message")).or(text("detail")).or(detail).or(error.as_str()).unwrap_or_default();
        let kinds = ["code", "type", "status"].iter().filter_map(|key| text(key)).map(str::to_lowercase).collect();
        let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        Self { message: message.to_owned(), kinds, status: status.filter(|code| (400..600).contains(code)) }
    }

    fn error(&self, status: Option<u16>, scrub: &Scrub) -> ModelError {
        let text = self.message.to_lowercase();
        let said = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
        let kind = |words: &[&str]| self.kinds.iter().any(|kind| words.iter().any(|word| kind.contains(word)));
        let message = || self.say(status, scrub);

        if status == Some(402) || kind(&["quota", "billing", "balance"]) || said(OUT_OF_CREDIT) {
            ModelError::Auth(format!("its account has no quota or credit left ({})", message()))
        } else if status == Some(413)
            || kind(&["context_length", "exceed_context", "request_too_large"])
            || said(&["request too large"])
            || matches!(status, None | Some(400 | 422 | 500)) && said(TOO_LONG)
        {
            ModelError::TooLong(message())
        } else if matches!(status, Some(503 | 529)) || kind(&["overloaded", "unavailable"]) || said(&["overloaded"]) {
            ModelError::Overloaded { after: None }
        } else if status == Some(429) || kind(&["rate_limit", "resource_exhausted", "too_many_requests"]) {
            ModelError::RateLimited { after: None }
        } else if matches!(status, Some(401 | 403)) || kind(&["api_key", "authentication", "permission"]) {
            ModelError::Auth(message())
        } else if matches!(status, Some(408 | 409 | 425 | 500..)) {
            ModelError::Unavailable(message())
        } else if status.is_some() || kind(&["invalid_request", "not_found", "bad_request", "badrequest"]) {
            ModelError::Rejected(message())
        } else {
            ModelError::Unavailable(message())
        }
    }

    fn say(&self, status: Option<u16>, scrub: &Scrub) -> String {
        let status = status.map(|s| format!("HTTP {s}"));
        let message = Some(scrub.clean(&self.message)).filter(|m| !m.is_empty());
        let words: Vec<_> = status.into_iter().chain(message).collect();
        if words.is_empty() { "an error without a word".to_owned() } else { words.join(": ") }
    }
}

const OUT_OF_CREDIT: &[&str] =
    &["insufficient balance", "insufficient_quota", "credit balance is too low", "insufficient credits"];

const TOO_LONG: &[&str] = &[
    "context length",
    "context window",
    "context size",
    "context limit",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "input length",
    "maximum prompt length",
    "maximum number of tokens",
    "reduce the length",
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn refused(status: u16, retry_after: Option<&str>, body: &str) -> ModelError {
        let mut headers = HeaderMap::new();
        if let Some(after) = retry_after {
            headers.insert("retry-after", after.parse().unwrap());
        }
        Refusal { status, headers: &headers, body: body.as_bytes(), now_ms: 0 }.error(&Scrub::new(Some("CANARY")))
    }

    fn limited(seconds: u64) -> ModelError {
        ModelError::RateLimited { after: Some(Duration::from_secs(seconds)) }
    }

    #[test]
    fn a_refusal_is_sorted_by_what_to_do_next() {
        use ModelError::{Auth, Rejected, TooLong, Unavailable};
        let overloaded = |seconds: Option<u64>| ModelError::Overloaded { after: seconds.map(Duration::from_secs) };
        for (status, after, body, expected) in [
            (401, None, r#"{"error":{"message":"bad key CANARY"}}"#, Auth("HTTP 401: bad key [key]".into())),
            (403, None, "", Auth("HTTP 403".into())),
            (429, Some("7"), r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#, limited(7)),
            (429, None, "slow down", ModelError::RateLimited { after: None }),
            (
                429,
                Some("7"),
                r#"{"error":{"message":"You exceeded it","code":"insufficient_quota"}}"#,
                Auth("its account has no quota or credit left (HTTP 429: You exceeded it)".into()),
            ),
            (402, None, "", Auth("its account has no quota or credit left (HTTP 402)".into())),
            (
                429,
                None,
                r#"{"error":{"message":"Request too large for gpt: limit 30000, requested 40000","code":"rate_limit_exceeded"}}"#,
                TooLong("HTTP 429: Request too large for gpt: limit 30000, requested 40000".into()),
            ),
            (529, None, r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#, overloaded(None)),
            (503, None, "<html>busy</html>", overloaded(None)),
            (503, Some("7"), "<html>busy</html>", overloaded(Some(7))),
            (504, Some("7"), "", overloaded(Some(7))),
            (401, Some("7"), "", Auth("HTTP 401".into())),
            (429, None, r#"{"error":{"type":"engine_overloaded_error","message":"x"}}"#, overloaded(None)),
            (500, None, r#"{"error":"boom"}"#, Unavailable("HTTP 500: boom".into())),
            (502, None, "<html>bad gateway</html>", Unavailable("HTTP 502".into())),
            (408, None, "", Unavailable("HTTP 408".into())),
            (409, None, "", Unavailable("HTTP 409".into())),
            (
                400,
                None,
                r#"{"error":{"message":"too many","code":"context_length_exceeded"}}"#,
                TooLong("HTTP 400: too many".into()),
            ),
            (
                400,
                None,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens","type":"invalid_request_error"}}"#,
                TooLong("HTTP 400: This model's maximum context length is 8192 tokens".into()),
            ),
            (
                400,
                None,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#,
                TooLong("HTTP 400: prompt is too long: 9 > 8".into()),
            ),
            (413, None, "", TooLong("HTTP 413".into())),
            (400, None, r#"{"detail":[{"msg":"field required"}]}"#, Rejected("HTTP 400: field required".into())),
            (400, None, r#"[{"error":{"code":400,"message":"no"}}]"#, Rejected("HTTP 400: no".into())),
            (
                404,
                None,
                "404 page not found",
                Rejected("HTTP 404: 404 page not found (base_url or the model's name may be wrong)".into()),
            ),
            (
                404,
                None,
                r#"{"error":{"message":"no model x","code":"model_not_found"}}"#,
                Rejected("HTTP 404: no model x".into()),
            ),
            (308, None, "", Rejected("HTTP 308, it redirects: base_url must be the final address".into())),
        ] {
            assert_eq!(refused(status, after, body), expected, "{status} {body}");
        }
    }

    #[test]
    fn an_error_inside_a_stream_is_sorted_the_same_way() {
        let scrub = Scrub::default();
        for (body, expected) in [
            (json!({"error": {"type": "overloaded_error", "message": "x"}}), ModelError::Overloaded { after: None }),
            (json!({"error": {"code": 429, "message": "x"}}), ModelError::RateLimited { after: None }),
            (json!({"error": {"code": "rate_limit_exceeded"}}), ModelError::RateLimited { after: None }),
            (json!({"error": {"code": 502, "message": "gone"}}), ModelError::Unavailable("HTTP 502: gone".into())),
            (json!({"error": "gone"}), ModelError::Unavailable("gone".into())),
            (json!({"error": {}}), ModelError::Unavailable("an error without a word".into())),
            (json!({"error": {"type": "invalid_request_error", "message": "no"}}), ModelError::Rejected("no".into())),
            (
                json!({"object": "error", "message": "context length 9 > 8", "code": 400}),
                ModelError::TooLong("HTTP 400: context length 9 > 8".into()),
            ),
        ] {
            assert_eq!(in_stream(&body, &scrub), expected, "{body}");
        }
    }

    #[test]
    fn what_a_provider_says_is_kept_short() {
        let ModelError::Rejected(text) = refused(400, None, &"x".repeat(5000)) else { panic!("rejected") };
        assert_eq!(text, format!("HTTP 400: {}…", "x".repeat(300)));
    }
}
