//! What a model thought beside its answer. It is never shown, but some servers refuse a history without it, so it is kept
//! under the name of its field and model and goes back to that model alone.

use serde_json::{Map, Value, json};

const TEXTS: [&str; 2] = ["reasoning_content", "reasoning"];
const DETAILS: &str = "reasoning_details";
/// What a server wants back with a call, by the call's id.
const EXTRA: &str = "extra_content";

#[derive(Debug, Default)]
pub(super) struct Reasoning {
    texts: [String; TEXTS.len()],
    details: Vec<Value>,
}

impl Reasoning {
    pub(super) fn take(&mut self, delta: &Value) {
        for (field, text) in TEXTS.iter().zip(&mut self.texts) {
            if let Some(piece) = delta[*field].as_str() {
                text.push_str(piece);
            }
        }
        for piece in delta[DETAILS].as_array().into_iter().flatten() {
            self.take_detail(piece);
        }
    }

    /// Text in a part of the content that is marked as thinking.
    pub(super) fn take_text(&mut self, piece: &str) {
        self.texts[0].push_str(piece);
    }

    fn take_detail(&mut self, piece: &Value) {
        let same = |last: &&mut Value| last["index"] == piece["index"] && last["type"] == piece["type"];
        let fits = piece["index"].is_number();
        match (self.details.last_mut().filter(same).and_then(Value::as_object_mut), piece.as_object()) {
            (Some(last), Some(piece)) if fits => merge(last, piece),
            _ => self.details.push(piece.clone()),
        }
    }

    pub(super) fn finish(self, model: &str, extras: Map<String, Value>) -> Vec<Value> {
        let texts = TEXTS.iter().zip(self.texts).filter(|(_, text)| !text.is_empty());
        let mut all: Vec<_> = texts.map(|(field, text)| json!({"model": model, *field: text})).collect();
        if !self.details.is_empty() {
            all.push(json!({"model": model, DETAILS: self.details}));
        }
        if !extras.is_empty() {
            all.push(json!({"model": model, EXTRA: extras}));
        }
        all
    }
}

/// Pieces of text are joined, anything else is replaced by what comes later.
fn merge(into: &mut Map<String, Value>, piece: &Map<String, Value>) {
    for (field, value) in piece {
        match (into.get_mut(field), value) {
            (_, Value::Null) => {}
            (Some(Value::String(old)), Value::String(new)) if matches!(&**field, "text" | "summary" | "data") => {
                old.push_str(new);
            }
            _ => drop(into.insert(field.clone(), value.clone())),
        }
    }
}

/// The fields that go back into an assistant message for `model`.
pub(super) fn fields(reasoning: &[Value], model: &str) -> Map<String, Value> {
    let known = |field: &str| TEXTS.contains(&field) || field == DETAILS;
    let own = reasoning.iter().filter(|kept| kept["model"] == model).filter_map(Value::as_object);
    own.flatten().filter(|(field, _)| known(field)).map(|(field, value)| (field.clone(), value.clone())).collect()
}

pub(super) fn extra<'a>(reasoning: &'a [Value], model: &str, call_id: &str) -> Option<&'a Value> {
    reasoning.iter().filter(|kept| kept["model"] == model).find_map(|kept| kept.get(EXTRA)?.get(call_id))
}
