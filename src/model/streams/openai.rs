//! Chat completions, each with the answer it must come to.

use serde_json::{Value, json};

use super::{broke_off, calls, text};
use crate::model::{Completion, ModelError, StopReason, Usage};

pub(super) fn cases() -> Vec<(&'static str, String, Result<Completion, ModelError>)> {
    let mut cases = Vec::new();
    let mut add = |name, stream, expected| cases.push((name, stream, expected));

    let hello = || {
        [
            delta(json!({"role": "assistant", "content": ""})),
            delta(json!({"content": "Hel"})),
            delta(json!({"content": "lo ☃"})),
        ]
    };
    let two_calls = || {
        [
            piece(json!({"index": 0, "id": "a", "type": "function", "function": {"name": "logs", "arguments": ""}})),
            piece(
                json!({"index": 1, "id": "b", "type": "function", "function": {"name": "metrics", "arguments": "{\"q\""}}),
            ),
            piece(json!({"index": 0, "function": {"arguments": "{\"s\":"}})),
            piece(json!({"index": 1, "function": {"arguments": ":\"up\"}"}})),
            piece(json!({"index": 0, "function": {"arguments": "1}"}})),
        ]
    };
    let two_called = || calls(&[("a", "logs", "{\"s\":1}"), ("b", "metrics", "{\"q\":\"up\"}")]);

    // Text.
    add("plain text", done(&[&hello()[..], &[finish("stop")]].concat()), Ok(text("Hello ☃")));
    add("no [DONE]", data(&[&hello()[..], &[finish("stop")]].concat()), Ok(text("Hello ☃")));
    add(
        "the last blank line is missing",
        data(&[&hello()[..], &[finish("stop")]].concat()).trim_end().to_owned(),
        Ok(text("Hello ☃")),
    );
    add("no finish reason", data(&hello()), Err(broke_off()));
    add("[DONE] without a finish reason", done(&hello()), Err(broke_off()));
    add("nothing at all", String::new(), Err(broke_off()));
    add(
        "CRLF, comments and a byte order mark",
        format!(
            "\u{feff}: hi\r\n\r\n{}: bye\r\n\r\n",
            done(&[&hello()[..], &[finish("stop")]].concat()).replace('\n', "\r\n")
        ),
        Ok(text("Hello ☃")),
    );
    add("CR only", done(&[&hello()[..], &[finish("stop")]].concat()).replace('\n', "\r"), Ok(text("Hello ☃")));
    add(
        "text and finish in one chunk",
        done(&[json!({"choices": [{"delta": {"content": "yes"}, "finish_reason": "stop"}]})]),
        Ok(text("yes")),
    );
    add(
        "content in parts, one of them thinking",
        done(&[
            delta(
                json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}]}),
            ),
            finish("stop"),
        ]),
        Ok(Completion { reasoning: vec![json!({"model": "m", "reasoning_content": "hm"})], ..text("yes") }),
    );
    add(
        "only the first choice counts",
        done(&[
            json!({"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}, {"index": 0, "delta": {"content": "yes"}}]}),
            finish("stop"),
        ]),
        Ok(text("yes")),
    );
    add(
        "a first chunk without choices",
        done(&[json!({"choices": [], "prompt_filter_results": []}), delta(json!({"content": "yes"})), finish("stop")]),
        Ok(text("yes")),
    );
    add("a refusal is said", done(&[delta(json!({"refusal": "I can't."})), finish("stop")]), Ok(text("I can't.")));
    add(
        "cut by the output limit",
        done(&[delta(json!({"content": "ye"})), finish("length")]),
        Ok(Completion { stop: StopReason::Length, ..text("ye") }),
    );
    add("filtered", done(&[finish("content_filter")]), Ok(Completion { stop: StopReason::Filtered, ..text("") }));
    add("an unknown finish reason", done(&[delta(json!({"content": "yes"})), finish("eos")]), Ok(text("yes")));
    add("an empty answer", done(&[finish("stop")]), Ok(text("")));
    add(
        "chunks of odd types",
        done(&[
            json!(null),
            json!(7),
            json!({"choices": null}),
            json!({"choices": [{"delta": {"content": 5, "tool_calls": null}}]}),
            json!({"choices": "x"}),
            finish("stop"),
        ]),
        Ok(text("")),
    );

    // Usage.
    let counted = Usage { input_tokens: 20, cached_tokens: 16, output_tokens: 3 };
    let usage = json!({"prompt_tokens": 20, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 16}});
    add(
        "usage in a chunk of its own",
        done(&[delta(json!({"content": "yes"})), finish("stop"), json!({"choices": [], "usage": usage})]),
        Ok(Completion { usage: counted, ..text("yes") }),
    );
    add(
        "usage in every chunk",
        done(&[
            json!({"choices": [{"delta": {"content": "yes"}}], "usage": {"prompt_tokens": 20, "completion_tokens": 1}}),
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}),
        ]),
        Ok(Completion { usage: counted, ..text("yes") }),
    );
    add(
        "usage with the cache's own names",
        done(&[
            delta(json!({"content": "yes"})),
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 20, "completion_tokens": 3, "prompt_cache_hit_tokens": 16}}),
        ]),
        Ok(Completion { usage: counted, ..text("yes") }),
    );
    add(
        "usage inside the choice",
        done(&[
            delta(json!({"content": "yes"})),
            json!({"choices": [{"delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 20, "completion_tokens": 3, "cached_tokens": 16}}]}),
        ]),
        Ok(Completion { usage: counted, ..text("yes") }),
    );

    // Calls.
    add("two calls, their pieces mixed", done(&[&two_calls()[..], &[finish("tool_calls")]].concat()), Ok(two_called()));
    add(
        "text, then a call",
        done(&[
            delta(json!({"content": "Looking."})),
            piece(json!({"index": 0, "id": "a", "function": {"name": "logs", "arguments": "{}"}})),
            finish("tool_calls"),
        ]),
        Ok(Completion { text: "Looking.".into(), ..calls(&[("a", "logs", "{}")]) }),
    );
    add("calls that end with `stop`", done(&[&two_calls()[..], &[finish("stop")]].concat()), Ok(two_called()));
    add(
        "calls without an index, in pieces",
        done(&[
            piece(json!({"id": "a", "function": {"name": "logs", "arguments": "{\"s\""}})),
            piece(json!({"function": {"arguments": ":1}"}})),
            piece(json!({"id": "b", "function": {"name": "logs", "arguments": "{}"}})),
            finish("tool_calls"),
        ]),
        Ok(calls(&[("a", "logs", "{\"s\":1}"), ("b", "logs", "{}")])),
    );
    add(
        "calls without index and id, whole",
        done(&[
            delta(
                json!({"tool_calls": [{"function": {"name": "logs", "arguments": "{\"s\":1}"}}, {"function": {"name": "logs", "arguments": "{\"s\":2}"}}, {"function": {"name": "metrics"}}]}),
            ),
            finish("tool_calls"),
        ]),
        Ok(calls(&[("made", "logs", "{\"s\":1}"), ("made", "logs", "{\"s\":2}"), ("made", "metrics", "{}")])),
    );
    add(
        "a name that comes with every piece",
        done(&[
            piece(json!({"function": {"name": "logs", "arguments": "{\"s\""}})),
            piece(json!({"function": {"name": "logs", "arguments": ":1}"}})),
            piece(json!({"function": {"name": "logs", "arguments": ""}})),
            finish("tool_calls"),
        ]),
        Ok(calls(&[("made", "logs", "{\"s\":1}")])),
    );
    add(
        "every call has index 0",
        done(&[
            piece(json!({"index": 0, "id": "a", "function": {"name": "logs", "arguments": "{}"}})),
            piece(json!({"index": 0, "id": "b", "function": {"name": "logs", "arguments": "{\"s\":1}"}})),
            finish("stop"),
        ]),
        Ok(calls(&[("a", "logs", "{}"), ("b", "logs", "{\"s\":1}")])),
    );
    add(
        "another id with every piece of one call",
        done(&[
            piece(json!({"index": 0, "id": "a", "function": {"name": "logs", "arguments": "{\"s\""}})),
            piece(json!({"index": 0, "id": "b", "function": {"arguments": ":1}"}})),
            finish("tool_calls"),
        ]),
        Ok(calls(&[("a", "logs", "{\"s\":1}")])),
    );
    add(
        "two calls with the same id",
        done(&[
            piece(json!({"index": 0, "id": "a", "function": {"name": "logs", "arguments": "{}"}})),
            piece(json!({"index": 1, "id": "a", "function": {"name": "logs", "arguments": "{}"}})),
            finish("tool_calls"),
        ]),
        Ok(calls(&[("a", "logs", "{}"), ("made", "logs", "{}")])),
    );
    add(
        "an id that comes late, and no arguments",
        done(&[
            piece(json!({"index": 3, "function": {"name": "logs"}})),
            piece(json!({"index": 3, "id": "a"})),
            finish("tool_calls"),
        ]),
        Ok(calls(&[("a", "logs", "{}")])),
    );
    add(
        "arguments as an object",
        done(&[
            piece(json!({"index": 0, "id": "a", "function": {"name": "logs", "arguments": {"s": 1}}})),
            finish("tool_calls"),
        ]),
        Ok(calls(&[("a", "logs", "{\"s\":1}")])),
    );
    add(
        "arguments that are not JSON stay as they are",
        done(&[
            piece(json!({"index": 0, "id": "a", "function": {"name": "logs", "arguments": "{s:"}})),
            finish("tool_calls"),
        ]),
        Ok(calls(&[("a", "logs", "{s:")])),
    );
    add(
        "the old form of a call",
        done(&[
            delta(json!({"function_call": {"name": "logs", "arguments": ""}})),
            delta(json!({"function_call": {"arguments": "{\"s\":1}"}})),
            finish("function_call"),
        ]),
        Ok(calls(&[("made", "logs", "{\"s\":1}")])),
    );
    add(
        "a call without a name",
        done(&[piece(json!({"index": 0, "id": "a", "function": {"arguments": "{}"}})), finish("tool_calls")]),
        Err(ModelError::Unavailable("a tool call came without a name".into())),
    );
    add(
        "what a server wants back with a call",
        done(&[
            piece(
                json!({"index": 0, "id": "a", "function": {"name": "logs", "arguments": "{}"}, "extra_content": {"sign": "s"}}),
            ),
            finish("stop"),
        ]),
        Ok(Completion {
            reasoning: vec![json!({"model": "m", "extra_content": {"a": {"sign": "s"}}})],
            ..calls(&[("a", "logs", "{}")])
        }),
    );

    // Reasoning.
    add(
        "reasoning_content is not text",
        done(&[
            delta(json!({"reasoning_content": "h"})),
            delta(json!({"reasoning_content": "m"})),
            delta(json!({"content": "yes"})),
            finish("stop"),
        ]),
        Ok(Completion { reasoning: vec![json!({"model": "m", "reasoning_content": "hm"})], ..text("yes") }),
    );
    add(
        "reasoning with details",
        done(&[
            delta(
                json!({"reasoning": "h", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "h"}]}),
            ),
            delta(
                json!({"reasoning": "m", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "m", "signature": "s"}]}),
            ),
            delta(json!({"content": "yes"})),
            finish("stop"),
        ]),
        Ok(Completion {
            reasoning: vec![
                json!({"model": "m", "reasoning": "hm"}),
                json!({"model": "m", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "hm", "signature": "s"}]}),
            ],
            ..text("yes")
        }),
    );

    // Errors after a good beginning.
    add(
        "an error in mid-stream",
        data(&[delta(json!({"content": "ye"})), json!({"error": {"message": "busy", "type": "overloaded_error"}})]),
        Err(ModelError::Overloaded),
    );
    add(
        "an event named error",
        format!("{}event: error\ndata: {{\"message\": \"slow\", \"code\": 429}}\n\n", data(&hello())),
        Err(ModelError::RateLimited { after: None }),
    );
    add(
        "an error beside a finish reason",
        data(&[
            json!({"error": {"code": 502, "message": "gone"}, "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]}),
        ]),
        Err(ModelError::Unavailable("HTTP 502: gone".into())),
    );
    add(
        "the server ran out of resources",
        done(&[finish("insufficient_system_resource")]),
        Err(ModelError::Overloaded),
    );
    add(
        "a piece that is not JSON",
        format!("{}data: {{oops\n\n", data(&hello())),
        Err(ModelError::Unavailable("the stream holds a piece that is not JSON".into())),
    );
    add(
        "a ping that is not JSON",
        format!("event: ping\ndata: now\n\n{}", done(&[delta(json!({"content": "yes"})), finish("stop")])),
        Ok(text("yes")),
    );

    // One document in place of a stream.
    add(
        "a whole answer",
        format!(
            "\n {}",
            json!({"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Looking.", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "logs", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}], "usage": usage})
        ),
        Ok(Completion { text: "Looking.".into(), usage: counted, ..calls(&[("a", "logs", "{}")]) }),
    );
    add(
        "a whole answer without a finish reason",
        json!({"choices": [{"message": {"content": "yes"}}]}).to_string(),
        Ok(text("yes")),
    );
    add(
        "an error as a document",
        json!({"error": {"message": "no", "type": "invalid_request_error"}}).to_string(),
        Err(ModelError::Rejected("no".into())),
    );
    add("another document", json!({"status": "ok"}).to_string(), Err(broke_off()));
    // What single servers do.
    add(
        "Zhipu: role in every chunk, reasoning first, usage with the finish",
        done(&[
            delta(json!({"role": "assistant", "reasoning_content": "hm"})),
            delta(json!({"role": "assistant", "content": "yes"})),
            json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": "stop"}], "usage": usage}),
        ]),
        Ok(Completion {
            reasoning: vec![json!({"model": "m", "reasoning_content": "hm"})],
            usage: counted,
            ..text("yes")
        }),
    );
    add(
        "Zhipu: the network failed",
        done(&[delta(json!({"content": "ye"})), finish("network_error")]),
        Err(ModelError::Unavailable("it gave up in the middle of its answer".into())),
    );
    add(
        "Zhipu: what may not be said",
        done(&[delta(json!({"content": "ye"})), finish("sensitive")]),
        Ok(Completion { stop: StopReason::Filtered, ..text("ye") }),
    );
    add(
        "Ollama: a whole call in one piece, and `stop`",
        done(&[
            piece(
                json!({"index": 0, "id": "call_x", "type": "function", "function": {"name": "logs", "arguments": "{\"s\":1}"}}),
            ),
            json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": "stop"}]}),
        ]),
        Ok(calls(&[("call_x", "logs", "{\"s\":1}")])),
    );
    add(
        "vLLM: reasoning under its new name, null content",
        done(&[
            delta(json!({"role": "assistant", "content": null, "reasoning": "hm"})),
            delta(json!({"content": "yes", "tool_calls": []})),
            json!({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop", "stop_reason": null, "token_ids": null}]}),
        ]),
        Ok(Completion { reasoning: vec![json!({"model": "m", "reasoning": "hm"})], ..text("yes") }),
    );
    add(
        "OpenRouter: comments while it works",
        format!(
            ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n{}",
            done(&[delta(json!({"content": "yes"})), finish("stop")])
        ),
        Ok(text("yes")),
    );
    add(
        "OpenRouter: encrypted reasoning of two kinds",
        done(&[
            delta(json!({"reasoning_details": [{"type": "reasoning.summary", "index": 0, "summary": "h"}]})),
            delta(json!({"reasoning_details": [{"type": "reasoning.summary", "index": 0, "summary": "m"}]})),
            delta(
                json!({"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "x==", "id": "r", "format": "f"}]}),
            ),
            delta(json!({"content": "yes"})),
            finish("stop"),
        ]),
        Ok(Completion {
            reasoning: vec![json!({"model": "m", "reasoning_details": [
                {"type": "reasoning.summary", "index": 0, "summary": "hm"},
                {"type": "reasoning.encrypted", "index": 1, "data": "x==", "id": "r", "format": "f"},
            ]})],
            ..text("yes")
        }),
    );
    add(
        "OpenRouter: an error of the provider behind it",
        data(&[
            json!({"id": "g", "error": {"code": 429, "message": "Provider returned error", "metadata": {"raw": "slow down"}}, "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}),
        ]),
        Err(ModelError::RateLimited { after: None }),
    );
    add(
        "letters of two, three and four bytes",
        done(&[delta(json!({"content": "é日"})), delta(json!({"content": "🚨"})), finish("stop")]),
        Ok(text("é日🚨")),
    );
    cases
}

fn data(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn done(chunks: &[Value]) -> String {
    data(chunks) + "data: [DONE]\n\n"
}

fn piece(piece: Value) -> Value {
    delta(json!({"tool_calls": [piece]}))
}
