//! What models leak: sections in tags, tokens of chat templates, and the envelopes in which we gave them what others said.

use std::ops::Range;

use super::code;

/// Sections whose content is not for people either.
const SECTIONS: [&str; 18] = [
    "think",
    "thinking",
    "thought",
    "reasoning",
    "scratchpad",
    "antthinking",
    "system-reminder",
    "critical-reminder",
    "overheard",
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
const REASONING: usize = 6;
/// Tags of ours around what somebody said, known by an attribute: without it the word is anybody's. A model that wraps its
/// answer so has still answered.
const WRAPPERS: [(&str, &str); 2] = [("message", "from=\""), ("report", "persona=\"")];
/// The same around what is not for people.
const ENVELOPE: (&str, &str) = ("result", "tool=\"");
/// Ours without an attribute. Only whole sections on lines of their own are taken for ours.
const BARE: [&str; 2] = ["runtime", "thread"];
/// Tokens that a role or the name of a channel follows.
const HEADERS: [&str; 5] = ["channel", "constrain", "im_start", "start", "start_header_id"];
/// Everything between a channel that is not the final one and its end.
const ASIDE: &str = "|aside";
const LONGEST_ATTRIBUTES: usize = 300;
const LONGEST_TOKEN: usize = 64;
const LONGEST_HEADER: usize = 80;

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
            Kind::Open if endless.contains(&mark.name.as_str()) => unended(text, mark),
            Kind::Open => end_of(&mark.name, later).map_or_else(
                || {
                    endless.push(&mark.name);
                    unended(text, mark)
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
fn unended(text: &str, open: &Mark) -> Range<usize> {
    let Range { start, end } = open.range;
    if open.name == ASIDE || starts_line(text, start) { start..text.len() } else { start..end }
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
    let mut ours = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find('<').map(|at| from + at) {
        from = at + 1;
        if let Some(mark) = Tag::at(text, at)
            .and_then(|tag| section(&tag).or_else(|| envelope(text, tag, &mut ours)))
            .or_else(|| token(text, at))
        {
            from = mark.range.end;
            marks.push(mark);
        }
    }
    marks
}

/// `<name …>`, `</name>`, `<name/>`, with or without a namespace, in any case.
struct Tag<'a> {
    range: Range<usize>,
    kind: Kind,
    name: String,
    attributes: &'a str,
}

impl<'a> Tag<'a> {
    fn at(text: &'a str, start: usize) -> Option<Self> {
        let rest = &text[start + 1..];
        let (close, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
        let word = &rest[..rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_-:".contains(c)))?];
        let name = word.rsplit(':').next().unwrap_or(word).to_ascii_lowercase();
        let attributes = &rest[word.len()..];
        let end = attributes.bytes().take(LONGEST_ATTRIBUTES).position(|b| b == b'>' || b == b'<')?;
        let inside = attributes.get(..=end)?.strip_suffix('>')?;
        if !(inside.is_empty() || inside == "/" || inside.starts_with(char::is_whitespace)) {
            return None;
        }
        let kind = match (close, inside.ends_with('/')) {
            (true, _) => Kind::Close,
            (false, true) => Kind::Alone,
            (false, false) => Kind::Open,
        };
        let end = text.len() - attributes.len() + end + 1;
        Some(Self { range: start..end, kind, name, attributes: inside })
    }

    fn mark(self, kind: Kind) -> Mark {
        Mark { range: self.range, kind, name: self.name, reasoning: false, in_code: false }
    }
}

fn section(tag: &Tag<'_>) -> Option<Mark> {
    let index = SECTIONS.iter().position(|section| *section == tag.name)?;
    let (range, name) = (tag.range.clone(), tag.name.clone());
    Some(Mark { range, kind: tag.kind, name, reasoning: index < REASONING, in_code: false })
}

/// An end counts where its beginning did.
fn envelope(text: &str, tag: Tag<'_>, ours: &mut Vec<String>) -> Option<Mark> {
    let has = |(name, attribute): (&str, &str)| tag.name == name && tag.attributes.contains(attribute);
    let whole = || {
        let rest = &text[tag.range.end..];
        starts_line(text, tag.range.start) && rest.contains(&format!("</{}>", tag.name))
    };
    let begins = match tag.kind {
        Kind::Open => WRAPPERS.into_iter().any(has) || has(ENVELOPE) || BARE.contains(&tag.name.as_str()) && whole(),
        Kind::Close | Kind::Alone => false,
    };
    if begins {
        ours.push(tag.name.clone());
    } else if tag.kind != Kind::Close || !ours.contains(&tag.name) {
        return None;
    }
    let wraps = WRAPPERS.iter().any(|(name, _)| *name == tag.name);
    let kind = if wraps { Kind::Alone } else { tag.kind };
    Some(tag.mark(kind))
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
    let header = if HEADERS.contains(&name.as_str()) { header_len(end) } else { 0 };
    let aside = ["analysis", "commentary"].iter().any(|channel| end.trim_start().starts_with(channel));
    let (name, kind) = match name.as_str() {
        "channel" if aside => return Some(Mark::aside(start..text.len() - end.len() + header, Kind::Open)),
        "channel" | "end" | "call" | "return" => {
            return Some(Mark::aside(start..text.len() - end.len() + header, Kind::Close));
        }
        _ => pair_of(name),
    };
    Some(Mark {
        range: start..text.len() - end.len() + header,
        kind,
        name: format!("|{name}"),
        reasoning: false,
        in_code: false,
    })
}

impl Mark {
    fn aside(range: Range<usize>, kind: Kind) -> Self {
        Self { range, kind, name: ASIDE.to_owned(), reasoning: false, in_code: false }
    }
}

/// A role or the name of a channel, up to the next token or the end of its line.
fn header_len(rest: &str) -> usize {
    let header = &rest[..rest.find(['<', '\n']).unwrap_or(rest.len())];
    let simple =
        header.len() <= LONGEST_HEADER && header.chars().all(|c| c.is_ascii_alphanumeric() || " ._-=/".contains(c));
    let token = ["<|", "<｜"].iter().any(|token| rest[header.len()..].starts_with(token));
    let role = matches!(header.trim(), "assistant" | "developer" | "system" | "tool" | "user");
    if simple && (token || role) { header.len() } else { 0 }
}

fn pair_of(name: String) -> (String, Kind) {
    match (name.strip_suffix("_begin"), name.strip_suffix("_end")) {
        (Some(stem), _) if stem.starts_with("tool") => (stem.to_owned(), Kind::Open),
        (_, Some(stem)) if stem.starts_with("tool") => (stem.to_owned(), Kind::Close),
        _ => (name, Kind::Alone),
    }
}
