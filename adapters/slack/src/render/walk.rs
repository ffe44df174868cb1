//! Walks an answer's blocks and tells the writer what comes. How it looks is the writer's.

use watchfloor_channel::text::blocks::{Block, List, Span, aligned};

use super::{Rendered, writer::Writer};

pub(super) fn write(blocks: &[Block]) -> Rendered {
    let mut writer = Writer::default();
    walk(blocks, &mut writer);
    writer.finish()
}

fn walk(blocks: &[Block], writer: &mut Writer) {
    for block in blocks {
        match block {
            Block::Paragraph(words) => {
                writer.block();
                spans(words, writer);
                writer.block();
            }
            Block::Heading { spans: words, .. } => {
                writer.block();
                writer.style('*');
                spans(words, writer);
                writer.end_style();
                writer.block();
            }
            Block::List(items) => list(items, writer),
            Block::Quote(blocks) => {
                writer.block();
                writer.quotes += 1;
                walk(blocks, writer);
                writer.quotes = writer.quotes.saturating_sub(1);
                writer.block();
            }
            // The language would be shown as a word of the code.
            Block::Code { text, .. } => writer.code_block(text),
            Block::Table(table) => writer.code_block(&aligned(table)),
            Block::Rule => writer.rule(),
        }
    }
}

fn list(list: &List, writer: &mut Writer) {
    writer.start_list(list.start);
    for item in &list.items {
        writer.item();
        match item.done {
            Some(true) => writer.mark("☑ "),
            Some(false) => writer.mark("☐ "),
            None => {}
        }
        walk(&item.blocks, writer);
    }
    writer.end_list();
}

fn spans(spans: &[Span], writer: &mut Writer) {
    for span in spans {
        match span {
            Span::Text(text) => writer.text(text),
            Span::Strong(words) => styled('*', words, writer),
            Span::Emphasis(words) => styled('_', words, writer),
            Span::Strike(words) => styled('~', words, writer),
            Span::Code(code) => writer.code(code),
            Span::Link { url, spans } => writer.link(url, &label(spans)),
            Span::Image { url, alt } => writer.link(url, alt),
            Span::Break => writer.line_break(),
        }
    }
}

fn styled(mark: char, words: &[Span], writer: &mut Writer) {
    writer.style(mark);
    spans(words, writer);
    writer.end_style();
}

/// A link's label is one line without looks.
fn label(spans: &[Span]) -> String {
    watchfloor_channel::text::blocks::plain(spans).replace('\n', " ")
}
