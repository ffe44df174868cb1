//! From CommonMark, as a model writes it, to the HTML that Telegram takes. Pure. Splitting long text is left to the caller,
//! who asks [`size`] what comes out of here.
//!
//! Every tag closes where it was opened and every other `<` is escaped, so Telegram has nothing to refuse; should it refuse
//! all the same, [`stripped`] says the same without markup.

mod escape;
mod page;
mod size;

use watchfloor_channel::{
    Body,
    text::{blocks, printable},
};

pub(crate) use escape::mention;
pub(crate) use size::{LIMITS, size, stripped};

/// To be sent with `parse_mode` HTML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// What is really sent, and what the limits count.
pub(crate) fn body(body: &Body) -> Html {
    match body {
        Body::Markdown(text) => markdown(text),
        Body::Addressed { to, text } => Html(format!("{} {}", plain(to).0, markdown(text).0)),
        Body::Plain(text) => plain(text),
        Body::Ask(ask) => markdown(&ask.text),
        Body::File(file) => plain(&file.comment),
    }
}

/// Our own sentences: shown as they are, with our own mentions.
pub(crate) fn plain(text: &str) -> Html {
    Html(escape::with_mentions(&printable(text)))
}

/// A model's text. Nothing in it can notify anybody.
pub(crate) fn markdown(text: &str) -> Html {
    Html(page::write(&blocks::parse(&escape::without_tokens(&printable(text)))))
}

#[cfg(test)]
mod tests;
