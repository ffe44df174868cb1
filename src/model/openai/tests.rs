//! The provider against a server on loopback that plays scripts: what is sent, and how every kind of ending is told.

use std::time::Duration;

use futures::StreamExt;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
};

use super::{OpenAi, OpenAiConfig};
use crate::{
    clock::FixedClock,
    model::{
        Completion, Message, ModelError, ModelEvent, ModelProvider, ModelRequest, StopReason, Timeouts, ToolChoice,
        Usage,
    },
};

const KEY: &str = "CANARY-key";
const PASSWORD: &str = "CANARY-password";
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(100);

enum Step {
    Send(String),
    /// Until the client closes the connection, which is then told.
    Hold,
    /// Until the test says so.
    Wait(tokio::sync::oneshot::Receiver<()>),
}

struct Server {
    base_url: String,
    requests: mpsc::Receiver<String>,
    closed: mpsc::Receiver<()>,
    _task: JoinSet<()>,
}

impl Server {
    /// Answers one connection with the script, then closes it.
    async fn playing(steps: Vec<Step>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://user:{PASSWORD}@{}/v1/", listener.local_addr().unwrap());
        let (told, requests) = mpsc::channel(8);
        let (closing, closed) = mpsc::channel(8);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            told.send(read_request(&mut stream).await).await.unwrap();
            for step in steps {
                match step {
                    Step::Send(text) => stream.write_all(text.as_bytes()).await.unwrap(),
                    Step::Wait(signal) => signal.await.unwrap(),
                    Step::Hold => {
                        while stream.read(&mut [0; 1024]).await.is_ok_and(|n| n > 0) {}
                        closing.send(()).await.unwrap();
                    }
                }
            }
        });
        Self { base_url, requests, closed, _task: task }
    }

    fn provider(&self, first_byte: Duration, idle: Duration) -> OpenAi {
        provider(&self.base_url, Timeouts { connect: LONG, first_byte, idle })
    }

    async fn outcome(&self) -> Vec<Result<ModelEvent, ModelError>> {
        self.provider(LONG, LONG).stream(request()).collect().await
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let n = stream.read(&mut piece).await.unwrap();
        request.extend_from_slice(&piece[..n]);
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) || n == 0 {
                return text.into_owned();
            }
        }
    }
}

fn provider(base_url: &str, timeouts: Timeouts) -> OpenAi {
    let api_key = Some(SecretString::from(format!("{KEY}\n")));
    OpenAi::new(OpenAiConfig { base_url: base_url.parse().unwrap(), api_key, timeouts, clock: FixedClock::at(0) })
        .unwrap()
}

fn request() -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        system: "Be brief.".into(),
        tools: Vec::new().into(),
        messages: vec![Message::user("why?")],
        reminder: None,
        tool_choice: ToolChoice::Auto,
    }
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn text_chunk(text: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}))
}

fn finish_chunk() -> String {
    format!("data: {}\n\n", json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}))
}

fn chunked(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

fn refusal(status: &str, headers: &str, body: &str) -> Vec<Step> {
    vec![Step::Send(format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()))]
}

fn text(text: &str) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Text(text.into()))
}

fn done(text: &str) -> Result<ModelEvent, ModelError> {
    let (text, usage) = (text.into(), Usage::default());
    Ok(ModelEvent::Done(Completion { text, reasoning: vec![], calls: vec![], stop: StopReason::End, usage }))
}

/// The one error the outcome ends with, in words; checked for secrets.
fn told(outcome: &[Result<ModelEvent, ModelError>]) -> String {
    let error = outcome.last().unwrap().as_ref().expect_err("an error");
    let words = format!("{error} {error:?}");
    assert!(!words.contains("CANARY") && !words.contains("127.0.0.1") && !words.contains("://"), "{words}");
    error.to_string()
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
    assert_eq!(Server::playing(script).await.outcome().await, [text("Hel"), Err(ModelError::Overloaded)]);
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
