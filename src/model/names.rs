//! Names of tools in the letters that providers allow. A model makes up names; in the history of a conversation one that
//! isn't allowed would end that conversation, and a server that lets its model write it may not be the next one.

use std::borrow::Cow;

const LONGEST: usize = 64;

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Names of our tools fit already.
pub(super) fn fit(name: &str) -> Cow<'_, str> {
    if name.is_empty() {
        return Cow::Borrowed("unnamed");
    }
    if name.len() <= LONGEST && name.chars().all(is_allowed) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.chars().map(|c| if is_allowed(c) { c } else { '_' }).take(LONGEST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_and_the_rest_is_written_otherwise() {
        for (given, expected) in [
            ("query_promql", "query_promql"),
            ("functions.query:0", "functions_query_0"),
            ("a b", "a_b"),
            ("", "unnamed"),
            ("é", "_"),
        ] {
            assert_eq!(fit(given), expected);
        }
        assert_eq!(fit(&"x".repeat(100)).len(), LONGEST);
    }
}
