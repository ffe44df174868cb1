//! Where the source may be cut and what a cut would break, as byte ranges. The parser is the one the renderers use, so
//! both see the same fences.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::lines::{continued, line_start, next_line};

#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) blocks: Vec<TopBlock>,
    /// First lines of blocks at any depth, sorted.
    pub(super) starts: Vec<usize>,
    /// First lines of the items of top-level lists.
    pub(super) items: Vec<usize>,
    pub(super) fences: Vec<Fence>,
    tables: Vec<Table>,
    indented: Vec<Range<usize>>,
    quotes: Vec<Range<usize>>,
    /// Emphasis, links, inline code.
    spans: Vec<Range<usize>>,
}

#[derive(Debug)]
pub(super) struct TopBlock {
    /// From the start of its first line.
    pub(super) range: Range<usize>,
    pub(super) heading: bool,
}

#[derive(Debug)]
pub(super) struct Fence {
    range: Range<usize>,
    /// The lines between the markers.
    pub(super) content: Range<usize>,
    pub(super) marker: String,
    pub(super) info: String,
    /// What its lines begin with: quote marks, indentation of a list.
    pub(super) prefix: String,
    closed: bool,
}

#[derive(Debug)]
pub(super) struct Table {
    range: Range<usize>,
    pub(super) rows: usize,
    /// Head and delimiter lines, with the prefix of a continued line.
    pub(super) head: String,
    pub(super) prefix: String,
}

impl Outline {
    pub(super) fn of(text: &str) -> Self {
        let mut outline = Self::default();
        let mut depth = 0usize;
        let mut in_fence = false;
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(tag) => {
                    in_fence |= matches!(tag, Tag::CodeBlock(CodeBlockKind::Fenced(_)));
                    outline.note(text, &tag, range, depth);
                    depth += 1;
                }
                Event::End(end) => {
                    depth = depth.saturating_sub(1);
                    match end {
                        TagEnd::CodeBlock if in_fence => {
                            in_fence = false;
                            outline.fences.last_mut().into_iter().for_each(|fence| fence.finish(text));
                        }
                        TagEnd::TableHead => {
                            outline.tables.last_mut().into_iter().for_each(|table| table.finish(text, range.start));
                        }
                        _ => {}
                    }
                }
                Event::Text(_) if in_fence => {
                    outline.fences.last_mut().into_iter().for_each(|fence| fence.content.end = range.end);
                }
                Event::Code(_) => outline.spans.push(range),
                Event::Rule => outline.block(text, &range, depth, false),
                _ => {}
            }
        }
        outline.starts.sort_unstable();
        outline
    }

    fn note(&mut self, text: &str, tag: &Tag<'_>, range: Range<usize>, depth: usize) {
        if matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }) {
            self.spans.push(range);
            return;
        }
        self.block(text, &range, depth, matches!(tag, Tag::Heading { .. }));
        match tag {
            Tag::CodeBlock(CodeBlockKind::Fenced(_)) => self.fences.extend(Fence::open(text, range)),
            Tag::CodeBlock(CodeBlockKind::Indented) => self.indented.push(line_start(text, range.start)..range.end),
            Tag::Table(_) => {
                let prefix = continued(&text[line_start(text, range.start)..range.start]);
                self.tables.push(Table { rows: range.end, range, head: String::new(), prefix });
            }
            Tag::Item if depth == 1 => self.items.push(line_start(text, range.start)),
            Tag::BlockQuote(_) => self.quotes.push(range),
            _ => {}
        }
    }

    fn block(&mut self, text: &str, range: &Range<usize>, depth: usize, heading: bool) {
        let start = line_start(text, range.start);
        self.starts.push(start);
        if depth == 0 {
            self.blocks.push(TopBlock { range: start..range.end, heading });
        }
    }

    pub(super) fn fence_at(&self, at: usize) -> Option<&Fence> {
        self.fences.iter().find(|fence| fence.range.start < at && at < fence.range.end)
    }

    /// The fence that the text leaves open at its end.
    pub(super) fn open_fence(&self, text: &str) -> Option<&Fence> {
        self.fences.last().filter(|fence| !fence.closed && text[fence.range.end..].trim().is_empty())
    }

    pub(super) fn table_at(&self, at: usize) -> Option<&Table> {
        self.tables.iter().find(|table| table.range.start < at && at < table.range.end)
    }

    pub(super) fn in_quote(&self, at: usize) -> bool {
        contains(&self.quotes, at)
    }

    pub(super) fn in_span(&self, at: usize) -> bool {
        contains(&self.spans, at)
    }

    pub(super) fn in_indented_code(&self, at: usize) -> bool {
        self.indented.iter().any(|range| range.contains(&at))
    }
}

fn contains(ranges: &[Range<usize>], at: usize) -> bool {
    ranges.iter().any(|range| range.start < at && at < range.end)
}

impl Fence {
    fn open(text: &str, range: Range<usize>) -> Option<Self> {
        let start = range.start + text[range.clone()].find(['`', '~'])?;
        let mark = text[start..].chars().next()?;
        let opening = text[start..next_line(text, start)].trim_end();
        let info = opening.trim_start_matches(mark);
        let marker = opening[..opening.len() - info.len()].to_owned();
        let body = next_line(text, start).min(range.end);
        let prefix = continued(&text[line_start(text, start)..start]);
        Some(Self { content: body..body, range, marker, info: info.to_owned(), prefix, closed: false })
    }

    /// Only the parser knows whether a line of marks closes this fence: what it did not call content does.
    fn finish(&mut self, text: &str) {
        let after = &text[self.content.end.min(self.range.end)..self.range.end];
        self.closed = after.contains(self.marker.as_str());
    }

    pub(super) fn closing(&self) -> String {
        format!("\n{}{}", self.prefix, self.marker)
    }
}

impl Table {
    fn finish(&mut self, text: &str, head: usize) {
        let delimiter = next_line(text, head);
        self.rows = next_line(text, delimiter);
        // The delimiter line has a prefix of its own, perhaps in other words.
        let delimiter = text[delimiter..self.rows].trim().trim_start_matches(['>', ' ', '\t']);
        let head = text[head..next_line(text, head)].trim();
        self.head = format!("{}{head}\n{}{delimiter}\n", self.prefix, self.prefix);
    }
}
