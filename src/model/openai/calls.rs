//! Gathers tool calls from their pieces. The standard numbers them; servers that don't are understood by what a piece
//! repeats: a new id or a new name begins a new call.

use std::collections::HashSet;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::model::{ModelError, ToolCall};

#[derive(Debug, Default)]
pub(super) struct Calls {
    parts: Vec<Part>,
}

#[derive(Debug, Default)]
struct Part {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Option<Value>,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Takes one piece; answers the call's name if it is known from now on.
    pub(super) fn take(&mut self, piece: &Value) -> Option<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, name) = (text(&piece["id"]), text(&piece["function"]["name"]));
        let index = piece["index"].as_u64();
        let has_arguments = piece["function"]["arguments"].as_str().is_none_or(|more| !more.is_empty());
        let at = self.position(index, &id, &name, has_arguments);
        let part = &mut self.parts[at];
        if part.id.is_empty() {
            part.id = id;
        }
        match &piece["function"]["arguments"] {
            Value::String(more) => part.arguments.push_str(more),
            whole @ Value::Object(_) => part.arguments = whole.to_string(),
            _ => {}
        }
        if let Some(extra) = piece.get("extra_content").filter(|extra| !extra.is_null()) {
            part.extra = Some(extra.clone());
        }
        let named = part.name.is_empty() && !name.is_empty();
        named.then(|| part.name.insert_str(0, &name));
        named.then_some(name)
    }

    /// Where the piece belongs, which may be a new place.
    fn position(&mut self, index: Option<u64>, id: &str, name: &str, has_arguments: bool) -> usize {
        let latest = match index {
            Some(_) => self.parts.iter().rposition(|part| part.index == index),
            None => self.parts.len().checked_sub(1),
        };
        if let Some(at) = latest {
            let part = &self.parts[at];
            let other_id = !id.is_empty() && !part.id.is_empty() && id != part.id;
            let other_name = !name.is_empty() && !part.name.is_empty() && name != part.name;
            let no_ids = id.is_empty() || part.id.is_empty();
            let same_name_again = no_ids && has_arguments && !name.is_empty() && part.is_whole();
            let begins = match index {
                // Some servers number every call 0, others send another id with every piece of the same call.
                Some(_) => other_id && !name.is_empty(),
                None => other_id,
            };
            if !(begins || other_name || same_name_again) {
                return at;
            }
        }
        self.parts.push(Part { index, ..Part::default() });
        self.parts.len() - 1
    }

    /// The calls, each with an id of its own, and what the server wants back with them.
    pub(super) fn finish(self) -> Result<(Vec<ToolCall>, Map<String, Value>), ModelError> {
        let mut ids = HashSet::new();
        let mut extras = Map::new();
        let mut calls = Vec::new();
        for Part { mut id, name, mut arguments, extra, .. } in self.parts {
            if name.is_empty() {
                return Err(ModelError::Unavailable("a tool call came without a name".to_owned()));
            }
            if id.is_empty() || !ids.insert(id.clone()) {
                id = format!("call_{}", Uuid::new_v4().simple());
            }
            if arguments.trim().is_empty() {
                arguments = "{}".to_owned();
            }
            if let Some(extra) = extra {
                extras.insert(id.clone(), extra);
            }
            calls.push(ToolCall { id, name, arguments });
        }
        Ok((calls, extras))
    }
}

impl Part {
    fn is_whole(&self) -> bool {
        serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }
}
