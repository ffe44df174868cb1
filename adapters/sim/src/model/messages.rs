//! Anthropic's messages format: a request as the rest of the model reads it, and what its blocks are called.

mod answer;
mod check;
mod thoughts;

pub(crate) use self::{
    answer::{events, whole},
    check::Check,
    thoughts::Thoughts,
};

use serde_json::{Value, json};

use super::{
    memory::Seen,
    raw,
    request::{REMINDER, text},
};

/// The blocks of a message; a string stands for one of text.
fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn is_thinking(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

fn is_reminder(block: &Value) -> bool {
    block["text"].as_str().is_some_and(|text| text.starts_with(REMINDER))
}

/// The same request as chat completions would have it.
pub(crate) fn as_chat(body: &Value) -> Value {
    let mut messages = vec![json!({"role": "system", "content": text(&body["system"])})];
    for message in body["messages"].as_array().into_iter().flatten() {
        let blocks = blocks(message);
        if message["role"] == "assistant" {
            let said = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
            let words: String = said("text").filter_map(|block| block["text"].as_str()).collect();
            let call = |block: &Value| json!({"id": block["id"], "type": "function", "function": {"name": block["name"], "arguments": block["input"].to_string()}});
            let calls: Vec<_> = said("tool_use").map(call).collect();
            messages.push(json!({"role": "assistant", "content": words, "tool_calls": calls}));
            continue;
        }
        messages.extend(blocks.iter().filter(|block| block["type"] != "image").map(|block| {
            if block["type"] == "tool_result" {
                json!({"role": "tool", "tool_call_id": block["tool_use_id"], "content": text(&block["content"])})
            } else {
                json!({"role": "user", "content": block["text"]})
            }
        }));
    }
    let choice = &body["tool_choice"];
    let choice = if choice["type"] == "tool" { choice["name"].clone() } else { choice["type"].clone() };
    json!({"model": body["model"], "stream": body["stream"], "messages": messages, "tool_choice": choice})
}

/// What a cache compares: every block in its place, without the marks, which move.
pub(crate) fn seen(request: &str) -> Seen {
    let members = raw::members(request);
    let member = |name| members.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| *value);
    let list = |text: &str| raw::elements(text).into_iter().map(unmarked).collect::<Vec<_>>().join(",");
    let system = member("system");
    let system = if system.starts_with('[') { list(system) } else { system.to_owned() };
    let mut pieces = Vec::new();
    let mut kept = 0;
    let mut begins = true;
    for message in raw::elements(member("messages")) {
        let parts = raw::members(message);
        let part = |name| parts.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| *value);
        let (role, content) = (part("role"), part("content"));
        begins &= role != "\"assistant\"";
        let blocks = if content.starts_with('[') { raw::elements(content) } else { vec![content] };
        for block in blocks {
            pieces
                .push(format!("{role} {}", if content.starts_with('[') { unmarked(block) } else { block.to_owned() }));
            if !serde_json::from_str(block).is_ok_and(|block: Value| is_reminder(&block)) {
                kept = pieces.len();
            }
        }
    }
    let first = pieces.first().cloned().unwrap_or_default();
    Seen { identity: (format!("messages {system}"), first), pieces, kept, tools: list(member("tools")), begins }
}

fn unmarked(block: &str) -> String {
    let members = raw::members(block).into_iter().filter(|(key, _)| *key != "cache_control");
    members.map(|(key, value)| format!("\"{key}\":{value}")).collect::<Vec<_>>().join(",")
}
