//! What a message of ours carries: a body in one form, within Feishu's limits. A message keeps its form for life.

use serde_json::Value;
use watchfloor_channel::{Body, RefusalKind, SendError, text::Size};

use super::buttons;
use crate::{
    errors::{self, CallError},
    render::{self, Form, LIMITS},
};

/// What Feishu takes of a post or card with all of its request. `LIMITS` stays below.
const MAX_RICH: usize = 30_000;
const MAX_TEXT: usize = 150_000;
/// Rules about words and numbers hold in every form.
const BARRED: [&str; 2] = ["230022", "230028"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) kind: &'static str,
    /// JSON.
    pub(crate) text: String,
}

impl Content {
    pub(crate) fn of(body: &Body, form: Form) -> Result<Self, SendError> {
        let content = rendered(body, form);
        if content.is_blank() {
            let refusal = errors::refused(RefusalKind::Content, "no_text", "there is nothing to show");
            return Err(SendError::Refused(refusal));
        }
        let most = match form {
            Form::Card | Form::Post => MAX_RICH,
            Form::Text => MAX_TEXT,
        };
        let size = content.size();
        if size.bytes > most || size.marks > LIMITS.marks {
            let refusal = errors::refused(RefusalKind::TooLong, "too_long", "the text is too long for one message");
            return Err(SendError::Refused(refusal));
        }
        Ok(Self { kind: form.message_type(), text: content.json })
    }
}

fn rendered(body: &Body, form: Form) -> render::Content {
    let mut content = render::Content::of(body, form);
    if let Body::Ask(ask) = body
        && form == Form::Card
        && let Ok(mut card) = serde_json::from_str::<Value>(&content.json)
    {
        buttons::add(&mut card, ask);
        content.json = card.to_string();
    }
    content
}

pub(crate) fn measure(body: &Body, form: Form) -> Size {
    rendered(body, form).size()
}

/// The form is at fault; a plainer one may pass.
pub(crate) fn is_about_form(error: &CallError) -> bool {
    error.kind() == Some(RefusalKind::Content) && !error.has_code(&BARRED)
}

/// What to try when Feishu does not take the content in this form.
pub(crate) fn plainer(form: Form) -> Option<Form> {
    match form {
        Form::Card => Some(Form::Post),
        Form::Post => Some(Form::Text),
        Form::Text => None,
    }
}

/// By `msg_type`, in Feishu's answers and in our notes.
pub(crate) fn form_of(message_type: &str) -> Option<Form> {
    [Form::Card, Form::Post, Form::Text].into_iter().find(|form| form.message_type() == message_type)
}
