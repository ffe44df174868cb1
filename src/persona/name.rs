//! Names: when two personas are the same one, and which names are taken.

pub use crate::tool_names::entry_means;

/// Words that are routes beside `/agents/{name}`.
pub(super) const RESERVED: [&str; 3] = ["warnings", "reload", "custom"];

pub(super) const MAX_CHARS: usize = 64;

/// The form in which names are compared: without case, `_` as `-`.
pub fn fold(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace('_', "-")
}

pub(super) fn is_valid(name: &str) -> bool {
    (1..=MAX_CHARS).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        && name.bytes().any(|b| b.is_ascii_alphanumeric())
}

/// The candidate that somebody who wrote `wanted` most likely meant.
pub(super) fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = fold(wanted);
    candidates
        .into_iter()
        .map(|name| (likeness(&wanted, &fold(name)), name))
        .filter(|(likeness, _)| *likeness >= 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, name)| name)
}

/// 1 = the same. A part of a name is enough (`disk` for `specialist-disk`).
fn likeness(wanted: &str, name: &str) -> f64 {
    if wanted.len() >= 3 && name.split('-').any(|part| part == wanted) {
        return 0.95;
    }
    // Names are short, but what a model asks for need not be.
    if wanted.len() > 2 * MAX_CHARS { 0.0 } else { strsim::normalized_damerau_levenshtein(wanted, name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_found_and_a_far_one_isnt() {
        let names = ["incident-investigator", "specialist-compute", "specialist-disk", "reviewer"];
        assert_eq!(nearest("Specialist_Disc", names), Some("specialist-disk"));
        assert_eq!(nearest("disk", names), Some("specialist-disk"));
        assert_eq!(nearest("incident_investigater", names), Some("incident-investigator"));
        assert_eq!(nearest("poet", names), None);
        assert_eq!(nearest(&"x".repeat(100_000), names), None);
    }
}
