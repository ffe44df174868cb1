//! From CommonMark, as a model writes it, to Slack's own markup. Pure. Splitting long text is left to the caller, who
//! measures what comes out of here.

mod blocks;
mod escape;
mod table;
mod writer;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream};
use watchfloor_channel::Body;

pub(crate) use blocks::{blocks, with_choices};
pub(crate) use escape::mention;
use writer::Writer;

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
        Body::Ask(ask) => markdown(&ask.text),
        Body::Plain(text) => plain(text),
        Body::File(file) => plain(&file.comment),
    }
}

/// Our own sentences: shown as they are, with our own mentions.
pub(crate) fn plain(text: &str) -> String {
    escape::with_mentions(text)
}

/// A model's text. Nothing in it can notify anybody.
pub(crate) fn markdown(text: &str) -> String {
    render(text).text
}

fn render(text: &str) -> Rendered {
    let text = escape::without_tokens(text);
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::default();
    for event in TextMergeStream::new(Parser::new_ext(&text, options)) {
        match event {
            Event::Start(tag) => start(tag, &mut writer),
            Event::End(tag) => end(tag, &mut writer),
            Event::Text(text) => writer.text(&text),
            Event::Code(code) => writer.code(&code),
            Event::Html(html) | Event::InlineHtml(html) => self::html(&html, &mut writer),
            Event::SoftBreak | Event::HardBreak => writer.line_break(),
            Event::Rule => writer.rule(),
            Event::TaskListMarker(done) => writer.mark(if done { "☑ " } else { "☐ " }),
            // Not switched on.
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }
    writer.finish()
}

fn start(tag: Tag<'_>, writer: &mut Writer) {
    match tag {
        Tag::Heading { .. } => {
            writer.block();
            writer.style('*');
        }
        Tag::Strong => writer.style('*'),
        Tag::Emphasis => writer.style('_'),
        Tag::Strikethrough => writer.style('~'),
        Tag::BlockQuote(_) => {
            writer.block();
            writer.quotes += 1;
        }
        // The language would be shown as a word of the code.
        Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => writer.start_code_block(),
        Tag::List(first) => writer.start_list(first),
        Tag::Item => writer.item(),
        Tag::Link { link_type: LinkType::Email, dest_url, .. } => writer.start_link(format!("mailto:{dest_url}")),
        Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => writer.start_link(dest_url.into_string()),
        Tag::Table(_) => writer.start_table(),
        Tag::TableHead | Tag::TableRow => writer.row(),
        Tag::TableCell => writer.cell(),
        _ => writer.block(),
    }
}

fn end(tag: TagEnd, writer: &mut Writer) {
    match tag {
        TagEnd::Heading(_) => {
            writer.end_style();
            writer.block();
        }
        TagEnd::Strong | TagEnd::Emphasis | TagEnd::Strikethrough => writer.end_style(),
        TagEnd::BlockQuote(_) => {
            writer.quotes = writer.quotes.saturating_sub(1);
            writer.block();
        }
        TagEnd::CodeBlock => writer.end_code_block(),
        TagEnd::List(_) => writer.end_list(),
        TagEnd::Link | TagEnd::Image => writer.end_link(),
        TagEnd::Table => writer.end_table(),
        TagEnd::TableHead | TagEnd::TableRow | TagEnd::TableCell | TagEnd::Item => {}
        _ => writer.block(),
    }
}

/// Shown as it was written, but for the one tag that models use.
fn html(html: &str, writer: &mut Writer) {
    if matches!(html.trim().to_ascii_lowercase().as_str(), "<br>" | "<br/>" | "<br />") {
        return writer.line_break();
    }
    for (n, line) in html.trim_end_matches('\n').split('\n').enumerate() {
        if n > 0 {
            writer.line_break();
        }
        writer.text(line);
    }
    if html.ends_with('\n') {
        writer.line_break();
    }
}

#[cfg(test)]
mod tests;
