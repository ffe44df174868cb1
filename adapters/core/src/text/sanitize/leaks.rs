//! What models leak: sections in tags, and tokens of chat templates.

use std::ops::Range;

use super::code;

/// Sections whose content is not for people either.
const SECTIONS: [&str; 14] = [
    "think",
    "thinking",
    "thought",
    "reasoning",
    "system-reminder",
    "tool_call",
    "tool_calls",
    "tool_use",
    "tool_response",
    "tool_result",
    "function_call",
    "function_calls",
    "function_results",
    "invoke",
];
/// The first so many are reasoning: where the template opened it, only the end shows up in the text.
const REASONING: usize = 4;
const LONGEST_ATTRIBUTES: usize = 300;
const LONGEST_TOKEN: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Open,
    Close,
    /// Stands for itself: a template token or `<tag/>`.
    Alone,
}

#[derive(Clone, Debug)]
struct Mark {
    range: Range<usize>,
    kind: Kind,
    name: String,
    reasoning: bool,
    in_code: bool,
}

/// Ranges to take out, sorted and apart from each other.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut marks = marks(text);
    if marks.is_empty() {
        return Vec::new();
    }
    let code = code::ranges(text);
    for mark in &mut marks {
        mark.in_code = code::covers(&code, mark.range.start);
    }
    let mut gone: Vec<Range<usize>> = Vec::new();
    let mut done = 0;
    let mut endless: Vec<&str> = Vec::new();
    for (index, mark) in marks.iter().enumerate() {
        if mark.in_code || mark.range.start < done {
            continue;
        }
        let later = &marks[index + 1..];
        let range = match mark.kind {
            // Nothing ends further on what ended nowhere before: looking again would make many of them slow.
            Kind::Open if endless.contains(&mark.name.as_str()) => unended(text, &mark.range),
            Kind::Open => end_of(&mark.name, later).map_or_else(
                || {
                    endless.push(&mark.name);
                    unended(text, &mark.range)
                },
                |end| mark.range.start..end,
            ),
            Kind::Close if mark.reasoning && gone.is_empty() && ends_thought(text, &mark.range) => 0..mark.range.end,
            Kind::Close | Kind::Alone => mark.range.clone(),
        };
        done = range.end;
        gone.push(range);
    }
    gone
}

/// The same text, byte for byte as long, in which no mark looks like HTML.
pub(super) fn without_brackets(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut from = 0;
    for mark in marks(text) {
        plain.push_str(&text[from..mark.range.start]);
        plain.push('.');
        from = mark.range.start + 1;
    }
    plain.push_str(&text[from..]);
    plain
}

/// Where the section ends. A fence left open inside it can make its end look like code: then that end counts.
fn end_of(name: &str, later: &[Mark]) -> Option<usize> {
    let mut depth = 1usize;
    let mut last = None;
    for mark in later.iter().filter(|mark| mark.name == name && !mark.in_code) {
        match mark.kind {
            Kind::Open => depth += 1,
            Kind::Close => {
                depth -= 1;
                last = Some(mark.range.end);
            }
            Kind::Alone => {}
        }
        if depth == 0 {
            return last;
        }
    }
    last.or_else(|| later.iter().find(|mark| mark.name == name && mark.kind == Kind::Close).map(|mark| mark.range.end))
}

/// Cut off by a limit or still streaming when it has its own line; otherwise a word about the tag.
fn unended(text: &str, open: &Range<usize>) -> Range<usize> {
    if starts_line(text, open.start) { open.start..text.len() } else { open.clone() }
}

fn starts_line(text: &str, at: usize) -> bool {
    text[..at].trim_end_matches([' ', '\t']).ends_with('\n') || text[..at].trim().is_empty()
}

/// An end without beginning, at the edge of a line, with an answer after it.
fn ends_thought(text: &str, close: &Range<usize>) -> bool {
    let rest = &text[close.end..];
    let ends_line = rest.trim_start_matches([' ', '\t']).starts_with('\n');
    (ends_line || starts_line(text, close.start)) && !rest.trim().is_empty()
}

fn marks(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find('<').map(|at| from + at) {
        from = at + 1;
        if let Some(mark) = tag(text, at).or_else(|| token(text, at)) {
            from = mark.range.end;
            marks.push(mark);
        }
    }
    marks
}

/// `<name …>`, `</name>`, `<name/>`, with or without a namespace, in any case.
fn tag(text: &str, start: usize) -> Option<Mark> {
    let rest = &text[start + 1..];
    let (close, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
    let word = &rest[..rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_-:".contains(c)))?];
    let name = word.rsplit(':').next().unwrap_or(word).to_ascii_lowercase();
    let index = SECTIONS.iter().position(|section| *section == name)?;
    let attributes = &rest[word.len()..];
    let end = attributes.bytes().take(LONGEST_ATTRIBUTES).position(|b| b == b'>' || b == b'<')?;
    let attributes = attributes.get(..=end)?;
    let inside = attributes.strip_suffix('>')?;
    if !(inside.is_empty() || inside == "/" || inside.starts_with(char::is_whitespace)) {
        return None;
    }
    let kind = match (close, inside.ends_with('/')) {
        (true, _) => Kind::Close,
        (false, true) => Kind::Alone,
        (false, false) => Kind::Open,
    };
    let end = text.len() - rest.len() + word.len() + attributes.len();
    Some(Mark { range: start..end, kind, name, reasoning: index < REASONING, in_code: false })
}

/// `<|im_end|>` and its full-width sister. Tokens about tools come in pairs around a call.
fn token(text: &str, start: usize) -> Option<Mark> {
    let rest = &text[start + 1..];
    let bar = rest.chars().next().filter(|c| matches!(c, '|' | '｜'))?;
    let rest = &rest[bar.len_utf8()..];
    let word = &rest[..rest.find(|c: char| !(c.is_alphanumeric() || "_-./▁".contains(c)))?];
    if word.is_empty() || word.len() > LONGEST_TOKEN {
        return None;
    }
    let end = rest[word.len()..].strip_prefix(bar)?.strip_prefix('>')?;
    let name = word.replace('▁', "_").to_ascii_lowercase();
    let (name, kind) = match (name.strip_suffix("_begin"), name.strip_suffix("_end")) {
        (Some(stem), _) if stem.starts_with("tool") => (stem.to_owned(), Kind::Open),
        (_, Some(stem)) if stem.starts_with("tool") => (stem.to_owned(), Kind::Close),
        _ => (name, Kind::Alone),
    };
    Some(Mark {
        range: start..text.len() - end.len(),
        kind,
        name: format!("|{name}"),
        reasoning: false,
        in_code: false,
    })
}
