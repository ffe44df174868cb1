//! The model endpoint in Anthropic's format: streams, what the referee refuses, and faults.

use serde_json::{Value, json};
use watchfloor_sim::model::{API_KEY, ModelFault, ModelSim, Rule};

use crate::support::http;

async fn ask(model: &ModelSim, body: &Value) -> reqwest::Response {
    let url = model.anthropic_base_url() + "/v1/messages";
    let request = http().post(url).header("x-api-key", API_KEY).header("anthropic-version", "2023-06-01");
    request.json(body).send().await.unwrap()
}

/// The status, and what the error says.
async fn refused(model: &ModelSim, body: &Value) -> (u16, String) {
    let answer = ask(model, body).await;
    let status = answer.status().as_u16();
    let body: Value = answer.json().await.unwrap();
    (status, body["error"]["message"].as_str().unwrap_or_default().to_owned())
}

const REMINDER: &str = "<system-reminder>3 steps left</system-reminder>";

fn request(messages: Value) -> Value {
    json!({
        "model": "m",
        "max_tokens": 1000,
        "system": [{"type": "text", "text": "You are the persona default.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "query", "description": "Asks.", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}],
        "messages": messages,
    })
}

fn question(text: &str) -> Value {
    request(json!([user(json!([said(text), said(REMINDER)]))]))
}

fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

fn said(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "the pool is full"})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "query", "input": {}})
}

fn assistant(content: Value) -> Value {
    json!({"role": "assistant", "content": content})
}

fn events(text: &str) -> Vec<Value> {
    let mut events = Vec::new();
    for event in text.split("\n\n").filter(|event| !event.is_empty()) {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(json!(name.strip_prefix("event: ")), data["type"]);
        events.push(data);
    }
    events
}

#[tokio::test]
async fn a_stream_comes_in_the_documented_events() {
    let rule = Rule::calls([("query", json!({"expr": "up == 0"})), ("query", json!({}))]);
    let rule = rule.thinking("The pool, perhaps.").with_text("Let me look at that.").usage(1200, 80, 1000);
    let model = ModelSim::start(vec![rule]).await.unwrap();
    let mut body = question("why?");
    body["stream"] = true.into();
    let events = events(&ask(&model, &body).await.text().await.unwrap());
    let joined = |index: u64, field: &str| {
        let deltas = events.iter().filter(|event| event["index"] == index && event["type"] == "content_block_delta");
        deltas.filter_map(|event| event["delta"][field].as_str()).collect::<String>()
    };
    assert_eq!(events[0]["message"]["usage"]["cache_read_input_tokens"], 1000);
    assert_eq!(events[0]["message"]["usage"]["input_tokens"], 200);
    assert_eq!(joined(0, "thinking"), "The pool, perhaps.");
    assert_eq!(joined(0, "signature"), "sig+m/1==");
    assert_eq!(joined(1, "text"), "Let me look at that.");
    assert_eq!((joined(2, "partial_json"), joined(3, "partial_json")), (r#"{"expr":"up == 0"}"#.into(), String::new()));
    let begun: Vec<_> = events.iter().filter(|event| event["type"] == "content_block_start").collect();
    assert_eq!(begun[2]["content_block"], json!({"type": "tool_use", "id": "toolu_1", "name": "query", "input": {}}));
    let [.., delta, stop] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&delta["delta"]["stop_reason"], &delta["usage"]["output_tokens"]), (&json!("tool_use"), &json!(80)));
    assert_eq!(stop["type"], "message_stop");
    model.wait_for_open_streams(0).await;
    assert_eq!((model.abandoned(), model.complaints()), (0, vec![]));
}

#[tokio::test]
async fn the_rules_of_a_script_hold_in_both_formats() {
    let rules = vec![
        Rule::call("query", json!({})).when_persona("default").when_last_user_contains("502").when_step(0),
        Rule::reply("The pool is full.").when_last_tool("query").when_tool_result_contains("pool"),
        Rule::reply("I must stop here.").when_tool_choice("none").finish("length"),
    ];
    let model = ModelSim::start(rules).await.unwrap();
    let first: Value = ask(&model, &question("why 502?")).await.json().await.unwrap();
    assert_eq!((&first["stop_reason"], &first["content"]), (&json!("tool_use"), &json!([call("toolu_1")])));
    let mut next = request(json!([
        user(json!([said("why 502?")])),
        assistant(first["content"].clone()),
        user(json!([result("toolu_1"), said(REMINDER)])),
    ]));
    let second: Value = ask(&model, &next).await.json().await.unwrap();
    assert_eq!(second["content"], json!([said("The pool is full.")]));
    next["tool_choice"] = json!({"type": "none"});
    next["messages"][2]["content"][0]["content"] = "odd".into();
    next["messages"][0]["content"][0]["text"] = "why 503?".into();
    let third: Value = ask(&model, &next).await.json().await.unwrap();
    assert_eq!(third["stop_reason"], "max_tokens");
    assert_eq!((model.used(), model.complaints()), (vec![1, 1, 1], vec![]));
}

#[tokio::test]
async fn what_anthropic_refuses_is_refused_with_its_reason() {
    let model = ModelSim::start(vec![Rule::reply("hi")]).await.unwrap();
    model.allow_rewrites();
    let hi = || user(json!([said("hi")]));
    let with = |key: &str, value: Value| {
        let mut body = question("hi");
        body[key] = value;
        body
    };
    let marked = json!({"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}});
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "forged"});
    for (body, reason) in [
        (with("max_tokens", Value::Null), "max_tokens"),
        (with("messages", json!([])), "at least one message"),
        (with("n", json!(1)), "n: Extra inputs are not permitted"),
        (with("system", json!([said("")])), "system"),
        (with("tools", json!([{"name": "a b", "input_schema": {"type": "object"}}])), "tools.0.name"),
        (with("tools", json!([{"name": "a", "parameters": {}, "input_schema": {"type": "object"}}])), "Extra inputs"),
        (with("tool_choice", json!("none")), "tool_choice"),
        (request(json!([user(json!([marked, marked, marked]))])), "maximum of 4"),
        (request(json!([hi(), hi()])), "roles must alternate"),
        (request(json!([assistant(json!("hi"))])), "roles must alternate"),
        (request(json!([hi(), assistant(json!("hi"))])), "must end with a user message"),
        (request(json!([user(json!([said(" \n")]))])), "non-whitespace"),
        (request(json!([user(json!([result("c1")]))])), "unexpected `tool_use_id`"),
        (request(json!([hi(), assistant(json!([call("c1")])), hi()])), "without `tool_result`"),
        (
            request(json!([hi(), assistant(json!([call("c1")])), user(json!([said("hm"), result("c1")]))])),
            "must come first",
        ),
        (request(json!([hi(), assistant(json!([call("c:1")])), user(json!([result("c:1")]))])), "tool_use.id"),
        (
            request(json!([hi(), assistant(json!([call("c1"), call("c1")])), user(json!([result("c1")]))])),
            "must be unique",
        ),
        (
            request(json!([
                hi(),
                assistant(json!([{"type": "tool_use", "id": "c1", "name": "query", "input": "x"}])),
                user(json!([result("c1")]))
            ])),
            "tool_use.input",
        ),
        (request(json!([hi(), assistant(json!([thought, said("hi")])), hi()])), "Invalid `signature`"),
        (
            request(json!([user(
                json!([{"type": "image", "source": {"type": "base64", "media_type": "image/tiff", "data": "aa"}}])
            )])),
            "image.source",
        ),
    ] {
        let (status, said) = refused(&model, &body).await;
        assert!(status == 400 && said.contains(reason), "{reason}: {status} {said}");
    }
    assert_eq!(model.complaints().len(), 20);
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aa"}});
    assert_eq!(ask(&model, &request(json!([user(json!([picture, said("hi")]))]))).await.status(), 200);
}

#[tokio::test]
async fn thoughts_must_come_back_as_they_were() {
    let rules = vec![Rule::reply("Because.").thinking("The pool?").when_step(0), Rule::reply("Yes.")];
    let model = ModelSim::start(rules).await.unwrap();
    let content = ask(&model, &question("why?")).await.json::<Value>().await.unwrap()["content"].clone();
    assert_eq!(content[0]["type"], "thinking");
    let next = |content: Value| request(json!([user(json!([said("why?")])), assistant(content), user(json!("sure?"))]));
    let mut changed = content.clone();
    changed[0]["thinking"] = "The pool!".into();
    assert_eq!(refused(&model, &next(changed)).await.0, 400);
    let left_out = refused(&model, &next(json!([content[1]]))).await;
    assert!(left_out.1.contains("must come back"), "{left_out:?}");
    let mut elsewhere = next(content.clone());
    elsewhere["messages"][0]["content"][0]["text"] = "how?".into();
    let bound = refused(&model, &elsewhere).await;
    assert!(bound.1.contains("bound to a different conversation"), "{bound:?}");
    let mut other = next(json!([content[1]]));
    other["model"] = "another".into();
    assert_eq!(ask(&model, &other).await.status(), 200);
    assert_eq!(model.complaints().len(), 3);
}

#[tokio::test]
async fn a_conversation_only_grows_at_its_end_wherever_the_marks_are() {
    let model = ModelSim::start(vec![Rule::reply("hi")]).await.unwrap();
    let mut first = question("why?");
    first["messages"][0]["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    assert_eq!(ask(&model, &first).await.status(), 200);
    let later = |text: &str| {
        request(json!([
            user(json!([said(text)])),
            assistant(json!([said("hi")])),
            user(json!([said("and now?"), said(REMINDER)]))
        ]))
    };
    assert_eq!(ask(&model, &later("why?")).await.status(), 200);
    let mut other_answer = later("why?");
    other_answer["messages"][1]["content"][0]["text"] = "Hi".into();
    let (status, said) = refused(&model, &other_answer).await;
    assert!(status == 400 && said.contains("the prefix changed"), "{said}");
    let mut other_tools = later("why?");
    other_tools["tools"][0]["description"] = "Asks!".into();
    assert!(refused(&model, &other_tools).await.1.contains("`tools` differ"));
}

#[tokio::test]
async fn a_request_without_key_or_version_is_refused_as_anthropic_does() {
    let model = ModelSim::start(vec![Rule::reply("hi")]).await.unwrap();
    let url = model.anthropic_base_url() + "/v1/messages";
    let without_key = http().post(&url).header("anthropic-version", "2023-06-01").json(&question("hi")).send().await;
    let without_key = without_key.unwrap();
    assert_eq!(without_key.status(), 401);
    let body: Value = without_key.json().await.unwrap();
    assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!("authentication_error")));
    let without_version = http().post(&url).header("x-api-key", API_KEY).json(&question("hi")).send().await.unwrap();
    assert_eq!(without_version.status(), 400);
    let models = http().get(model.anthropic_base_url() + "/v1/models").header("anthropic-version", "2023-06-01");
    let list: Value = models.header("x-api-key", API_KEY).send().await.unwrap().json().await.unwrap();
    assert_eq!((&list["data"][0]["id"], &list["has_more"]), (&json!("sim"), &json!(false)));
}

#[tokio::test]
async fn faults_are_told_in_anthropics_words() {
    let rules = vec![
        Rule::fault(ModelFault::Status { status: 529, retry_after: None }).once(),
        Rule::reply("an answer").but(ModelFault::ErrorEvent("overloaded_error".to_owned())).once(),
    ];
    let model = ModelSim::start(rules).await.unwrap();
    let overloaded = ask(&model, &question("1")).await;
    assert_eq!(overloaded.status(), 529);
    assert_eq!(overloaded.json::<Value>().await.unwrap()["error"]["type"], "overloaded_error");
    let mut body = question("2");
    body["stream"] = true.into();
    let events = events(&ask(&model, &body).await.text().await.unwrap());
    assert_eq!(events.last().unwrap()["error"]["type"], "overloaded_error");
}
