//! Bare clients: an HTTP client without opinions, and a WebSocket that reads JSON.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, tungstenite::Message};
use watchfloor_sim::slack::{APP_TOKEN, BOT_TOKEN, SlackConfig, SlackSim};

pub(crate) fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().timeout(Duration::from_secs(20)).build().unwrap()
}

/// A workspace with Alice and the channel #ops, in which redeliveries come quickly.
pub(crate) async fn workspace() -> SlackSim {
    workspace_with(quick()).await
}

pub(crate) fn quick() -> SlackConfig {
    SlackConfig {
        ack_deadline: Duration::from_millis(200),
        redeliver_after: vec![Duration::ZERO, Duration::from_millis(20)],
        ..SlackConfig::default()
    }
}

pub(crate) async fn workspace_with(config: SlackConfig) -> SlackSim {
    let slack = SlackSim::start(config).await.unwrap();
    slack.add_person("U0ALICE", "Alice").await;
    slack.add_channel("C0OPS", "ops").await;
    slack
}

/// Calls a Web API method as the bot.
pub(crate) async fn call(slack: &SlackSim, method: &str, args: Value) -> Value {
    let request = http().post(slack.api_url() + method).bearer_auth(BOT_TOKEN).json(&args);
    request.send().await.unwrap().json().await.unwrap()
}

pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub(crate) async fn open(slack: &SlackSim) -> Self {
        let mut socket = Self::connect(&Self::ticket(slack).await).await.unwrap();
        assert_eq!(socket.frame().await.unwrap()["type"], "hello");
        socket
    }

    pub(crate) async fn ticket(slack: &SlackSim) -> String {
        let request = http().post(slack.api_url() + "apps.connections.open").bearer_auth(APP_TOKEN);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        answer["url"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn connect(url: &str) -> Option<Self> {
        tokio_tungstenite::connect_async(url).await.ok().map(|(socket, _)| Self(socket))
    }

    /// The next text frame; nothing when the connection is over.
    pub(crate) async fn frame(&mut self) -> Option<Value> {
        loop {
            match self.0.next().await?.ok()? {
                Message::Text(text) => return Some(serde_json::from_str(&text).unwrap()),
                Message::Close(_) => return None,
                _ => {}
            }
        }
    }

    pub(crate) async fn raw(&mut self) -> Option<Message> {
        self.0.next().await?.ok()
    }

    pub(crate) async fn ack(&mut self, envelope: &Value) {
        let ack = json!({"envelope_id": envelope["envelope_id"]});
        self.0.send(Message::text(ack.to_string())).await.unwrap();
    }

    /// The next envelope, acknowledged.
    pub(crate) async fn event(&mut self) -> Value {
        let envelope = self.frame().await.unwrap();
        self.ack(&envelope).await;
        envelope["payload"]["event"].clone()
    }
}
