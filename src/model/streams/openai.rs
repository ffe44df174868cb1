//! Chat completions, each with the answer it must come to. Calls, reasoning and what single servers do are in `more`.

mod more;

use serde_json::{Value, json};

use super::{Recorded, broke_off, calls, text};
use crate::model::{Completion, ModelError, StopReason, Usage};

pub(super) fn cases() -> Vec<Recorded> {
    let mut cases = Vec::new();
    let mut add = |name, stream, expected| cases.push((name, stream, expected));

    let hello = || {
        [
            delta(json!({"role": "assistant", "content": ""})),
            delta(json!({"content": "Hel"})),
            delta(json!({"content": "lo ☃"})),
        ]
    };
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
    let begun = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "logs", "arguments": ""}}]});
    add(
        "filtered in the middle of a call",
        done(&[delta(begun.clone()), finish("content_filter")]),
        Ok(Completion { stop: StopReason::Filtered, ..text("") }),
    );
    add(
        "a call that the output limit left without its arguments",
        done(&[delta(begun), finish("length")]),
        Ok(Completion { stop: StopReason::Length, ..calls(&[("a", "logs", "{")]) }),
    );
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

    // Errors after a good beginning.
    add(
        "an error in mid-stream",
        data(&[delta(json!({"content": "ye"})), json!({"error": {"message": "busy", "type": "overloaded_error"}})]),
        Err(ModelError::Overloaded { after: None }),
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
        Err(ModelError::Overloaded { after: None }),
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
    cases.extend(more::cases());
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
