//! What the people who wrote to us are called. Telegram mentions a person by her id, but shows whatever stands in its place.

use moka::sync::Cache;

/// People of whom the name is remembered.
const REMEMBERED: u64 = 10_000;

pub(crate) struct Names(Cache<String, String>);

impl Names {
    pub(crate) fn new() -> Self {
        Self(Cache::new(REMEMBERED))
    }

    pub(crate) fn learn(&self, person: &str, name: &str) {
        if !name.trim().is_empty() {
            self.0.insert(person.to_owned(), name.trim().to_owned());
        }
    }

    /// Empty: not known.
    pub(crate) fn of(&self, person: &str) -> String {
        self.0.get(person).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_name_counts_and_no_name_is_none() {
        let names = Names::new();
        assert_eq!(names.of("5001"), "");
        for name in ["Alice", " Alice B. ", " "] {
            names.learn("5001", name);
        }
        assert_eq!(names.of("5001"), "Alice B.");
    }
}
