//! The buttons of a card: a click brings back what they carry.

use serde_json::{Value, json};
use watchfloor_channel::{Ask, Choice, Tone};

/// Beneath what the card says.
pub(super) fn add(card: &mut Value, ask: &Ask) {
    if let Some(elements) = card.pointer_mut("/body/elements").and_then(Value::as_array_mut) {
        let columns: Vec<Value> = ask.choices.iter().map(column).collect();
        if !columns.is_empty() {
            elements.push(json!({"tag": "column_set", "flex_mode": "flow", "columns": columns}));
        }
    }
}

/// Side by side, as far as there is room.
fn column(choice: &Choice) -> Value {
    let kind = match choice.tone {
        Tone::Plain => "default",
        Tone::Positive => "primary",
        Tone::Danger => "danger",
    };
    json!({"tag": "column", "width": "auto", "elements": [{
        "tag": "button",
        "text": {"tag": "plain_text", "content": choice.label},
        "type": kind,
        "behaviors": [{"type": "callback", "value": {"action": choice.action, "value": choice.value}}],
    }]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_carries_what_its_click_brings_back() {
        let choice = Choice { label: "Roll back".into(), action: "go".into(), value: "7".into(), tone: Tone::Danger };
        let mut card = json!({"body": {"elements": [{"tag": "markdown", "content": "Sure?"}]}});
        add(&mut card, &Ask { text: "Sure?".into(), choices: vec![choice] });
        assert_eq!(
            card,
            json!({"body": {"elements": [
                {"tag": "markdown", "content": "Sure?"},
                {"tag": "column_set", "flex_mode": "flow", "columns": [{"tag": "column", "width": "auto", "elements": [{
                    "tag": "button", "text": {"tag": "plain_text", "content": "Roll back"}, "type": "danger",
                    "behaviors": [{"type": "callback", "value": {"action": "go", "value": "7"}}]}]}]},
            ]}})
        );
    }
}
