//! The buttons under a question of ours, and what a click on one brings back. Who may click is not known here.

use teloxide::types::{InlineKeyboardButton, InlineKeyboardMarkup};
use watchfloor_channel::{Ask, Choice, Refusal, RefusalKind};

use crate::errors;

/// Telegram's limit for what a button carries, in bytes.
const MAX_DATA: usize = 64;
/// Labels side by side stay readable on a phone.
const ROW_CHARS: usize = 28;
const ROW_BUTTONS: usize = 8;

/// `None`: no choices, no keyboard.
pub(crate) fn of(ask: &Ask) -> Result<Option<InlineKeyboardMarkup>, Refusal> {
    let mut rows: Vec<Vec<InlineKeyboardButton>> = Vec::new();
    let mut used = 0;
    for choice in &ask.choices {
        let button = InlineKeyboardButton::callback(&choice.label, data(choice)?);
        let chars = choice.label.chars().count();
        match rows.last_mut() {
            Some(row) if used + chars <= ROW_CHARS && row.len() < ROW_BUTTONS => {
                row.push(button);
                used += chars;
            }
            _ => {
                rows.push(vec![button]);
                used = chars;
            }
        }
    }
    Ok((!rows.is_empty()).then(|| InlineKeyboardMarkup::new(rows)))
}

/// Action and value of a click. Other clients can send whatever they like.
pub(crate) fn read(data: &str) -> (&str, &str) {
    data.split_once(':').unwrap_or((data, ""))
}

fn data(choice: &Choice) -> Result<String, Refusal> {
    let data = format!("{}:{}", choice.action, choice.value);
    if choice.action.contains(':') || data.len() > MAX_DATA {
        let remedy = "a button can't carry that much: this is a fault of the bot";
        return Err(errors::refusal(RefusalKind::Content, "button_data_invalid", remedy));
    }
    Ok(data)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use watchfloor_channel::Tone;

    use super::*;

    fn choice(label: &str, action: &str, value: &str) -> Choice {
        Choice { label: label.into(), action: action.into(), value: value.into(), tone: Tone::Plain }
    }

    fn labels(choices: Vec<Choice>) -> Vec<Vec<String>> {
        let ask = Ask { text: "Restart?".into(), choices };
        let rows = of(&ask).unwrap().map(|keyboard| keyboard.inline_keyboard).unwrap_or_default();
        rows.into_iter().map(|row| row.into_iter().map(|button| button.text).collect()).collect()
    }

    proptest! {
        #[test]
        fn a_click_brings_back_what_the_button_carried(action in "[^:]{0,20}", value in ".{0,30}") {
            match data(&choice("Yes", &action, &value)) {
                Ok(data) => prop_assert_eq!(read(&data), (action.as_str(), value.as_str())),
                Err(_) => prop_assert!(action.len() + value.len() + 1 > MAX_DATA),
            }
        }
    }

    #[test]
    fn a_button_that_carries_too_much_is_refused_here() {
        assert!(data(&choice("Yes", "a", &"x".repeat(62))).is_ok());
        // 21 letters of three bytes and the action.
        for (action, value) in [("a", "x".repeat(63)), ("ab", "支".repeat(21)), ("a:b", "x".into())] {
            let refusal = data(&choice("Yes", action, &value)).unwrap_err();
            assert_eq!((refusal.kind, refusal.code.as_str()), (RefusalKind::Content, "button_data_invalid"));
        }
    }

    #[test]
    fn short_labels_share_a_row_and_long_ones_do_not() {
        let long = "Restart all of checkout in eu-west";
        let rows = labels(vec![choice("Approve", "a", "1"), choice("Deny", "d", "1"), choice(long, "r", "1")]);
        assert_eq!(rows, [vec!["Approve", "Deny"], vec![long]]);
        let many = labels((0..10).map(|n| choice(&n.to_string(), "n", "1")).collect());
        assert_eq!(many.iter().map(Vec::len).collect::<Vec<_>>(), [8, 2]);
        assert_eq!(labels(Vec::new()), Vec::<Vec<String>>::new());
    }
}
