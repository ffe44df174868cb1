//! Calls, reasoning, and what single servers do.

use serde_json::{Value, json};

use super::{
    super::{Recorded, calls, text},
    data, delta, done, finish,
};
use crate::model::{Completion, ModelError, StopReason, Usage};

pub(super) fn cases() -> Vec<Recorded> {
    let mut cases = Vec::new();
    let mut add = |name, stream, expected| cases.push((name, stream, expected));
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

    let counted = Usage { input_tokens: 20, cached_tokens: 16, output_tokens: 3 };
    let usage = json!({"prompt_tokens": 20, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 16}});

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

fn piece(piece: Value) -> Value {
    delta(json!({"tool_calls": [piece]}))
}
