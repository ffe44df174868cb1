//! The provider against a server on loopback that plays scripts: what is sent, and what its refusals come to. The rest of
//! the way is shared with the other format and tested there.

use std::time::Duration;

use futures::StreamExt;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{Anthropic, AnthropicConfig, is_anthropics_own, most_tokens};
use crate::{
    clock::FixedClock,
    model::{
        Completion, Message, ModelError, ModelEvent, ModelProvider, ModelRequest, StopReason, Timeouts, Usage,
        loopback::{KEY, LONG, STREAM, Server, Step, refusal, request, told},
    },
};

type Outcome = Vec<Result<ModelEvent, ModelError>>;

fn provider(base_url: &str, key: Option<&str>) -> Anthropic {
    let (base_url, api_key) = (base_url.parse().unwrap(), key.map(SecretString::from));
    let timeouts = Timeouts { connect: LONG, first_byte: LONG, idle: LONG };
    Anthropic::new(AnthropicConfig { base_url, api_key, timeouts, clock: FixedClock::at(0) }).unwrap()
}

impl Server {
    async fn answers(&self, request: ModelRequest) -> Outcome {
        provider(&self.base_url, Some(KEY)).stream(request).collect().await
    }
}

async fn refused(status: &str, headers: &str, kind: &str, message: &str) -> Outcome {
    let body = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"}).to_string();
    Server::playing(refusal(status, headers, &body)).await.answers(request()).await
}

fn events() -> String {
    [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "yes"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ]
    .map(|data| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap()))
    .concat()
}

fn answered() -> Vec<Step> {
    vec![Step::Send(STREAM.to_owned() + &events())]
}

fn yes() -> Outcome {
    let usage = Usage { input_tokens: 9, cached_tokens: 0, output_tokens: 2 };
    let done = Completion { text: "yes".into(), reasoning: vec![], calls: vec![], stop: StopReason::End, usage };
    vec![Ok(ModelEvent::Text("yes".into())), Ok(ModelEvent::Done(done))]
}

async fn sent(server: &mut Server) -> (String, Value) {
    let request = server.requests.recv().await.unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), serde_json::from_str(body).unwrap())
}

#[tokio::test]
async fn a_request_goes_to_the_right_place_with_its_key() {
    for path in ["/v1/", "/v1", "", "/"] {
        let mut server = Server::playing(answered()).await;
        let base_url = server.base_url.replace("/v1/", path);
        let outcome: Outcome = provider(&base_url, Some(&format!("{KEY}\n"))).stream(request()).collect().await;
        assert_eq!(outcome, yes());
        let (head, body) = sent(&mut server).await;
        assert!(head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{head}");
        let (key, bearer) = (format!("x-api-key: {KEY}"), format!("authorization: Bearer {KEY}"));
        for line in [&key, &bearer, "anthropic-version: 2023-06-01", "accept: text/event-stream"] {
            assert!(head.lines().any(|l| l == line), "{line} is missing in {head}");
        }
        assert_eq!((&body["model"], &body["stream"]), (&json!("m"), &json!(true)));
    }
}

#[test]
fn only_servers_of_others_get_the_key_a_second_time() {
    for (base, own) in [
        ("https://api.anthropic.com", true),
        ("https://anthropic.com/v1", true),
        ("https://notanthropic.com", false),
        ("https://api.anthropic.com.example.org", false),
        ("http://127.0.0.1:8000", false),
    ] {
        assert_eq!(is_anthropics_own(&base.parse().unwrap()), own, "{base}");
    }
}

#[tokio::test]
async fn a_server_of_ones_own_is_asked_without_a_key() {
    let mut server = Server::playing(answered()).await;
    let base_url = server.base_url.replace("/v1/", "/api/anthropic");
    assert_eq!(provider(&base_url, None).stream(request()).collect::<Outcome>().await, yes());
    let (head, _) = sent(&mut server).await;
    assert!(head.starts_with("POST /api/anthropic/v1/messages ") && !head.contains("x-api-key"), "{head}");
}

#[tokio::test]
async fn a_refusal_is_sorted_by_what_to_do_next() {
    use ModelError::{Auth, Rejected, TooLong, Unavailable};
    for (status, kind, message, expected) in [
        ("529 Overloaded", "overloaded_error", "Overloaded", ModelError::Overloaded { after: None }),
        ("500 Internal Server Error", "api_error", "gone", Unavailable("HTTP 500: gone".into())),
        ("413 Too Large", "request_too_large", "too large", TooLong("HTTP 413: too large".into())),
        (
            "400 Bad Request",
            "invalid_request_error",
            "prompt is too long: 9 tokens > 8 maximum",
            TooLong("HTTP 400: prompt is too long: 9 tokens > 8 maximum".into()),
        ),
        (
            "400 Bad Request",
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 199500 + 16384 > 200000",
            TooLong("HTTP 400: input length and `max_tokens` exceed context limit: 199500 + 16384 > 200000".into()),
        ),
        (
            "400 Bad Request",
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API.",
            Auth("its account has no quota or credit left (HTTP 400: Your credit balance is too low to access the Anthropic API.)".into()),
        ),
        ("401 Unauthorized", "authentication_error", "invalid x-api-key", Auth("HTTP 401: invalid x-api-key".into())),
        ("403 Forbidden", "permission_error", "no", Auth("HTTP 403: no".into())),
        ("404 Not Found", "not_found_error", "model: m", Rejected("HTTP 404: model: m".into())),
        ("400 Bad Request", "invalid_request_error", "messages: no", Rejected("HTTP 400: messages: no".into())),
    ] {
        assert_eq!(refused(status, "", kind, message).await, [Err(expected)], "{message}");
    }
}

#[tokio::test]
async fn a_rate_limit_says_how_long() {
    let reset =
        "anthropic-ratelimit-requests-remaining: 0\r\nanthropic-ratelimit-requests-reset: 1970-01-01T00:00:20Z\r\n";
    for (headers, seconds) in [("retry-after: 7\r\n", 7), (reset, 20)] {
        let after = Some(Duration::from_secs(seconds));
        let outcome = refused("429 Too Many Requests", headers, "rate_limit_error", "slow down").await;
        assert_eq!(outcome, [Err(ModelError::RateLimited { after })]);
    }
}

#[tokio::test]
async fn a_key_that_the_server_repeats_is_not_told() {
    let outcome = refused("401 Unauthorized", "", "authentication_error", &format!("wrong key {KEY}")).await;
    assert_eq!(told(&outcome), "the model's provider refused the key: HTTP 401: wrong key [key]");
    assert!(!format!("{:?}", provider("http://127.0.0.1:1", Some(KEY))).contains("CANARY"));
}

/// Refused once in these words, then answered. What the two requests were.
async fn learns(message: &str, request: ModelRequest) -> (Value, Value) {
    let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).to_string();
    let mut server = Server::playing_each(vec![refusal("400 Bad Request", "", &body), answered()]).await;
    assert_eq!(server.answers(request).await, yes());
    (sent(&mut server).await.1, sent(&mut server).await.1)
}

#[tokio::test]
async fn a_model_that_can_write_less_is_asked_for_less() {
    let message = "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for m";
    let (first, second) = learns(message, request()).await;
    assert_eq!((&first["max_tokens"], &second["max_tokens"]), (&json!(16384), &json!(8192)));
    for (refusal, most) in [
        (message, Some(8192)),
        (r"max_tokens: 16384 \u003e 4096, which", Some(4096)),
        ("max_tokens: must be greater", None),
        ("`max_tokens` must be > x", None),
        ("temperature 3 > 1", None),
        ("", None),
    ] {
        assert_eq!(most_tokens(refusal), most, "{refusal}");
    }
}

#[tokio::test]
async fn where_the_window_holds_question_and_answer_a_shorter_answer_is_asked_for() {
    for (message, less) in [
        ("input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000, decrease it", 10_000),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 16504 tokens (120 in the messages, 16384 in the completion).",
            2048,
        ),
        (
            "'max_tokens' is too large: 16384. This model's maximum context length is 32768 tokens and your request has 20000 input tokens.",
            4096,
        ),
    ] {
        let (first, second) = learns(message, request()).await;
        assert_eq!((&first["max_tokens"], &second["max_tokens"]), (&json!(16384), &json!(less)), "{message}");
    }
}

fn refused_in(message: &str) -> Vec<Step> {
    let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).to_string();
    refusal("400 Bad Request", "", &body)
}

#[tokio::test]
async fn what_one_conversation_taught_is_not_held_against_another() {
    let message = "input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000";
    let signature = "messages.1.content.0: Invalid `signature` in `thinking` block";
    let scripts = vec![refused_in(message), answered(), answered(), refused_in(signature), answered(), answered()];
    let mut server = Server::playing_each(scripts).await;
    let provider = provider(&server.base_url, Some(KEY));
    for request in [request(), request(), thoughtful(), thoughtful()] {
        assert_eq!(provider.stream(request).collect::<Outcome>().await, yes());
    }
    let mut asked = Vec::new();
    for _ in 0..6 {
        let (_, body) = sent(&mut server).await;
        asked.push((body["max_tokens"].clone(), body.to_string().contains("\"thinking\"")));
    }
    let asked: Vec<_> = asked.iter().map(|(most, thinks)| (most.as_u64().unwrap(), *thinks)).collect();
    let whole = 16384;
    assert_eq!(asked, [(whole, false), (10_000, false), (whole, false), (whole, true), (whole, false), (whole, true)]);
}

#[tokio::test]
async fn what_two_conversations_learn_at_once_is_kept_both() {
    let most = "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for m";
    let marks = "system.0.cache_control: Extra inputs are not permitted";
    let scripts = vec![refused_in(most), answered(), refused_in(marks), answered(), answered()];
    let mut server = Server::playing_each(scripts).await;
    let provider = provider(&server.base_url, Some(KEY));
    for _ in 0..3 {
        assert_eq!(provider.stream(request()).collect::<Outcome>().await, yes());
    }
    let mut last = Value::Null;
    for _ in 0..5 {
        last = sent(&mut server).await.1;
    }
    assert_eq!((&last["max_tokens"], last.to_string().contains("cache_control")), (&json!(8192), false));
}

fn thoughtful() -> ModelRequest {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let reasoning = vec![json!({"model": "m", "blocks": [thought, {"text": 7}]})];
    let mut request = request();
    request.messages.push(Message::Assistant { text: "Because".into(), reasoning, calls: vec![] });
    request.messages.push(Message::user("sure?"));
    request
}

#[tokio::test]
async fn a_signature_that_a_gateway_calls_a_rate_limit_is_left_out_too() {
    let message = "messages.1.content.0: Invalid `signature` in `thinking` block";
    let body = json!({"type": "error", "error": {"type": "rate_limit_error", "message": message}}).to_string();
    let mut server = Server::playing_each(vec![refusal("429 Too Many Requests", "", &body), answered()]).await;
    assert_eq!(server.answers(thoughtful()).await, yes());
    let (_, first) = sent(&mut server).await;
    let (_, second) = sent(&mut server).await;
    assert!(first.to_string().contains("signature") && !second.to_string().contains("signature"));
}

#[tokio::test]
async fn thoughts_that_are_no_longer_taken_are_left_out() {
    let request = thoughtful();
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let message =
        "messages.1.content.0: Invalid `signature` in `thinking` block. It is bound to a different conversation.";
    let (first, second) = learns(message, request).await;
    let text = json!({"type": "text", "text": "Because"});
    assert_eq!(first["messages"][1]["content"], json!([thought, text]));
    assert_eq!(second["messages"][1]["content"], json!([text]));
}

#[tokio::test]
async fn a_server_without_a_cache_is_asked_without_marks() {
    let (first, second) = learns("system.0.cache_control: Extra inputs are not permitted", request()).await;
    assert!(first.to_string().contains("cache_control") && !second.to_string().contains("cache_control"));
}

#[test]
fn a_wrong_setting_is_named_when_the_provider_is_built() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    for (base_url, key, expected) in [
        ("ftp://host/", "k", "base_url must be an http or https address"),
        ("data:x", "k", "base_url must be an http or https address"),
        ("http://host/", "two\nlines", "api_key holds characters that a key can't have"),
    ] {
        let (base_url, api_key) = (base_url.parse().unwrap(), Some(SecretString::from(key)));
        let config = AnthropicConfig { base_url, api_key, timeouts: Timeouts::default(), clock: FixedClock::at(0) };
        assert_eq!(Anthropic::new(config).unwrap_err().to_string(), expected);
    }
}
