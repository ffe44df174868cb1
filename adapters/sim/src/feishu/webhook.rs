//! Events and clicks as HTTP requests, signed and encrypted if an Encrypt Key is set. Whether one is sent again is
//! `delivery`'s.

use std::{
    collections::VecDeque,
    hash::{BuildHasher, Hasher, RandomState},
    time::{Duration, Instant},
};

use reqwest::{Client, Url, header::CONTENT_TYPE, redirect};
use serde_json::{Value, json};

use super::{
    FeishuSim, VERIFICATION_TOKEN, crypt,
    delivery::{Lines, Parcel, Undelivered},
    events,
};
use crate::time;

/// More of an answer isn't read.
const LONGEST: usize = 64 * 1024;

/// How the next request goes wrong on purpose. Faults queue and are used up in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpFault {
    /// Signed with another key.
    BadSignature,
    /// Without signature headers, as only the address check may come.
    NoSignature,
    /// Signed well, this long ago.
    OldTimestamp(Duration),
    /// Not encrypted, although there is a key.
    Plain,
    /// With another Verification Token.
    WrongToken,
    /// The bot gets the request and answers; the platform never sees the answer.
    ResponseLost,
    /// The request never reaches the bot.
    NeverArrives,
}

/// How the bot answered one request.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpAnswer {
    pub event_id: String,
    /// 0 for the first delivery.
    pub attempt: u32,
    pub status: u16,
    pub body: String,
    pub after: Duration,
}

/// What `Lines` knows of HTTP.
#[derive(Debug, Default)]
pub(crate) struct Http {
    /// The long connection is off: events go to the endpoint, if there is a verified one.
    pub(crate) on: bool,
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) faults: VecDeque<HttpFault>,
    pub(crate) answers: Vec<HttpAnswer>,
}

/// A request address that passed its check.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    url: Url,
    key: Option<String>,
    client: Client,
}

impl Endpoint {
    fn new(url: &str, key: Option<String>, deadline: Duration) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        // The client wants a provider even where it only speaks plain HTTP.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(deadline).redirect(redirect::Policy::none()).no_proxy();
        let client = client.build().map_err(|error| error.to_string())?;
        Ok(Self { url, key, client })
    }

    /// The answer as it came, whatever its status. The address check has no signature.
    pub(crate) async fn post(
        &self,
        payload: &Value,
        attempt: u32,
        signed: bool,
        fault: Option<HttpFault>,
    ) -> Result<HttpAnswer, Undelivered> {
        if fault == Some(HttpFault::NeverArrives) {
            return Err(Undelivered::Nobody);
        }
        let mut body = payload.to_string();
        if let Some(key) = self.key.as_ref().filter(|_| fault != Some(HttpFault::Plain)) {
            body = json!({"encrypt": crypt::encrypt(key, random(), body.as_bytes())}).to_string();
        }
        let mut request = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json; charset=utf-8");
        if let Some(key) = self.key.as_ref().filter(|_| signed && fault != Some(HttpFault::NoSignature)) {
            let age = if let Some(HttpFault::OldTimestamp(age)) = fault { age } else { Duration::ZERO };
            let timestamp = time::now().saturating_sub(age).as_secs().to_string();
            let nonce: String = random().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            let key = if fault == Some(HttpFault::BadSignature) { "somebody-elses-key" } else { key };
            let signature = crypt::sign(&timestamp, &nonce, key, body.as_bytes());
            request = request.header("X-Lark-Request-Timestamp", timestamp);
            request = request.header("X-Lark-Request-Nonce", nonce).header("X-Lark-Signature", signature);
        }
        let sent = Instant::now();
        let answer = request
            .body(body)
            .send()
            .await
            .map_err(|error| if error.is_timeout() { Undelivered::TimedOut } else { Undelivered::Nobody })?;
        let status = answer.status().as_u16();
        let body = answer.bytes().await.map_err(|_| Undelivered::TimedOut)?;
        let body = String::from_utf8_lossy(body.get(..LONGEST).unwrap_or(&body)).into_owned();
        Ok(HttpAnswer { event_id: events::event_id(payload), attempt, status, body, after: sent.elapsed() })
    }
}

/// What an event looks like over HTTP: with the token.
pub(crate) fn payload(parcel: &Parcel, fault: Option<HttpFault>) -> Value {
    let mut payload = parcel.envelope.clone();
    let token = if fault == Some(HttpFault::WrongToken) { "somebody-elses-token" } else { VERIFICATION_TOKEN };
    payload["header"]["token"] = token.into();
    payload
}

fn random() -> [u8; 16] {
    let half = || RandomState::new().build_hasher().finish();
    (u128::from(half()) << 64 | u128::from(half())).to_be_bytes()
}

impl FeishuSim {
    /// Turns the long connection off and saves the request address for events and callbacks. The platform checks it at
    /// once; an endpoint that fails gets nothing, and why is the error.
    pub async fn subscribe(&self, url: &str) -> Result<(), String> {
        self.shared.lines.change(|lines| {
            lines.http.on = true;
            lines.http.endpoint = None;
        });
        // The address check wants its answer within a second.
        let deadline = self.shared.config.ack_deadline;
        let endpoint = Endpoint::new(url, self.shared.config.encrypt_key.clone(), deadline)?;
        let challenge = format!("challenge-{}", self.shared.lines.change(Lines::next_id));
        let fault = self.shared.lines.change(|lines| lines.http.faults.pop_front());
        let token = if fault == Some(HttpFault::WrongToken) { "somebody-elses-token" } else { VERIFICATION_TOKEN };
        let check = json!({"challenge": challenge, "token": token, "type": "url_verification"});
        let answer = endpoint.post(&check, 0, false, fault).await;
        let answer = answer.map_err(|failed| format!("the challenge was not answered: {failed:?}"))?;
        let json: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        if answer.status != 200 || json["challenge"] != challenge.as_str() {
            return Err(format!("the challenge was answered with {} and {:?}", answer.status, answer.body));
        }
        self.shared.lines.change(|lines| {
            lines.opened += 1;
            lines.http.endpoint = Some(endpoint);
        });
        Ok(())
    }

    /// The next HTTP request goes wrong this way.
    pub fn http_fault(&self, fault: HttpFault) {
        self.shared.lines.change(|lines| lines.http.faults.push_back(fault));
    }

    /// How each request was answered, whether the platform saw the answer or not.
    pub fn http_answers(&self) -> Vec<HttpAnswer> {
        self.shared.lines.look().http.answers.clone()
    }

    /// Waits for `count` answers to requests.
    ///
    /// # Panics
    /// If there are fewer in the end.
    pub async fn wait_for_http_answers(&self, count: usize) -> Vec<HttpAnswer> {
        let enough = |lines: &Lines| lines.http.answers.len() >= count;
        let came = self.shared.lines.until(self.shared.config.patience, enough).await;
        let answers = self.http_answers();
        assert!(came, "waited in vain for {count} answers to requests; there are {answers:?}");
        answers
    }
}
