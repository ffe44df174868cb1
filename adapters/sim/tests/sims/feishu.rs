//! Bare clients of the simulated Feishu: calls with a token, and a long connection with a frame codec of its own.

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, tungstenite::Message};
use watchfloor_sim::feishu::{APP_ID, APP_SECRET, FeishuConfig, FeishuSim, GROUP};

use crate::support::http;

pub(crate) fn quick() -> FeishuConfig {
    FeishuConfig {
        ack_deadline: std::time::Duration::from_millis(300),
        redeliver_after: vec![std::time::Duration::from_millis(20); 2],
        ..FeishuConfig::default()
    }
}

pub(crate) async fn tenant() -> FeishuSim {
    FeishuSim::start(quick()).await.unwrap()
}

/// Calls the open API as the app does; status and body.
pub(crate) struct Api {
    base: String,
    token: String,
    http: reqwest::Client,
}

impl Api {
    pub(crate) async fn of(feishu: &FeishuSim) -> Self {
        let (base, http) = (feishu.base_url(), http());
        let mut api = Self { base, token: String::new(), http };
        api.log_in().await;
        api
    }

    pub(crate) async fn log_in(&mut self) -> Value {
        let path = "/open-apis/auth/v3/tenant_access_token/internal";
        let (_, answer) = self.call("POST", path, json!({"app_id": APP_ID, "app_secret": APP_SECRET})).await;
        self.token = answer["tenant_access_token"].as_str().unwrap_or_default().to_owned();
        answer
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.token);
        if !body.is_null() {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.json().await.unwrap_or_default())
    }

    /// `data` of a call that works.
    pub(crate) async fn done(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.call(method, path, body).await;
        assert_eq!((status, answer["code"].as_i64()), (200, Some(0)), "{path}: {answer}");
        answer["data"].clone()
    }

    /// The code of a call.
    pub(crate) async fn code(&self, method: &str, path: &str, body: Value) -> i64 {
        self.call(method, path, body).await.1["code"].as_i64().unwrap()
    }

    /// Sends into [`GROUP`] and returns the message id.
    pub(crate) async fn send(&self, kind: &str, content: &Value) -> String {
        let data = self.done("POST", &to(), sent(GROUP, kind, content)).await;
        data["message_id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn edit(&self, id: &str, kind: &str, content: &Value) -> i64 {
        let body = json!({"msg_type": kind, "content": content.to_string()});
        self.code("PUT", &message(id), body).await
    }

    pub(crate) async fn patch(&self, id: &str, card: &Value) -> i64 {
        self.code("PATCH", &message(id), json!({"content": card.to_string()})).await
    }
}

pub(crate) fn to() -> String {
    "/open-apis/im/v1/messages?receive_id_type=chat_id".to_owned()
}

pub(crate) fn message(id: &str) -> String {
    format!("/open-apis/im/v1/messages/{id}")
}

/// The body of a send, with a `uuid` of its own.
pub(crate) fn sent(chat: &str, kind: &str, content: &Value) -> Value {
    json!({"receive_id": chat, "msg_type": kind, "content": content.to_string(), "uuid": fresh()})
}

pub(crate) fn replied(kind: &str, content: &Value, in_thread: bool) -> Value {
    json!({"msg_type": kind, "content": content.to_string(), "reply_in_thread": in_thread, "uuid": fresh()})
}

pub(crate) fn fresh() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static LAST: AtomicU64 = AtomicU64::new(0);
    format!("uuid-{}", LAST.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn text(text: &str) -> Value {
    json!({"text": text})
}

/// A post with one paragraph of markdown.
pub(crate) fn post(text: &str) -> Value {
    json!({"zh_cn": {"title": "", "content": [[{"tag": "md", "text": text}]]}})
}

pub(crate) fn card(text: &str) -> Value {
    json!({"schema": "2.0", "config": {"update_multi": true},
        "body": {"elements": [{"tag": "markdown", "element_id": "answer", "content": text}]}})
}

/// A long connection, without opinions.
pub(crate) struct Connection(WebSocketStream<MaybeTlsStream<TcpStream>>);

/// A frame taken apart: numbers of fields 1 to 4, headers, payload, `LogIDNew`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Frame {
    pub(crate) numbers: [u64; 4],
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) payload: Vec<u8>,
    pub(crate) log_id_new: String,
}

impl Frame {
    pub(crate) fn header(&self, key: &str) -> &str {
        self.headers.iter().find(|(name, _)| name == key).map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.payload).unwrap()
    }

    pub(crate) fn ping() -> Self {
        Self { numbers: [0, 0, 7, 0], headers: vec![("type".to_owned(), "ping".to_owned())], ..Self::default() }
    }

    /// The same frame back, as the official clients do it.
    pub(crate) fn ack(&self, payload: &Value) -> Self {
        let mut ack = self.clone();
        ack.headers.push(("biz_rt".to_owned(), "3".to_owned()));
        ack.payload = payload.to_string().into_bytes();
        ack
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (at, number) in self.numbers.iter().enumerate() {
            out.push((at as u8 + 1) << 3);
            varint(&mut out, *number);
        }
        for (key, value) in &self.headers {
            let mut header = Vec::new();
            field(&mut header, 1, key.as_bytes());
            field(&mut header, 2, value.as_bytes());
            field(&mut out, 5, &header);
        }
        field(&mut out, 8, &self.payload);
        field(&mut out, 9, self.log_id_new.as_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let mut frame = Self::default();
        for (number, value, part) in fields(bytes) {
            match number {
                1..=4 => frame.numbers[number as usize - 1] = value,
                5 => {
                    let parts: Vec<_> = fields(&part).into_iter().map(|(_, _, part)| lossy(&part)).collect();
                    frame.headers.push((parts[0].clone(), parts[1].clone()));
                }
                8 => frame.payload = part,
                9 => frame.log_id_new = lossy(&part),
                _ => {}
            }
        }
        frame
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number > 127 {
        out.push((number & 127) as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}

fn field(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(number << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

/// Number, value and bytes of each field.
fn fields(bytes: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
    let (mut at, mut all) = (0, Vec::new());
    let number = |at: &mut usize| {
        let (mut number, mut shift) = (0u64, 0);
        loop {
            let byte = bytes[*at];
            *at += 1;
            number |= u64::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                return number;
            }
        }
    };
    while at < bytes.len() {
        let (tag, value) = (number(&mut at), number(&mut at));
        let mut part = Vec::new();
        if tag & 7 == 2 {
            part = bytes[at..at + value as usize].to_vec();
            at += value as usize;
        }
        all.push((tag >> 3, value, part));
    }
    all
}

impl Connection {
    pub(crate) async fn open(feishu: &FeishuSim) -> Self {
        let before = feishu.connections_so_far();
        let connection = Self::connect(&Self::ticket(feishu).await).await.unwrap();
        // It counts only once the other side knows.
        while feishu.connections_so_far() == before {
            tokio::task::yield_now().await;
        }
        connection
    }

    pub(crate) async fn ticket(feishu: &FeishuSim) -> String {
        let answer = Self::discover(feishu, APP_SECRET).await;
        answer["data"]["URL"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn discover(feishu: &FeishuSim, secret: &str) -> Value {
        let request = http().post(format!("{}/callback/ws/endpoint", feishu.base_url()));
        let request = request.json(&json!({"AppID": APP_ID, "AppSecret": secret}));
        request.send().await.unwrap().json().await.unwrap()
    }

    pub(crate) async fn connect(url: &str) -> Result<Self, tokio_tungstenite::tungstenite::Error> {
        tokio_tungstenite::connect_async(url).await.map(|(socket, _)| Self(socket))
    }

    /// The next frame; nothing when the connection is over.
    pub(crate) async fn frame(&mut self) -> Option<Frame> {
        loop {
            match self.0.next().await?.ok()? {
                Message::Binary(bytes) => return Some(Frame::decode(&bytes)),
                Message::Close(_) => return None,
                _ => {}
            }
        }
    }

    pub(crate) async fn raw(&mut self) -> Option<Message> {
        self.0.next().await?.ok()
    }

    pub(crate) async fn send(&mut self, frame: &Frame) {
        self.send_bytes(frame.encode()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: Vec<u8>) {
        self.0.send(Message::binary(bytes)).await.unwrap();
    }

    /// The next event, acknowledged.
    pub(crate) async fn event(&mut self) -> Value {
        let frame = self.frame().await.unwrap();
        self.send(&frame.ack(&json!({"code": 200}))).await;
        frame.json()
    }
}
