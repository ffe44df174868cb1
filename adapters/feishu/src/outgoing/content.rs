//! The forms a message can have, and the content of each.

use serde_json::Value;
use watchfloor_channel::{Body, RefusalKind, SendError};

use super::buttons;
use crate::{
    errors::{self, CallError},
    render,
};

pub(crate) use crate::render::Form;

/// What Feishu takes of a post or card with all of its request. `Features::max_text` stays below.
const MAX_RICH: usize = 30_000;
const MAX_TEXT: usize = 150_000;
/// Rules about words and numbers hold in every form.
const BARRED: [&str; 2] = ["230022", "230028"];

impl Form {
    const ALL: [Self; 3] = [Self::Card, Self::Post, Self::Text];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Post => "post",
            Self::Text => "text",
        }
    }

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.word() == word)
    }

    pub(crate) fn of_kind(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.message_type() == kind)
    }

    /// What to try when Feishu does not take the content in this form.
    pub(crate) fn plainer(self) -> Option<Self> {
        match self {
            Self::Card => Some(Self::Post),
            Self::Post => Some(Self::Text),
            Self::Text => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) kind: &'static str,
    /// JSON.
    pub(crate) text: String,
}

impl Content {
    pub(crate) fn of(body: &Body, form: Form) -> Result<Self, SendError> {
        let Some(text) = rendered(body, form) else {
            let refusal = errors::refused(RefusalKind::Content, "no_text", "there is nothing to show");
            return Err(SendError::Refused(refusal));
        };
        let most = match form {
            Form::Card | Form::Post => MAX_RICH,
            Form::Text => MAX_TEXT,
        };
        if size(&text) > most {
            let refusal = errors::refused(RefusalKind::TooLong, "too_long", "the text is too long for one message");
            return Err(SendError::Refused(refusal));
        }
        Ok(Self { kind: form.message_type(), text })
    }
}

/// Nothing where nothing would be seen.
fn rendered(body: &Body, form: Form) -> Option<String> {
    let content = render::Content::of(body, form);
    if content.is_blank() {
        return None;
    }
    match body {
        Body::Ask(ask) if form == Form::Card => {
            let mut card: Value = serde_json::from_str(&content.json).unwrap_or_default();
            buttons::add(&mut card, ask);
            Some(card.to_string())
        }
        _ => Some(content.json),
    }
}

pub(crate) fn measure(body: &Body, form: Form) -> usize {
    rendered(body, form).map_or(0, |text| size(&text))
}

/// The content is a string inside the request: quotes and backslashes are escaped once more.
fn size(content: &str) -> usize {
    content.len() + content.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count()
}

/// The form is at fault; a plainer one may pass.
pub(crate) fn is_about_form(error: &CallError) -> bool {
    error.kind() == Some(RefusalKind::Content) && !error.has_code(&BARRED)
}
