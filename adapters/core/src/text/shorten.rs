//! Making text shorter without breaking a character. Counts characters; limits of whole messages are `split`'s.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

use super::controls::Filter;

/// At most `max_chars` characters; what was cut ends with `…`, at a word's end where one is near.
pub fn shorten(text: &str, max_chars: usize) -> Cow<'_, str> {
    if fits(text, max_chars) {
        return Cow::Borrowed(text);
    }
    if max_chars == 0 {
        return Cow::Borrowed("");
    }
    let head = head(text, max_chars - 1);
    // Losing up to a fifth for a whole word reads better than half a word.
    let cut_word = text[head.len()..].chars().next().is_some_and(char::is_alphanumeric);
    let word_end = head.rfind(char::is_whitespace).filter(|&at| cut_word && at >= head.len() / 5 * 4);
    let head = word_end.map_or(head, |at| &head[..at]);
    Cow::Owned(format!("{}…", head.trim_end()))
}

/// One line for a headline: white space folded, controls removed, then shortened.
pub fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let mut filter = Filter::default();
    let mut chars = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).peekable();
    while let Some(c) = chars.next() {
        if filter.keeps(c, chars.peek().copied()) && !(c == ' ' && (line.is_empty() || line.ends_with(' '))) {
            line.push(c);
        }
    }
    shorten(line.trim_end(), max_chars).into_owned()
}

/// Keeps both ends: 70 % head, a marker that says how much is missing, 20 % tail.
pub fn middle(text: &str, max_chars: usize) -> Cow<'_, str> {
    if fits(text, max_chars) {
        return Cow::Borrowed(text);
    }
    let all = text.chars().count();
    let head = head(text, max_chars / 10 * 7 + max_chars % 10 * 7 / 10);
    let tail = tail(&text[head.len()..], max_chars / 5);
    let kept = head.chars().count() + tail.chars().count();
    let marker = format!("\n… {} characters left out …\n", all - kept);
    if kept + marker.chars().count() <= max_chars {
        Cow::Owned(format!("{head}{marker}{tail}"))
    } else if kept < max_chars {
        Cow::Owned(format!("{head}…{tail}"))
    } else {
        shorten(text, max_chars)
    }
}

fn fits(text: &str, max_chars: usize) -> bool {
    text.len() <= max_chars || text.chars().nth(max_chars).is_none()
}

/// The longest beginning of whole graphemes.
fn head(text: &str, max_chars: usize) -> &str {
    let mut room = max_chars;
    let mut end = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        match room.checked_sub(grapheme.chars().count()) {
            Some(left) => room = left,
            None => break,
        }
        end = at + grapheme.len();
    }
    &text[..end]
}

fn tail(text: &str, max_chars: usize) -> &str {
    let mut room = max_chars;
    let mut start = text.len();
    for (at, grapheme) in text.grapheme_indices(true).rev() {
        match room.checked_sub(grapheme.chars().count()) {
            Some(left) => room = left,
            None => break,
        }
        start = at;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_text_is_left_alone_and_long_text_ends_with_an_ellipsis() {
        for (text, max, want) in [
            ("", 0, ""),
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("abcd", 1, "…"),
            ("abcd", 0, ""),
            ("checkout is slow since noon", 17, "checkout is slow…"),
            ("checkout is slow since noon", 20, "checkout is slow…"),
            ("a bcdefghijklmnop", 10, "a bcdefgh…"),
            ("错误率上升了很多", 5, "错误率上…"),
            ("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 10, "👩‍👩‍👧‍👦…"),
            ("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 7, "…"),
            ("e\u{301}e\u{301}e\u{301}", 4, "e\u{301}…"),
        ] {
            assert_eq!(shorten(text, max), want, "{text:?} to {max}");
        }
    }

    #[test]
    fn a_headline_is_one_line_without_invisible_characters() {
        for (text, max, want) in [
            ("  rate(http_errors\n\t[5m])  ", 40, "rate(http_errors [5m])"),
            ("a\u{0}b\u{7}c\u{202e}d\u{200b}e\u{feff}f", 40, "abcdef"),
            ("a \u{200b} b", 40, "a b"),
            ("👩‍👧 \u{200d}x\u{200d}", 40, "👩‍👧 x"),
            ("one two three four", 9, "one two…"),
        ] {
            assert_eq!(one_line(text, max), want, "{text:?}");
        }
    }

    #[test]
    fn both_ends_of_a_long_text_are_kept() {
        let text: String = ('a'..='z').cycle().take(2_000).collect();
        let cut = middle(&text, 1_000);
        assert_eq!(
            cut,
            format!("{}\n… 1100 characters left out …\n{}", &text[..700], &text[1_800..]),
            "seven tenths, marker, two tenths"
        );
        assert_eq!(middle("0123456789abcdefghij", 10), "0123456…ij");
        assert_eq!(middle("abcdef", 1), "…");
        assert_eq!(middle("abcdef", 6), "abcdef");
    }

    proptest! {
        #[test]
        fn nothing_is_longer_than_asked(text in "\\PC{0,80}|.{0,80}|[ae\u{301}\u{200d}👩🏽🇩🇪 \n]{0,60}", max in 0usize..60) {
            prop_assert!(shorten(&text, max).chars().count() <= max);
            prop_assert!(middle(&text, max).chars().count() <= max);
            let line = one_line(&text, max);
            prop_assert!(line.chars().count() <= max);
            prop_assert!(!line.contains('\n'));
        }

        #[test]
        fn cuts_fall_between_graphemes(text in "[ae\u{301}\u{200d}👩🏽🇩🇪 \n]{0,60}", max in 1usize..40) {
            let short = shorten(&text, max);
            if let Cow::Owned(short) = &short {
                let head = short.trim_end_matches('…');
                let bounds: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).collect();
                prop_assert!(bounds.contains(&head.len()), "{head:?} of {text:?}");
            }
        }
    }
}
