//! Keeps keys and addresses out of what a provider or a library says about a failure. Servers do echo the key they refuse.

const LONGEST: usize = 300;

#[derive(Clone, Default)]
pub(super) struct Scrub {
    secrets: Vec<String>,
}

impl std::fmt::Debug for Scrub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scrub")
    }
}

impl Scrub {
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        Self { secrets: secrets.into_iter().filter(|secret| !secret.is_empty()).map(str::to_owned).collect() }
    }

    /// One line, without keys and addresses, and short. Shortened last: half a key would no longer be recognised.
    pub(super) fn clean(&self, text: &str) -> String {
        let text = self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "[key]"));
        let words: Vec<_> = text.split_whitespace().map(clean_word).collect();
        let line = words.join(" ");
        match line.char_indices().nth(LONGEST) {
            Some((cut, _)) => format!("{}…", &line[..cut]),
            None => line,
        }
    }
}

/// Addresses (they may hold a password or a key) and what begins like a key, up to the end of the word.
fn clean_word(word: &str) -> String {
    let address = ["https://", "http://"].iter().filter_map(|scheme| find_ignoring_case(word, scheme)).min();
    if let Some(at) = address {
        return format!("{}[address]", &word[..at]);
    }
    match word.find("sk-") {
        Some(at) if word.len() - at > 8 && !word[..at].ends_with(char::is_alphanumeric) => {
            format!("{}[key]", &word[..at])
        }
        _ => word.to_owned(),
    }
}

fn find_ignoring_case(word: &str, ascii: &str) -> Option<usize> {
    word.as_bytes().windows(ascii.len()).position(|window| window.eq_ignore_ascii_case(ascii.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_and_addresses_are_taken_out() {
        let scrub = Scrub::new(Some("CANARY+1"));
        for (text, expected) in [
            ("bad key CANARY+1.", "bad key [key]."),
            ("see https://help.example/x?key=CANARY+1 please", "see [address] please"),
            ("(HTTP://u:p@host/)", "([address]"),
            ("Incorrect API key provided: sk-proj-abcdef.", "Incorrect API key provided: [key]"),
            ("the task-scheduler and risk-based are words", "the task-scheduler and risk-based are words"),
            ("two\n  lines", "two lines"),
        ] {
            assert_eq!(scrub.clean(text), expected);
        }
        assert_eq!(scrub.clean(&format!("{}CANARY+1", "é".repeat(297))), format!("{}[ke…", "é".repeat(297)));
    }

    proptest! {
        #[test]
        fn whatever_surrounds_it_the_key_never_shows(before in ".{0,320}", after in ".{0,20}") {
            let cleaned = Scrub::new(Some("CANARYKEY")).clean(&format!("{before}CANARYKEY{after}"));
            prop_assert!(!cleaned.contains("CANARYK"));
            prop_assert!(cleaned.chars().count() <= LONGEST + 1);
        }
    }
}
