//! The forms a message can have, and the content of each.

use serde_json::Value;
use watchfloor_channel::{Body, RefusalKind, SendError};

use super::buttons;
use crate::{
    errors::{self, CallError},
    render,
};

/// What Feishu takes of a post or card, its own template not counted. `Features::max_text` stays below.
const MAX_RICH: usize = 30 * 1024;
const MAX_TEXT: usize = 140 * 1024;
/// Rules about words and numbers hold in every form.
const BARRED: [&str; 2] = ["230022", "230028"];

/// A message keeps its form for life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Card,
    Post,
    Text,
}

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

    /// Feishu's name for it.
    fn kind(self) -> &'static str {
        match self {
            Self::Card => "interactive",
            Self::Post => "post",
            Self::Text => "text",
        }
    }

    pub(crate) fn of_kind(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.kind() == kind)
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
        if body.text().trim().is_empty() {
            let refusal = errors::refused(RefusalKind::Content, "no_text", "there is nothing to show");
            return Err(SendError::Refused(refusal));
        }
        let most = match form {
            Form::Card | Form::Post => MAX_RICH,
            Form::Text => MAX_TEXT,
        };
        let text = rendered(body, form).to_string();
        if text.len() > most {
            let refusal = errors::refused(RefusalKind::TooLong, "too_long", "the text is too long for one message");
            return Err(SendError::Refused(refusal));
        }
        Ok(Self { kind: form.kind(), text })
    }
}

fn rendered(body: &Body, form: Form) -> Value {
    match form {
        Form::Card => {
            let mut card = render::card(body);
            if let Body::Ask(ask) = body {
                buttons::add(&mut card, ask);
            }
            card
        }
        Form::Post => render::post(body),
        Form::Text => render::plain(body),
    }
}

pub(crate) fn measure(body: &Body, form: Form) -> usize {
    rendered(body, form).to_string().len()
}

/// The form is at fault; a plainer one may pass.
pub(crate) fn is_about_form(error: &CallError) -> bool {
    error.kind() == Some(RefusalKind::Content) && !error.has_code(&BARRED)
}
