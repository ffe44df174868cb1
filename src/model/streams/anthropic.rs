//! Messages, each with the answer it must come to.

use serde_json::{Value, json};

use super::{Recorded, broke_off, calls, text};
use crate::model::{Completion, ModelError, StopReason, Usage};

pub(super) fn cases() -> Vec<Recorded> {
    let mut cases = Vec::new();
    let mut add = |name, stream, expected| cases.push((name, stream, expected));
    let hello = || [vec![start()], block(0, &text_block(), &[says("Hel"), says("lo ☃")])].concat();
    let called = |stop: &str| {
        let one = block(0, &tool("a", "logs"), &[writes(""), writes("{\"s\":"), writes("1}")]);
        [vec![start()], one, block(1, &tool("b", "metrics"), &[writes("{\"q\":\"up\"}")]), end(stop)].concat()
    };
    let two = || calls(&[("a", "logs", "{\"s\":1}"), ("b", "metrics", "{\"q\":\"up\"}")]);

    // Text.
    add("plain text", sent(&[hello(), end("end_turn")]), Ok(text("Hello ☃")));
    add("no message_stop", sent(&[hello(), vec![delta("end_turn")]]), Ok(text("Hello ☃")));
    add("message_stop without a reason", sent(&[hello(), vec![stop()]]), Ok(text("Hello ☃")));
    add("no end", sent(&[hello()]), Err(broke_off()));
    add("only a beginning", sent(&[vec![start()]]), Err(broke_off()));
    add("only pings", sent(&[vec![json!({"type": "ping"}), json!({"type": "ping"})]]), Err(broke_off()));
    add("nothing at all", String::new(), Err(broke_off()));
    add(
        "pings in between",
        sent(&[
            vec![start(), json!({"type": "ping"})],
            hello()[1..].to_vec(),
            vec![json!({"type": "ping"})],
            end("end_turn"),
        ]),
        Ok(text("Hello ☃")),
    );
    add(
        "CRLF, comments and a byte order mark",
        format!("\u{feff}: hi\r\n\r\n{}", sent(&[hello(), end("end_turn")]).replace('\n', "\r\n")),
        Ok(text("Hello ☃")),
    );
    add("CR only", sent(&[hello(), end("end_turn")]).replace('\n', "\r"), Ok(text("Hello ☃")));
    add("the last blank line is missing", sent(&[hello(), end("end_turn")]).trim_end().to_owned(), Ok(text("Hello ☃")));
    add(
        "data without names",
        sent(&[hello(), end("end_turn")])
            .lines()
            .filter(|line| !line.starts_with("event"))
            .fold(String::new(), |all, line| all + line + "\n"),
        Ok(text("Hello ☃")),
    );
    add(
        "names without types",
        "event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"yes\"}}\n\n\
         event: message_delta\ndata: {\"delta\":{\"stop_reason\":\"end_turn\"}}\n\nevent: message_stop\ndata: {}\n\n"
            .to_owned(),
        Ok(text("yes")),
    );
    add(
        "a closing [DONE], as gateways add",
        sent(&[hello(), end("end_turn")]) + "data: [DONE]\n\n",
        Ok(text("Hello ☃")),
    );
    add(
        "two blocks of text",
        sent(&[hello(), block(1, &text_block(), &[says(" again")]), end("end_turn")]),
        Ok(text("Hello ☃ again")),
    );
    add(
        "text in the block's beginning",
        sent(&[vec![start()], block(0, &json!({"type": "text", "text": "ye"}), &[says("s")]), end("end_turn")]),
        Ok(text("yes")),
    );
    add("a block that nobody began", sent(&[vec![start(), piece(0, &says("yes"))], end("end_turn")]), Ok(text("yes")));
    add("an empty answer", sent(&[vec![start()], end("end_turn")]), Ok(text("")));
    add(
        "letters of two, three and four bytes",
        sent(&[vec![start()], block(0, &text_block(), &[says("é日"), says("🚨")]), end("end_turn")]),
        Ok(text("é日🚨")),
    );

    // Endings.
    let ending = |reason: &str| sent(&[hello(), end(reason)]);
    let cut = |stop| Ok(Completion { stop, ..text("Hello ☃") });
    add("a stop sequence", ending("stop_sequence"), Ok(text("Hello ☃")));
    add("an unknown reason", ending("of_the_future"), Ok(text("Hello ☃")));
    add("cut by the output limit", ending("max_tokens"), cut(StopReason::Length));
    add("cut by the context window", ending("model_context_window_exceeded"), cut(StopReason::Length));
    add("a pause is not the end", ending("pause_turn"), cut(StopReason::Length));
    add("a refusal", ending("refusal"), cut(StopReason::Filtered));
    add(
        "a refusal in the middle of a call",
        sent(&[vec![start()], block(0, &tool("a", "logs"), &[writes("{\"s\"")]), end("refusal")]),
        Ok(Completion { stop: StopReason::Filtered, ..text("") }),
    );

    // Calls.
    add("two calls", sent(&[called("tool_use")]), Ok(two()));
    add("calls that end with `end_turn`", sent(&[called("end_turn")]), Ok(two()));
    add(
        "two calls, their pieces mixed",
        sent(&[
            vec![start(), begin(0, &tool("a", "logs")), begin(1, &tool("b", "metrics"))],
            vec![piece(1, &writes("{\"q\":")), piece(0, &writes("{\"s\":1}")), piece(1, &writes("\"up\"}"))],
            end("tool_use"),
        ]),
        Ok(two()),
    );
    add(
        "every block has index 0",
        sent(&[
            vec![start()],
            block(0, &tool("a", "logs"), &[writes("{\"s\":1}")]),
            block(0, &tool("b", "metrics"), &[writes("{\"q\":\"up\"}")]),
            end("tool_use"),
        ]),
        Ok(two()),
    );
    add(
        "text, then a call without input",
        sent(&[
            vec![start()],
            block(0, &text_block(), &[says("Looking.")]),
            block(1, &tool("a", "logs"), &[writes("")]),
            end("tool_use"),
        ]),
        Ok(Completion { text: "Looking.".into(), ..calls(&[("a", "logs", "{}")]) }),
    );
    add(
        "input that is whole from the beginning",
        sent(&[
            vec![start()],
            block(0, &json!({"type": "tool_use", "id": "a", "name": "logs", "input": {"s": 1}}), &[]),
            end("tool_use"),
        ]),
        Ok(calls(&[("a", "logs", "{\"s\":1}")])),
    );
    add(
        "input that is cut by the output limit",
        sent(&[vec![start()], block(0, &tool("a", "logs"), &[writes("{\"s\"")]), end("max_tokens")]),
        Ok(Completion { stop: StopReason::Length, ..calls(&[("a", "logs", "{\"s\"")]) }),
    );
    add(
        "a call that the output limit left without its input",
        sent(&[vec![start()], block(0, &tool("a", "logs"), &[writes("")]), end("max_tokens")]),
        Ok(Completion { stop: StopReason::Length, ..calls(&[("a", "logs", "{")]) }),
    );
    add(
        "calls without ids, or with the same",
        sent(&[
            vec![start()],
            block(0, &json!({"type": "tool_use", "name": "logs", "input": {}}), &[]),
            block(1, &tool("a", "logs"), &[]),
            block(2, &tool("a", "logs"), &[]),
            end("tool_use"),
        ]),
        Ok(calls(&[("made", "logs", "{}"), ("a", "logs", "{}"), ("made", "logs", "{}")])),
    );
    add(
        "a call without a name",
        sent(&[vec![start(), piece(0, &writes("{}"))], end("tool_use")]),
        Err(ModelError::Unavailable("a tool call came without a name".into())),
    );

    // Thoughts.
    let think = |index| {
        let thought = json!({"type": "thinking", "thinking": "", "signature": ""});
        block(index, &thought, &[thinks("h"), thinks("m ☃"), json!({"type": "signature_delta", "signature": "s=="})])
    };
    let thought = json!({"type": "thinking", "thinking": "hm ☃", "signature": "s=="});
    let laid_out = |blocks: Value| vec![json!({"model": "m", "blocks": blocks})];
    add(
        "a thought, then text",
        sent(&[vec![start()], think(0), block(1, &text_block(), &[says("yes")]), end("end_turn")]),
        Ok(Completion { reasoning: laid_out(json!([thought, {"text": 3}])), ..text("yes") }),
    );
    add(
        "only a thought",
        sent(&[vec![start()], think(0), end("end_turn")]),
        Ok(Completion { reasoning: laid_out(json!([thought])), ..text("") }),
    );
    add(
        "thoughts between text and calls",
        sent(&[
            vec![start()],
            think(0),
            block(1, &text_block(), &[says("Looking.")]),
            think(2),
            block(3, &tool("a", "logs"), &[]),
            end("tool_use"),
        ]),
        Ok(Completion {
            text: "Looking.".into(),
            reasoning: laid_out(json!([thought, {"text": 8}, thought, {"call": 0}])),
            ..calls(&[("a", "logs", "{}")])
        }),
    );
    let redacted = json!({"type": "redacted_thinking", "data": "x=="});
    add(
        "a redacted thought",
        sent(&[vec![start()], block(0, &redacted, &[]), block(1, &text_block(), &[says("yes")]), end("end_turn")]),
        Ok(Completion { reasoning: laid_out(json!([redacted, {"text": 3}])), ..text("yes") }),
    );
    let silent = json!({"type": "thinking", "thinking": "", "signature": "s=="});
    add(
        "a thought that is not shown",
        sent(&[
            vec![start()],
            block(
                0,
                &json!({"type": "thinking", "thinking": ""}),
                &[json!({"type": "signature_delta", "signature": "s=="})],
            ),
            block(1, &text_block(), &[says("yes")]),
            end("end_turn"),
        ]),
        Ok(Completion { reasoning: laid_out(json!([silent, {"text": 3}])), ..text("yes") }),
    );

    // What we didn't ask for.
    add(
        "a tool of the server, its result, and citations",
        sent(&[
            vec![start()],
            block(
                0,
                &json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
                &[writes("{}")],
            ),
            block(1, &json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}), &[]),
            block(2, &text_block(), &[json!({"type": "citations_delta", "citation": {"url": "x"}}), says("yes")]),
            end("end_turn"),
        ]),
        Ok(text("yes")),
    );
    add(
        "events, blocks and pieces of the future",
        sent(&[
            vec![start(), json!({"type": "message_mood", "mood": 7})],
            block(0, &json!({"type": "dream"}), &[json!({"type": "dream_delta", "dream": "z"}), says("no")]),
            block(1, &text_block(), &[says("yes"), json!({"type": "text_color_delta", "color": "red"}), thinks("no")]),
            end("end_turn"),
        ]),
        Ok(text("yes")),
    );
    add(
        "values of odd types",
        sent(&[
            vec![json!(null), json!(7), json!({"type": 7}), json!({"type": "message_start", "message": null})],
            vec![json!({"type": "content_block_start", "index": "x", "content_block": 5})],
            vec![json!({"type": "content_block_delta", "index": -1, "delta": []})],
            end("end_turn"),
        ]),
        Ok(text("")),
    );

    // Usage.
    let began = |usage: Value| json!({"type": "message_start", "message": {"role": "assistant", "usage": usage}});
    let ended = |usage: Value| json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage});
    let counted = |input_tokens, cached_tokens, output_tokens| {
        Ok(Completion { usage: Usage { input_tokens, cached_tokens, output_tokens }, ..text("") })
    };
    let cached = json!({"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 1});
    add(
        "everything that went in is counted",
        sent(&[vec![began(cached.clone()), ended(json!({"output_tokens": 7})), stop()]]),
        counted(123, 100, 7),
    );
    add(
        "the counts of the end, which are totals",
        sent(&[vec![
            began(cached),
            ended(
                json!({"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 7}),
            ),
            stop(),
        ]]),
        counted(123, 100, 7),
    );
    add(
        "a gateway that knows the counts only at the end",
        sent(&[vec![
            began(json!({"input_tokens": 0, "output_tokens": 0})),
            ended(json!({"input_tokens": 9, "output_tokens": 7})),
            stop(),
        ]]),
        counted(9, 0, 7),
    );

    // Errors.
    let fails = |kind: &str, message: &str| {
        let error = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"});
        sent(&[hello(), vec![error]])
    };
    add(
        "overloaded in mid-stream",
        fails("overloaded_error", "Overloaded"),
        Err(ModelError::Overloaded { after: None }),
    );
    add("limited in mid-stream", fails("rate_limit_error", "slow"), Err(ModelError::RateLimited { after: None }));
    add("broken in mid-stream", fails("api_error", "gone"), Err(ModelError::Unavailable("gone".into())));
    add("timed out in mid-stream", fails("timeout_error", "late"), Err(ModelError::Unavailable("late".into())));
    add("refused in mid-stream", fails("invalid_request_error", "no"), Err(ModelError::Rejected("no".into())));
    add(
        "too long in mid-stream",
        fails("invalid_request_error", "prompt is too long: 9 > 8"),
        Err(ModelError::TooLong("prompt is too long: 9 > 8".into())),
    );
    add("the key in mid-stream", fails("authentication_error", "no"), Err(ModelError::Auth("no".into())));
    add(
        "an error that is not JSON",
        sent(&[hello()]) + "event: error\ndata: it broke\n\n",
        Err(ModelError::Unavailable("it broke".into())),
    );
    add(
        "a piece that is not JSON",
        sent(&[hello()]) + "event: content_block_delta\ndata: {oops\n\n",
        Err(ModelError::Unavailable("the stream holds a piece that is not JSON".into())),
    );
    add(
        "a ping that is not JSON",
        "event: ping\ndata: now\n\n".to_owned() + &sent(&[hello(), end("end_turn")]),
        Ok(text("Hello ☃")),
    );

    // One document in place of a stream.
    let document = json!({"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": [
        thought, {"type": "text", "text": "Looking."}, {"type": "tool_use", "id": "a", "name": "logs", "input": {"s": 1}},
    ], "stop_reason": "tool_use", "usage": {"input_tokens": 3, "cache_read_input_tokens": 5, "output_tokens": 7}});
    let answer = Completion {
        text: "Looking.".into(),
        reasoning: laid_out(json!([thought, {"text": 8}, {"call": 0}])),
        usage: Usage { input_tokens: 8, cached_tokens: 5, output_tokens: 7 },
        ..calls(&[("a", "logs", "{\"s\":1}")])
    };
    add("a whole answer", format!("\n {document}"), Ok(answer.clone()));
    add("a whole answer as an event", sent(&[vec![document]]), Ok(answer));
    add(
        "an error as a document",
        json!({"type": "error", "error": {"type": "not_found_error", "message": "model: x"}}).to_string(),
        Err(ModelError::Rejected("model: x".into())),
    );
    add("another document", json!({"status": "ok"}).to_string(), Err(broke_off()));
    cases
}

fn sent(events: &[Vec<Value>]) -> String {
    let event = |data: &Value| match data["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    };
    events.iter().flatten().map(event).collect()
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg", "role": "assistant", "content": [], "stop_reason": null}})
}

fn begin(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn piece(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn block(index: u64, block: &Value, deltas: &[Value]) -> Vec<Value> {
    let pieces = deltas.iter().map(|delta| piece(index, delta));
    [begin(index, block)]
        .into_iter()
        .chain(pieces)
        .chain([json!({"type": "content_block_stop", "index": index})])
        .collect()
}

fn text_block() -> Value {
    json!({"type": "text", "text": ""})
}

fn tool(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {}})
}

fn says(text: &str) -> Value {
    json!({"type": "text_delta", "text": text})
}

fn thinks(text: &str) -> Value {
    json!({"type": "thinking_delta", "thinking": text})
}

fn writes(json: &str) -> Value {
    json!({"type": "input_json_delta", "partial_json": json})
}

fn delta(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}})
}

fn stop() -> Value {
    json!({"type": "message_stop"})
}

fn end(reason: &str) -> Vec<Value> {
    vec![delta(reason), stop()]
}
