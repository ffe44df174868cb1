//! Characters that are there but cannot be seen. One list, so that headlines and answers agree on it.

use std::borrow::Cow;

/// Without what no platform should be given, in code or outside of it: bidi controls and characters that aren't text. Every
/// line ends with a line feed. Renderers call it on all they take, whoever wrote it.
pub fn printable(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| is_bidi(c) || (c.is_control() && !matches!(c, '\n' | '\t'));
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.retain(|c| !harmful(c));
    Cow::Owned(text)
}

/// Turns the reading direction around for what follows: the classic way to show one name and mean another.
pub(super) fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Spells region flags after 🏴; elsewhere it can carry whole hidden sentences.
fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn is_hidden(c: char) -> bool {
    is_bidi(c)
        || matches!(c, '\u{061c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        // Soft hyphen, joiners and letters of Hangul and Khmer that have no shape.
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}')
        || matches!(c, '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}')
        || (c.is_control() && !matches!(c, '\n' | '\t'))
}

fn is_visible(c: char) -> bool {
    !(c.is_whitespace() || is_hidden(c) || is_joiner(c) || is_tag(c))
}

/// Decides character by character what stays. Joiners stay between two visible characters: emoji families and Persian
/// words need them.
#[derive(Debug, Default)]
pub(super) struct Filter {
    last: Option<char>,
}

impl Filter {
    pub(super) fn keeps(&mut self, c: char, next: Option<char>) -> bool {
        let keep = if is_joiner(c) {
            self.last.is_some_and(is_visible) && next.is_some_and(is_visible)
        } else if is_tag(c) {
            self.last.is_some_and(|last| last == '\u{1f3f4}' || is_tag(last))
        } else {
            !is_hidden(c)
        };
        if keep {
            self.last = Some(c);
        }
        keep
    }

    /// What stays whatever it is, so that its neighbours are judged rightly.
    pub(super) fn saw(&mut self, c: char) {
        self.last = Some(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printable_keeps_its_words_and_lines() {
        assert!(matches!(printable("a\n\tb 👩‍👧 错"), Cow::Borrowed(_)));
        assert_eq!(printable("a\r\nb\rc\0\u{7}\u{202e}d\u{2066}e\u{9b}"), "a\nb\ncde");
    }
}
