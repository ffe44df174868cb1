//! The word that was meant by a mistyped one.

/// The nearest of `known`, if any is near enough to be worth saying.
pub(super) fn nearest<'a>(got: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = got.to_lowercase();
    let scored = known.into_iter().filter_map(|word| {
        let other = word.to_lowercase();
        let distance = strsim::damerau_levenshtein(&lower, &other);
        let close = distance <= (other.chars().count().max(lower.chars().count()) / 3).max(1);
        // Also with a word left out or added: `final` for `final_contains`.
        let part = lower.len() >= 4 && (other.contains(&lower) || lower.contains(&other) && other.len() >= 4);
        (close || part).then_some((distance, word))
    });
    scored.min().map(|(_, word)| word)
}
