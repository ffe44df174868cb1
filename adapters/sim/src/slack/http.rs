//! Events, clicks and commands as signed HTTP requests. Whether one is sent again is `delivery`'s.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use hmac::{Hmac, KeyInit, Mac};
use reqwest::{
    Client, Method, Url,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
    redirect,
};
use serde_json::{Value, json};
use sha2::Sha256;

use super::{SlackSim, delivery::Parcel};
use crate::time;

/// More of an answer isn't read.
const LONGEST: usize = 64 * 1024;

/// How the next request goes wrong on purpose. Faults queue and are used up in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpFault {
    /// Signed with another secret.
    BadSignature,
    /// Signed well, this long ago.
    OldTimestamp(Duration),
    /// The bot gets the request and answers; Slack never sees the answer.
    ResponseLost,
    /// The request never reaches the bot.
    NeverArrives,
}

/// How the bot answered one request.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpAnswer {
    /// Absent for clicks and commands.
    pub event_id: Option<String>,
    /// 0 for the first delivery, else `X-Slack-Retry-Num`.
    pub attempt: u32,
    pub status: u16,
    pub body: String,
    pub after: Duration,
    /// `X-Slack-No-Retry: 1` came with it.
    pub no_retry: bool,
}

/// What `Lines` knows of HTTP.
#[derive(Debug, Default)]
pub(crate) struct Http {
    /// Socket Mode is off: events go to the endpoint, if there is a verified one.
    pub(crate) on: bool,
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) faults: VecDeque<HttpFault>,
    pub(crate) answers: Vec<HttpAnswer>,
}

/// A request URL that passed verification.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    url: Url,
    secret: String,
    client: Client,
}

/// Why a request doesn't count as delivered, in the words of `X-Slack-Retry-Reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undelivered {
    pub(crate) reason: &'static str,
    pub(crate) no_retry: bool,
}

impl Undelivered {
    pub(crate) fn because(reason: &'static str) -> Self {
        Self { reason, no_retry: false }
    }
}

impl Endpoint {
    fn new(url: &str, secret: &str, deadline: Duration) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        // The client wants a provider even where it only speaks plain HTTP.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(deadline).redirect(redirect::Policy::limited(2)).no_proxy();
        let client = client.build().map_err(|error| error.to_string())?;
        Ok(Self { url, secret: secret.to_owned(), client })
    }

    /// The answer as it came, whatever its status.
    pub(crate) async fn post(
        &self,
        parcel: &Parcel,
        attempt: u32,
        reason: &str,
        fault: Option<HttpFault>,
    ) -> Result<HttpAnswer, Undelivered> {
        if fault == Some(HttpFault::NeverArrives) {
            return Err(Undelivered::because("connection_failed"));
        }
        let unsent = |_| Undelivered::because("unknown_error");
        let request = self.client.request(Method::POST, self.url.clone());
        let request = match parcel.kind {
            "events_api" => request.header(CONTENT_TYPE, "application/json").body(parcel.payload.to_string()),
            "interactive" => request.form(&[("payload", parcel.payload.to_string())]),
            _ => request.form(&parcel.payload),
        };
        let mut request = request.build().map_err(unsent)?;
        let body = request.body().and_then(|body| body.as_bytes()).unwrap_or_default();
        let age = if let Some(HttpFault::OldTimestamp(age)) = fault { age } else { Duration::ZERO };
        let timestamp = time::now().saturating_sub(age).as_secs().to_string();
        let secret = if fault == Some(HttpFault::BadSignature) { "somebody-elses-secret" } else { &self.secret };
        let mut extra = vec![
            ("user-agent", "Slackbot 1.0 (+https://api.slack.com/robots)".to_owned()),
            ("x-slack-signature", sign(secret, &timestamp, body)),
            ("x-slack-request-timestamp", timestamp),
        ];
        if attempt > 0 {
            extra.push(("x-slack-retry-num", attempt.to_string()));
            extra.push(("x-slack-retry-reason", reason.to_owned()));
        }
        for (name, value) in extra {
            if let Ok(value) = HeaderValue::from_str(&value) {
                request.headers_mut().insert(HeaderName::from_static(name), value);
            }
        }
        let sent = Instant::now();
        let answer = self.client.execute(request).await.map_err(|error| {
            Undelivered::because(match () {
                () if error.is_timeout() => "http_timeout",
                () if error.is_connect() => "connection_failed",
                () if error.is_redirect() => "too_many_redirects",
                () => "unknown_error",
            })
        })?;
        let status = answer.status().as_u16();
        let no_retry = answer.headers().get("x-slack-no-retry").is_some_and(|value| value == "1");
        let body = answer.bytes().await.map_err(|_| Undelivered::because("http_error"))?;
        let body = String::from_utf8_lossy(body.get(..LONGEST).unwrap_or(&body)).into_owned();
        Ok(HttpAnswer { event_id: parcel.event_id.clone(), attempt, status, body, after: sent.elapsed(), no_retry })
    }
}

/// What `X-Slack-Signature` says of a body.
pub fn sign(secret: &str, timestamp: &str, body: &[u8]) -> String {
    // An HMAC takes a key of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(format!("v0:{timestamp}:").as_bytes());
    mac.update(body);
    let digits: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("v0={digits}")
}

impl SlackSim {
    /// Turns Socket Mode off and sets the request URL for events, clicks and commands. Slack asks it for a challenge at
    /// once; an endpoint that doesn't give it back gets nothing, and why is the error.
    pub async fn subscribe(&self, url: &str, signing_secret: &str) -> Result<(), String> {
        self.shared.lines.change(|lines| {
            lines.http.on = true;
            lines.http.endpoint = None;
        });
        let endpoint = Endpoint::new(url, signing_secret, self.shared.config.ack_deadline)?;
        let challenge = format!("challenge-{}", self.shared.world.change(super::World::next_id));
        let payload = json!({"type": "url_verification", "token": "legacy", "challenge": challenge});
        let parcel = Parcel { kind: "events_api", payload, event_id: None, asker: None };
        let fault = self.shared.lines.change(|lines| lines.http.faults.pop_front());
        let answer = endpoint.post(&parcel, 0, "", fault).await.map_err(|failed| failed.reason.to_owned())?;
        let json: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        if answer.status != 200 || (answer.body.trim() != challenge && json["challenge"] != challenge.as_str()) {
            return Err(format!("the challenge was answered with {} and {:?}", answer.status, answer.body));
        }
        self.shared.lines.change(|lines| {
            lines.was_open = true;
            lines.http.endpoint = Some(endpoint);
        });
        Ok(())
    }

    /// The next HTTP request goes wrong this way.
    pub fn http_fault(&self, fault: HttpFault) {
        self.shared.lines.change(|lines| lines.http.faults.push_back(fault));
    }

    /// How each request was answered, whether Slack saw the answer or not.
    pub fn http_answers(&self) -> Vec<HttpAnswer> {
        self.shared.lines.look().http.answers.clone()
    }

    /// Waits for `count` answers to requests.
    ///
    /// # Panics
    /// If there are fewer in the end.
    pub async fn wait_for_http_answers(&self, count: usize) -> Vec<HttpAnswer> {
        let enough = |lines: &super::Lines| lines.http.answers.len() >= count;
        let came = self.shared.lines.until(self.shared.config.patience, enough).await;
        let answers = self.http_answers();
        assert!(came, "waited in vain for {count} answers to requests; there are {answers:?}");
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::sign;

    #[test]
    fn requests_are_signed_as_slack_does() {
        let secret = "example-signing-secret-0123456789ab";
        let table = [
            ("", "v0=cbe81d37ce5ad3ce46da1b71786aec51949051dd21fc37609c760d937150c431"),
            ("{\"text\":\"故障 ⚠\"}", "v0=b293fc43e83b3b905711ad9c3507fa0da7ef77431b76ac3f852c522303334abe"),
        ];
        for (body, signature) in table {
            assert_eq!(sign(secret, "1767225600", body.as_bytes()), signature, "{body}");
        }
    }
}
