//! Writes blocks as lines of text with tags around words. Telegram knows no lists, tables or headings: their shape is made of
//! line ends, spaces and signs. Code holds no other style and quotes don't nest, so styles are closed before code.

use watchfloor_channel::text::blocks::{self, Block, List, Looks, Run, Span, Table};

use super::escape;

/// About what a telephone shows of code without breaking lines.
const WIDEST_TABLE: usize = 48;
const QUOTE: &str = "<blockquote>";
const LONGEST_LANGUAGE: usize = 32;

pub(super) fn write(blocks: &[Block]) -> String {
    let mut page = Page::default();
    page.blocks(blocks);
    page.out.trim_end().to_owned()
}

#[derive(Default)]
struct Page {
    out: String,
    /// Line ends owed before whatever comes next.
    owed: usize,
    /// A bullet was written and its text has not begun.
    bullet: bool,
    lists: usize,
    quoted: bool,
}

impl Page {
    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Paragraph(spans) => self.paragraph(spans, Looks::default()),
                Block::Heading { spans, .. } => self.paragraph(spans, Looks { strong: true, ..Looks::default() }),
                Block::List(list) => self.list(list),
                Block::Quote(blocks) => self.quote(blocks),
                Block::Code { info, text } => self.code(info, text),
                Block::Table(table) => self.table(table),
                Block::Rule => self.paragraph(&[Span::Text("———".to_owned())], Looks::default()),
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

    fn new_line(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with(QUOTE) {
            self.out.extend(std::iter::repeat_n('\n', self.owed));
        }
        self.owed = 0;
        self.bullet = false;
    }

    /// A line of text: beside its bullet, or below it.
    fn begin(&mut self) {
        if !std::mem::take(&mut self.bullet) {
            self.gap();
            self.new_line();
            self.indent();
        }
    }

    fn indent(&mut self) {
        if self.lists > 0 {
            self.out.extend(std::iter::repeat_n("    ", self.lists - 1));
            self.out.push_str("  ");
        }
    }

    // Blocks.

    fn paragraph(&mut self, spans: &[Span], looks: Looks) {
        self.begin();
        self.spans(spans, looks);
        self.gap();
    }

    fn list(&mut self, list: &List) {
        self.gap();
        self.lists += 1;
        let mut number = list.start;
        for item in &list.items {
            self.owe(1);
            self.new_line();
            self.out.extend(std::iter::repeat_n("    ", self.lists - 1));
            let mark = match &mut number {
                Some(number) => {
                    let mark = format!("{number}. ");
                    *number = number.saturating_add(1);
                    mark
                }
                None => "• ".to_owned(),
            };
            self.out.push_str(&mark);
            self.out.push_str(match item.done {
                Some(true) => "☑ ",
                Some(false) => "☐ ",
                None => "",
            });
            self.bullet = true;
            self.blocks(&item.blocks);
            self.owe(1);
            self.bullet = false;
        }
        self.lists -= 1;
        self.gap();
    }

    fn quote(&mut self, blocks: &[Block]) {
        if self.quoted {
            return self.blocks(blocks);
        }
        self.gap();
        let (before, owed) = (self.out.len(), self.owed);
        self.new_line();
        self.out.push_str(QUOTE);
        let inside = self.out.len();
        self.quoted = true;
        let lists = std::mem::take(&mut self.lists);
        self.blocks(blocks);
        self.quoted = false;
        self.lists = lists;
        if self.out[inside..].trim().is_empty() {
            self.out.truncate(before);
            self.owed = owed;
        } else {
            self.out.push_str("</blockquote>");
            self.owed = 0;
            self.gap();
        }
    }

    fn code(&mut self, info: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.gap();
        self.new_line();
        if text.starts_with(char::is_whitespace) && self.out.trim_start_matches(QUOTE).is_empty() {
            // Telegram takes the white space off the beginning of a message.
            self.out.push(escape::JOINER);
        }
        let code = escape::escape(text.trim_end_matches('\n'));
        let info = info.trim();
        self.out.push_str(&if is_language(info) {
            format!("<pre><code class=\"language-{info}\">{code}</code></pre>")
        } else {
            format!("<pre>{code}</pre>")
        });
        self.gap();
    }

    /// As code, which lines up; or line by line where it is too wide or has links, which code would lose.
    fn table(&mut self, table: &Table) {
        let aligned = blocks::aligned(table);
        if blocks::width(&aligned) <= WIDEST_TABLE && !has_links(table) || table.rows.is_empty() {
            return self.code("", &aligned);
        }
        for row in &table.rows {
            self.gap();
            for (head, cell) in table.head.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
                self.owe(1);
                if !std::mem::take(&mut self.bullet) {
                    self.new_line();
                    self.indent();
                }
                if !head.is_empty() {
                    self.spans(head, Looks { strong: true, ..Looks::default() });
                    self.out.push_str(": ");
                }
                self.spans(cell, Looks::default());
            }
            self.gap();
        }
    }

    // Words.

    fn spans(&mut self, spans: &[Span], looks: Looks) {
        for run in blocks::runs(spans, looks) {
            match run {
                Run::Text(text, looks) => self.styled(&escape::prose(text), looks),
                Run::Code(code) if code.trim().is_empty() => self.out.push_str(code),
                Run::Code(code) => {
                    self.out.push_str(&format!("<code>{}</code>", escape::escape(&code.replace('\n', " "))));
                }
                Run::Link { url, label, looks } => self.styled(&escape::link(url, &label), looks),
                Run::Break => {
                    self.out.push('\n');
                    self.indent();
                }
            }
        }
    }

    fn styled(&mut self, html: &str, looks: Looks) {
        let tags: Vec<&str> = [(looks.strong, "b"), (looks.emphasis, "i"), (looks.strike, "s")]
            .into_iter()
            .filter_map(|(wanted, tag)| (wanted && !html.trim().is_empty()).then_some(tag))
            .collect();
        tags.iter().for_each(|tag| self.out.push_str(&format!("<{tag}>")));
        self.out.push_str(html);
        tags.iter().rev().for_each(|tag| self.out.push_str(&format!("</{tag}>")));
    }
}

/// Anything else in a class makes Telegram drop it, or worse.
fn is_language(info: &str) -> bool {
    let simple = |c: char| c.is_ascii_alphanumeric() || "+-_#".contains(c);
    (1..=LONGEST_LANGUAGE).contains(&info.len()) && info.chars().all(simple)
}

fn has_links(table: &Table) -> bool {
    let link =
        |cell: &Vec<Span>| blocks::runs(cell, Looks::default()).iter().any(|run| matches!(run, Run::Link { .. }));
    table.rows.iter().flatten().any(link)
}
