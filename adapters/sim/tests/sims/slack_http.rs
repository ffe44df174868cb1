//! Events over HTTP: what a request looks like, when it comes again, and what a bot may answer in passing.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Bytes, to_bytes},
    extract::Request,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use watchfloor_sim::{
    SlackSim,
    slack::{HttpFault, SlackConfig},
};

use crate::support::{http, quick, workspace_with};

const SECRET: &str = "s3cret";

/// A bot that takes requests down and answers each as it is told.
struct Endpoint {
    url: String,
    came: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
    _serving: JoinSet<()>,
}

impl Endpoint {
    async fn start(answer: fn(usize, &HeaderMap, &str) -> Response) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let came = Arc::<Mutex<Vec<(HeaderMap, Bytes)>>>::default();
        let (mut serving, taken) = (JoinSet::new(), came.clone());
        let router = Router::new().fallback(async move |request: Request| {
            let (head, body) = request.into_parts();
            let body = to_bytes(body, 1 << 20).await.unwrap();
            let text = String::from_utf8(body.to_vec()).unwrap();
            let number = {
                let mut came = taken.lock().unwrap();
                came.push((head.headers.clone(), body));
                came.len() - 1
            };
            answer(number, &head.headers, &text)
        });
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, came, _serving: serving }
    }

    fn headers(&self, name: &str) -> Vec<String> {
        let header = |(headers, _): &(HeaderMap, Bytes)| headers[name].to_str().unwrap().to_owned();
        self.came.lock().unwrap()[1..].iter().filter(|(headers, _)| headers.contains_key(name)).map(header).collect()
    }

    fn bodies(&self) -> Vec<String> {
        let came = self.came.lock().unwrap();
        came[1..].iter().map(|(_, body)| String::from_utf8(body.to_vec()).unwrap()).collect()
    }
}

/// Gives the challenge back; every other request gets `otherwise`.
fn challenged(body: &str, otherwise: impl IntoResponse) -> Response {
    match serde_json::from_str::<Value>(body) {
        Ok(json) if json["type"] == "url_verification" => {
            json["challenge"].as_str().unwrap().to_owned().into_response()
        }
        _ => otherwise.into_response(),
    }
}

async fn subscribed(endpoint: &Endpoint, config: SlackConfig) -> SlackSim {
    let slack = workspace_with(config).await;
    slack.set_mentions(watchfloor_sim::slack::Mentions::OnlyMention);
    slack.subscribe(&endpoint.url, SECRET).await.unwrap();
    slack
}

#[tokio::test]
async fn an_event_is_one_signed_json_request() {
    let endpoint = Endpoint::start(|_, _, body| challenged(body, ())).await;
    let slack = subscribed(&endpoint, quick()).await;
    let ts = slack.say("U0ALICE", "C0OPS", "<@U0BOT> why?").await;
    let acks = slack.wait_for_acks(1).await;
    assert_eq!((acks[0].attempt, acks[0].payload.clone()), (0, None));
    let event: Value = serde_json::from_str(&endpoint.bodies()[0]).unwrap();
    assert_eq!((&event["type"], &event["event"]["ts"]), (&json!("event_callback"), &json!(ts)));
    assert_eq!(Some(event["event_id"].as_str().unwrap()), acks[0].event_id.as_deref());
    assert_eq!(endpoint.headers("content-type"), ["application/json"]);
    assert!(endpoint.headers("x-slack-signature")[0].starts_with("v0="));
    assert_eq!(endpoint.headers("x-slack-retry-num"), [""; 0]);
    assert!(slack.unread().is_empty());
}

#[tokio::test]
async fn what_is_not_answered_well_comes_again_as_it_was_until_it_is_lost() {
    let endpoint = Endpoint::start(|_, _, body| challenged(body, axum::http::StatusCode::BAD_GATEWAY)).await;
    let slack = subscribed(&endpoint, quick()).await;
    slack.http_fault(HttpFault::NeverArrives);
    slack.say("U0ALICE", "C0OPS", "<@U0BOT> why?").await;
    slack.wait_for_lost(1).await;
    let bodies = endpoint.bodies();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0], bodies[1]);
    assert_eq!(endpoint.headers("x-slack-retry-num"), ["1", "2"]);
    assert_eq!(endpoint.headers("x-slack-retry-reason"), ["connection_failed", "http_error"]);
    assert_eq!(slack.http_answers().iter().map(|answer| answer.status).collect::<Vec<_>>(), [502, 502]);
}

#[tokio::test]
async fn a_bot_can_ask_not_to_be_asked_again() {
    let answer = |_: usize, _: &HeaderMap, body: &str| {
        challenged(body, (axum::http::StatusCode::SERVICE_UNAVAILABLE, [("x-slack-no-retry", "1")]))
    };
    let endpoint = Endpoint::start(answer).await;
    let slack = subscribed(&endpoint, quick()).await;
    slack.say("U0ALICE", "C0OPS", "<@U0BOT> why?").await;
    slack.wait_for_lost(1).await;
    assert_eq!(endpoint.bodies().len(), 1);
    assert!(slack.http_answers()[0].no_retry);
}

#[tokio::test]
async fn an_answer_that_slack_never_saw_is_no_acknowledgement() {
    let endpoint = Endpoint::start(|_, _, body| challenged(body, ())).await;
    let slack = subscribed(&endpoint, quick()).await;
    slack.http_fault(HttpFault::ResponseLost);
    slack.say("U0ALICE", "C0OPS", "<@U0BOT> why?").await;
    assert_eq!(slack.wait_for_acks(1).await[0].attempt, 1);
    assert_eq!(endpoint.headers("x-slack-retry-reason"), ["http_timeout"]);
}

#[tokio::test]
async fn an_endpoint_without_the_challenge_gets_nothing() {
    let endpoint = Endpoint::start(|_, _, _| "hello".into_response()).await;
    let slack = workspace_with(quick()).await;
    assert!(slack.subscribe(&endpoint.url, SECRET).await.is_err());
    slack.say("U0ALICE", "C0OPS", "anybody?").await;
    slack.wait_for_lost(1).await;
    assert_eq!(endpoint.bodies(), [""; 0]);
}

#[tokio::test]
async fn a_command_is_a_form_and_its_answer_is_shown_to_that_person() {
    let answer = |_: usize, _: &HeaderMap, body: &str| challenged(body, axum::Json(json!({"text": "try a thread"})));
    let endpoint = Endpoint::start(answer).await;
    let slack = subscribed(&endpoint, quick()).await;
    slack.slash("U0ALICE", "C0OPS", "/incident", "checkout latency").await;
    assert_eq!(slack.next_ephemeral("U0ALICE").await.text(), "try a thread");
    assert_eq!(endpoint.headers("content-type"), ["application/x-www-form-urlencoded"]);
    let fields = endpoint.bodies()[0].clone();
    assert!(fields.contains("command=%2Fincident") && fields.contains("text=checkout+latency"), "{fields}");
}

#[tokio::test]
async fn a_click_that_is_not_acknowledged_does_not_come_again() {
    let endpoint = Endpoint::start(|_, _, body| challenged(body, axum::http::StatusCode::BAD_GATEWAY)).await;
    let slack = subscribed(&endpoint, quick()).await;
    slack.press_raw(json!({"type": "block_actions", "user": {"id": "U0ALICE"}}));
    assert_eq!(slack.wait_for_lost(1).await, ["a button press"]);
    assert_eq!(
        endpoint.bodies(),
        ["payload=%7B%22type%22%3A%22block_actions%22%2C%22user%22%3A%7B%22id%22%3A%22U0ALICE%22%7D%7D"]
    );
}

#[tokio::test]
async fn a_response_address_is_good_for_five_answers() {
    let endpoint = Endpoint::start(|_, _, body| challenged(body, ())).await;
    let slack = subscribed(&endpoint, quick()).await;
    slack.slash("U0ALICE", "C0OPS", "/incident", "").await;
    slack.wait_for_acks(1).await;
    let fields = endpoint.bodies()[0].clone();
    let address = fields.split('&').find_map(|field| field.strip_prefix("response_url=")).unwrap();
    let address = address.replace("%3A", ":").replace("%2F", "/");
    let mut statuses = Vec::new();
    for _ in 0..6 {
        let answer = http().post(&address).json(&json!({"text": "here"})).send().await.unwrap();
        statuses.push(answer.status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 200, 200, 200, 404]);
    for _ in 0..5 {
        assert_eq!(slack.next_ephemeral("U0ALICE").await.text(), "here");
    }
    assert_eq!(slack.calls("response_url")[5].error(), Some("used_url"));
}

#[tokio::test]
async fn an_old_timestamp_is_sent_once_and_as_asked() {
    let endpoint = Endpoint::start(|_, _, body| challenged(body, ())).await;
    let slack = subscribed(&endpoint, quick()).await;
    slack.http_fault(HttpFault::OldTimestamp(Duration::from_secs(301)));
    slack.say("U0ALICE", "C0OPS", "<@U0BOT> why?").await;
    slack.wait_for_acks(1).await;
    let sent: Vec<i64> = endpoint.headers("x-slack-request-timestamp").iter().map(|ts| ts.parse().unwrap()).collect();
    slack.say("U0ALICE", "C0OPS", "<@U0BOT> and now?").await;
    slack.wait_for_acks(2).await;
    let now: i64 = endpoint.headers("x-slack-request-timestamp")[1].parse().unwrap();
    assert!(now - sent[0] >= 301, "{now} {sent:?}");
}
