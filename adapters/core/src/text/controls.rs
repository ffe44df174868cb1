//! Characters that are there but cannot be seen. One list, so that headlines and answers agree on it.

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
