//! Reads JSON from outside, of which anything may be missing or of another type.

use serde_json::Value;

/// Empty if it isn't there.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// `None` also for the empty text, which stands for "not there" in many places.
pub(super) fn some(value: &Value, pointer: &str) -> Option<String> {
    Some(text(value, pointer)).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Milliseconds since 1970. The platform writes times as texts, callbacks in microseconds.
pub(super) fn millis(value: &Value, pointer: &str) -> Option<i64> {
    let time = match value.pointer(pointer)? {
        Value::String(digits) => digits.parse().ok()?,
        number => number.as_i64()?,
    };
    let time: i64 = if time >= 100_000_000_000_000 { time / 1000 } else { time };
    (time > 0).then_some(time)
}
