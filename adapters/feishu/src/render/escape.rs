//! What must not reach Feishu as markup: style marks of its two dialects, and `<at>`, which notifies. A post has no escapes,
//! so a joiner that nobody sees breaks a mark there; a card knows entities.

use watchfloor_channel::text::{is_web_address, next_address};

/// Breaks a mark without being seen.
const JOINER: char = '\u{2060}';

/// A mention made by us travels between these two until it is rendered.
const OPEN: char = '\u{E000}';
const CLOSE: char = '\u{E001}';

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Post,
    Card,
}

/// Writes a person's `open_id` so that [`super::Content::plain`] turns it into a mention. A body written by a model can't
/// hold one: [`super::Content::markdown`] removes these two characters.
pub(crate) fn mention(person: &str) -> String {
    if is_person(person) { format!("{OPEN}{person}{CLOSE}") } else { format!("@{person}") }
}

/// Feishu refuses the whole message for an id that it doesn't know, and `all` would call everybody.
fn is_person(id: &str) -> bool {
    id.strip_prefix("ou_")
        .is_some_and(|rest| (1..=64).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

pub(super) fn without_tokens(text: &str) -> String {
    text.replace([OPEN, CLOSE], "")
}

pub(super) enum Piece<'a> {
    Words(&'a str),
    Person(&'a str),
}

/// One of our own sentences, words and mentions apart.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for (n, part) in text.split(OPEN).enumerate() {
        let mut words = part;
        if let Some((person, rest)) = part.split_once(CLOSE).filter(|(person, _)| n > 0 && is_person(person)) {
            pieces.push(Piece::Person(person));
            words = rest;
        }
        pieces.extend(words.split(CLOSE).filter(|words| !words.is_empty()).map(Piece::Words));
    }
    pieces
}

/// A text message knows a few tags and no escapes.
pub(super) fn text(text: &str) -> String {
    broken_tags(text, &["at", "b", "i", "u", "s"])
}

pub(super) fn text_with_mentions(sentence: &str) -> String {
    let pieces = pieces(sentence).into_iter().map(|piece| match piece {
        Piece::Words(words) => text(words),
        Piece::Person(id) => format!("<at user_id=\"{id}\"></at>"),
    });
    pieces.collect()
}

/// Where nothing but a mention could be meant: code, cells, plain nodes.
pub(super) fn without_mentions(text: &str) -> String {
    broken_tags(text, &["at"])
}

fn broken_tags(text: &str, names: &[&str]) -> String {
    let mut out = String::with_capacity(text.len());
    for (n, part) in text.split('<').enumerate() {
        if n > 0 {
            out.push('<');
            let inside = part.trim_start().trim_start_matches('/').trim_start();
            let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_');
            let tag = |name: &&str| {
                inside.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
                    && ends(&inside[name.len()..])
            };
            if names.iter().any(tag) {
                out.push(JOINER);
            }
        }
        out.push_str(part);
    }
    out
}

impl Dialect {
    /// Text that is to be read as it stands, bare addresses made into links. `starts`: at the start of a line.
    pub(super) fn prose(self, text: &str, starts: bool) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, address, after)) = next_address(rest) {
            out.push_str(&self.words(before, starts && out.is_empty()));
            out.push_str(&self.link(address, ""));
            rest = after;
        }
        out.push_str(&self.words(rest, starts && out.is_empty()));
        out
    }

    /// A link where its target is a page; elsewhere both in words.
    pub(super) fn link(self, target: &str, label: &str) -> String {
        let target = target.trim();
        if !is_web_address(target) {
            let shown = target.strip_prefix("mailto:").unwrap_or(target);
            let words = match (label, shown) {
                ("", shown) => shown.to_owned(),
                (label, shown) if shown.is_empty() || label == shown => label.to_owned(),
                (label, shown) => format!("{label} ({shown})"),
            };
            return self.words(&words, false);
        }
        let mut address = String::with_capacity(target.len());
        for c in target.chars() {
            match c {
                '(' => address.push_str("%28"),
                ')' => address.push_str("%29"),
                '<' => address.push_str("%3C"),
                '>' => address.push_str("%3E"),
                '"' => address.push_str("%22"),
                '\\' => address.push_str("%5C"),
                c if c.is_whitespace() => address.push_str("%20"),
                c => address.push(c),
            }
        }
        let mut label = label.to_owned();
        if self == Self::Post {
            label.retain(|c| !matches!(c, '[' | ']'));
        }
        let label = if label.trim().is_empty() { target } else { label.trim() };
        format!("[{}]({address})", self.words(label, false))
    }

    fn words(self, text: &str, starts: bool) -> String {
        let text = if self == Self::Post { broken_tags(text, &["at"]) } else { text.to_owned() };
        let mut out = String::with_capacity(text.len());
        if starts && looks_like_block(&text) {
            out.push(JOINER);
        }
        let mut before = ' ';
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            let rest = chars.as_str();
            match self {
                Self::Post => self::post(c, before, rest, &mut out),
                Self::Card => self::card(c, before, rest, &mut out),
            }
            before = c;
        }
        out
    }

    /// Code can't hold its own end mark; a look-alike takes its place.
    pub(super) fn inline_code(self, code: &str) -> String {
        format!("`{}`", without_mentions(&code.replace('`', "\u{02CB}").replace('\n', " ")))
    }
}

/// A tilde alone underlines up to the next one, whatever stands between.
fn post(c: char, before: char, rest: &str, out: &mut String) {
    if c == '~' {
        out.push('∼');
        return;
    }
    out.push(c);
    let could_begin = matches!(c, '*' | '_' | '`') && !before.is_alphanumeric() && rest.contains(c);
    let could_link = c == ']' && rest.starts_with('(');
    if could_begin && !rest.starts_with(char::is_whitespace) || could_link {
        out.push(JOINER);
    }
}

fn card(c: char, before: char, rest: &str, out: &mut String) {
    match c {
        '<' => out.push_str("&#60;"),
        '>' => out.push_str("&#62;"),
        '~' => out.push_str("&#126;"),
        '*' => out.push_str("&#42;"),
        '`' => out.push_str("&#96;"),
        '[' => out.push_str("&#91;"),
        ']' => out.push_str("&#93;"),
        '$' => out.push_str("&#36;"),
        // Inside a word it does nothing.
        '_' if !before.is_ascii_alphanumeric() || !rest.starts_with(|next: char| next.is_ascii_alphanumeric()) => {
            out.push_str("&#95;");
        }
        '&' if rest.starts_with(|next: char| next.is_ascii_alphabetic() || next == '#') => out.push_str("&#38;"),
        c => out.push(c),
    }
}

/// Words that would be a heading, a list, a rule or a quote at the start of a line.
fn looks_like_block(text: &str) -> bool {
    let alone = |rest: &str| rest.is_empty() || rest.starts_with(char::is_whitespace);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let mark = |c: char| text.strip_prefix(c).is_some_and(|rest| alone(rest) || rest.starts_with(c));
    text.starts_with(['#', '>'])
        || ['-', '+', '='].into_iter().any(mark)
        || digits > 0 && text[digits..].strip_prefix(['.', ')']).is_some_and(alone)
}
