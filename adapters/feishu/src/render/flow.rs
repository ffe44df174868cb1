//! Blocks as a sequence of Feishu's Markdown, code and tables. Code leaves lists and quotes: Feishu knows fences only at the
//! start of a line, and phones cut off what stands behind indented code.

use watchfloor_channel::text::blocks::{Block, List, Looks, Run, Span, Table, runs};

use super::escape::{self, Dialect};

#[derive(Debug)]
pub(super) enum Piece<'a> {
    Markdown(String),
    Code { info: &'a str, text: &'a str },
    Table(&'a Table),
}

pub(super) fn pieces(blocks: &[Block], dialect: Dialect) -> Vec<Piece<'_>> {
    let mut flow = Flow::new(dialect);
    flow.blocks(blocks);
    flow.end_markdown();
    flow.pieces
}

/// One line of styled words, as in a cell.
pub(super) fn line(spans: &[Span], dialect: Dialect) -> String {
    let mut flow = Flow::new(dialect);
    flow.spans(spans, Looks::default(), Breaks::AsSpace);
    flow.out
}

struct Flow<'a> {
    dialect: Dialect,
    pieces: Vec<Piece<'a>>,
    out: String,
    /// Line ends owed before whatever comes next.
    owed: usize,
    /// A bullet was written and its text has not begun.
    bullet: bool,
    lists: usize,
    /// Lists that were open where this Markdown began: its first line must not be indented.
    outer: usize,
    quoted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Breaks {
    AsLine,
    AsSpace,
}

impl<'a> Flow<'a> {
    fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            pieces: Vec::new(),
            out: String::new(),
            owed: 0,
            bullet: false,
            lists: 0,
            outer: 0,
            quoted: false,
        }
    }

    fn blocks(&mut self, blocks: &'a [Block]) {
        for block in blocks {
            match block {
                Block::Paragraph(spans) => {
                    self.begin();
                    self.spans(spans, Looks::default(), Breaks::AsLine);
                    self.gap();
                }
                Block::Heading { level, spans } => self.heading(*level, spans),
                Block::List(list) => self.list(list),
                // One level, as elsewhere.
                Block::Quote(blocks) => self.quote(blocks),
                Block::Code { text, .. } if text.trim().is_empty() => {}
                Block::Code { info, text } => self.piece(Piece::Code { info, text }),
                Block::Table(table) => self.piece(Piece::Table(table)),
                Block::Rule if self.lists == 0 && !self.quoted => {
                    self.begin();
                    self.out.push_str("---");
                    self.gap();
                }
                Block::Rule => {}
            }
        }
    }

    // Lines.

    /// Inside a list or a quote an empty line would tear it apart.
    fn gap(&mut self) {
        self.owe(if self.lists == 0 && !self.quoted { 2 } else { 1 });
    }

    fn owe(&mut self, lines: usize) {
        self.owed = self.owed.max(lines);
    }

    fn new_line(&mut self, levels: usize) {
        if self.out.is_empty() {
            self.outer = self.lists.saturating_sub(1);
        } else {
            self.out.extend(std::iter::repeat_n('\n', self.owed));
        }
        self.owed = 0;
        if self.quoted {
            self.out.push_str("> ");
        }
        // Where the bullet is in an earlier piece, so is the indentation.
        self.out.extend(std::iter::repeat_n("    ", levels.saturating_sub(self.outer)));
    }

    /// A line of text: beside its bullet, or below it.
    fn begin(&mut self) {
        if !std::mem::take(&mut self.bullet) {
            self.gap();
            let first = self.out.is_empty();
            self.new_line(if first { self.lists.saturating_sub(1) } else { self.lists });
        }
    }

    fn piece(&mut self, piece: Piece<'a>) {
        // A number says something without its text, a bullet doesn't.
        if self.bullet && self.out.ends_with("- ") {
            self.out.truncate(self.out.len() - "- ".len());
        }
        self.end_markdown();
        self.pieces.push(piece);
    }

    fn end_markdown(&mut self) {
        let markdown = std::mem::take(&mut self.out);
        if !markdown.trim_matches(|c: char| c == '>' || c.is_whitespace()).is_empty() {
            // Once more over the whole: a tag may have begun on one line and gone on on the next.
            self.pieces.push(Piece::Markdown(escape::without_mentions(markdown.trim_end())));
        }
        self.owed = 0;
        self.bullet = false;
    }

    // Blocks.

    /// Feishu's largest would shout.
    fn heading(&mut self, level: u8, spans: &[Span]) {
        if self.lists == 0 && !self.quoted {
            self.begin();
            self.out.push_str(if level == 1 { "#### " } else { "##### " });
            self.spans(spans, Looks::default(), Breaks::AsSpace);
        } else {
            self.begin();
            self.spans(spans, Looks { strong: true, ..Looks::default() }, Breaks::AsSpace);
        }
        self.gap();
    }

    fn list(&mut self, list: &'a List) {
        self.gap();
        self.lists += 1;
        let mut number = list.start;
        for item in &list.items {
            self.owe(1);
            self.bullet = false;
            self.new_line(self.lists - 1);
            match &mut number {
                Some(number) => {
                    self.out.push_str(&format!("{number}. "));
                    *number = number.saturating_add(1);
                }
                None => self.out.push_str("- "),
            }
            self.out.push_str(match item.done {
                Some(true) => "☑ ",
                Some(false) => "☐ ",
                None => "",
            });
            self.bullet = true;
            self.blocks(&item.blocks);
        }
        self.bullet = false;
        self.lists -= 1;
        self.gap();
    }

    fn quote(&mut self, blocks: &'a [Block]) {
        // Its mark works at the start of a line only.
        if self.quoted || self.lists > 0 {
            return self.blocks(blocks);
        }
        self.gap();
        self.quoted = true;
        self.blocks(blocks);
        self.quoted = false;
        self.bullet = false;
        self.gap();
    }

    // Words.

    fn spans(&mut self, spans: &[Span], looks: Looks, breaks: Breaks) {
        for run in runs(spans, looks) {
            match run {
                Run::Text(text, looks) => {
                    let starts = self.out.is_empty() || self.out.ends_with(['\n', ' ']) || self.out.ends_with("<br>");
                    let text = self.dialect.prose(text, starts);
                    self.styled(&text, looks);
                }
                Run::Code(code) if code.trim().is_empty() => self.out.push(' '),
                Run::Code(code) => self.out.push_str(&self.dialect.inline_code(code)),
                Run::Link { url, label, .. } => self.out.push_str(&self.dialect.link(url, &label)),
                Run::Break if breaks == Breaks::AsSpace => self.out.push(' '),
                Run::Break => self.line_break(),
            }
        }
    }

    /// In a card one line end is as good as none.
    fn line_break(&mut self) {
        match self.dialect {
            Dialect::Card => self.out.push_str("<br>"),
            Dialect::Post => {
                self.owe(1);
                self.new_line(self.lists);
            }
        }
    }

    /// One style at a time: Feishu looks for no second one inside. White space beside a mark would undo it.
    fn styled(&mut self, text: &str, looks: Looks) {
        let mark = match looks {
            Looks { strong: true, .. } => "**",
            Looks { strike: true, .. } => "~~",
            Looks { emphasis: true, .. } => "*",
            _ => "",
        };
        let words = text.trim();
        if mark.is_empty() || words.is_empty() {
            self.out.push_str(text);
            return;
        }
        let start = text.len() - text.trim_start().len();
        self.out.push_str(&text[..start]);
        self.out.push_str(&format!("{mark}{words}{mark}"));
        self.out.push_str(&text[start + words.len()..]);
    }
}
