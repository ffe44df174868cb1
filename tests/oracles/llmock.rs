//! llmock as model server: it breaks answers on order, and judges from what it was sent how its client took that.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use watchfloor::model::{Message, ModelProvider, Retry, RetryPolicy};

use crate::{
    aimock::{ANSWER, anthropic, complete, openai},
    judge::Judge,
    service::Service,
    slack_python::{ALICE, ROOM, workspace},
};

struct Llmock {
    _server: Judge,
    url: String,
    client: reqwest::Client,
}

impl Llmock {
    /// Its first answer calls this tool, every other one is `ANSWER`.
    async fn start(tool: &str, arguments: &Value) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut server = Judge::python("llmock_server.py", &[]);
        let url = server.says().await["url"].as_str().unwrap().to_owned();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let llmock = Self { _server: server, url, client };
        let call = json!({"name": tool, "arguments": arguments});
        llmock.will(json!({"type": "reply", "tool_calls": [call]})).await;
        llmock.will(json!({"type": "reply", "text": ANSWER, "times": null})).await;
        llmock
    }

    async fn will(&self, behavior: Value) {
        let request = self.client.post(format!("{}/_llmock/scenario", self.url));
        let answer = request.json(&json!({"behaviors": [behavior]})).send().await.unwrap();
        assert_eq!(answer.status(), 201, "{}", answer.text().await.unwrap());
    }

    async fn fails(&self, status: u16, times: u32) {
        self.will(json!({"type": "fail", "status": status, "retry_after": 0.5, "times": times})).await;
    }

    async fn breaks(&self, kind: &str, after_chunks: u32) {
        self.will(json!({"type": "stream_fault", "kind": kind, "after_chunks": after_chunks})).await;
    }

    async fn told(&self, what: &str) -> Value {
        self.client.get(format!("{}/_llmock/{what}", self.url)).send().await.unwrap().json().await.unwrap()
    }
}

/// It takes equal requests for one that is repeated, so each has its own words.
fn asks(text: &str) -> Vec<Message> {
    vec![Message::user(text)]
}

async fn speaks(model: &dyn ModelProvider) {
    let mut messages = asks("why is checkout slow?");
    let (_, called) = complete(model, messages.clone()).await.unwrap();
    let [call] = called.calls.as_slice() else { panic!("{called:?}") };
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    assert_eq!((&*call.name, arguments), ("look", json!({"service": "checkout"})));
    let call_id = call.id.clone();
    messages.push(Message::Assistant { text: called.text, reasoning: called.reasoning, calls: called.calls });
    messages.push(Message::Tool { call_id, name: "look".to_owned(), text: "20 of 20".to_owned() });
    let (pieces, answered) = complete(model, messages).await.unwrap();
    assert!(pieces.len() > 3 && answered.usage.output_tokens > 0, "{pieces:?} {answered:?}");
    assert_eq!((pieces.concat().as_str(), answered.text.as_str()), (ANSWER, ANSWER));
}

async fn answers(model: &dyn ModelProvider, text: &str) {
    let (_, answered) = complete(model, asks(text)).await.unwrap();
    assert_eq!(answered.text, ANSWER, "{text}");
}

async fn passes(llmock: &Llmock, provider: Box<dyn ModelProvider>) {
    let policy = RetryPolicy { base: Duration::from_millis(50), ..RetryPolicy::default() };
    let model = Retry::new(Arc::from(provider), policy);
    speaks(&model).await;
    for (status, times) in [(429, 2), (503, 2), (504, 1), (529, 1)] {
        llmock.fails(status, times).await;
        answers(&model, &format!("HTTP {status}")).await;
    }
    llmock.will(json!({"type": "fail", "status": 500})).await;
    answers(&model, "no wait is named").await;
    for kind in ["disconnect", "truncate"] {
        llmock.breaks(kind, 1).await;
        answers(&model, kind).await;
    }
    for (status, times, wanted) in [
        (503, 3, "the model's provider is overloaded"),
        (400, 1, "the model's provider rejected the request: "),
        (401, 1, "the model's provider refused the key: "),
        (403, 1, "the model's provider refused the key: "),
        (404, 1, "the model's provider rejected the request: "),
        (422, 1, "the model's provider rejected the request: "),
    ] {
        llmock.fails(status, times).await;
        let error = complete(&model, asks(&format!("{status} for good"))).await.unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{status}: {error}");
    }
    let wanted = json!({"passed": true, "calls": 15, "attempts": 26, "faults_injected": 17, "errors": 0, "warnings": 0,
        "findings": []});
    assert_eq!(llmock.told("verdict").await, wanted);

    // What was shown already is not asked for again. From here on it has no verdict: it doesn't see that this fails.
    for kind in ["disconnect", "truncate", "malformed"] {
        llmock.breaks(kind, 5).await;
        let error = complete(&model, asks(&format!("{kind} amid the text"))).await.unwrap_err();
        assert!(error.to_string().starts_with("the model could not be reached: "), "{kind}: {error}");
    }
    assert_eq!(llmock.told("requests").await["count"], json!(29));
}

#[tokio::test]
async fn our_openai_client_passes_the_verdict_of_llmock() {
    let llmock = Llmock::start("look", &json!({"service": "checkout"})).await;
    passes(&llmock, openai(&llmock.url)).await;
}

#[tokio::test]
async fn our_anthropic_client_passes_the_verdict_of_llmock() {
    let llmock = Llmock::start("look", &json!({"service": "checkout"})).await;
    passes(&llmock, anthropic(&format!("{}/anthropic", llmock.url))).await;
}

#[tokio::test]
async fn a_question_is_answered_in_its_thread_through_the_faults_of_llmock() {
    let llmock = Llmock::start("query_change_events", &json!({"since": "-2h"})).await;
    llmock.fails(429, 1).await;
    llmock.fails(503, 1).await;
    let slack = workspace().await;
    let settings = Service::provider("openai", &format!("{}/v1", llmock.url), "sk-judged");
    let _service = Service::start(&slack, &settings).await;
    let thread = slack.say(ALICE, ROOM, "<@U0BOT> why is checkout slow?").await;
    let answer = slack.next_message(ROOM).await;
    assert_eq!(answer.thread_ts.as_ref(), Some(&thread));
    slack.wait_for_text(&answer.ts, |text| text.contains("20 of 20 connections ✓")).await;
    let verdict = llmock.told("verdict").await;
    assert_eq!((&verdict["faults_injected"], &verdict["findings"]), (&json!(2), &json!([])), "{verdict}");
}
