//! What must not reach Slack as markup: its three special characters, its style marks inside ordinary words, and targets
//! that would notify people. Every `<` that leaves `render` is made here.

use watchfloor_channel::text::next_address;

/// Stops a style mark from working, or lets one work beside a letter. Shown as nothing.
pub(super) const GAP: char = '\u{200B}';

/// A mention made by us travels between these two until it is rendered.
const OPEN: char = '\u{E000}';
const CLOSE: char = '\u{E001}';

/// Writes a person's id so that [`super::plain`] turns it into a mention. A body written by a model can't hold one:
/// [`super::markdown`] removes these two characters.
pub(crate) fn mention(person: &str) -> String {
    if is_person(person) { format!("{OPEN}{person}{CLOSE}") } else { format!("@{person}") }
}

fn is_person(id: &str) -> bool {
    id.starts_with(['U', 'W']) && id.len() > 1 && id.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
}

pub(super) fn without_tokens(text: &str) -> String {
    text.replace([OPEN, CLOSE], "")
}

/// Escapes, and turns our own tokens into mentions.
pub(super) fn with_mentions(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split(OPEN);
    out.push_str(&escape(parts.next().unwrap_or_default()));
    for part in parts {
        match part.split_once(CLOSE) {
            Some((person, rest)) if is_person(person) => {
                out.push_str(&format!("<@{person}>"));
                out.push_str(&escape(rest));
            }
            _ => out.push_str(&escape(part)),
        }
    }
    without_tokens(&out)
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Text that is to be read as it stands, bare addresses made into links: Slack would find them itself, but a gap put into one
/// would break it.
pub(super) fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, address, after)) = next_address(rest) {
        words(before, &mut out);
        out.push_str(&link(address, ""));
        rest = after;
    }
    words(rest, &mut out);
    out
}

/// Slack has no escape for its style marks, so a gap follows each one that could begin a style. A lone mark gets none:
/// people copy paths from here.
fn words(text: &str, out: &mut String) {
    let mut before = ' ';
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c => out.push(c),
        }
        let rest = chars.as_str();
        let could_begin = matches!(c, '*' | '_' | '~' | '`') && !before.is_alphanumeric() && rest.contains(c);
        if could_begin && !rest.starts_with(char::is_whitespace) {
            out.push(GAP);
        }
        before = c;
    }
}

/// Code can't hold its own end mark; a look-alike takes its place.
pub(super) fn inline_code(code: &str) -> String {
    escape(&code.replace('`', "\u{02CB}").replace('\n', " "))
}

pub(super) fn block_code(code: &str) -> String {
    escape(&code.replace("```", &format!("``{GAP}`")))
}

/// A link, if its target is one that only leads somewhere: `!channel` and `@U…` notify.
pub(super) fn link(target: &str, label: &str) -> String {
    let leads_somewhere = ["http://", "https://", "mailto:", "tel:"]
        .iter()
        .any(|scheme| target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let label: String = label.chars().filter(|c| !matches!(c, '|' | '<' | '>' | '\n')).collect();
    let label = label.trim();
    if !leads_somewhere {
        return prose(&match (label, target) {
            ("", target) => target.to_owned(),
            (label, "") => label.to_owned(),
            (label, target) => format!("{label} ({target})"),
        });
    }
    let mut address = String::with_capacity(target.len());
    for c in target.chars() {
        match c {
            '|' => address.push_str("%7C"),
            '<' => address.push_str("%3C"),
            '>' => address.push_str("%3E"),
            '&' => address.push_str("&amp;"),
            c if c.is_whitespace() || c.is_control() => address.push_str("%20"),
            c => address.push(c),
        }
    }
    if label.is_empty() || label == target { format!("<{address}>") } else { format!("<{address}|{}>", escape(label)) }
}
