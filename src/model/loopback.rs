//! A server on loopback that plays scripts, for the tests of both wire formats.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
};

use super::{Message, ModelError, ModelEvent, ModelRequest, ToolChoice};

pub(super) const KEY: &str = "CANARY-key";
pub(super) const PASSWORD: &str = "CANARY-password";
pub(super) const LONG: Duration = Duration::from_secs(60);
pub(super) const SHORT: Duration = Duration::from_millis(100);

pub(super) enum Step {
    Send(String),
    /// Until the client closes the connection, which is then told.
    Hold,
    /// Until the test says so.
    Wait(tokio::sync::oneshot::Receiver<()>),
}

pub(super) struct Server {
    pub(super) base_url: String,
    pub(super) requests: mpsc::Receiver<String>,
    pub(super) closed: mpsc::Receiver<()>,
    _task: JoinSet<()>,
}

impl Server {
    /// Answers one connection with the script, then closes it.
    pub(super) async fn playing(steps: Vec<Step>) -> Self {
        Self::playing_each(vec![steps]).await
    }

    /// Answers as many connections, one after the other.
    pub(super) async fn playing_each(scripts: Vec<Vec<Step>>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://user:{PASSWORD}@{}/v1/", listener.local_addr().unwrap());
        let (told, requests) = mpsc::channel(8);
        let (closing, closed) = mpsc::channel(8);
        let mut task = JoinSet::new();
        task.spawn(async move {
            for steps in scripts {
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
            }
        });
        Self { base_url, requests, closed, _task: task }
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

pub(super) fn request() -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        system: "Be brief.".into(),
        tools: Vec::new().into(),
        messages: vec![Message::user("why?")],
        reminder: None,
        tool_choice: ToolChoice::Auto,
    }
}

pub(super) const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
pub(super) const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

pub(super) fn chunked(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

pub(super) fn refusal(status: &str, headers: &str, body: &str) -> Vec<Step> {
    vec![Step::Send(format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()))]
}

/// The one error the outcome ends with, in words; checked for secrets.
pub(super) fn told(outcome: &[Result<ModelEvent, ModelError>]) -> String {
    let error = outcome.last().unwrap().as_ref().expect_err("an error");
    let words = format!("{error} {error:?}");
    assert!(!words.contains("CANARY") && !words.contains("127.0.0.1") && !words.contains("://"), "{words}");
    error.to_string()
}
