//! Builds one completion from the events of a messages answer: blocks, each with an index, that come in pieces. Blocks and
//! pieces of kinds that we didn't ask for are passed over.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    sync::Arc,
};

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::thoughts::Layout;
use crate::model::{
    Completion, ModelError, ModelEvent, StopReason, ToolCall, Usage,
    decode::{Assemble, broke_off, leave_open},
};

#[derive(Debug)]
pub(in crate::model) struct Assembler {
    model: Arc<str>,
    reminder: Option<String>,
    /// In the order in which they began.
    blocks: Vec<Block>,
    /// Which block an index means now.
    places: BTreeMap<u64, usize>,
    stop: Option<String>,
    over: bool,
    usage: Counts,
}

#[derive(Debug)]
enum Block {
    Text(String),
    /// As the provider sent it, with its pieces joined.
    Thought(Map<String, Value>),
    Call {
        id: String,
        name: String,
        input: Value,
        json: String,
    },
    Other,
}

/// Each number is a total so far. Some servers begin with a zero and tell the truth at the end.
#[derive(Debug, Default)]
struct Counts {
    fresh: u64,
    cache_written: u64,
    cache_read: u64,
    output: u64,
}

impl Counts {
    fn take(&mut self, usage: &Value) {
        for (count, name) in [
            (&mut self.fresh, "input_tokens"),
            (&mut self.cache_written, "cache_creation_input_tokens"),
            (&mut self.cache_read, "cache_read_input_tokens"),
            (&mut self.output, "output_tokens"),
        ] {
            *count = usage[name].as_u64().unwrap_or_default().max(*count);
        }
    }

    fn usage(&self) -> Usage {
        Usage {
            // Here the cached part is not within the rest.
            input_tokens: self.fresh.saturating_add(self.cache_written).saturating_add(self.cache_read),
            cached_tokens: self.cache_read,
            output_tokens: self.output,
        }
    }
}

impl Assembler {
    pub(in crate::model) fn new(model: Arc<str>) -> Self {
        Self {
            model,
            reminder: None,
            blocks: Vec::new(),
            places: BTreeMap::new(),
            stop: None,
            over: false,
            usage: Counts::default(),
        }
    }

    /// What the request ended with: its thoughts are signed together with it.
    pub(super) fn reminded(self, reminder: Option<&str>) -> Self {
        Self { reminder: reminder.filter(|text| !text.trim().is_empty()).map(str::to_owned), ..self }
    }

    fn begin(&mut self, index: u64, block: &Value, out: &mut VecDeque<ModelEvent>) {
        let string = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        let begun = match block["type"].as_str().unwrap_or_default() {
            "text" => {
                say(&string("text"), out);
                Block::Text(string("text"))
            }
            "thinking" | "redacted_thinking" => Block::Thought(block.as_object().cloned().unwrap_or_default()),
            "tool_use" => {
                let name = string("name");
                if !name.is_empty() {
                    out.push_back(ModelEvent::CallStarted { name: name.clone() });
                }
                Block::Call { id: string("id"), name, input: block["input"].clone(), json: String::new() }
            }
            _ => Block::Other,
        };
        self.places.insert(index, self.blocks.len());
        self.blocks.push(begun);
    }

    fn go_on(&mut self, index: u64, delta: &Value, out: &mut VecDeque<ModelEvent>) {
        let kind = delta["type"].as_str().unwrap_or_default();
        if !self.places.contains_key(&index) {
            // Some servers begin without saying so.
            match kind {
                "text_delta" => self.begin(index, &json!({"type": "text"}), out),
                "thinking_delta" => self.begin(index, &json!({"type": "thinking"}), out),
                "input_json_delta" => self.begin(index, &json!({"type": "tool_use"}), out),
                _ => return,
            }
        }
        let Some(block) = self.places.get(&index).and_then(|place| self.blocks.get_mut(*place)) else { return };
        let piece = |name: &str| delta[name].as_str().unwrap_or_default();
        match (block, kind) {
            (Block::Text(text), "text_delta") => {
                text.push_str(piece("text"));
                say(piece("text"), out);
            }
            (Block::Call { json, .. }, "input_json_delta") => json.push_str(piece("partial_json")),
            (Block::Thought(thought), "thinking_delta") => {
                if let Value::String(text) = thought.entry("thinking").or_insert_with(|| "".into()) {
                    text.push_str(piece("thinking"));
                }
            }
            (Block::Thought(thought), "signature_delta") => {
                thought.insert("signature".to_owned(), delta["signature"].clone());
            }
            _ => {}
        }
    }

    fn stop(&self, called: bool) -> StopReason {
        match self.stop.as_deref().unwrap_or_default() {
            // A pause is no end either: it comes with tools of the server, of which we use none.
            "max_tokens" | "model_context_window_exceeded" | "pause_turn" => StopReason::Length,
            "refusal" => StopReason::Filtered,
            _ if called => StopReason::ToolCalls,
            _ => StopReason::End,
        }
    }
}

fn say(text: &str, out: &mut VecDeque<ModelEvent>) {
    if !text.is_empty() {
        out.push_back(ModelEvent::Text(text.to_owned()));
    }
}

fn arguments(input: &Value, json: String) -> String {
    if !json.trim().is_empty() {
        return json;
    }
    // Whole from the beginning, or none.
    if input.is_object() { input.to_string() } else { "{}".to_owned() }
}

impl Assemble for Assembler {
    fn is_piece(name: &str) -> bool {
        name.is_empty() || name.starts_with("message") || name.starts_with("content_block")
    }

    fn take(&mut self, name: &str, piece: &Value, out: &mut VecDeque<ModelEvent>) {
        let index = piece["index"].as_u64().unwrap_or_default();
        match piece["type"].as_str().unwrap_or(name) {
            "message_start" => self.usage.take(&piece["message"]["usage"]),
            "content_block_start" => self.begin(index, &piece["content_block"], out),
            "content_block_delta" => self.go_on(index, &piece["delta"], out),
            "message_delta" => {
                self.usage.take(&piece["usage"]);
                if let Some(reason) = piece["delta"]["stop_reason"].as_str() {
                    self.stop = Some(reason.to_owned());
                }
            }
            "message_stop" => self.over = true,
            "message" => self.take_document(piece, out),
            _ => {}
        }
    }

    fn take_document(&mut self, document: &Value, out: &mut VecDeque<ModelEvent>) {
        let Some(content) = document["content"].as_array() else { return };
        for (index, block) in (0..).zip(content) {
            self.begin(index, block, out);
        }
        self.usage.take(&document["usage"]);
        self.stop = Some(document["stop_reason"].as_str().unwrap_or("end_turn").to_owned());
        self.over = true;
    }

    fn is_answered(&self) -> bool {
        self.over || self.stop.is_some()
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn complete(mut self) -> Result<Completion, ModelError> {
        if !self.is_answered() {
            return Err(broke_off());
        }
        let mut text = String::new();
        let mut calls = Vec::new();
        let mut layout = Layout::default();
        let mut ids = HashSet::new();
        for block in std::mem::take(&mut self.blocks) {
            match block {
                Block::Text(said) => {
                    layout.text(&said);
                    text.push_str(&said);
                }
                Block::Thought(thought) => layout.thought(thought),
                Block::Call { name, .. } if name.is_empty() => {
                    return Err(ModelError::Unavailable("a tool call came without a name".to_owned()));
                }
                Block::Call { mut id, name, input, json } => {
                    if id.is_empty() || !ids.insert(id.clone()) {
                        id = format!("call_{}", Uuid::new_v4().simple());
                    }
                    layout.call(calls.len());
                    calls.push(ToolCall { id, name, arguments: arguments(&input, json) });
                }
                Block::Other => {}
            }
        }
        let stop = self.stop(!calls.is_empty());
        match stop {
            // Cut in the middle of what it may not say.
            StopReason::Filtered => calls.clear(),
            StopReason::Length => leave_open(&mut calls),
            StopReason::End | StopReason::ToolCalls => {}
        }
        let reasoning = layout.finish(&self.model, self.reminder.as_deref());
        Ok(Completion { text, reasoning, calls, stop, usage: self.usage.usage() })
    }
}
