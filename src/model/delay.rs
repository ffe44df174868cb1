//! How long a provider asks to wait: `Retry-After` in its forms, and the headers that say when a limit is reset.

use std::time::Duration;

use http::HeaderMap;

/// OpenAI's and Anthropic's families, each with what tells that this one is used up.
const RESETS: [(&str, &str); 7] = [
    ("x-ratelimit-reset-requests", "x-ratelimit-remaining-requests"),
    ("x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens"),
    ("x-ratelimit-reset", "x-ratelimit-remaining"),
    ("anthropic-ratelimit-requests-reset", "anthropic-ratelimit-requests-remaining"),
    ("anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-tokens-remaining"),
    ("anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-input-tokens-remaining"),
    ("anthropic-ratelimit-output-tokens-reset", "anthropic-ratelimit-output-tokens-remaining"),
];

pub(super) fn asked(headers: &HeaderMap, now_ms: i64) -> Option<Duration> {
    if let Some(after) = retry_after(headers, now_ms) {
        return Some(after);
    }
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let resets = || RESETS.iter().filter_map(|(reset, left)| Some((moment(header(reset)?, now_ms)?, header(left))));
    let used_up = resets().filter(|(_, left)| *left == Some("0")).map(|(after, _)| after).max();
    used_up.or_else(|| resets().map(|(after, _)| after).max())
}

/// What this answer itself asks for. The limits' headers come with any answer, whatever is wrong with it.
pub(super) fn retry_after(headers: &HeaderMap, now_ms: i64) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = header("retry-after-ms").and_then(|v| v.parse::<f64>().ok()) {
        return seconds(ms / 1000.0);
    }
    header("retry-after").and_then(|v| moment(v, now_ms))
}

/// Seconds, a point in time (seconds or milliseconds since 1970, or a date), or a span such as `6m0s`.
fn moment(text: &str, now_ms: i64) -> Option<Duration> {
    let since_now = |ms: f64| seconds(((ms - now_ms as f64) / 1000.0).max(0.0));
    if let Ok(number) = text.parse::<f64>() {
        return match number {
            n if n >= 1e11 => since_now(n),
            n if n >= 1e9 => since_now(n * 1000.0),
            n => seconds(n),
        };
    }
    span(text).or_else(|| {
        let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text);
        let date = date.ok().or_else(|| text.parse::<jiff::Timestamp>().ok())?;
        since_now(date.as_millisecond() as f64)
    })
}

fn span(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        total += number
            * match &rest[..unit] {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    (!text.is_empty()).then(|| seconds(total)).flatten()
}

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30 12:00:00 UTC.
    const NOW_MS: i64 = 1_796_040_000_000;

    fn asked_for(headers: &[(&'static str, &str)]) -> Option<f64> {
        let headers = headers.iter().map(|(k, v)| (http::HeaderName::from_static(k), v.parse().unwrap())).collect();
        asked(&headers, NOW_MS).map(|d| d.as_secs_f64())
    }

    #[test]
    fn every_form_of_a_delay_is_understood() {
        for (headers, expected) in [
            (&[("retry-after", "7")][..], Some(7.0)),
            (&[("retry-after", "1.5")], Some(1.5)),
            (&[("retry-after", "0")], Some(0.0)),
            (&[("retry-after", "Mon, 30 Nov 2026 12:01:30 GMT")], Some(90.0)),
            (&[("retry-after", "Mon, 30 Nov 2026 11:00:00 GMT")], Some(0.0)),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-3")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "1e300")], Some(f64::NAN)),
            (&[("retry-after-ms", "250"), ("retry-after", "1")], Some(0.25)),
            (&[("x-ratelimit-reset-requests", "6m0s")], Some(360.0)),
            (&[("x-ratelimit-reset-tokens", "2m59.5s")], Some(179.5)),
            (&[("x-ratelimit-reset-tokens", "120ms")], Some(0.12)),
            (&[("x-ratelimit-reset", "1796040010")], Some(10.0)),
            (&[("x-ratelimit-reset", "1796040010000")], Some(10.0)),
            (&[("x-ratelimit-reset-tokens", "1x")], None),
            (
                &[
                    ("x-ratelimit-reset-requests", "1s"),
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-tokens", "6m0s"),
                    ("x-ratelimit-remaining-tokens", "5000"),
                ],
                Some(1.0),
            ),
            (&[("anthropic-ratelimit-requests-reset", "2026-11-30T12:00:20Z")], Some(20.0)),
            (&[("anthropic-ratelimit-requests-reset", "2026-11-30T14:00:20+02:00")], Some(20.0)),
            (
                &[
                    ("anthropic-ratelimit-requests-reset", "2026-11-30T12:05:00Z"),
                    ("anthropic-ratelimit-requests-remaining", "40"),
                    ("anthropic-ratelimit-input-tokens-reset", "2026-11-30T12:00:42Z"),
                    ("anthropic-ratelimit-input-tokens-remaining", "0"),
                ],
                Some(42.0),
            ),
            (&[], None),
        ] {
            match expected {
                // Absurd, but no panic.
                Some(nan) if nan.is_nan() => drop(asked_for(headers)),
                expected => assert_eq!(asked_for(headers), expected, "{headers:?}"),
            }
        }
    }
}
