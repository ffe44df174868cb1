//! Times as models write them: RFC 3339, unix seconds, or relative to the call. What comes out are milliseconds since 1970.

use std::{borrow::Cow, fmt};

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

use super::ToolError;

/// A time or a duration as an argument. Models write numbers where text is asked for, so both are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct When(pub String);

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = When;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a number of seconds")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<When, E> {
                Ok(When(text.to_owned()))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<When, E> {
                Ok(When(number.to_string()))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<When, E> {
                Ok(When(number.to_string()))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<When, E> {
                Ok(When(number.to_string()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for When {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "When".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

/// A point in time, relative ones measured from `now_ms`.
pub fn point(argument: &str, when: &When, now_ms: i64) -> Result<i64, ToolError> {
    let text = when.0.trim();
    parse_point(text, now_ms).ok_or_else(|| {
        ToolError::TellModel(format!(
            "{argument} = \"{text}\" is not a time. Write RFC 3339 with a zone (2026-01-31T09:30:00Z), unix seconds \
             (1769851800), or relative to now (now, -15m, -2h30m, now-1d)."
        ))
    })
}

/// A duration such as `30s`, `5m` or `1h30m`, or a number of seconds.
pub fn length(argument: &str, when: &When) -> Result<i64, ToolError> {
    let text = when.0.trim();
    duration_ms(text).or_else(|| seconds(text)).filter(|ms| *ms > 0).ok_or_else(|| {
        ToolError::TellModel(format!("{argument} = \"{text}\" is not a duration. Write 30s, 5m, 1h30m or seconds."))
    })
}

/// A window that ends in the future beyond the clocks' disagreement ends now instead; the answer's header tells the window.
pub fn window(since_ms: i64, until_ms: i64, now_ms: i64) -> Result<(i64, i64), ToolError> {
    const SKEW_MS: i64 = 5 * 60_000;
    let until_ms = if until_ms > now_ms + SKEW_MS { now_ms } else { until_ms };
    if since_ms >= until_ms {
        return Err(ToolError::TellModel(format!(
            "the window is empty: it starts at {} and ends at {} (now is {}).",
            utc(since_ms),
            utc(until_ms),
            utc(now_ms)
        )));
    }
    Ok((since_ms, until_ms))
}

/// `2026-01-31T09:30:00Z`.
pub fn utc(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map(|t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .unwrap_or_else(|_| format!("{ms} ms"))
}

/// How long ago, in the two largest units: `2h05m`, `3d04h`, `45s`.
pub fn span(ms: i64) -> String {
    let s = ms.max(0) / 1000;
    let (d, h, m, s) = (s / 86_400, s / 3600 % 24, s / 60 % 60, s % 60);
    match (d, h, m) {
        (0, 0, 0) => format!("{s}s"),
        (0, 0, _) => format!("{m}m{s:02}s"),
        (0, ..) => format!("{h}h{m:02}m"),
        _ => format!("{d}d{h:02}h"),
    }
}

fn parse_point(text: &str, now_ms: i64) -> Option<i64> {
    let lower = text.to_ascii_lowercase();
    if let Some(ago) = lower.strip_suffix("ago") {
        return duration_ms(ago.trim_end()).and_then(|ms| now_ms.checked_sub(ms));
    }
    let (from_now, offset) = match lower.strip_prefix("now") {
        Some(offset) => (true, offset.trim()),
        None => (false, lower.as_str()),
    };
    if from_now && offset.is_empty() {
        return Some(now_ms);
    }
    if let Some(ms) = offset.strip_prefix('-').and_then(|d| duration_ms(d.trim())) {
        return now_ms.checked_sub(ms);
    }
    if let Some(ms) = offset.strip_prefix('+').and_then(|d| duration_ms(d.trim())) {
        return now_ms.checked_add(ms);
    }
    if from_now {
        return None;
    }
    if let Some(unix) = unix(text) {
        return Some(unix);
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Some(timestamp.as_millisecond());
    }
    // Without a zone it can only mean UTC: the answer's header repeats it with its zone.
    let civil: DateTime = text.parse().ok()?;
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

/// Unix time: seconds, or by its size milli-, micro- or nanoseconds.
fn unix(text: &str) -> Option<i64> {
    // `20260131` parses as a number too, but it is a date.
    if !text.starts_with(|c: char| c.is_ascii_digit()) || text.len() < 9 {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    let ms = match number {
        n if n < 1e11 => n * 1e3,
        n if n < 1e14 => n,
        n if n < 1e17 => n / 1e3,
        n => n / 1e6,
    };
    in_range(ms)
}

fn seconds(text: &str) -> Option<i64> {
    text.parse::<f64>().ok().and_then(|s| in_range(s * 1e3))
}

#[expect(clippy::cast_possible_truncation, reason = "checked against the range just before")]
fn in_range(ms: f64) -> Option<i64> {
    (ms.is_finite() && ms.abs() < 8e15).then(|| ms.round() as i64)
}

/// `1h30m`: numbers with units, and nothing else.
fn duration_ms(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut total: i64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit: i64 = match &rest[..letters] {
            "ms" => 1,
            "s" | "sec" | "secs" | "second" | "seconds" => 1000,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000,
            "h" | "hr" | "hour" | "hours" => 3_600_000,
            "d" | "day" | "days" => 86_400_000,
            "w" | "week" | "weeks" => 604_800_000,
            "y" => 31_536_000_000,
            _ => return None,
        };
        rest = rest[letters..].trim_start();
        total = total.checked_add(number.checked_mul(unit)?)?;
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2026-01-31T09:30:00Z
    const NOW: i64 = 1_769_851_800_000;

    fn parsed(text: &str) -> Option<String> {
        point("time", &When(text.to_owned()), NOW).ok().map(utc)
    }

    #[test]
    fn every_usual_way_to_write_a_time_is_understood() {
        for (text, expected) in [
            ("now", "2026-01-31T09:30:00Z"),
            ("NOW", "2026-01-31T09:30:00Z"),
            ("-15m", "2026-01-31T09:15:00Z"),
            ("now-1h30m", "2026-01-31T08:00:00Z"),
            ("now - 1d", "2026-01-30T09:30:00Z"),
            ("+5m", "2026-01-31T09:35:00Z"),
            ("2 hours ago", "2026-01-31T07:30:00Z"),
            ("2026-01-31T10:00:00+02:00", "2026-01-31T08:00:00Z"),
            ("2026-01-31T08:00:00.5Z", "2026-01-31T08:00:00Z"),
            ("2026-01-31T08:00", "2026-01-31T08:00:00Z"),
            ("2026-01-31 08:00:01", "2026-01-31T08:00:01Z"),
            ("2026-01-31", "2026-01-31T00:00:00Z"),
            ("1769850000", "2026-01-31T09:00:00Z"),
            ("1769850000.25", "2026-01-31T09:00:00Z"),
            ("1769850000000", "2026-01-31T09:00:00Z"),
            ("1769850000000000000", "2026-01-31T09:00:00Z"),
        ] {
            assert_eq!(parsed(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_told_with_examples() {
        for text in
            ["", "yesterday", "now-", "-15", "15m", "-15x", "nowish", "2026-13-01", "99999999999999999999999d ago"]
        {
            assert_eq!(parsed(text), None, "{text}");
        }
        let error = point("start", &When("soon".into()), NOW).unwrap_err().to_string();
        assert!(error.starts_with("start = \"soon\" is not a time. Write RFC 3339"), "{error}");
    }

    #[test]
    fn durations_are_prometheus_durations_or_seconds() {
        let ms = |text: &str| length("step", &When(text.to_owned())).ok();
        assert_eq!(
            ["30s", "1h30m", "15", "0.5", "500ms", "0s", "-5", "x", ""].map(ms),
            [Some(30_000), Some(5_400_000), Some(15_000), Some(500), Some(500), None, None, None, None]
        );
    }

    #[test]
    fn numbers_are_taken_for_text() {
        let read = |json: &str| serde_json::from_str::<When>(json).unwrap().0;
        assert_eq!(
            ["1769850000", "1769850000.5", "-1", "\"-5m\""].map(read),
            ["1769850000", "1769850000.5", "-1", "-5m"]
        );
    }

    #[test]
    fn a_window_ends_now_at_the_latest_and_never_before_it_starts() {
        assert_eq!(window(NOW - 1000, NOW + 3_600_000, NOW), Ok((NOW - 1000, NOW)));
        assert_eq!(window(NOW - 1000, NOW + 60_000, NOW), Ok((NOW - 1000, NOW + 60_000)));
        assert!(window(NOW, NOW, NOW).is_err());
    }

    #[test]
    fn spans_have_two_units() {
        assert_eq!([45_000, 65_000, 7_500_000, 273_600_000, -5].map(span), ["45s", "1m05s", "2h05m", "3d04h", "0s"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,24}", now in any::<i64>()) {
            let _ = point("time", &When(text.clone()), now);
            let _ = length("step", &When(text));
        }

        #[test]
        fn a_time_that_was_printed_reads_back(ms in 0_i64..4_000_000_000_000) {
            let ms = ms / 1000 * 1000;
            prop_assert_eq!(point("time", &When(utc(ms)), NOW), Ok(ms));
        }
    }
}
