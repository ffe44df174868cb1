//! Cuts an answer into messages. Measures what is really sent, so the caller brings the measure; knows no platform.

mod cut;
mod lines;
mod outline;
mod seam;
#[cfg(test)]
mod tests;

use cut::Search;
use outline::Outline;
use unicode_segmentation::UnicodeSegmentation;

/// Cuts CommonMark into parts with `measure(part) <= limit`, where `measure` gives the length after rendering.
///
/// Prefers the end of a block, then of a list item, a line, a sentence, a word; inside a grapheme only where one alone is
/// too long. A code fence that is cut is closed and opened again, a table gets its head again, and so does a quote its
/// prefix. No part is blank. Where the limit is too small for such repetition the rest is cut as plain text.
pub fn split(markdown: &str, limit: usize, measure: impl Fn(&str) -> usize) -> Vec<String> {
    parts(markdown, limit, &measure).into_iter().map(|part| part.text).collect()
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

fn parts(markdown: &str, limit: usize, measure: &dyn Fn(&str) -> usize) -> Vec<Part> {
    let text = markdown.replace("\r\n", "\n").replace('\r', "\n");
    let mut rest = Rest { text: lines::without_blank_lines(&text).to_owned(), lead: 0, plain: false };
    let mut parts = Vec::new();
    while !rest.body().trim().is_empty() {
        let (part, next) = next_part(&rest, limit, measure);
        parts.extend(part);
        rest = next;
    }
    parts
}

/// Every call takes something visible from the rest, or gives up structure once: that is why it ends.
fn next_part(rest: &Rest, limit: usize, measure: &dyn Fn(&str) -> usize) -> (Option<Part>, Rest) {
    // No renderer shrinks text to an eighth, and parsing only what can matter keeps long answers linear.
    let window = rest.text.floor_char_boundary(limit.saturating_mul(8).saturating_add(1_024));
    let outline = if rest.plain { Outline::default() } else { Outline::of(&rest.text[..window]) };
    let search = Search::new(rest, &rest.text[..window], &outline, limit, measure);
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
    let first = body.graphemes(true).next().filter(|grapheme| measure(grapheme) <= limit).map_or_else(
        || body.char_indices().find(|(_, c)| !c.is_whitespace()).map_or(body.len(), |(at, c)| at + c.len_utf8()),
        str::len,
    );
    let part = Part { text: body[..first].to_owned(), lead: 0, close: 0 };
    (Some(part), Rest { text: lines::without_space(&body[first..]).to_owned(), lead: 0, plain: true })
}
