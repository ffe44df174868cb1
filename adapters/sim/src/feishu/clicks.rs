//! Buttons on cards: what people press, and what they see of the answer.

use serde_json::{Value, json};

use super::{
    FeishuSim,
    delivery::{Parcel, Undelivered},
    events,
    message::{Edit, union_id},
};

/// What came of a click.
#[derive(Clone, Debug, PartialEq)]
pub struct Pressed {
    /// What the bot answered.
    pub answer: Option<Value>,
    /// The error the person is shown: 200341 timeout, 200342 nobody there, 200671 not HTTP 200, 200672 not understood,
    /// 200673 a bad card.
    pub error: Option<i64>,
}

impl Pressed {
    /// The text of the toast.
    pub fn toast(&self) -> Option<&str> {
        self.answer.as_ref()?["toast"]["content"].as_str()
    }
}

impl FeishuSim {
    /// Presses the button with this value on a card of the bot and waits for the answer.
    ///
    /// # Panics
    /// If the card has no such button.
    pub async fn press(&self, person: &str, message: &str, value: &Value) -> Pressed {
        let card = self.message(message).json();
        let mut values = Vec::new();
        buttons(&card, &mut values);
        assert!(values.iter().any(|(_, known)| known == value), "the card has no button {value}: {values:?}");
        self.press_gone(person, message, value).await
    }

    /// Presses a button that the card no longer has: the person's client still shows it as it was.
    pub async fn press_gone(&self, person: &str, message: &str, value: &Value) -> Pressed {
        let chat = self.message(message).chat;
        let envelope = self.shared.world.change(|world| {
            let tenant = world.tenant_of(person);
            let token = world.fresh("c-sim");
            let event = json!({"operator": {"open_id": person, "union_id": union_id(person), "tenant_key": tenant},
                "token": token, "host": "im_message",
                "action": {"value": value, "tag": "button", "timezone": "Asia/Shanghai"},
                "context": {"open_message_id": message, "open_chat_id": chat}});
            let mut envelope = events::envelope(world, "card.action.trigger", event);
            // Callbacks tell their time in microseconds.
            envelope["header"]["create_time"] = (world.stamp() * 1000).to_string().into();
            envelope
        });
        let under_way = self.shared.send(&Parcel { envelope, callback: true }, 0);
        match self.shared.verdict(under_way).await {
            Ok(answer) => self.answered(message, answer),
            Err(why) => {
                let error = match why {
                    Undelivered::Nobody => 200_342,
                    Undelivered::TimedOut => 200_341,
                    Undelivered::Refused => 200_671,
                    Undelivered::NotUnderstood => 200_672,
                };
                Pressed { answer: None, error: Some(error) }
            }
        }
    }

    fn answered(&self, message: &str, answer: Option<Value>) -> Pressed {
        let answer = answer.unwrap_or_else(|| json!({}));
        let toast = &answer["toast"];
        let kinds = ["info", "success", "error", "warning"].map(Value::from);
        if !answer.is_object() || !toast.is_null() && !kinds.contains(&toast["type"]) {
            return Pressed { answer: Some(answer), error: Some(200_672) };
        }
        if answer["card"].is_null() {
            return Pressed { answer: Some(answer), error: None };
        }
        let card = answer["card"]["data"].to_string();
        let error = self.shared.world.change(|world| {
            if answer["card"]["type"] != "raw" || super::card::check(world, &card).is_err() {
                return Some(200_673);
            }
            let edit = Edit { kind: "interactive".to_owned(), content: card, at: world.started.elapsed() };
            world.message_mut(message)?.edits.push(edit);
            None
        });
        Pressed { answer: Some(answer), error }
    }

    /// Label and value of each button on a card.
    pub fn buttons(&self, message: &str) -> Vec<(String, Value)> {
        let mut found = Vec::new();
        buttons(&self.message(message).json(), &mut found);
        found
    }
}

fn buttons(part: &Value, found: &mut Vec<(String, Value)>) {
    match part {
        Value::Array(items) => items.iter().for_each(|item| buttons(item, found)),
        Value::Object(fields) => {
            if fields.get("tag").is_some_and(|tag| tag == "button") {
                let label = part["text"]["content"].as_str().unwrap_or_default().to_owned();
                let behaviors = part["behaviors"].as_array().into_iter().flatten();
                let callback = behaviors.filter(|behavior| behavior["type"] == "callback").map(|b| b["value"].clone());
                let values = callback.chain(fields.get("value").cloned());
                found.extend(values.map(|value| (label.clone(), value)));
            }
            fields.values().for_each(|value| buttons(value, found));
        }
        _ => {}
    }
}
