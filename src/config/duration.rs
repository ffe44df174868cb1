//! Durations as operators write them: `90s`, `30m`, `1h30m`, `500ms`, `0s`.

use std::time::Duration;

/// A number without a unit is refused, since nobody can tell what it means; only `0` is clear.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text == "0" {
        return Some(Duration::ZERO);
    }
    humantime::parse_duration(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_needs_its_unit() {
        let table = [
            ("90s", Some(90_000)),
            ("30m", Some(1_800_000)),
            ("1h30m", Some(5_400_000)),
            ("500ms", Some(500)),
            ("0s", Some(0)),
            ("0", Some(0)),
            ("90", None),
            ("-5s", None),
            ("soon", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), expected.map(Duration::from_millis), "{text}");
        }
    }
}
