//! The model endpoint: streams, rules, the referee and faults.

use std::time::Duration;

use serde_json::{Value, json};
use watchfloor_sim::model::{API_KEY, ModelFault, ModelScript, ModelSim, Rule};

use crate::support::http;

async fn ask(model: &ModelSim, body: Value) -> reqwest::Response {
    let url = model.base_url() + "/chat/completions";
    http().post(url).bearer_auth(API_KEY).json(&body).send().await.unwrap()
}

fn question(text: &str) -> Value {
    json!({"model": "m", "messages": [
        {"role": "system", "content": "You are the persona default.\nBe brief."},
        {"role": "user", "content": text},
        {"role": "user", "content": "<system-reminder>3 steps left</system-reminder>"}]})
}

fn streamed(mut body: Value) -> Value {
    body["stream"] = true.into();
    body["stream_options"] = json!({"include_usage": true});
    body
}

/// The `data:` lines of a stream.
fn events(text: &str) -> Vec<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[tokio::test]
async fn a_stream_comes_in_the_documented_pieces() {
    let rule = Rule::call("query", json!({"expr": "up == 0"})).with_text("Let me look at that.").usage(1200, 80, 1000);
    let model = ModelSim::start(vec![rule]).await.unwrap();
    let text = ask(&model, streamed(question("why?"))).await.text().await.unwrap();
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    let events = events(&text);
    let deltas: Vec<_> = events.iter().filter_map(|event| event.pointer("/choices/0/delta")).collect();
    assert_eq!(deltas[0]["role"], "assistant");
    let content: String = deltas.iter().filter_map(|delta| delta["content"].as_str()).collect();
    assert_eq!(content, "Let me look at that.");
    let calls: Vec<_> = deltas.iter().filter_map(|delta| delta.pointer("/tool_calls/0")).collect();
    assert_eq!((&calls[0]["id"], &calls[0]["function"]["name"]), (&json!("call_1"), &json!("query")));
    let arguments: String = calls.iter().filter_map(|call| call["function"]["arguments"].as_str()).collect();
    assert_eq!(arguments, r#"{"expr":"up == 0"}"#);
    assert!(calls.len() > 2 && calls.iter().all(|call| call["index"] == 0));
    let [.., end, usage] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&end["choices"][0]["finish_reason"], &end["usage"]), (&json!("tool_calls"), &Value::Null));
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(usage["usage"]["total_tokens"], 1280);
    assert_eq!(usage["usage"]["prompt_tokens_details"]["cached_tokens"], 1000);
    model.wait_for_open_streams(0).await;
    assert_eq!((model.abandoned(), model.complaints()), (0, vec![]));
}

#[tokio::test]
async fn the_first_rule_that_fits_and_is_not_used_up_answers() {
    let script = "
- when: {persona: metrics}
  reply: {text: wrong}
- when: {persona: default, last_user_contains: '502', step: 0}
  times: 1
  reply: {calls: [{tool: AgentTool, arguments: {subagent_type: metrics}}]}
- when: {last_tool: AgentTool, tool_result_contains: pool}
  reply: {text: The pool is full.}
- when: {tool_choice: none}
  reply: {text: I must stop here., finish: length}
- when: {model: m}
  reply: {text: fallback}
";
    let model = ModelSim::start(ModelScript::parse(script).unwrap()).await.unwrap();
    let tools = json!([{"type": "function", "function": {"name": "AgentTool", "parameters": {"type": "object"}}}]);
    let mut body = question("why 502?");
    body["tools"] = tools.clone();
    let message = ask(&model, body.clone()).await.json::<Value>().await.unwrap()["choices"][0]["message"].clone();
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], r#"{"subagent_type":"metrics"}"#);
    let mut next = body.clone();
    let result = json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "the pool is full"});
    let said = json!({"role": "assistant", "content": null, "tool_calls": message["tool_calls"]});
    next["messages"] = json!([body["messages"][0], body["messages"][1], said, result, body["messages"][2]]);
    let text = async |body: Value| {
        let answer: Value = ask(&model, body).await.json().await.unwrap();
        (answer["choices"][0]["message"]["content"].clone(), answer["choices"][0]["finish_reason"].clone())
    };
    assert_eq!(text(next).await, (json!("The pool is full."), json!("stop")));
    body["tool_choice"] = "none".into();
    assert_eq!(text(body.clone()).await, (json!("I must stop here."), json!("length")));
    body["tool_choice"] = "auto".into();
    assert_eq!(text(body).await, (json!("fallback"), json!("stop")));
    assert_eq!(model.used(), [0, 1, 1, 1, 1]);
    assert_eq!(model.complaints(), Vec::<String>::new());
    assert_eq!(model.next_request().await["messages"][1]["content"], "why 502?");
}

#[tokio::test]
async fn a_violation_is_refused_and_kept_as_a_complaint() {
    let model = ModelSim::start(vec![Rule::reply("hi").when_last_user_contains("hello")]).await.unwrap();
    let mut orphan = question("hello");
    orphan["messages"] =
        json!([{"role": "user", "content": "hello"}, {"role": "tool", "tool_call_id": "c9", "content": ""}]);
    let refused = ask(&model, orphan).await;
    assert_eq!(refused.status(), 400);
    let error = refused.json::<Value>().await.unwrap()["error"].clone();
    assert_eq!(error["type"], "invalid_request_error");
    let unmatched = ask(&model, question("something else")).await;
    assert_eq!(unmatched.status(), 500);
    let complaints = model.complaints();
    assert_eq!(json!(complaints[0]), error["message"]);
    assert!(complaints[1].contains("no rule of the script fits"), "{complaints:?}");

    let mut changed = question("hello");
    ask(&model, changed.clone()).await;
    changed["messages"][2] = json!({"role": "assistant", "content": "hi"});
    changed["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "hello again"}));
    assert_eq!(ask(&model, changed.clone()).await.status(), 200);
    changed["messages"][2]["content"] = "Hi".into();
    assert_eq!(ask(&model, changed).await.status(), 400);
    assert_eq!(model.requests().len(), 5);
}

#[tokio::test]
async fn a_wrong_key_is_refused_as_openai_does() {
    let model = ModelSim::start(vec![Rule::reply("hi")]).await.unwrap();
    let url = model.base_url() + "/models";
    assert_eq!(http().get(&url).send().await.unwrap().status(), 401);
    let wrong = http().get(&url).bearer_auth("sk-other").send().await.unwrap();
    assert_eq!(wrong.json::<Value>().await.unwrap()["error"]["code"], "invalid_api_key");
    let list: Value = http().get(&url).bearer_auth(API_KEY).send().await.unwrap().json().await.unwrap();
    assert_eq!(list["data"][0]["id"], "sim");
}

#[tokio::test]
async fn faults_break_the_answer_where_the_script_says() {
    let limited = Rule::fault(ModelFault::Status { status: 429, retry_after: Some(2) });
    let rules = vec![
        limited.once(),
        Rule::reply("a long answer that breaks").but(ModelFault::CutAfterBytes(300)).once(),
        Rule::reply("an answer").but(ModelFault::ErrorEvent("overloaded".to_owned())).once(),
        Rule::reply("never complete").but(ModelFault::Hang).once(),
    ];
    let model = ModelSim::start(rules).await.unwrap();
    let limited = ask(&model, question("1")).await;
    assert_eq!((limited.status().as_u16(), &limited.headers()["retry-after"]), (429, &"2".parse().unwrap()));

    let mut cut = ask(&model, streamed(question("2"))).await;
    let mut got = Vec::new();
    let broken = loop {
        match cut.chunk().await {
            Ok(Some(bytes)) => got.extend(bytes),
            end => break end,
        }
    };
    assert!(broken.is_err(), "{broken:?}");
    assert_eq!(got.len(), 300);

    let text = ask(&model, streamed(question("3"))).await.text().await.unwrap();
    assert_eq!(events(&text).last().unwrap()["error"]["type"], "overloaded");
    assert!(!text.contains("[DONE]"));

    let mut hanging = ask(&model, streamed(question("4"))).await;
    assert!(hanging.chunk().await.unwrap().is_some());
    model.wait_for_open_streams(1).await;
    drop(hanging);
    model.wait_for_open_streams(0).await;
    assert_eq!(model.abandoned(), 2);
}

#[tokio::test]
async fn a_held_answer_waits_for_its_release() {
    let model = ModelSim::start(vec![Rule::reply("hi").delay(Duration::from_millis(1))]).await.unwrap();
    model.hold();
    let release = async {
        model.wait_for_open_streams(1).await;
        model.release();
    };
    let (answer, ()) = tokio::join!(ask(&model, question("hello")), release);
    assert_eq!(answer.status(), 200);
    model.hold();
    let url = model.base_url() + "/chat/completions";
    let client = http();
    let mut gone = Box::pin(client.post(url).bearer_auth(API_KEY).json(&question("hello")).send());
    tokio::select! {
        answer = &mut gone => panic!("{answer:?}"),
        () = model.wait_for_open_streams(1) => {}
    }
    drop(gone);
    model.wait_for_open_streams(0).await;
    assert_eq!(model.abandoned(), 1);
    model.stop().await;
}
