//! A link whose address is defined elsewhere in the text would lose it where the two come into different messages.

use std::borrow::Cow;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

/// The same text with every address beside its link. The definitions stay: they show nothing.
pub(super) fn inlined(text: &str) -> Cow<'_, str> {
    if !text.contains("]:") {
        return Cow::Borrowed(text);
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut out = String::new();
    let mut from = 0;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        let (Event::Start(Tag::Link { link_type, dest_url, .. })
        | Event::Start(Tag::Image { link_type, dest_url, .. })) = event
        else {
            continue;
        };
        let source = &text[range.clone()];
        let label = match link_type {
            LinkType::Reference => source.rfind("][").map(|end| &source[..=end]),
            LinkType::Collapsed => Some(source.strip_suffix("[]").unwrap_or(source)),
            LinkType::Shortcut => Some(source),
            _ => None,
        };
        if let Some(label) = label.filter(|_| range.start >= from) {
            let address = dest_url.replace('<', "%3C").replace('>', "%3E").replace('|', "%7C").replace('\\', "%5C");
            out.push_str(&text[from..range.start]);
            out.push_str(&format!("{label}(<{address}>)"));
            // The parser leaves out the empty brackets of a collapsed reference.
            let brackets = link_type == LinkType::Collapsed && label == source && text[range.end..].starts_with("[]");
            from = range.end + if brackets { "[]".len() } else { 0 };
        }
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stands_beside_its_address() {
        let definitions = "\n\n[run]: https://e.org/run?a=1|2\n[i]: <https://e.org/i.png> \"title\"";
        for (text, want) in [
            ("see [the *runbook*][run].", "see [the *runbook*](<https://e.org/run?a=1%7C2>)."),
            ("[run][] and [run]", "[run](<https://e.org/run?a=1%7C2>) and [run](<https://e.org/run?a=1%7C2>)"),
            ("![graph][i]", "![graph](<https://e.org/i.png>)"),
            ("`[run]` [no] [x](https://e.org)", "`[run]` [no] [x](https://e.org)"),
        ] {
            assert_eq!(inlined(&format!("{text}{definitions}")), format!("{want}{definitions}"));
        }
        assert!(matches!(inlined("[run] [a][b]"), Cow::Borrowed(_)));
    }
}
