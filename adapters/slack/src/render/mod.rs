//! From CommonMark, as a model writes it, to Slack's own markup. Pure. Splitting long text is left to the caller, who
//! measures what comes out of here.

mod blocks;
mod escape;
mod walk;
mod writer;

use watchfloor_channel::{
    Body,
    text::{blocks::parse, printable},
};

pub(crate) use blocks::{addressed, blocks, with_choices};
pub(crate) use escape::mention;

/// A model's text in Slack's markup.
#[derive(Default)]
struct Rendered {
    text: String,
    /// The same, cut where the author drew a line.
    pieces: Vec<String>,
}

/// What is really sent, and what the limits count.
pub(crate) fn body(body: &Body) -> String {
    match body {
        Body::Markdown(text) => markdown(text),
        Body::Addressed { to, text } => format!("{} {}", plain(to), markdown(text)),
        Body::Ask(ask) => markdown(&ask.text),
        Body::Plain(text) => plain(text),
        Body::File(file) => plain(&file.comment),
    }
}

/// Our own sentences: shown as they are, with our own mentions.
pub(crate) fn plain(text: &str) -> String {
    escape::with_mentions(&printable(text))
}

/// A model's text. Nothing in it can notify anybody.
pub(crate) fn markdown(text: &str) -> String {
    render(text).text
}

fn render(text: &str) -> Rendered {
    walk::write(&parse(&escape::without_tokens(&printable(text))))
}

#[cfg(test)]
mod tests;
