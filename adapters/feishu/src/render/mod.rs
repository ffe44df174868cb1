//! From CommonMark, as a model writes it, to what Feishu takes: a post, a card, or bare text where both are refused. Pure.
//! Splitting long text is left to the caller, who asks [`Content::size`] what comes out of here.

mod card;
mod escape;
mod flow;
mod post;

use serde_json::{Value, json};
use watchfloor_channel::{
    Body, TextUnit,
    text::{Limits, Size, blocks, printable},
};

pub(crate) use escape::mention;

/// Feishu takes 30 KB of a post or a card and counts style tags in, so we stay below. Nothing else limits the length. It is the
/// same in every form, since a room may turn from one to the other.
pub(crate) const LIMITS: Limits = Limits { text: TextUnit::Bytes.length(28_000), bytes: 28_000, marks: 200 };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Can be edited twenty times, by PUT.
    Post,
    /// Schema 2.0. Can be edited by PATCH.
    Card,
    /// The source, readable everywhere: the last resort.
    Text,
}

impl Form {
    /// `msg_type` of the request.
    pub(crate) const fn message_type(self) -> &'static str {
        match self {
            Self::Post => "post",
            Self::Card => "interactive",
            Self::Text => "text",
        }
    }
}

/// `content` of a request: JSON in a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) form: Form,
    pub(crate) json: String,
    /// Nodes of a post, elements of a card.
    parts: usize,
}

impl Content {
    pub(crate) fn of(body: &Body, form: Form) -> Self {
        match body {
            Body::Markdown(text) => Self::markdown(text, form),
            Body::Addressed { to, text } => Self::addressed(to, text, form),
            Body::Plain(text) => Self::plain(text, form),
            Body::Ask(ask) => Self::markdown(&ask.text, form),
            Body::File(file) => Self::plain(&file.comment, form),
        }
    }

    /// A model's text. Nothing in it can notify anybody.
    pub(crate) fn markdown(text: &str, form: Form) -> Self {
        let text = escape::without_tokens(&printable(text));
        match form {
            Form::Post => Self::new(form, post::of(&blocks::parse(&text))),
            Form::Card => Self::new(form, card::of(&blocks::parse(&text))),
            Form::Text => Self::new(form, one_text(&escape::text(&text))),
        }
    }

    /// A model's text behind a mention of ours.
    fn addressed(to: &str, text: &str, form: Form) -> Self {
        let text = escape::without_tokens(&printable(text));
        match form {
            Form::Post => Self::new(form, post::addressed(to, &blocks::parse(&text))),
            Form::Card => Self::new(form, card::addressed(to, &blocks::parse(&text))),
            Form::Text => {
                Self::new(form, one_text(&format!("{} {}", escape::text_with_mentions(to), escape::text(&text))))
            }
        }
    }

    /// Our own sentences: shown as they are, with our own mentions.
    pub(crate) fn plain(text: &str, form: Form) -> Self {
        let text = printable(text);
        match form {
            Form::Post => Self::new(form, post::plain(&text)),
            Form::Card => Self::new(form, card::plain(&text)),
            Form::Text => Self::new(form, one_text(&escape::text_with_mentions(&text))),
        }
    }

    fn new(form: Form, (content, parts): (Value, usize)) -> Self {
        Self { form, json: content.to_string(), parts }
    }

    /// Feishu refuses it.
    pub(crate) fn is_blank(&self) -> bool {
        self.parts == 0
    }

    /// The content is a string inside the request: quotes and backslashes are escaped once more.
    pub(crate) fn size(&self) -> Size {
        if self.is_blank() {
            return Size::of_text(LIMITS.length(0));
        }
        let escapes = self.json.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
        let bytes = self.json.len() + escapes;
        Size { text: LIMITS.length(bytes), bytes, marks: self.parts }
    }
}

fn one_text(text: &str) -> (Value, usize) {
    let text = text.trim();
    (json!({"text": text}), usize::from(!text.is_empty()))
}

#[cfg(test)]
mod tests;
