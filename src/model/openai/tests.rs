//! The provider against a server on loopback that plays scripts: what is sent, and how every kind of ending is told.

use std::time::Duration;

use futures::StreamExt;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{OpenAi, OpenAiConfig};
use crate::{
    clock::FixedClock,
    model::{
        Completion, Message, ModelError, ModelEvent, ModelProvider, StopReason, Timeouts, ToolCall, ToolChoice,
        ToolSpec, Usage,
        loopback::{CHUNKED, KEY, LONG, PASSWORD, SHORT, STREAM, Server, Step, chunked, refusal, request, told},
    },
};

impl Server {
    fn provider(&self, first_byte: Duration, idle: Duration) -> OpenAi {
        provider(&self.base_url, Timeouts { connect: LONG, first_byte, idle })
    }

    async fn outcome(&self) -> Vec<Result<ModelEvent, ModelError>> {
        self.provider(LONG, LONG).stream(request()).collect().await
    }
}

fn provider(base_url: &str, timeouts: Timeouts) -> OpenAi {
    let api_key = Some(SecretString::from(format!("{KEY}\n")));
    OpenAi::new(OpenAiConfig { base_url: base_url.parse().unwrap(), api_key, timeouts, clock: FixedClock::at(0) })
        .unwrap()
}

fn text_chunk(text: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}))
}

fn finish_chunk() -> String {
    format!("data: {}\n\n", json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}))
}

fn text(text: &str) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Text(text.into()))
}

fn done(text: &str) -> Result<ModelEvent, ModelError> {
    let (text, usage) = (text.into(), Usage::default());
    Ok(ModelEvent::Done(Completion { text, reasoning: vec![], calls: vec![], stop: StopReason::End, usage }))
}

#[tokio::test]
async fn a_request_goes_to_the_right_place_with_its_key() {
    let script = vec![Step::Send([STREAM, &text_chunk("yes"), &finish_chunk(), "data: [DONE]\n\n"].concat())];
    let mut server = Server::playing(script).await;
    assert_eq!(server.outcome().await, [text("yes"), done("yes")]);
    let request = server.requests.recv().await.unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    for line in [&format!("authorization: Bearer {KEY}"), "content-type: application/json", "accept: text/event-stream"]
    {
        assert!(head.lines().any(|l| l == line), "{line} is missing in {head}");
    }
    assert_eq!(serde_json::from_str::<Value>(body).unwrap()["messages"][1], json!({"role": "user", "content": "why?"}));
}

#[tokio::test]
async fn text_is_handed_out_while_the_answer_is_still_coming() {
    let (go, wait) = tokio::sync::oneshot::channel();
    let script = vec![
        Step::Send([STREAM, &text_chunk("Hel")].concat()),
        Step::Wait(wait),
        Step::Send(text_chunk("lo") + &finish_chunk()),
    ];
    let server = Server::playing(script).await;
    let mut stream = server.provider(LONG, LONG).stream(request());
    assert_eq!(stream.next().await, Some(text("Hel")));
    go.send(()).unwrap();
    assert_eq!(stream.collect::<Vec<_>>().await, [text("lo"), done("Hello")]);
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let script = vec![Step::Send([STREAM, &text_chunk("Hel")].concat()), Step::Hold];
    let mut server = Server::playing(script).await;
    let mut stream = server.provider(LONG, LONG).stream(request());
    assert_eq!(stream.next().await, Some(text("Hel")));
    drop(stream);
    assert_eq!(server.closed.recv().await, Some(()));
}

#[tokio::test]
async fn dropping_the_stream_before_any_answer_closes_the_connection() {
    let mut server = Server::playing(vec![Step::Hold]).await;
    let mut stream = server.provider(LONG, LONG).stream(request());
    tokio::select! {
        event = stream.next() => panic!("nothing was sent, but {event:?} came"),
        request = server.requests.recv() => assert!(request.is_some()),
    }
    drop(stream);
    assert_eq!(server.closed.recv().await, Some(()));
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up() {
    let never_answers = Server::playing(vec![Step::Hold]).await;
    let outcome: Vec<_> = never_answers.provider(SHORT, LONG).stream(request()).collect().await;
    assert_eq!(told(&outcome), "the model could not be reached: nothing came for 1 s");

    let only_headers = Server::playing(vec![Step::Send(STREAM.into()), Step::Hold]).await;
    let outcome: Vec<_> = only_headers.provider(SHORT, LONG).stream(request()).collect().await;
    assert_eq!(told(&outcome), "the model could not be reached: nothing came for 1 s");

    let stops_midway = Server::playing(vec![Step::Send([STREAM, &text_chunk("Hel")].concat()), Step::Hold]).await;
    let outcome: Vec<_> = stops_midway.provider(LONG, SHORT).stream(request()).collect().await;
    assert_eq!(outcome[..outcome.len() - 1], [text("Hel")]);
    assert_eq!(told(&outcome), "the model could not be reached: nothing came for 1 s");
}

#[tokio::test]
async fn a_cut_connection_is_an_error_and_never_a_short_answer() {
    let closed_cleanly = Server::playing(vec![Step::Send([STREAM, &text_chunk("Hel")].concat())]).await;
    let outcome = closed_cleanly.outcome().await;
    assert_eq!(outcome[..outcome.len() - 1], [text("Hel")]);
    assert_eq!(told(&outcome), "the model could not be reached: the stream broke off before the answer was complete");

    let cut = Server::playing(vec![Step::Send([CHUNKED, &chunked(&text_chunk("Hel"))].concat())]).await;
    let outcome = cut.outcome().await;
    assert_eq!(outcome[..outcome.len() - 1], [text("Hel")]);
    assert!(told(&outcome).starts_with("the model could not be reached: the connection broke ("), "{outcome:?}");

    let cut_before_the_answer = Server::playing(vec![]).await;
    assert!(told(&cut_before_the_answer.outcome().await).starts_with("the model could not be reached: "));
}

#[tokio::test]
async fn a_connection_cut_after_the_last_word_leaves_the_answer_whole() {
    let script = vec![Step::Send([CHUNKED, &chunked(&(text_chunk("yes") + &finish_chunk()))].concat())];
    assert_eq!(Server::playing(script).await.outcome().await, [text("yes"), done("yes")]);
}

#[tokio::test]
async fn a_server_that_holds_the_line_after_the_last_word_is_not_waited_for() {
    let script = vec![Step::Send([STREAM, &text_chunk("yes"), &finish_chunk()].concat()), Step::Hold];
    let server = Server::playing(script).await;
    let outcome: Vec<_> = server.provider(LONG, SHORT).stream(request()).collect().await;
    assert_eq!(outcome, [text("yes"), done("yes")]);
}

#[tokio::test]
async fn what_came_before_an_error_in_the_same_piece_is_still_handed_out() {
    let error = format!("data: {}\n\n", json!({"error": {"type": "overloaded_error", "message": "x"}}));
    let script = vec![Step::Send([STREAM, &text_chunk("Hel"), &error].concat()), Step::Hold];
    assert_eq!(
        Server::playing(script).await.outcome().await,
        [text("Hel"), Err(ModelError::Overloaded { after: None })]
    );
}

#[tokio::test]
async fn a_rate_limit_says_how_long() {
    let server = Server::playing(refusal("429 Too Many Requests", "retry-after: 7\r\n", "{}")).await;
    let after = Some(Duration::from_secs(7));
    assert_eq!(server.outcome().await, [Err(ModelError::RateLimited { after })]);
}

#[tokio::test]
async fn a_key_that_the_server_repeats_is_not_told() {
    let body = json!({"error": {"message": format!("wrong key {KEY} or {PASSWORD}, see http://127.0.0.1/?key={KEY}")}})
        .to_string();
    let server = Server::playing(refusal("401 Unauthorized", "", &body)).await;
    assert_eq!(
        told(&server.outcome().await),
        "the model's provider refused the key: HTTP 401: wrong key [key] or [key], see [address]"
    );
    let error = format!("data: {}\n\n", json!({"error": {"message": format!("lost {KEY}")}}));
    let server = Server::playing(vec![Step::Send([STREAM, &error].concat())]).await;
    assert_eq!(told(&server.outcome().await), "the model could not be reached: lost [key]");
    let server = provider("http://127.0.0.1:1/v1", Timeouts::default());
    assert!(!format!("{server:?}").contains("CANARY"));
}

#[tokio::test]
async fn a_refusal_that_never_ends_is_told_all_the_same() {
    let script =
        vec![Step::Send("HTTP/1.1 400 Bad Request\r\ncontent-length: 100\r\n\r\n{\"error\":".into()), Step::Hold];
    let server = Server::playing(script).await;
    let outcome: Vec<_> = server.provider(LONG, SHORT).stream(request()).collect().await;
    assert_eq!(told(&outcome), "the model's provider rejected the request: HTTP 400: {\"error\":");
}

#[tokio::test]
async fn nobody_there_is_unavailable() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = provider(&format!("http://{}/v1", listener.local_addr().unwrap()), Timeouts::default());
    drop(listener);
    let outcome: Vec<_> = nobody.stream(request()).collect().await;
    assert!(told(&outcome).starts_with("the model could not be reached: no connection ("), "{outcome:?}");
}

#[tokio::test]
async fn a_wrong_address_is_recognised() {
    let redirect = Server::playing(refusal("308 Permanent Redirect", "location: http://127.0.0.1:1/\r\n", "")).await;
    assert_eq!(
        told(&redirect.outcome().await),
        "the model's provider rejected the request: HTTP 308, it redirects: base_url must be the final address"
    );
    let page = Server::playing(refusal("200 OK", "content-type: text/html\r\n", "<html>Welcome</html>")).await;
    assert_eq!(
        told(&page.outcome().await),
        "the model's provider rejected the request: it answered with a web page: base_url is wrong"
    );
}

fn answered(text: &str) -> Vec<Step> {
    vec![Step::Send([STREAM, &text_chunk(text), &finish_chunk()].concat())]
}

async fn body(server: &mut Server) -> Value {
    let request = server.requests.recv().await.unwrap();
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn a_part_that_a_server_does_not_know_is_left_out_from_then_on() {
    let groq =
        json!({"error": {"message": "property 'stream_options' is unsupported", "type": "invalid_request_error"}});
    let mistral = json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options", "include_usage"], "msg": "Extra inputs are not permitted"}]});
    for (status, refused) in [("400 Bad Request", groq), ("422 Unprocessable Entity", mistral)] {
        let scripts = vec![refusal(status, "", &refused.to_string()), answered("yes"), answered("again")];
        let mut server = Server::playing_each(scripts).await;
        let provider = server.provider(LONG, LONG);
        assert_eq!(provider.stream(request()).collect::<Vec<_>>().await, [text("yes"), done("yes")]);
        assert_eq!(provider.stream(request()).collect::<Vec<_>>().await, [text("again"), done("again")]);
        let mut bodies = Vec::new();
        for _ in 0..3 {
            bodies.push(body(&mut server).await.get("stream_options").is_some());
        }
        assert_eq!(bodies, [true, false, false]);
    }
}

#[tokio::test]
async fn a_server_that_knows_no_forbidding_is_asked_without() {
    let refused = json!({"error": {"code": "1210", "message": "a parameter is wrong"}}).to_string();
    let mut server = Server::playing_each(vec![refusal("400 Bad Request", "", &refused), answered("yes")]).await;
    let mut request = request();
    let (name, description) = ("query".to_owned(), "Asks.".to_owned());
    request.tools = vec![ToolSpec { name, description, parameters: json!({"type": "object"}) }].into();
    request.tool_choice = ToolChoice::None;
    let outcome: Vec<_> = server.provider(LONG, LONG).stream(request).collect().await;
    assert_eq!(outcome, [text("yes"), done("yes")]);
    assert_eq!(body(&mut server).await["tool_choice"], "none");
    let second = body(&mut server).await;
    assert_eq!((second.get("tool_choice"), second.get("tools")), (None, None));
}

#[tokio::test]
async fn a_template_that_wants_roles_by_turns_gets_them() {
    let words = "After the optional system message, conversation roles must alternate user and assistant roles.";
    let mistral = "Unexpected role 'user' after role 'tool'";
    for (status, message) in
        [("400 Bad Request", words), ("500 Internal Server Error", words), ("400 Bad Request", mistral)]
    {
        let refused = json!({"error": {"message": message, "type": "invalid_request_error"}}).to_string();
        let mut server = Server::playing_each(vec![refusal(status, "", &refused), answered("yes")]).await;
        let mut request = request();
        let call = ToolCall { id: "c".into(), name: "query".into(), arguments: "{}".into() };
        request.messages.extend([
            Message::user("quick!"),
            Message::Assistant { text: String::new(), reasoning: vec![], calls: vec![call] },
            Message::Tool { call_id: "c".into(), name: "query".into(), text: "up".into() },
        ]);
        request.reminder = Some("1 step left".into());
        let outcome: Vec<_> = server.provider(LONG, LONG).stream(request).collect().await;
        assert_eq!(outcome, [text("yes"), done("yes")]);
        let roles = |body: &Value| {
            let messages = body["messages"].as_array().unwrap().iter();
            messages.map(|message| message["role"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(roles(&body(&mut server).await), ["system", "user", "user", "assistant", "tool", "user"]);
        let second = body(&mut server).await;
        assert_eq!(roles(&second), ["system", "user", "assistant", "tool"]);
        let contents = [&second["messages"][1]["content"], &second["messages"][3]["content"]];
        assert_eq!(contents, ["why?\n\nquick!", "up\n\n1 step left"]);
    }
}

#[tokio::test]
async fn reasoning_that_a_server_does_not_take_back_is_left_out() {
    let refused = json!({"error": {"message": "The reasoning_content is not allowed in the input"}}).to_string();
    let mut server = Server::playing_each(vec![refusal("400 Bad Request", "", &refused), answered("yes")]).await;
    let mut request = request();
    let reasoning = vec![json!({"model": "m", "reasoning_content": "hm"})];
    request.messages.push(Message::Assistant { text: "Because.".into(), reasoning, calls: vec![] });
    request.messages.push(Message::user("sure?"));
    let outcome: Vec<_> = server.provider(LONG, LONG).stream(request).collect().await;
    assert_eq!(outcome, [text("yes"), done("yes")]);
    assert_eq!(body(&mut server).await["messages"][2]["reasoning_content"], "hm");
    assert_eq!(body(&mut server).await["messages"][2], json!({"role": "assistant", "content": "Because."}));
}

#[tokio::test]
async fn a_refusal_that_teaches_nothing_new_is_told() {
    let refused = json!({"error": {"message": "stream_options, again"}}).to_string();
    let refusal = || refusal("400 Bad Request", "", &refused);
    let server = Server::playing_each(vec![refusal(), refusal()]).await;
    assert_eq!(
        told(&server.outcome().await),
        "the model's provider rejected the request: HTTP 400: stream_options, again"
    );
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
        let config = OpenAiConfig { base_url, api_key, timeouts: Timeouts::default(), clock: FixedClock::at(0) };
        assert_eq!(OpenAi::new(config).unwrap_err().to_string(), expected);
    }
}
