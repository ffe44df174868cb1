//! Cuts an answer into messages. Measures what is really sent, so the caller brings the measure; knows no platform.

mod cut;
mod lines;
mod outline;
mod references;
mod seam;
#[cfg(test)]
mod tests;

use cut::Search;
use outline::Outline;
use unicode_segmentation::UnicodeSegmentation;

use super::size::{Limits, Size};
/// Cuts CommonMark into parts whose `measure`, taken after rendering, is held by the limits.
///
/// Prefers the end of a block, then of a list item, a line, a sentence, a word; inside a grapheme only where one alone is
/// too long. A code fence that is cut is closed and opened again, a table gets its head again, and so does a quote its
/// prefix; a link takes its address along. No part is blank, in the source or when rendered. Where the limits are too small
/// for such repetition the rest is cut as plain text.
pub fn split_within(markdown: &str, limits: &Limits, measure: impl Fn(&str) -> Size) -> Vec<String> {
    let mut parts = parts(markdown, limits, &measure);
    parts.retain(|part| !measure(&part.text).text.is_zero());
    parts.into_iter().map(|part| part.text).collect()
}

/// One message: `text` without its first `lead` and last `close` bytes is the source's.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    text: String,
    lead: usize,
    close: usize,
}

/// What is still to be cut. It begins with `lead` bytes that repeat what an earlier part had already.
#[derive(Debug)]
struct Rest {
    text: String,
    lead: usize,
    /// Structure was given up: every line is prose.
    plain: bool,
}

impl Rest {
    fn body(&self) -> &str {
        &self.text[self.lead..]
    }
}

fn parts(markdown: &str, limits: &Limits, measure: &dyn Fn(&str) -> Size) -> Vec<Part> {
    let text = markdown.replace("\r\n", "\n").replace('\r', "\n");
    let mut rest = Rest { text: lines::without_blank_lines(&text).to_owned(), lead: 0, plain: false };
    if rest.text.len() > window(limits) || !limits.hold(&measure(&rest.text)) {
        rest.text = references::inlined(&rest.text).into_owned();
    }
    let mut parts = Vec::new();
    while !rest.body().trim().is_empty() {
        let (part, next) = next_part(&rest, limits, measure);
        parts.extend(part);
        rest = next;
    }
    parts
}

/// No renderer shrinks text to an eighth or bytes to a half, and parsing only what can matter keeps long answers linear.
fn window(limits: &Limits) -> usize {
    limits.text.get().saturating_mul(8).min(limits.bytes.saturating_mul(2)).saturating_add(1_024)
}

/// Every call takes something visible from the rest, or gives up structure once: that is why it ends.
fn next_part(rest: &Rest, limits: &Limits, measure: &dyn Fn(&str) -> Size) -> (Option<Part>, Rest) {
    let window = rest.text.floor_char_boundary(window(limits));
    let outline = if rest.plain { Outline::default() } else { Outline::of(&rest.text[..window]) };
    let search = Search::new(rest, &rest.text[..window], &outline, limits, measure);
    if window == rest.text.len()
        && let Some(part) = search.whole()
    {
        return (Some(part), Rest { text: String::new(), lead: 0, plain: rest.plain });
    }
    if let Some(cut) = search.best() {
        let part = search.part(&cut);
        return (Some(part), cut.seam.rest(&rest.text[cut.end..], rest.plain));
    }
    if !rest.plain || rest.lead > 0 {
        return (None, Rest { text: lines::without_space(rest.body()).to_owned(), lead: 0, plain: true });
    }
    // Not even one character fits: better too long than lost.
    let body = lines::without_space(rest.body());
    let first = body.graphemes(true).next().filter(|grapheme| limits.hold(&measure(grapheme))).map_or_else(
        || body.char_indices().find(|(_, c)| !c.is_whitespace()).map_or(body.len(), |(at, c)| at + c.len_utf8()),
        str::len,
    );
    let part = Part { text: body[..first].to_owned(), lead: 0, close: 0 };
    (Some(part), Rest { text: lines::without_space(&body[first..]).to_owned(), lead: 0, plain: true })
}
