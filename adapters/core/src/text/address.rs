//! Web addresses: which ones are safe to link, and where they stand in prose. Linking them is the renderer's.

/// The first address in the text, with what stands before and after it. Punctuation at its end is not part of it.
pub fn next_address(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let start = from + text[from..].find("http")?;
        let found = &text[start..];
        from = start + "http".len();
        let Some(scheme) = ["https://", "http://"].into_iter().find(|scheme| found.starts_with(scheme)) else {
            continue;
        };
        let belongs = |c: char| c.is_ascii_graphic() && !matches!(c, '<' | '>' | '"' | '`' | '|');
        let end = found.find(|c| !belongs(c)).unwrap_or(found.len());
        let address = found[..end].trim_end_matches(|c: char| ".,;:!?)]}'*_~".contains(c));
        if address.len() > scheme.len() {
            return Some((&text[..start], address, &found[address.len()..]));
        }
    }
}

/// A target that only leads to a page: it can't notify anybody or start an app.
pub fn is_web_address(url: &str) -> bool {
    let scheme = ["http://", "https://"]
        .into_iter()
        .find(|scheme| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    scheme.is_some_and(|scheme| url[scheme.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '['))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_without_the_punctuation_around_them() {
        for (text, want) in [
            ("no address, http and https:// alone", None),
            ("see https://e.org/_x, then", Some(("see ", "https://e.org/_x", ", then"))),
            ("见https://e.org/x。然后", Some(("见", "https://e.org/x", "。然后"))),
            ("http:// (http://a.b/c?d=e)", Some(("http:// (", "http://a.b/c?d=e", ")"))),
        ] {
            assert_eq!(next_address(text), want, "{text}");
        }
    }

    #[test]
    fn only_pages_are_web_addresses() {
        for (url, want) in [
            ("https://e.org", true),
            ("HTTP://e.org/x?y#z", true),
            ("http://[::1]:9090/graph", true),
            ("https://", false),
            ("https:///x", false),
            ("tg://user?id=1", false),
            ("javascript:alert(1)", false),
            ("mailto:a@e.org", false),
            ("docs/a.md", false),
            ("", false),
        ] {
            assert_eq!(is_web_address(url), want, "{url}");
        }
    }
}
