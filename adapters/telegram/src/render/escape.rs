//! What must not reach Telegram as markup or as a mention. A bare `@name` in a text notifies that person, so a joiner that
//! nobody sees follows the `@`. Every `<` that leaves `render` is made here or in `page`.

use watchfloor_channel::text::{is_web_address, next_address};

/// Parts `@` from the name after it, and holds the place before the indentation of a message's first line. Shown as nothing.
pub(super) const JOINER: char = '\u{2060}';

/// A mention made by us travels between these until it is rendered: id, name.
const OPEN: char = '\u{E000}';
const CLOSE: char = '\u{E001}';
const NAME: char = '\u{E002}';

/// Writes a person so that [`super::plain`] turns her into a mention. A body written by a model can't hold one:
/// [`super::markdown`] removes the three characters.
pub(crate) fn mention(person: &str, name: &str) -> String {
    let name = without_tokens(name);
    let name = if name.trim().is_empty() { person } else { name.trim() };
    if is_person(person) { format!("{OPEN}{person}{NAME}{name}{CLOSE}") } else { name.to_owned() }
}

fn is_person(id: &str) -> bool {
    (1..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn without_tokens(text: &str) -> String {
    text.replace([OPEN, CLOSE, NAME], "")
}

/// Escapes, and turns our own tokens into mentions.
pub(super) fn with_mentions(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split(OPEN);
    out.push_str(&words(parts.next().unwrap_or_default()));
    for part in parts {
        let person = part.split_once(CLOSE).and_then(|(token, rest)| Some((token.split_once(NAME)?, rest)));
        match person {
            Some(((id, name), rest)) if is_person(id) => {
                out.push_str(&format!("<a href=\"tg://user?id={id}\">{}</a>", words(name)));
                out.push_str(&words(rest));
            }
            _ => out.push_str(&words(part)),
        }
    }
    without_tokens(&out).trim().to_owned()
}

/// Text that is to be read as it stands. Telegram links bare addresses itself, unless the joiner has to go into them.
pub(super) fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, address, after)) = next_address(rest) {
        out.push_str(&words(before));
        out.push_str(&if address.contains('@') { anchor(address, "") } else { escape(address) });
        rest = after;
    }
    out.push_str(&words(rest));
    out
}

/// A link where its target is a page; elsewhere both in words.
pub(super) fn link(target: &str, label: &str) -> String {
    let target = target.trim();
    if is_web_address(target) {
        return anchor(target, label);
    }
    let shown = target.strip_prefix("mailto:").unwrap_or(target);
    prose(&match (label, shown) {
        ("", shown) => shown.to_owned(),
        (label, shown) if shown.is_empty() || label == shown => label.to_owned(),
        (label, shown) => format!("{label} ({shown})"),
    })
}

fn anchor(address: &str, label: &str) -> String {
    let mut target = String::with_capacity(address.len());
    for c in address.chars() {
        match c {
            '"' => target.push_str("&quot;"),
            c if c.is_whitespace() => target.push_str("%20"),
            c => push_escaped(c, &mut target),
        }
    }
    format!("<a href=\"{target}\">{}</a>", words(if label.trim().is_empty() { address } else { label }))
}

/// Escaped, and without names that notify.
pub(super) fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        push_escaped(c, &mut out);
        // Behind a letter it is part of an address of mail. At the end a name may follow in another style.
        let mentions = c == '@' && !(before.is_ascii_alphanumeric() || before == '_');
        if mentions && chars.peek().is_none_or(|next| next.is_ascii_alphanumeric() || *next == '_') {
            out.push(JOINER);
        }
        before = c;
    }
    out
}

pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push_escaped(c, &mut out));
    out
}

fn push_escaped(c: char, out: &mut String) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        c => out.push(c),
    }
}
