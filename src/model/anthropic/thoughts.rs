//! How an answer that holds thoughts was laid out. They are signed, so they go back unchanged and in their old places, and
//! only to the model that had them. Text and calls are kept once, in the message itself; here stands where they were.
//! Newer models sign a thought together with all that stood before it, so the reminder it came after is kept with it.

use serde_json::{Map, Value, json};

use crate::model::ToolCall;

const BLOCKS: &str = "blocks";
const REMINDER: &str = "reminder";

#[derive(Debug)]
pub(super) enum Place<'a> {
    Thought(&'a Value),
    Text(&'a str),
    Call(&'a ToolCall),
}

/// Notes the layout of an answer.
#[derive(Debug, Default)]
pub(super) struct Layout {
    blocks: Vec<Value>,
    thinks: bool,
}

impl Layout {
    pub(super) fn thought(&mut self, block: Map<String, Value>) {
        self.thinks = true;
        self.blocks.push(Value::Object(block));
    }

    pub(super) fn text(&mut self, text: &str) {
        self.blocks.push(json!({"text": text.len()}));
    }

    pub(super) fn call(&mut self, number: usize) {
        self.blocks.push(json!({"call": number}));
    }

    /// For `Message::Assistant::reasoning`; nothing if there was none.
    pub(super) fn finish(self, model: &str, reminder: Option<&str>) -> Vec<Value> {
        if !self.thinks {
            return Vec::new();
        }
        let mut kept = json!({"model": model, BLOCKS: self.blocks});
        if let Some(reminder) = reminder {
            kept[REMINDER] = reminder.into();
        }
        vec![kept]
    }
}

pub(super) fn of<'a>(reasoning: &'a [Value], model: &str) -> Option<&'a [Value]> {
    let own = reasoning.iter().filter(|kept| kept["model"] == model);
    own.filter_map(|kept| kept.get(BLOCKS)?.as_array()).map(Vec::as_slice).next()
}

/// What stood last before the answer.
pub(super) fn reminder<'a>(reasoning: &'a [Value], model: &str) -> Option<&'a str> {
    reasoning.iter().filter(|kept| kept["model"] == model).find_map(|kept| kept.get(REMINDER)?.as_str())
}

/// The message in its old order. `None` if it is not the answer that was noted.
pub(super) fn lay_out<'a>(blocks: &'a [Value], text: &'a str, calls: &'a [ToolCall]) -> Option<Vec<Place<'a>>> {
    let mut places = Vec::new();
    let mut rest = text;
    let mut seen = 0;
    for block in blocks {
        if let Some(length) = block.get("text").and_then(Value::as_u64) {
            let (said, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            places.push(Place::Text(said));
            rest = after;
        } else if block.get("call").is_some() {
            // A call that was not run is gone from the message.
            places.extend(calls.get(seen).map(Place::Call));
            seen += 1;
        } else {
            places.push(Place::Thought(block));
        }
    }
    if !rest.is_empty() {
        return None;
    }
    places.extend(calls.iter().skip(seen).map(Place::Call));
    // A message can't end with a thought: what came of it is gone.
    while let Some(Place::Thought(_)) = places.last() {
        places.pop();
    }
    Some(places)
}
