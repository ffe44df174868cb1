//! CopilotKit's aimock as model server: a second opinion on our clients, which otherwise only meet our own simulator.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use serde_json::{Value, json};
use watchfloor::{
    clock::SystemClock,
    model::{
        Anthropic, AnthropicConfig, Completion, Message, ModelError, ModelEvent, ModelProvider, ModelRequest, OpenAi,
        OpenAiConfig, StopReason, Timeouts, ToolChoice, ToolSpec, Usage,
    },
};

use crate::{
    judge::Judge,
    service::Service,
    slack_python::{ALICE, ROOM, workspace},
};

pub(crate) const ANSWER: &str = "The pool of *checkout* is full: 20 of 20 connections ✓";

/// The server and its address.
async fn aimock(chaos: Option<Value>, tool: &str, arguments: &Value) -> (Judge, String) {
    // In the words of both formats.
    let usage = json!({"prompt_tokens": 30, "completion_tokens": 12, "total_tokens": 42, "input_tokens": 30, "output_tokens": 12});
    let fixtures = json!([
        {"match": {"turnIndex": 0},
            "response": {"toolCalls": [{"name": tool, "arguments": arguments.to_string()}]}},
        {"match": {"turnIndex": 1}, "response": {"content": ANSWER, "usage": usage}},
    ])
    .to_string();
    let chaos = chaos.map(|chaos| chaos.to_string()).unwrap_or_default();
    let mut server =
        Judge::node("aimock.mjs", &[("FIXTURES", &fixtures), ("CHAOS", &chaos), ("AIMOCK_STRICT_TURN_INDEX", "1")])
            .await;
    let url = server.says().await["url"].as_str().unwrap().to_owned();
    (server, url)
}

pub(crate) fn openai(url: &str) -> Box<dyn ModelProvider> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let base_url = format!("{url}/v1").parse().unwrap();
    let config = OpenAiConfig {
        base_url,
        api_key: Some("sk-judged".to_owned().into()),
        timeouts: Timeouts::default(),
        clock: Arc::new(SystemClock),
    };
    Box::new(OpenAi::new(config).unwrap())
}

pub(crate) fn anthropic(url: &str) -> Box<dyn ModelProvider> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = AnthropicConfig {
        base_url: url.parse().unwrap(),
        api_key: Some("sk-judged".to_owned().into()),
        timeouts: Timeouts::default(),
        clock: Arc::new(SystemClock),
    };
    Box::new(Anthropic::new(config).unwrap())
}

fn asked(messages: Vec<Message>) -> ModelRequest {
    let parameters = json!({"type": "object", "properties": {"service": {"type": "string"}}});
    let tool = ToolSpec { name: "look".to_owned(), description: "Looks.".to_owned(), parameters };
    ModelRequest {
        model: "judged".into(),
        system: "You look.".into(),
        tools: [tool].into(),
        messages,
        reminder: None,
        tool_choice: ToolChoice::Auto,
    }
}

/// The text as it was streamed, and the end.
pub(crate) async fn complete(
    provider: &dyn ModelProvider,
    messages: Vec<Message>,
) -> Result<(Vec<String>, Completion), ModelError> {
    let mut stream = provider.stream(asked(messages));
    let mut pieces = Vec::new();
    while let Some(event) = stream.next().await {
        match event? {
            ModelEvent::Text(piece) => pieces.push(piece),
            ModelEvent::CallStarted { name } => assert_eq!(name, "look"),
            ModelEvent::Done(completion) => return Ok((pieces, completion)),
        }
    }
    panic!("the stream ended without an end")
}

async fn speaks(provider: &dyn ModelProvider) {
    let mut messages = vec![Message::user("why is checkout slow?")];
    let (pieces, called) = complete(provider, messages.clone()).await.unwrap();
    let calls: Vec<_> =
        called.calls.iter().map(|call| (&*call.name, serde_json::from_str(&call.arguments).unwrap())).collect();
    assert_eq!((pieces.concat(), calls), (String::new(), vec![("look", json!({"service": "checkout"}))]));
    assert_eq!(called.stop, StopReason::ToolCalls);

    let call_id = called.calls[0].id.clone();
    messages.push(Message::Assistant { text: called.text, reasoning: called.reasoning, calls: called.calls });
    messages.push(Message::Tool { call_id, name: "look".to_owned(), text: "20 of 20".to_owned() });
    let (pieces, answered) = complete(provider, messages).await.unwrap();
    assert!(pieces.len() > 3, "{pieces:?}");
    assert_eq!((pieces.concat().as_str(), answered.text.as_str(), answered.stop), (ANSWER, ANSWER, StopReason::End));
    assert_eq!(answered.usage, Usage { input_tokens: 30, cached_tokens: 0, output_tokens: 12 });
}

async fn survives(provider: impl Fn(&str) -> Box<dyn ModelProvider>) {
    for (chaos, wanted) in [
        ("dropRate", "the model could not be reached: "),
        ("malformedRate", "the model could not be reached: "),
        ("disconnectRate", "the model could not be reached: "),
        ("rateLimitRate", "the model's provider asks to wait"),
    ] {
        let (_server, url) = aimock(Some(json!({chaos: 1})), "look", &json!({})).await;
        let error = complete(&*provider(&url), vec![Message::user("why?")]).await.unwrap_err();
        assert!(error.to_string().starts_with(wanted) && error.is_transient(), "{chaos}: {error}");
        if let ModelError::RateLimited { after } = error {
            assert!(after.is_some_and(|after| after >= Duration::from_secs(1)), "{after:?}");
        }
    }
}

/// A question in Slack is answered with what the tool of this server's choice has seen.
async fn answers_in_the_thread(api: &str, path: &str) {
    let (_server, url) = aimock(None, "query_change_events", &json!({"since": "-2h"})).await;
    let slack = workspace().await;
    let _service = Service::start(&slack, &Service::provider(api, &format!("{url}{path}"), "sk-judged")).await;
    let thread = slack.say(ALICE, ROOM, "<@U0BOT> why is checkout slow?").await;
    let answer = slack.next_message(ROOM).await;
    assert_eq!(answer.thread_ts.as_ref(), Some(&thread));
    slack.wait_for_text(&answer.ts, |text| text.contains("20 of 20 connections ✓")).await;
}

#[tokio::test]
async fn our_openai_client_reads_calls_and_answers_of_aimock() {
    let (_server, url) = aimock(None, "look", &json!({"service": "checkout"})).await;
    speaks(&*openai(&url)).await;
}

#[tokio::test]
async fn our_openai_client_names_each_trouble_of_aimock() {
    survives(openai).await;
}

#[tokio::test]
async fn a_question_is_answered_in_its_thread_from_aimock_over_the_openai_format() {
    answers_in_the_thread("openai", "/v1").await;
}

#[tokio::test]
async fn our_anthropic_client_reads_calls_and_answers_of_aimock() {
    let (_server, url) = aimock(None, "look", &json!({"service": "checkout"})).await;
    speaks(&*anthropic(&url)).await;
}

#[tokio::test]
async fn our_anthropic_client_names_each_trouble_of_aimock() {
    survives(anthropic).await;
}

#[tokio::test]
async fn a_question_is_answered_in_its_thread_from_aimock_over_anthropics_format() {
    answers_in_the_thread("anthropic", "").await;
}
