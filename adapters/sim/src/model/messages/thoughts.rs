//! What the model thought beside its answers. Anthropic signs it and refuses a history in which it was changed; its newer
//! models sign it together with everything that stood before it.

use serde_json::Value;

use super::{super::answer::Answer, answer, is_thinking};

#[derive(Debug, Default)]
pub(crate) struct Thoughts {
    answers: Vec<Thought>,
}

#[derive(Debug)]
struct Thought {
    model: String,
    /// What tells the answer apart: the ids of its calls, or else its text.
    answer: Vec<String>,
    blocks: Vec<Value>,
    /// The request that it answered, without its marks.
    before: Vec<Value>,
}

impl Thoughts {
    pub(crate) fn keep(&mut self, answer: &Answer, request: &Value) {
        if answer.thinking.is_none() {
            return;
        }
        let blocks = answer::blocks(answer);
        let thought = Thought {
            model: answer.model.clone(),
            answer: key(&blocks),
            blocks: blocks.into_iter().filter(is_thinking).collect(),
            before: request["messages"].as_array().map(|messages| unmarked(messages)).unwrap_or_default(),
        };
        self.answers.push(thought);
    }

    /// `blocks` is an assistant message of a request, `before` all messages before it.
    pub(super) fn check(&self, model: &str, blocks: &[Value], before: &[Value]) -> Result<(), String> {
        let brought: Vec<&Value> = blocks.iter().filter(|block| is_thinking(block)).collect();
        let known = |block: &Value| self.answers.iter().any(|answer| answer.blocks.contains(block));
        if brought.iter().any(|block| !known(block)) {
            return Err("Invalid `signature` in `thinking` block".to_owned());
        }
        if !brought.is_empty() {
            let before = unmarked(before);
            let made = |answer: &&Thought| answer.blocks.iter().any(|block| brought.contains(&block));
            if !self.answers.iter().filter(made).any(|answer| answer.before == before) {
                return Err(
                    "Invalid `signature` in `thinking` block: it is bound to a different conversation".to_owned()
                );
            }
        }
        let key = key(blocks);
        let mut made = self.answers.iter().filter(|answer| answer.model == model && answer.answer == key).peekable();
        let same = |answer: &Thought| answer.blocks.iter().eq(brought.iter().copied());
        if made.peek().is_none() || made.any(same) {
            return Ok(());
        }
        Err("`thinking` blocks must come back as they were in the original response".to_owned())
    }
}

fn unmarked(messages: &[Value]) -> Vec<Value> {
    let mut messages = messages.to_vec();
    let blocks = messages.iter_mut().filter_map(|message| message["content"].as_array_mut()).flatten();
    for block in blocks.filter_map(Value::as_object_mut) {
        block.remove("cache_control");
    }
    messages
}

fn key(blocks: &[Value]) -> Vec<String> {
    let strings = |name: &'static str| blocks.iter().filter_map(|block| block[name].as_str()).collect::<Vec<_>>();
    let ids = strings("id");
    if ids.is_empty() { vec![strings("text").concat()] } else { ids.into_iter().map(str::to_owned).collect() }
}
