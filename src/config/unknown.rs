//! The nearest word to a mistyped one.

/// The one of `known` that was most likely meant, if any is near enough to be worth saying.
pub(super) fn nearest<'a>(got: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let got = got.to_ascii_lowercase();
    known
        .into_iter()
        .filter_map(|word| {
            let distance = strsim::damerau_levenshtein(&got, word);
            let close = distance <= (word.len().max(got.len()) / 3).max(1);
            // Also the same words in another order or with one left out: `token` for `bot_token`.
            let part = got.len() >= 4 && (word.contains(&got) || got.contains(word) && word.len() >= 4);
            (close || part).then_some((distance, word))
        })
        .min()
        .map(|(_, word)| word)
}

pub(super) fn did_you_mean<'a>(got: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(got, known).map(|word| format!("did you mean \"{word}\"?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_word_finds_the_one_that_was_meant() {
        let known = ["allow_rooms", "allow_from", "bot_token", "app_token", "mode", "url"];
        let table = [
            ("allow_room", Some("allow_rooms")),
            ("alow_from", Some("allow_from")),
            ("bottoken", Some("bot_token")),
            ("Mode", Some("mode")),
            ("uri", Some("url")),
            ("colour", None),
            ("x", None),
        ];
        for (got, expected) in table {
            assert_eq!(nearest(got, known), expected, "{got}");
        }
    }
}
