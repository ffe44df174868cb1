//! Refuses what Anthropic refuses, and a little more: roles must alternate, and the last word is the user's.

use std::collections::HashSet;

use serde_json::Value;

use super::{Thoughts, blocks, is_reminder, is_thinking};

const KEYS: [&str; 15] = [
    "model",
    "messages",
    "max_tokens",
    "system",
    "metadata",
    "stop_sequences",
    "stream",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
    "service_tier",
    "container",
];

const MARKS: usize = 4;

pub(crate) struct Check<'s> {
    unknown_tools: &'s [String],
    thoughts: &'s Thoughts,
}

impl<'s> Check<'s> {
    pub(crate) fn new(unknown_tools: &'s [String], thoughts: &'s Thoughts) -> Self {
        Self { unknown_tools, thoughts }
    }

    pub(crate) fn request(&self, body: &Value) -> Result<(), String> {
        let object = body.as_object().ok_or("the request must be an object")?;
        if let Some(key) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("{key}: Extra inputs are not permitted"));
        }
        let model = body["model"].as_str().filter(|model| !model.is_empty()).ok_or("model: Field required")?;
        if body["max_tokens"].as_u64().is_none_or(|tokens| tokens == 0) {
            return Err("max_tokens: Field required".to_owned());
        }
        check_system(&body["system"])?;
        let tools = check_tools(&body["tools"])?;
        let choice = &body["tool_choice"];
        if !choice.is_null() && !["auto", "any", "tool", "none"].iter().any(|kind| choice["type"] == *kind) {
            return Err("tool_choice: Input should be an object with a known type".to_owned());
        }
        if count_marks(body) > MARKS {
            return Err(format!("A maximum of {MARKS} blocks with cache_control may be provided"));
        }
        self.messages(&body["messages"], model, &tools)
    }

    fn messages(&self, messages: &Value, model: &str, tools: &HashSet<&str>) -> Result<(), String> {
        let messages = messages.as_array().filter(|list| !list.is_empty());
        let messages = messages.ok_or("messages: at least one message is required")?;
        let mut ids = HashSet::new();
        let mut open: Vec<String> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            let fault = |problem: String| format!("messages.{at}: {problem}");
            let role = message["role"].as_str().unwrap_or_default();
            let expected = if at % 2 == 0 { "user" } else { "assistant" };
            if role != expected {
                return Err(fault(format!("roles must alternate, expected {expected}, got \"{role}\"")));
            }
            let blocks = blocks(message);
            if blocks.is_empty() {
                return Err(fault(format!("{role} messages must have non-empty content")));
            }
            for block in &blocks {
                check_block(role, block).map_err(fault)?;
            }
            if role == "user" {
                check_results(&blocks, std::mem::take(&mut open)).map_err(fault)?;
            } else {
                open = self.calls(&blocks, tools, &mut ids).map_err(fault)?;
                self.thoughts.check(model, &blocks, &messages[..at]).map_err(fault)?;
            }
        }
        match messages.last() {
            Some(last) if last["role"] == "user" => Ok(()),
            _ => Err("the conversation must end with a user message".to_owned()),
        }
    }

    fn calls(&self, blocks: &[Value], tools: &HashSet<&str>, ids: &mut HashSet<String>) -> Result<Vec<String>, String> {
        let mut open = Vec::new();
        for block in blocks.iter().filter(|block| block["type"] == "tool_use") {
            let id = block["id"].as_str().unwrap_or_default();
            if !fits(id, 200) {
                return Err(format!("tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$', got \"{id}\""));
            }
            if !ids.insert(id.to_owned()) {
                return Err(format!("`tool_use` ids must be unique: {id}"));
            }
            let name = block["name"].as_str().unwrap_or_default();
            if !fits(name, 128) {
                return Err(format!("tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$': {name}"));
            }
            if !tools.contains(name) && !self.unknown_tools.iter().any(|unknown| unknown == name) {
                return Err(format!("call {id} names {name}, which is not among the tools"));
            }
            if !block["input"].is_object() {
                return Err("tool_use.input: Input should be a valid dictionary".to_owned());
            }
            open.push(id.to_owned());
        }
        Ok(open)
    }
}

fn fits(name: &str, longest: usize) -> bool {
    (1..=longest).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Results come first, one for each call of the message before.
fn check_results(blocks: &[Value], mut open: Vec<String>) -> Result<(), String> {
    let mut others = false;
    for block in blocks {
        if block["type"] != "tool_result" {
            others = true;
            continue;
        }
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        let Some(index) = open.iter().position(|call| call == id) else {
            return Err(format!("unexpected `tool_use_id` found in `tool_result` blocks: {id}"));
        };
        if others {
            return Err(format!("`tool_result` blocks must come first in the content: {id}"));
        }
        open.remove(index);
    }
    if open.is_empty() {
        return Ok(());
    }
    Err(format!("`tool_use` ids were found without `tool_result` blocks immediately after: {}", open.join(", ")))
}

fn check_block(role: &str, block: &Value) -> Result<(), String> {
    let marked = block.get("cache_control");
    if marked.is_some_and(|mark| mark["type"] != "ephemeral") {
        return Err("cache_control.type: Input should be 'ephemeral'".to_owned());
    }
    if marked.is_some() && (is_thinking(block) || is_reminder(block)) {
        return Err("cache_control: this block can't be cached".to_owned());
    }
    let kind = block["type"].as_str().unwrap_or_default();
    let string = |name: &str| block[name].as_str();
    match (role, kind) {
        (_, "text") if string("text").is_some_and(|text| !text.trim().is_empty()) => Ok(()),
        (_, "text") => Err("text content blocks must contain non-whitespace text".to_owned()),
        ("user", "tool_result") => match &block["content"] {
            Value::Null | Value::String(_) => Ok(()),
            Value::Array(parts) => parts.iter().try_for_each(|part| check_block(role, part)),
            _ => Err("tool_result.content: Input should be a string or a list".to_owned()),
        },
        ("user", "image") => {
            let source = &block["source"];
            let known = ["image/png", "image/jpeg", "image/gif", "image/webp"];
            let right = source["type"] == "base64"
                && known.iter().any(|kind| source["media_type"] == *kind)
                && source["data"].as_str().is_some_and(|data| !data.is_empty());
            if right { Ok(()) } else { Err("image.source: Input should be a picture in base64".to_owned()) }
        }
        ("assistant", "tool_use") => Ok(()),
        ("assistant", "thinking") if string("thinking").is_some() && string("signature").is_some() => Ok(()),
        ("assistant", "redacted_thinking") if string("data").is_some() => Ok(()),
        _ => Err(format!("a {role} message can't hold this block of type \"{kind}\"")),
    }
}

fn check_system(system: &Value) -> Result<(), String> {
    let blank = |text: &Value| text.as_str().is_none_or(|text| text.trim().is_empty());
    match system {
        Value::Null => Ok(()),
        Value::String(text) if !text.is_empty() => Ok(()),
        Value::Array(list) if !list.iter().any(|block| block["type"] != "text" || blank(&block["text"])) => Ok(()),
        _ => Err("system: text content blocks must be non-empty".to_owned()),
    }
}

fn check_tools(tools: &Value) -> Result<HashSet<&str>, String> {
    let mut names = HashSet::new();
    if !tools.is_null() && !tools.is_array() {
        return Err("tools: Input should be a valid list".to_owned());
    }
    for (at, tool) in tools.as_array().into_iter().flatten().enumerate() {
        let name = tool["name"].as_str().filter(|name| fits(name, 128));
        let name =
            name.ok_or_else(|| format!("tools.{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"))?;
        let known = ["name", "description", "input_schema", "cache_control"];
        if let Some(key) = tool.as_object().and_then(|tool| tool.keys().find(|key| !known.contains(&key.as_str()))) {
            return Err(format!("tools.{at}.{key}: Extra inputs are not permitted"));
        }
        if tool["input_schema"]["type"] != "object" {
            return Err(format!("tools.{at}.input_schema.type: Input should be 'object'"));
        }
        if !names.insert(name) {
            return Err("tools: Tool names must be unique.".to_owned());
        }
    }
    Ok(names)
}

fn count_marks(value: &Value) -> usize {
    match value {
        Value::Array(list) => list.iter().map(count_marks).sum(),
        Value::Object(fields) => {
            usize::from(fields.contains_key("cache_control")) + fields.values().map(count_marks).sum::<usize>()
        }
        _ => 0,
    }
}
