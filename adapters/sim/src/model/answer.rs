//! The answer on the wire: one JSON object, or the chunks of a stream. When they are sent is `endpoint`'s business.

use serde_json::{Value, json};

use super::script::{Reply, Usage};
use crate::time;

/// A reply that is ready to be sent.
#[derive(Debug)]
pub(crate) struct Answer {
    /// A number, without the prefix of its wire format.
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) text: Option<String>,
    pub(crate) thinking: Option<String>,
    /// Id, tool, arguments.
    pub(crate) calls: Vec<(String, String, String)>,
    /// In the words of chat completions.
    pub(crate) finish: String,
    pub(crate) usage: Usage,
}

impl Answer {
    pub(crate) fn new(
        reply: &Reply,
        id: u64,
        model: &str,
        asked_bytes: usize,
        mut call_id: impl FnMut() -> String,
    ) -> Self {
        let arguments = |call: &super::script::ScriptedCall| match (&call.raw_arguments, &call.arguments) {
            (Some(raw), _) => raw.clone(),
            (None, Some(arguments)) => arguments.to_string(),
            (None, None) => "{}".to_owned(),
        };
        let mut id_of = |call: &super::script::ScriptedCall| call.id.clone().unwrap_or_else(&mut call_id);
        let calls: Vec<_> = reply.calls.iter().map(|call| (id_of(call), call.tool.clone(), arguments(call))).collect();
        let usual = if calls.is_empty() { "stop" } else { "tool_calls" };
        let said = reply.text.as_ref().map_or(0, String::len) + calls.iter().map(|(.., a)| a.len() + 20).sum::<usize>();
        let rough = |bytes: usize| u64::try_from(bytes / 4 + 1).unwrap_or(u64::MAX);
        Self {
            id: id.to_string(),
            model: model.to_owned(),
            text: reply.text.clone(),
            thinking: reply.thinking.clone(),
            finish: reply.finish.clone().unwrap_or_else(|| usual.to_owned()),
            usage: reply.usage.unwrap_or(Usage { input: rough(asked_bytes), output: rough(said), cached: 0 }),
            calls,
        }
    }

    fn usage(&self) -> Value {
        let Usage { input, output, cached } = self.usage;
        json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": 0}})
    }

    pub(crate) fn whole(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text, "refusal": null});
        if let Some(thinking) = &self.thinking {
            message["reasoning_content"] = thinking.as_str().into();
        }
        if !self.calls.is_empty() {
            let call = |(id, name, arguments): &(String, String, String)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
            message["tool_calls"] = self.calls.iter().map(call).collect();
        }
        json!({"id": format!("chatcmpl-{}", self.id), "object": "chat.completion", "created": time::now().as_secs(), "model": self.model,
            "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": self.finish}],
            "usage": self.usage()})
    }

    /// The events of a stream.
    pub(crate) fn chunks(&self, include_usage: bool) -> Vec<String> {
        let created = time::now().as_secs();
        let event = |choices: Value, usage: Option<Value>| {
            let mut chunk = json!({"id": format!("chatcmpl-{}", self.id), "object": "chat.completion.chunk", "created": created,
                "model": self.model, "system_fingerprint": "fp_sim", "choices": choices});
            if include_usage {
                chunk["usage"] = usage.unwrap_or_default();
            }
            format!("data: {chunk}\n\n")
        };
        let delta =
            |delta: Value| event(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]), None);
        let mut chunks =
            vec![delta(json!({"role": "assistant", "content": self.text.as_ref().map(|_| ""), "refusal": null}))];
        for piece in pieces(self.thinking.as_deref().unwrap_or_default(), 12) {
            chunks.push(delta(json!({"reasoning_content": piece})));
        }
        for piece in pieces(self.text.as_deref().unwrap_or_default(), 12) {
            chunks.push(delta(json!({"content": piece})));
        }
        for (index, (id, name, arguments)) in self.calls.iter().enumerate() {
            let head =
                json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
            chunks.push(delta(json!({"tool_calls": [head]})));
            for piece in pieces(arguments, 10) {
                let part = json!({"index": index, "function": {"arguments": piece}});
                chunks.push(delta(json!({"tool_calls": [part]})));
            }
        }
        let end = json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": self.finish}]);
        chunks.push(event(end, None));
        if include_usage {
            chunks.push(event(json!([]), Some(self.usage())));
        }
        chunks.push("data: [DONE]\n\n".to_owned());
        chunks
    }
}

/// In small pieces, as a stream brings them.
pub(crate) fn pieces(text: &str, size: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(size).map(|piece| piece.iter().collect()).collect()
}
