//! Builds one completion from the chunks of a chat-completions answer: without a finish reason nothing is complete.

use std::{collections::VecDeque, sync::Arc};

use serde_json::Value;

use super::{calls::Calls, reasoning::Reasoning};
use crate::model::{
    Completion, ModelError, ModelEvent, StopReason, Usage,
    decode::{Assemble, broke_off, leave_open},
};

#[derive(Debug)]
pub(in crate::model) struct Assembler {
    model: Arc<str>,
    text: String,
    reasoning: Reasoning,
    calls: Calls,
    finish: Option<String>,
    usage: Usage,
}

impl Assembler {
    pub(in crate::model) fn new(model: Arc<str>) -> Self {
        Self {
            model,
            text: String::new(),
            reasoning: Reasoning::default(),
            calls: Calls::default(),
            finish: None,
            usage: Usage::default(),
        }
    }

    fn take_chunk(&mut self, chunk: &Value, out: &mut VecDeque<ModelEvent>) {
        let first = |choice: &&Value| choice["index"].as_u64().unwrap_or(0) == 0;
        let choices = chunk["choices"].as_array().into_iter().flatten();
        for choice in choices.filter(first) {
            if choice["delta"].is_object() {
                self.take_delta(&choice["delta"], out);
            } else if self.text.is_empty() && self.calls.is_empty() {
                // A whole answer, from a server that doesn't stream.
                self.take_delta(&choice["message"], out);
            }
            if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
                self.finish = Some(reason.to_owned());
            }
            self.take_usage(&choice["usage"]);
        }
        self.take_usage(&chunk["usage"]);
    }

    fn take_delta(&mut self, delta: &Value, out: &mut VecDeque<ModelEvent>) {
        self.reasoning.take(delta);
        let mut text = delta["content"].as_str().unwrap_or_default().to_owned();
        for part in delta["content"].as_array().into_iter().flatten() {
            text.push_str(part["text"].as_str().unwrap_or_default());
            for thought in part["thinking"].as_array().into_iter().flatten() {
                self.reasoning.take_text(thought["text"].as_str().unwrap_or_default());
            }
        }
        text.push_str(delta["refusal"].as_str().unwrap_or_default());
        if !text.is_empty() {
            self.text.push_str(&text);
            out.push_back(ModelEvent::Text(text));
        }
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            let name = self.calls.take(piece);
            out.extend(name.map(|name| ModelEvent::CallStarted { name }));
        }
        // The form before `tool_calls`; some servers still speak it.
        if delta["function_call"].is_object() {
            let name = self.calls.take(&serde_json::json!({"function": delta["function_call"]}));
            out.extend(name.map(|name| ModelEvent::CallStarted { name }));
        }
    }

    /// Counts are totals so far, so the latest ones win.
    fn take_usage(&mut self, usage: &Value) {
        let count = |paths: &[&str]| paths.iter().find_map(|path| usage.pointer(path)?.as_u64());
        if usage.is_object() {
            self.usage = Usage {
                input_tokens: count(&["/prompt_tokens", "/input_tokens"]).unwrap_or_default(),
                cached_tokens: count(&[
                    "/prompt_tokens_details/cached_tokens",
                    "/prompt_cache_hit_tokens",
                    "/cached_tokens",
                ])
                .unwrap_or_default(),
                output_tokens: count(&["/completion_tokens", "/output_tokens"]).unwrap_or_default(),
            };
        }
    }
}

impl Assemble for Assembler {
    fn is_piece(name: &str) -> bool {
        matches!(name, "" | "message")
    }

    fn take(&mut self, _name: &str, piece: &Value, out: &mut VecDeque<ModelEvent>) {
        self.take_chunk(piece, out);
    }

    fn take_document(&mut self, document: &Value, out: &mut VecDeque<ModelEvent>) {
        self.take_chunk(document, out);
        // It is complete, whether it says so or not.
        if !self.text.is_empty() || !self.calls.is_empty() {
            self.finish.get_or_insert_with(|| "stop".to_owned());
        }
    }

    fn is_answered(&self) -> bool {
        self.finish.is_some()
    }

    /// The stream's last line says so, and is not JSON.
    fn is_over(&self) -> bool {
        false
    }

    fn complete(self) -> Result<Completion, ModelError> {
        let Some(reason) = self.finish else {
            return Err(broke_off());
        };
        let stop = match &*reason {
            "length" | "max_tokens" => StopReason::Length,
            "content_filter" | "sensitive" => StopReason::Filtered,
            "error" | "network_error" => {
                return Err(ModelError::Unavailable("it gave up in the middle of its answer".to_owned()));
            }
            "insufficient_system_resource" => return Err(ModelError::Overloaded { after: None }),
            // Servers disagree about `stop` beside calls: the calls count.
            _ if self.calls.is_empty() => StopReason::End,
            _ => StopReason::ToolCalls,
        };
        let (mut calls, extras) = self.calls.finish()?;
        match stop {
            // Cut in the middle of what it may not say.
            StopReason::Filtered => calls.clear(),
            StopReason::Length => leave_open(&mut calls),
            StopReason::End | StopReason::ToolCalls => {}
        }
        let reasoning = self.reasoning.finish(&self.model, extras);
        Ok(Completion { text: self.text, reasoning, calls, stop, usage: self.usage })
    }
}
