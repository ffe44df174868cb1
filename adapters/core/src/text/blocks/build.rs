//! From parser events to blocks. A stack instead of recursion: a model may nest as deep as it likes.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, LinkType, Options, Parser, Tag};

use super::{Align, Block, Item, List, Span, Table, plain};

/// Nothing readable is deeper. What is, joins its container, so that walking the blocks needs little stack.
const DEEPEST: usize = 24;

/// Parses CommonMark with tables, strikethrough and task lists. Takes any text.
pub fn parse(markdown: &str) -> Vec<Block> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut builder = Builder::default();
    for event in Parser::new_ext(markdown, options) {
        builder.take(event);
    }
    while !builder.open.is_empty() {
        builder.end();
    }
    builder.root.finished()
}

#[derive(Default)]
struct Builder {
    root: Blocks,
    open: Vec<Frame>,
    /// Frames that hold something, which are all but `Through`.
    depth: usize,
}

/// Something begun and not ended.
enum Frame {
    Quote(Blocks),
    List(List),
    Item {
        done: Option<bool>,
        blocks: Blocks,
    },
    Paragraph(Vec<Span>),
    Heading(u8, Vec<Span>),
    Code {
        info: String,
        text: String,
    },
    Table(Table),
    Row(Vec<Vec<Span>>, RowOf),
    Cell(Vec<Span>),
    Style(Style, Vec<Span>),
    /// Without meaning for us, or too deep: what is inside belongs to the frame around.
    Through,
}

#[derive(Clone, Copy)]
enum RowOf {
    Head,
    Body,
}

enum Style {
    Strong,
    Emphasis,
    Strike,
    Link(String),
    Image(String),
}

/// Blocks, and the words of a tight list item that have no paragraph of their own.
#[derive(Default)]
struct Blocks {
    done: Vec<Block>,
    loose: Vec<Span>,
}

impl Blocks {
    fn push(&mut self, block: Block) {
        self.settle();
        self.done.push(block);
    }

    fn settle(&mut self) {
        let spans = trimmed(std::mem::take(&mut self.loose));
        if !spans.is_empty() {
            self.done.push(Block::Paragraph(spans));
        }
    }

    fn finished(mut self) -> Vec<Block> {
        self.settle();
        self.done
    }
}

impl Builder {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => self.end(),
            Event::Text(text) | Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text);
            }
            Event::InlineHtml(html) if is_break(&html) => self.span(Span::Break),
            Event::InlineHtml(html) => self.text(&html),
            Event::Html(html) => self.lines(&html),
            Event::Code(code) => self.span(Span::Code(code.into_string())),
            Event::SoftBreak | Event::HardBreak => self.span(Span::Break),
            Event::Rule => self.block(Block::Rule),
            Event::TaskListMarker(ticked) => match self.innermost() {
                Some(Frame::Item { done, .. }) => *done = Some(ticked),
                Some(Frame::Paragraph(_)) => self.tick_item(ticked),
                _ => self.text(if ticked { "[x] " } else { "[ ] " }),
            },
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let frame = match tag {
            Tag::BlockQuote(_) => Frame::Quote(Blocks::default()),
            Tag::List(start) => Frame::List(List { start, items: Vec::new() }),
            // An item whose list was too deep becomes a line of the item around.
            Tag::Item if !matches!(self.open.last(), Some(Frame::List(_))) => {
                self.span(Span::Break);
                Frame::Through
            }
            Tag::Item => Frame::Item { done: None, blocks: Blocks::default() },
            Tag::Paragraph | Tag::HtmlBlock => Frame::Paragraph(Vec::new()),
            Tag::Heading { level, .. } => Frame::Heading(level as u8, Vec::new()),
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                Frame::Code { info: info.into_string(), text: String::new() }
            }
            Tag::CodeBlock(CodeBlockKind::Indented) => Frame::Code { info: String::new(), text: String::new() },
            Tag::Table(align) => {
                let align = align.into_iter().map(Align::from).collect();
                Frame::Table(Table { align, ..Table::default() })
            }
            Tag::TableHead => Frame::Row(Vec::new(), RowOf::Head),
            Tag::TableRow => Frame::Row(Vec::new(), RowOf::Body),
            Tag::TableCell => Frame::Cell(Vec::new()),
            Tag::Emphasis => Frame::Style(Style::Emphasis, Vec::new()),
            Tag::Strong => Frame::Style(Style::Strong, Vec::new()),
            Tag::Strikethrough => Frame::Style(Style::Strike, Vec::new()),
            Tag::Link { link_type: LinkType::Email, dest_url, .. } => {
                Frame::Style(Style::Link(format!("mailto:{dest_url}")), Vec::new())
            }
            Tag::Link { dest_url, .. } => Frame::Style(Style::Link(dest_url.into_string()), Vec::new()),
            Tag::Image { dest_url, .. } => Frame::Style(Style::Image(dest_url.into_string()), Vec::new()),
            _ => Frame::Through,
        };
        let nests = matches!(frame, Frame::Quote(_) | Frame::List(_) | Frame::Style(..));
        let frame = if nests && self.depth >= DEEPEST { Frame::Through } else { frame };
        self.depth += usize::from(!matches!(frame, Frame::Through));
        self.open.push(frame);
    }

    fn end(&mut self) {
        let Some(frame) = self.open.pop() else { return };
        self.depth -= usize::from(!matches!(frame, Frame::Through));
        match frame {
            Frame::Quote(blocks) => self.block(Block::Quote(blocks.finished())),
            Frame::List(list) => self.block(Block::List(list)),
            Frame::Item { done, blocks } => {
                let blocks = blocks.finished();
                if let Some(Frame::List(list)) = self.innermost() {
                    list.items.push(Item { done, blocks });
                }
            }
            Frame::Paragraph(spans) => {
                let spans = trimmed(spans);
                if !spans.is_empty() {
                    self.block(Block::Paragraph(spans));
                }
            }
            Frame::Heading(level, spans) => self.block(Block::Heading { level, spans: trimmed(spans) }),
            Frame::Code { info, mut text } => {
                text.truncate(text.strip_suffix('\n').map_or(text.len(), str::len));
                self.block(Block::Code { info, text });
            }
            Frame::Table(table) => self.block(Block::Table(table)),
            Frame::Row(cells, row) => {
                if let Some(Frame::Table(table)) = self.innermost() {
                    match row {
                        RowOf::Head => table.head = cells,
                        RowOf::Body => table.rows.push(cells),
                    }
                }
            }
            Frame::Cell(spans) => {
                if let Some(Frame::Row(cells, _)) = self.innermost() {
                    cells.push(trimmed(spans));
                }
            }
            Frame::Style(style, spans) => self.span(match style {
                Style::Strong => Span::Strong(spans),
                Style::Emphasis => Span::Emphasis(spans),
                Style::Strike => Span::Strike(spans),
                Style::Link(url) => Span::Link { url, spans },
                Style::Image(url) => Span::Image { url, alt: plain(&spans) },
            }),
            Frame::Through => {}
        }
    }

    fn innermost(&mut self) -> Option<&mut Frame> {
        self.open.iter_mut().rfind(|frame| !matches!(frame, Frame::Through))
    }

    /// The marker of a loose item stands in the item's first paragraph.
    fn tick_item(&mut self, ticked: bool) {
        let item = self.open.iter_mut().rev().find_map(|frame| match frame {
            Frame::Item { done, .. } => Some(done),
            _ => None,
        });
        if let Some(done) = item {
            *done = Some(ticked);
        }
    }

    fn block(&mut self, block: Block) {
        let blocks = self.open.iter_mut().rev().find_map(|frame| match frame {
            Frame::Quote(blocks) | Frame::Item { blocks, .. } => Some(blocks),
            _ => None,
        });
        blocks.unwrap_or(&mut self.root).push(block);
    }

    fn text(&mut self, text: &str) {
        if let Some(Frame::Code { text: code, .. }) = self.innermost() {
            code.push_str(text);
        } else if let Some(Span::Text(last)) = self.spans().last_mut() {
            last.push_str(text);
        } else {
            self.span(Span::Text(text.to_owned()));
        }
    }

    /// Text whose line ends are to be seen.
    fn lines(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            self.text(line.trim_end_matches(['\n', '\r']));
            if line.ends_with('\n') {
                self.span(Span::Break);
            }
        }
    }

    fn span(&mut self, span: Span) {
        self.spans().push(span);
    }

    fn spans(&mut self) -> &mut Vec<Span> {
        let spans = self.open.iter_mut().rev().find_map(|frame| match frame {
            Frame::Paragraph(spans) | Frame::Heading(_, spans) | Frame::Cell(spans) | Frame::Style(_, spans) => {
                Some(spans)
            }
            Frame::Quote(blocks) | Frame::Item { blocks, .. } => Some(&mut blocks.loose),
            _ => None,
        });
        spans.unwrap_or(&mut self.root.loose)
    }
}

impl From<Alignment> for Align {
    fn from(align: Alignment) -> Self {
        match align {
            Alignment::None | Alignment::Left => Self::Left,
            Alignment::Center => Self::Center,
            Alignment::Right => Self::Right,
        }
    }
}

/// Without breaks and empty text at the ends.
fn trimmed(mut spans: Vec<Span>) -> Vec<Span> {
    let empty = |span: &Span| matches!(span, Span::Break) || matches!(span, Span::Text(text) if text.trim().is_empty());
    let end = spans.iter().rposition(|span| !empty(span)).map_or(0, |last| last + 1);
    spans.truncate(end);
    let start = spans.iter().position(|span| !empty(span)).unwrap_or(0);
    spans.split_off(start)
}

fn is_break(html: &str) -> bool {
    ["<br>", "<br/>", "<br />"].iter().any(|tag| html.eq_ignore_ascii_case(tag))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Depth, and all that was said.
    fn walk(blocks: &[Block], text: &mut String) -> usize {
        let deepest = blocks.iter().map(|block| match block {
            Block::Paragraph(spans) | Block::Heading { spans, .. } => {
                text.push_str(&plain(spans));
                text.push('\n');
                0
            }
            Block::List(list) => list.items.iter().map(|item| walk(&item.blocks, text)).max().unwrap_or(0),
            Block::Quote(blocks) => walk(blocks, text),
            Block::Code { info, text: code } => {
                text.push_str(info);
                text.push_str(code);
                0
            }
            Block::Table(_) | Block::Rule => 0,
        });
        deepest.max().unwrap_or(0) + 1
    }

    #[test]
    fn endless_nesting_stays_shallow_and_keeps_its_words() {
        for text in [
            "> ".repeat(20_000) + "word",
            (0..400).map(|depth| format!("{}- word\n", "  ".repeat(depth))).collect(),
            "*a **b ".repeat(3_000) + &"** *".repeat(3_000),
            "[".repeat(20_000) + "word",
        ] {
            let mut words = String::new();
            let depth = walk(&parse(&text), &mut words);
            assert!(depth <= DEEPEST + 1, "{depth}");
            assert_eq!(words.matches("word").count(), text.matches("word").count());
            assert!(!words.contains("wordword"));
        }
    }

    proptest! {
        #[test]
        fn no_word_is_lost(parts in prop::collection::vec(prop::sample::select(vec![
            "word", "two words", "**", "*", "_", "~~", "`", "```", "> ", "- ", "1. ", "# ", "\n", "\n\n", "    ", "- [ ] ", " ", "\\",
        ]), 0..40)) {
            let text = parts.concat();
            let mut words = String::new();
            walk(&parse(&text), &mut words);
            prop_assert_eq!(words.matches("word").count(), text.matches("word").count(), "{:?}", parse(&text));
        }

        #[test]
        fn any_text_is_parsed(text in "([`~>|:-]{1,4}|[a-zé👩 ]{1,6}|[0-9]\\. |\n|\n\n|    |<[a-z!/-]{1,4}>?|[*_#&\\[\\]()]){0,60}|.{0,80}") {
            for block in parse(&text) {
                if let Block::Table(table) = block {
                    prop_assert!(table.rows.iter().all(|row| row.len() == table.head.len()));
                    prop_assert_eq!(super::super::aligned(&table).lines().count(), table.rows.len() + 2);
                }
            }
        }
    }
}
