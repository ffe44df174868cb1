//! Writes Slack's markup piece by piece: style marks that work only beside a boundary and never across lines, blocks apart
//! by an empty line.

use super::{
    Rendered,
    escape::{self, GAP},
};

#[derive(Default)]
pub(super) struct Writer {
    out: String,
    /// Styles the text asks for, outermost first; marks are written when text comes.
    wanted: Vec<char>,
    open: Vec<char>,
    /// The last thing written was a closing mark: a letter right after it would undo it.
    closed: bool,
    /// Line ends owed before the next text.
    breaks: usize,
    /// A bullet was written and its text has not begun.
    bullet: bool,
    pub(super) quotes: usize,
    lists: Vec<Option<u64>>,
    /// Where the author drew a line across the whole message.
    rules: Vec<usize>,
}

impl Writer {
    pub(super) fn finish(mut self) -> Rendered {
        self.close(0);
        let neat = |text: &str| text.trim_matches('\n').trim_end().to_owned();
        let mut pieces = Vec::new();
        let mut from = 0;
        for to in self.rules.into_iter().chain([self.out.len()]) {
            pieces.push(neat(&self.out[from..to]));
            from = to;
        }
        pieces.retain(|piece| !piece.is_empty());
        Rendered { text: neat(&self.out), pieces }
    }

    pub(super) fn text(&mut self, text: &str) {
        let words = text.trim_start();
        let lead = &text[..text.len() - words.len()];
        if !lead.is_empty() && !self.at_line_start() {
            self.close_unwanted();
            self.out.push_str(lead);
            self.closed = false;
        }
        if !words.is_empty() {
            self.begin(words);
            self.out.push_str(&escape::prose(words));
        }
    }

    pub(super) fn code(&mut self, code: &str) {
        self.close(0);
        self.begin_line();
        self.boundary();
        self.out.push_str(&format!("`{}`", escape::inline_code(code)));
        self.closed = true;
    }

    pub(super) fn link(&mut self, target: &str, label: &str) {
        self.begin("<");
        self.out.push_str(&escape::link(target, label));
    }

    /// A sign of our own, beside the bullet.
    pub(super) fn mark(&mut self, mark: &str) {
        self.out.push_str(mark);
    }

    // Styles.

    pub(super) fn style(&mut self, mark: char) {
        self.wanted.push(mark);
    }

    pub(super) fn end_style(&mut self) {
        self.wanted.pop();
        self.close_unwanted();
    }

    /// A bold word in a bold heading needs no second pair.
    fn marks(&self) -> Vec<char> {
        let mut marks = Vec::new();
        for mark in &self.wanted {
            if !marks.contains(mark) {
                marks.push(*mark);
            }
        }
        marks
    }

    fn close_unwanted(&mut self) {
        let kept = self.open.iter().zip(self.marks()).take_while(|(open, wanted)| *open == wanted).count();
        self.close(kept);
    }

    /// Space before a closing mark would undo the style: it moves behind.
    fn close(&mut self, keep: usize) {
        if self.open.len() <= keep {
            return;
        }
        let text_ends = self.out.trim_end().len();
        let space = self.out.split_off(text_ends);
        while self.open.len() > keep {
            self.out.extend(self.open.pop());
        }
        self.closed = space.is_empty();
        self.out.push_str(&space);
    }

    fn begin(&mut self, text: &str) {
        self.begin_line();
        self.close_unwanted();
        let wanted = self.marks();
        if self.open.len() < wanted.len() {
            self.boundary();
            self.out.extend(&wanted[self.open.len()..]);
            self.open = wanted;
        } else if self.closed && !text.starts_with(is_boundary) {
            self.out.push(GAP);
        }
        self.closed = false;
    }

    fn boundary(&mut self) {
        if self.out.chars().next_back().is_some_and(|last| !is_boundary(last)) {
            self.out.push(GAP);
        }
    }

    // Lines and blocks.

    pub(super) fn block(&mut self) {
        self.breaks_at_least(if self.lists.is_empty() && self.quotes == 0 { 2 } else { 1 });
    }

    /// Shown as an empty line; blocks know better.
    pub(super) fn rule(&mut self) {
        self.block();
        if self.lists.is_empty() && self.quotes == 0 {
            self.rules.push(self.out.len());
        }
    }

    pub(super) fn line_break(&mut self) {
        self.breaks_at_least(1);
    }

    fn breaks_at_least(&mut self, breaks: usize) {
        self.close(0);
        if !self.bullet {
            self.breaks = self.breaks.max(breaks);
        }
    }

    fn at_line_start(&self) -> bool {
        self.out.is_empty() || self.breaks > 0 || self.bullet
    }

    fn begin_line(&mut self) {
        if self.new_line() && self.quotes == 0 {
            self.out.extend(std::iter::repeat_n("  ", 2 * self.lists.len().saturating_sub(1)));
            self.out.push_str(if self.lists.is_empty() { "" } else { "  " });
        }
        self.bullet = false;
    }

    /// Pays the owed line ends; true at the start of a line.
    fn new_line(&mut self) -> bool {
        let starts = self.out.is_empty() || self.breaks > 0;
        if !self.out.is_empty() {
            self.out.extend(std::iter::repeat_n('\n', self.breaks));
        }
        self.breaks = 0;
        if starts {
            self.closed = false;
            if self.quotes > 0 {
                self.out.push_str("> ");
            }
        }
        starts
    }

    // Lists.

    pub(super) fn start_list(&mut self, first: Option<u64>) {
        self.bullet = false;
        self.block();
        self.lists.push(first);
    }

    pub(super) fn end_list(&mut self) {
        self.bullet = false;
        self.lists.pop();
        self.block();
    }

    pub(super) fn item(&mut self) {
        self.bullet = false;
        self.breaks_at_least(1);
        self.new_line();
        self.out.extend(std::iter::repeat_n("    ", self.lists.len().saturating_sub(1)));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.out.push_str(&format!("{number}. "));
                *number = number.saturating_add(1);
            }
            _ => self.out.push_str("• "),
        }
        self.bullet = true;
    }

    // Code.

    /// Neither quotes nor indents work around a block of code.
    pub(super) fn code_block(&mut self, code: &str) {
        if code.trim().is_empty() {
            return;
        }
        self.bullet = false;
        self.block();
        let quotes = std::mem::take(&mut self.quotes);
        self.new_line();
        self.quotes = quotes;
        self.out.push_str(&format!("```\n{}\n```", escape::block_code(code.trim_end_matches('\n'))));
        self.block();
    }
}

/// Full-width punctuation does not count.
fn is_boundary(c: char) -> bool {
    c.is_whitespace() || c.is_ascii_punctuation() || c == GAP
}
