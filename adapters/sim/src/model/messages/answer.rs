//! The answer in Anthropic's words: one message, or the documented events of a stream.

use serde_json::{Value, json};

use super::super::answer::{Answer, pieces};

/// The content, complete.
pub(super) fn blocks(answer: &Answer) -> Vec<Value> {
    let thinking = answer.thinking.as_ref().map(|thinking| {
        json!({"type": "thinking", "thinking": thinking, "signature": format!("sig+{}/{}==", answer.model, answer.id)})
    });
    let text = answer.text.as_ref().filter(|text| !text.is_empty());
    let text = text.map(|text| json!({"type": "text", "text": text}));
    let calls = answer.calls.iter().map(|(id, name, arguments)| {
        let input = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        json!({"type": "tool_use", "id": id, "name": name, "input": input})
    });
    thinking.into_iter().chain(text).chain(calls).collect()
}

fn stop_reason(answer: &Answer) -> &str {
    match &*answer.finish {
        "stop" => "end_turn",
        "tool_calls" => "tool_use",
        "length" => "max_tokens",
        "content_filter" => "refusal",
        other => other,
    }
}

fn message(answer: &Answer, content: &[Value], stop: Option<&str>, output: u64) -> Value {
    // Here the cached part is counted apart.
    let usage = json!({"input_tokens": answer.usage.input.saturating_sub(answer.usage.cached),
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": answer.usage.cached, "output_tokens": output});
    json!({"id": format!("msg_{}", answer.id), "type": "message", "role": "assistant", "model": answer.model,
        "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage})
}

pub(crate) fn whole(answer: &Answer) -> Value {
    message(answer, &blocks(answer), Some(stop_reason(answer)), answer.usage.output)
}

pub(crate) fn events(answer: &Answer) -> Vec<String> {
    let mut events = vec![
        event(&json!({"type": "message_start", "message": message(answer, &[], None, 1)})),
        event(&json!({"type": "ping"})),
    ];
    let mut calls = answer.calls.iter();
    for (index, block) in blocks(answer).into_iter().enumerate() {
        let mut begun = block.clone();
        let text = |name: &str| pieces(block[name].as_str().unwrap_or_default(), 12);
        let deltas: Vec<Value> = match block["type"].as_str() {
            Some("thinking") => {
                begun["thinking"] = "".into();
                begun["signature"] = "".into();
                let thoughts = text("thinking").into_iter().map(|it| json!({"type": "thinking_delta", "thinking": it}));
                let signature = json!({"type": "signature_delta", "signature": block["signature"]});
                thoughts.chain([signature]).collect()
            }
            Some("text") => {
                begun["text"] = "".into();
                text("text").into_iter().map(|it| json!({"type": "text_delta", "text": it})).collect()
            }
            _ => {
                begun["input"] = json!({});
                let arguments = calls.next().map(|(.., arguments)| arguments.as_str()).filter(|it| *it != "{}");
                let parts = [vec![String::new()], pieces(arguments.unwrap_or_default(), 10)].concat();
                parts.into_iter().map(|it| json!({"type": "input_json_delta", "partial_json": it})).collect()
            }
        };
        events.push(event(&json!({"type": "content_block_start", "index": index, "content_block": begun})));
        for delta in deltas {
            events.push(event(&json!({"type": "content_block_delta", "index": index, "delta": delta})));
        }
        events.push(event(&json!({"type": "content_block_stop", "index": index})));
    }
    events.push(event(&json!({"type": "message_delta",
        "delta": {"stop_reason": stop_reason(answer), "stop_sequence": null},
        "usage": {"output_tokens": answer.usage.output}})));
    events.push(event(&json!({"type": "message_stop"})));
    events
}

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}
