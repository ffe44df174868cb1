//! Makes recorded telemetry fresh: times such as `"-10m"` become times before now when the script is loaded.

use serde_json::{Map, Value, json};

use crate::time;

/// Fields that hold a time, which these APIs write as RFC 3339.
const TIMES: [&str; 6] = ["startsAt", "endsAt", "updatedAt", "activeAt", "lastEvaluation", "lastScrape"];

/// Fields that hold free text under any name.
const FREE: [&str; 3] = ["metric", "labels", "annotations"];

/// Seconds since 1970 for `now`, `-10m` or `+5m`.
pub(crate) fn moment(text: &str, now: f64) -> Option<f64> {
    if text == "now" {
        return Some(now);
    }
    let (sign, rest) = text.split_at_checked(1)?;
    let span = time::span(rest)?.as_secs_f64();
    match sign {
        "-" => Some(now - span),
        "+" => Some(now + span),
        _ => None,
    }
}

pub(crate) fn refresh(value: &mut Value, now: f64) {
    match value {
        Value::Array(items) => {
            if let [at, sample] = items.as_mut_slice()
                && let Some(fresh) = at.as_str().and_then(|text| moment(text, now))
            {
                // Whole milliseconds, as the server writes them.
                *at = json!((fresh * 1000.0).round() / 1000.0);
                if sample.is_number() {
                    *sample = sample.to_string().into();
                }
                return;
            }
            items.iter_mut().for_each(|item| refresh(item, now));
        }
        Value::Object(fields) => {
            lay_out_points(fields, now);
            for (key, value) in fields.iter_mut() {
                if FREE.contains(&key.as_str()) {
                    continue;
                }
                let fresh = value.as_str().filter(|_| TIMES.contains(&key.as_str())).and_then(|text| moment(text, now));
                match fresh {
                    Some(fresh) => *value = time::rfc3339(fresh).into(),
                    None => refresh(value, now),
                }
            }
        }
        _ => {}
    }
}

/// `every: 1m` and `points: [3, 4, 9]` are a short way to write `values` that end now.
fn lay_out_points(series: &mut Map<String, Value>, now: f64) {
    let every = series.get("every").and_then(Value::as_str).and_then(time::span);
    let (Some(every), Some(Value::Array(points))) = (every, series.get("points")) else { return };
    let place = |(index, point): (usize, &Value)| {
        let back = (points.len() - 1 - index) as f64 * every.as_secs_f64();
        let sample = point.as_str().map_or_else(|| point.to_string(), str::to_owned);
        json!([((now - back) * 1000.0).round() / 1000.0, sample])
    };
    let values: Value = points.iter().enumerate().map(place).collect();
    series.remove("every");
    series.remove("points");
    series.insert("values".to_owned(), values);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_times_become_times_before_now() {
        let mut value = json!({"result": [
                {"metric": {"window": "-10m"}, "values": [["-10m", 5], ["now", "6"], [1.5, "7"]]},
                {"metric": {}, "every": "1m", "points": [3, "NaN"]}],
            "alerts": [{"startsAt": "-1h", "labels": {"startsAt": "-1h"}, "value": "-1"}]});
        refresh(&mut value, 7200.0);
        let wanted = json!({"result": [
                {"metric": {"window": "-10m"}, "values": [[6600.0, "5"], [7200.0, "6"], [1.5, "7"]]},
                {"metric": {}, "values": [[7140.0, "3"], [7200.0, "NaN"]]}],
            "alerts": [{"startsAt": "1970-01-01T01:00:00.000Z", "labels": {"startsAt": "-1h"}, "value": "-1"}]});
        assert_eq!(value, wanted);
    }
}
