//! What a request looks like on the wire, and that it only ever grows.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "query".into(), arguments: arguments.into() }
}

fn result(id: &str, text: &str) -> Message {
    Message::Tool { call_id: id.into(), name: "query".into(), text: text.into() }
}

fn assistant(text: &str, reasoning: Vec<Value>, calls: Vec<ToolCall>) -> Message {
    Message::Assistant { text: text.into(), reasoning, calls }
}

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        system: "Be brief.".into(),
        tools: vec![ToolSpec {
            name: "query".into(),
            description: "Asks.".into(),
            parameters: json!({"type": "object", "properties": {"q": {"type": "string"}}}),
        }]
        .into(),
        messages,
        reminder: None,
        tool_choice: ToolChoice::Auto,
    }
}

fn written_with(request: &ModelRequest, lessons: &Lessons) -> Value {
    serde_json::from_slice(&body(request, lessons).unwrap()).unwrap()
}

fn written(request: &ModelRequest) -> Value {
    written_with(request, &Lessons::default())
}

fn messages(messages: Vec<Message>) -> Value {
    written_with(&request(messages), &Lessons { without_marks: true, ..Lessons::default() })["messages"].clone()
}

/// An answer that thought, said something, thought again and called.
fn thoughtful() -> Message {
    let blocks = json!([thought("hm"), {"text": 8}, redacted(), {"call": 0}]);
    assistant("Looking.", vec![json!({"model": "m", "blocks": blocks})], vec![call("c1", r#"{"q":"up"}"#)])
}

fn thought(text: &str) -> Value {
    json!({"type": "thinking", "thinking": text, "signature": "s=="})
}

fn redacted() -> Value {
    json!({"type": "redacted_thinking", "data": "x=="})
}

#[test]
fn a_request_is_written_whole() {
    let picture = Image { media_type: "image/png".into(), data: "aGk=".into() };
    let mut request = request(vec![
        Message::User { text: "why?".into(), images: vec![picture] },
        thoughtful(),
        result("c1", "up is 1"),
        Message::user("look at checkout"),
    ]);
    request.reminder = Some("2 steps left".into());
    request.tool_choice = ToolChoice::None;
    let expected = json!({
        "model": "m",
        "max_tokens": 16384,
        "stream": true,
        "tools": [{
            "name": "query",
            "description": "Asks.",
            "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
            "cache_control": {"type": "ephemeral"},
        }],
        "tool_choice": {"type": "none"},
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                {"type": "text", "text": "why?", "cache_control": {"type": "ephemeral"}},
            ]},
            {"role": "assistant", "content": [
                thought("hm"),
                {"type": "text", "text": "Looking."},
                redacted(),
                {"type": "tool_use", "id": "c1", "name": "query", "input": {"q": "up"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "up is 1"},
                {"type": "text", "text": "look at checkout", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "2 steps left"},
            ]},
        ],
    });
    assert_eq!(written(&request), expected);
}

#[test]
fn what_is_not_there_is_not_written() {
    let mut bare = request(vec![Message::user("hi"), assistant(" ", vec![], vec![]), Message::user("  ")]);
    bare.tools = Vec::new().into();
    bare.tool_choice = ToolChoice::None;
    bare.system = "".into();
    bare.reminder = Some("\n".into());
    let hi = json!({"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}});
    let expected =
        json!({"model": "m", "max_tokens": 16384, "stream": true, "messages": [{"role": "user", "content": [hi]}]});
    assert_eq!(written(&bare), expected);
}

#[test]
fn what_a_server_does_not_take_is_left_out() {
    let mut request = request(vec![Message::user("why?"), thoughtful(), result("c1", "1")]);
    request.tool_choice = ToolChoice::None;
    let lessons = Lessons {
        max_tokens: Some(8192),
        room: Some(4096),
        without_thoughts: true,
        without_marks: true,
        without_choice: true,
    };
    let body = written_with(&request, &lessons);
    assert_eq!((&body["max_tokens"], body.get("tool_choice")), (&json!(4096), None));
    assert!(!body.to_string().contains("cache_control"), "{body}");
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "c1", "name": "query", "input": {"q": "up"}},
        ])
    );
}

#[test]
fn thoughts_go_to_the_model_that_had_them_and_to_no_other() {
    let foreign = vec![
        json!({"model": "other", "blocks": [thought("hm"), {"text": 4}]}),
        json!({"model": "m", "reasoning_content": "hm"}),
        json!({"model": "m", "reasoning_details": [{"type": "reasoning.text"}]}),
        json!("odd"),
    ];
    assert_eq!(
        messages(vec![Message::user("why?"), assistant("Because.", foreign, vec![])])[1]["content"],
        json!([{"type": "text", "text": "Because."}])
    );
}

#[test]
fn a_layout_that_fits_no_longer_gives_way_to_the_message() {
    let kept = |blocks: Value| vec![json!({"model": "m", "blocks": blocks})];
    let content = |said: Message| messages(vec![Message::user("why?"), said]).pointer("/1/content").cloned();
    let text = || json!({"type": "text", "text": "é!"});
    // Its calls were not run, so that the thought leads nowhere.
    let blocks = json!([{"text": 3}, thought("hm"), {"call": 0}]);
    assert_eq!(content(assistant("é!", kept(blocks), vec![])), Some(json!([text()])));
    assert_eq!(content(assistant("", kept(json!([thought("hm")])), vec![])), None);
    // Cut in the middle of a letter, or another text.
    for lengths in [json!([thought("hm"), {"text": 1}, {"text": 2}]), json!([thought("hm"), {"text": 2}])] {
        assert_eq!(content(assistant("é!", kept(lengths), vec![])), Some(json!([text()])));
    }
}

#[test]
fn a_call_keeps_what_the_model_wrote_in_a_form_that_is_taken() {
    let calls = vec![call("call:1", "[1]"), call("b", ""), call("c", "{s:"), call("d", r#"{"b":1,"a":2}"#)];
    let results = ["d", "c", "b", "call:1"].map(|id| result(id, if id == "b" { " " } else { "ok" }));
    let mut history = vec![Message::user("why?"), assistant("", vec![], calls)];
    history.extend(results);
    let tool_use = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "query", "input": input});
    let tool_result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "ok"});
    assert_eq!(
        messages(history),
        json!([
            {"role": "user", "content": [{"type": "text", "text": "why?"}]},
            {"role": "assistant", "content": [
                tool_use("hex_63616c6c3a31", json!({"invalid_json": "[1]"})),
                tool_use("b", json!({})),
                tool_use("c", json!({"invalid_json": "{s:"})),
                tool_use("d", json!({"a": 2, "b": 1})),
            ]},
            {"role": "user", "content": [
                tool_result("d"),
                tool_result("c"),
                {"type": "tool_result", "tool_use_id": "b"},
                tool_result("hex_63616c6c3a31"),
            ]},
        ])
    );
}

#[test]
fn roles_take_turns_and_the_user_begins() {
    let said = |text: &str| assistant(text, vec![], vec![]);
    let history = vec![said("a"), said("b"), Message::user("c"), Message::user("d"), said(" "), Message::user("e")];
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(
        messages(history),
        json!([
            {"role": "user", "content": [text(NO_BEGINNING)]},
            {"role": "assistant", "content": [text("a"), text("b")]},
            {"role": "user", "content": [text("c"), text("d"), text("e")]},
        ])
    );
}

/// What a turn adds: something said, then steps with calls and all their results, then an answer.
fn any_turn() -> impl Strategy<Value = Vec<Message>> {
    let step = (".{0,6}", any::<bool>(), prop::collection::vec((".{0,6}", ".{0,6}"), 0..3));
    (prop::collection::vec(".{0,6}", 1..3), prop::collection::vec(step, 0..3)).prop_map(|(said, steps)| {
        let mut turn: Vec<_> = said.into_iter().map(Message::user).collect();
        for (step, (text, thinks, calls)) in steps.into_iter().enumerate() {
            let id = |number: usize| format!("c:{step}.{number}");
            let made = calls.iter().enumerate().map(|(number, (arguments, _))| call(&id(number), arguments));
            let mut blocks = vec![thought("hm"), json!({"text": text.len()})];
            blocks.extend((0..calls.len()).map(|number| json!({"call": number})));
            let kept = json!({"model": "m", "blocks": blocks, "reminder": text});
            let reasoning = if thinks { vec![kept] } else { vec![] };
            turn.push(assistant(&text, reasoning, made.collect()));
            turn.extend(calls.iter().enumerate().map(|(number, (_, text))| result(&id(number), text)));
        }
        turn
    })
}

/// Every block with its role, as the cache sees them.
fn blocks(request: &ModelRequest) -> Vec<String> {
    let body = written_with(request, &Lessons { without_marks: true, ..Lessons::default() });
    let turns = body["messages"].as_array().unwrap().iter();
    turns.flat_map(|turn| turn["content"].as_array().unwrap().iter().map(|b| format!("{} {b}", turn["role"]))).collect()
}

#[test]
fn a_thought_comes_back_behind_all_that_stood_before_it_also_the_reminder() {
    let mut first = request(vec![Message::user("why?")]);
    first.reminder = Some("2 steps left".into());
    let kept = json!({"model": "m", "blocks": [thought("hm"), {"call": 0}], "reminder": "2 steps left"});
    let answer = assistant("", vec![kept], vec![call("c1", "{}")]);
    let mut second = request(vec![Message::user("why?"), answer, result("c1", "1")]);
    second.reminder = Some("1 step left".into());
    let (first, later) = (blocks(&first), blocks(&second));
    assert!(later.starts_with(&first), "{later:#?}");
    assert!(later[first.len()].contains("thinking") && later.last().unwrap().contains("1 step left"), "{later:#?}");
    // Another model gets neither.
    second.model = "other".into();
    assert!(!blocks(&second).concat().contains("2 steps left"));
}

#[test]
fn what_an_earlier_request_kept_in_the_cache_is_marked_again_however_much_came_since() {
    let calls: Vec<_> = (0..30).map(|n| call(&format!("c{n}"), "{}")).collect();
    let results = (0..30).map(|n| result(&format!("c{n}"), "1"));
    let mut history = vec![Message::user("why?"), assistant("", vec![], calls)];
    history.extend(results);
    let mut request = request(history);
    request.reminder = Some("1 step left".into());
    let body = written(&request);
    let marked = |turn: usize| {
        let blocks = body["messages"][turn]["content"].as_array().unwrap().iter().enumerate();
        blocks.filter(|(_, block)| block["cache_control"].is_object()).map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!([marked(0), marked(1), marked(2)], [vec![0], vec![], vec![29]]);
}

fn marks(value: &Value) -> usize {
    value.to_string().matches(r#""cache_control":{"type":"ephemeral"}"#).count()
}

proptest! {
    #[test]
    fn a_longer_history_only_adds_blocks(turns in prop::collection::vec(any_turn(), 1..4), cut in 0usize..20) {
        let history: Vec<_> = turns.concat();
        // Between a call and its results nobody asks.
        let is_result = |message: &Message| matches!(message, Message::Tool { .. });
        let cut = (cut.min(history.len())..=history.len()).find(|at| !history.get(*at).is_some_and(is_result));
        let whole = blocks(&request(history.clone()));
        let part = blocks(&request(history[..cut.unwrap()].to_vec()));
        prop_assert!(whole.starts_with(&part), "{part:#?} {whole:#?}");
    }

    #[test]
    fn whatever_was_said_the_request_is_one_that_is_taken(
        turns in prop::collection::vec(any_turn(), 0..4),
        reminder in prop::option::of(".{0,4}"),
    ) {
        let mut request = request(turns.concat());
        request.reminder = reminder;
        let body = body(&request, &Lessons::default()).unwrap();
        prop_assert_eq!(&body, &super::body(&request, &Lessons::default()).unwrap());
        let body: Value = serde_json::from_slice(&body).unwrap();
        prop_assert!(marks(&body) <= 4);
        let mut expected = ["user", "assistant"].into_iter().cycle();
        for turn in body["messages"].as_array().unwrap() {
            prop_assert_eq!(turn["role"].as_str(), expected.next());
            let content = turn["content"].as_array().unwrap();
            prop_assert!(!content.is_empty());
            prop_assert!(content.iter().all(|block| block["text"].as_str().is_none_or(|text| !text.trim().is_empty())));
            let after_results = content.iter().skip_while(|block| block["type"] == "tool_result");
            prop_assert!(after_results.into_iter().all(|block| block["type"] != "tool_result"));
        }
    }
}
