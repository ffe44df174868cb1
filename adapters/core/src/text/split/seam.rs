//! What is added on both sides of a cut, and how indentation that came from a list is taken back after it.

use super::Rest;
use super::lines::{
    container_len, continued, line_start, looks_like_block, looks_like_fence, next_line, quote_marks, quote_prefix,
    taken_out, without_blank_lines, without_space,
};
use super::outline::{Fence, Outline, Table};

/// The two sides of one cut.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seam {
    pub(super) close: String,
    pub(super) reopen: String,
    pub(super) harm: Harm,
    /// What the lines after the cut begin with because of containers that stayed behind.
    prefix: String,
    side: Side,
}

/// How much a cut changes what people see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Harm {
    None,
    /// A style ends early, a word becomes a list marker, a table row becomes prose.
    Looks,
    /// The rest would become code.
    Meaning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    LineStart,
    /// The rest of the line is prose.
    InProse,
    /// White space after the cut counts.
    InCode,
}

impl Seam {
    /// What a cut at `end` needs. `None` where nothing helps: inside a fence's own lines, or with no code on one side.
    /// `room` tells whether there is room to repeat something.
    pub(super) fn at(text: &str, outline: &Outline, end: usize, room: impl Fn(&str) -> bool) -> Option<Self> {
        let starts_line = text[..end].ends_with('\n');
        if let Some(fence) = outline.fence_at(end) {
            return Self::in_fence(text, fence, end, starts_line, room);
        }
        if let Some(table) = outline.table_at(end) {
            return Some(Self::in_table(table, end, starts_line, room));
        }
        let next = text.len() - without_blank_lines(&text[end..]).len();
        let line = &text[next..next_line(text, next)];
        if starts_line && outline.in_indented_code(next) {
            return Some(Self::plain("", Side::LineStart));
        }
        let begins_block = starts_line && outline.starts.binary_search(&next).is_ok();
        let harm = if begins_block {
            Harm::None
        } else if looks_like_fence(line) {
            Harm::Meaning
        } else if looks_like_block(line) || outline.in_span(end) {
            Harm::Looks
        } else {
            Harm::None
        };
        if starts_line {
            return Some(Self { harm, ..Self::plain(quote_prefix(line), Side::LineStart) });
        }
        let start = line_start(text, end);
        let prefix = continued(&text[start..start + container_len(&text[start..end])]);
        let prefix = if prefix.contains('>') && !outline.in_quote(end) { "" } else { &prefix };
        Some(Self { reopen: quote_marks(prefix), harm, ..Self::plain(prefix, Side::InProse) })
    }

    fn plain(prefix: &str, side: Side) -> Self {
        Self { close: String::new(), reopen: String::new(), harm: Harm::None, prefix: prefix.to_owned(), side }
    }

    fn in_fence(text: &str, fence: &Fence, end: usize, starts_line: bool, room: impl Fn(&str) -> bool) -> Option<Self> {
        let bare = |code: &str| code.chars().all(|c| c.is_whitespace() || c == '>');
        let content = &fence.content;
        if end <= content.start
            || end >= content.end
            || bare(&text[content.start..end])
            || bare(&text[end..content.end])
        {
            return None;
        }
        let quote = quote_marks(&fence.prefix);
        let (side, inside) = if starts_line { (Side::LineStart, "") } else { (Side::InCode, quote.as_str()) };
        let full = format!("{quote}{}{}\n{inside}", fence.marker, fence.info);
        let rest = &text[end..next_line(text, end)];
        let harm = if !starts_line && looks_like_fence(rest) { Harm::Meaning } else { Harm::None };
        // An info string that leaves no room for code is a comment about nothing.
        let reopen = if room(&full) { full } else { format!("{quote}{}\n{inside}", fence.marker) };
        Some(Self { close: fence.closing(), reopen, harm, ..Self::plain(&fence.prefix, side) })
    }

    fn in_table(table: &Table, end: usize, starts_line: bool, room: impl Fn(&str) -> bool) -> Self {
        let head = taken_out(&table.head, &table.prefix);
        if starts_line && end >= table.rows && room(&head) {
            return Self { reopen: head, ..Self::plain(&table.prefix, Side::LineStart) };
        }
        // Without its head a row is prose. So is the rest of a cut row, which would lose cells as a row.
        let side = if starts_line { Side::LineStart } else { Side::InProse };
        Self { harm: Harm::Looks, ..Self::plain(&table.prefix, side) }
    }

    /// What follows the cut, as a text that can be parsed alone.
    pub(super) fn rest(&self, tail: &str, plain: bool) -> Rest {
        let (first, others) = match self.side {
            Side::LineStart => ("", without_blank_lines(tail)),
            Side::InProse => {
                let tail = without_space(tail);
                tail.split_at(next_line(tail, 0))
            }
            Side::InCode => tail.split_at(next_line(tail, 0)),
        };
        let text = format!("{}{first}{}", self.reopen, taken_out(others, &self.prefix));
        Rest { text, lead: self.reopen.len(), plain }
    }
}
