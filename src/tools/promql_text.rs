//! Answers to PromQL as text for a model: what was asked and for when, then what is common, then each series on few lines.

use std::fmt::Write;

use super::{
    Found, ToolOutput,
    labels::{Labels, common, print, without},
    prometheus::{Answer, Data, Histogram, Point, Sample, Series},
    time::utc,
};

/// Series beyond this are counted, not written: a model does better with a narrower query.
const MOST_SERIES: usize = 200;
/// Series whose points are written out, the others only as a summary.
const SERIES_WITH_POINTS: usize = 20;
const MOST_POINTS: usize = 61;

/// What was asked, absolute.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    At(i64),
    Over { start_ms: i64, end_ms: i64, step_ms: i64 },
}

pub(super) fn text(query: &str, asked: Asked, answer: &Answer<Data>) -> ToolOutput {
    let mut out = format!("query: {}\n", query.trim());
    let _ = match asked {
        Asked::At(ms) => writeln!(out, "at: {} (UTC)", utc(ms)),
        Asked::Over { start_ms, end_ms, step_ms } => {
            writeln!(out, "window: {} to {} (UTC), step {}", utc(start_ms), utc(end_ms), step(step_ms))
        }
    };
    for (kind, notes) in [("warning (the answer may be partial)", &answer.warnings), ("info", &answer.infos)] {
        for note in notes {
            let _ = writeln!(out, "{kind}: {note}");
        }
    }
    let rows = match &answer.data {
        Data::Vector(samples) => vector(&mut out, samples),
        Data::Matrix(series) => matrix(&mut out, series, asked),
        Data::Scalar((_, value)) | Data::String((_, value)) => {
            let _ = writeln!(out, "value: {value}");
            1
        }
    };
    if rows > 0 {
        return ToolOutput { text: out, found: Found::Something };
    }
    out.push_str(
        "no data: the query is valid, and no series matches it here. That is not the value 0. Check the metric's name and \
         its labels, or widen the window.\n",
    );
    ToolOutput { text: out, found: Found::Nothing }
}

fn vector(out: &mut String, samples: &[Sample]) -> usize {
    let common = head(out, samples.iter().map(|s| &s.metric), samples.len());
    for sample in samples.iter().take(MOST_SERIES) {
        let value = match (&sample.value, &sample.histogram) {
            (Some((_, value)), _) => value.clone(),
            (None, Some((_, histogram))) => native(histogram),
            (None, None) => "no value".to_owned(),
        };
        let _ = writeln!(out, "{} = {value}", print(&without(&sample.metric, &common)));
    }
    rest(out, samples.len());
    samples.len()
}

fn matrix(out: &mut String, all: &[Series], asked: Asked) -> usize {
    let common = head(out, all.iter().map(|s| &s.metric), all.len());
    for series in all.iter().take(MOST_SERIES) {
        let _ = writeln!(out, "{}: {}", print(&without(&series.metric, &common)), summary(series));
    }
    rest(out, all.len());
    let with_points = all.iter().take(SERIES_WITH_POINTS).filter(|s| !s.values.is_empty());
    for series in with_points {
        let _ =
            writeln!(out, "points of {}: {}", print(&without(&series.metric, &common)), points(&series.values, asked));
    }
    if all.len() > SERIES_WITH_POINTS {
        let _ = writeln!(out, "points of the other series are left out; ask for them with a narrower query.");
    }
    all.len()
}

/// Says how many there are and what all of them have in common.
fn head<'a>(out: &mut String, metrics: impl Iterator<Item = &'a Labels>, count: usize) -> Labels {
    let common = common(metrics);
    let _ = match count {
        0 => Ok(()),
        1 => writeln!(out, "1 series"),
        _ if common.is_empty() => writeln!(out, "{count} series"),
        _ => writeln!(out, "{count} series, all with {}", print(&common)),
    };
    if count == 1 { Labels::new() } else { common }
}

fn rest(out: &mut String, count: usize) {
    if count > MOST_SERIES {
        let more = count - MOST_SERIES;
        let _ = writeln!(
            out,
            "… and {more} more series, not written. Narrow the selector, or use sum by (…) or topk(10, …)."
        );
    }
}

fn native(histogram: &Histogram) -> String {
    format!(
        "native histogram (count {}, sum {}); use histogram_quantile() or histogram_avg() for numbers",
        histogram.count, histogram.sum
    )
}

fn summary(series: &Series) -> String {
    let numbers: Vec<(f64, f64)> = series
        .values
        .iter()
        .filter_map(|(at, value)| Some((*at, value.parse::<f64>().ok()?)))
        .filter(|(_, value)| !value.is_nan())
        .collect();
    let mut parts = Vec::new();
    let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
    if let (Some(min), Some(max)) = (numbers.iter().min_by(by_value), numbers.iter().max_by(by_value)) {
        let mean = numbers.iter().map(|(_, value)| value).sum::<f64>() / numbers.len() as f64;
        parts.push(format!("min {} at {}", number(min.1), at(min.0)));
        parts.push(format!("max {} at {}", number(max.1), at(max.0)));
        parts.push(format!("mean {}", number(mean)));
    }
    if let (Some(first), Some(last)) = (series.values.first(), series.values.last()) {
        parts.push(format!("first {} at {}", short(&first.1), at(first.0)));
        parts.push(format!("last {} at {}", short(&last.1), at(last.0)));
    }
    let total = series.values.len();
    if total > 0 {
        let nan = total - numbers.len();
        let nan = if nan > 0 { format!(" ({nan} of them NaN)") } else { String::new() };
        parts.push(format!("{total} points{nan}"));
    }
    if let Some((_, histogram)) = series.histograms.last() {
        parts.push(format!("{} histogram samples, the last a {}", series.histograms.len(), native(histogram)));
    }
    parts.join(", ")
}

/// Values on the grid of the question, `-` where there is none: half the tokens of writing each time.
#[expect(clippy::cast_possible_truncation, reason = "float to integer saturates, and the range is checked")]
fn points(values: &[Point], asked: Asked) -> String {
    let Asked::Over { start_ms, end_ms, step_ms } = asked else {
        return values.iter().map(|(t, v)| format!("{} {}", at(*t), short(v))).collect::<Vec<_>>().join(", ");
    };
    let slots = usize::try_from((end_ms - start_ms) / step_ms.max(1) + 1).unwrap_or(1);
    // With a fine step of the caller's own, every n-th point; minimum and maximum are in the summary.
    let every = slots.div_ceil(MOST_POINTS);
    let mut grid = vec!["-".to_owned(); slots.min(11_001)];
    for (t, value) in values {
        let slot = ((t * 1000.0 - start_ms as f64) / step_ms.max(1) as f64).round();
        if slot >= 0.0 && (slot as usize) < grid.len() {
            grid[slot as usize] = short(value);
        }
    }
    let shown: Vec<&str> = grid.iter().step_by(every).map(String::as_str).collect();
    let spacing = step(step_ms.saturating_mul(i64::try_from(every).unwrap_or(1)));
    let note = if every > 1 { format!(" (every {every}th)") } else { String::new() };
    format!("from {} every {spacing}{note}: {}", at(start_ms as f64 / 1000.0), shown.join(" "))
}

/// Time of day; the date is in the window's line.
#[expect(clippy::cast_possible_truncation, reason = "float to integer saturates")]
fn at(seconds: f64) -> String {
    let text = utc((seconds * 1000.0).round() as i64);
    text.get(5..).map_or(text.clone(), str::to_owned)
}

fn step(ms: i64) -> String {
    let seconds = ms / 1000;
    match ms {
        _ if ms % 1000 != 0 => format!("{ms}ms"),
        _ if seconds % 86_400 == 0 => format!("{}d", seconds / 86_400),
        _ if seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        _ if seconds % 60 == 0 => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

fn short(value: &str) -> String {
    value.parse::<f64>().map_or_else(|_| value.to_owned(), number)
}

/// Five significant digits are more than a model uses; integers stay whole.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "NaN".into() } else { if value > 0.0 { "+Inf" } else { "-Inf" }.into() };
    }
    if value == value.trunc() && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let magnitude = value.abs().log10().floor();
    if !(-5.0..15.0).contains(&magnitude) {
        return format!("{value:.4e}");
    }
    #[expect(clippy::cast_possible_truncation, reason = "between -5 and 15")]
    let decimals = usize::try_from(4 - magnitude as i64).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::testing::NOW;

    fn shown(asked: Asked, data: Value, warnings: &[&str], infos: &[&str]) -> ToolOutput {
        let own = |notes: &[&str]| notes.iter().map(|n| (*n).to_owned()).collect();
        let data = serde_json::from_value(data).unwrap();
        text("up", asked, &Answer { data, warnings: own(warnings), infos: own(infos) })
    }

    #[test]
    fn a_vector_says_its_common_labels_once() {
        let t = NOW as f64 / 1000.0;
        let data = json!({"resultType": "vector", "stats": {}, "result": [
            {"metric": {"__name__": "up", "job": "api", "instance": "a:1"}, "value": [t, "1"]},
            {"metric": {"__name__": "up", "job": "api", "instance": "b:1"}, "value": [t, "NaN"]},
            {"metric": {"__name__": "up", "job": "api", "instance": "c:1"},
             "histogram": [t, {"count": "10", "sum": "2.5", "buckets": [[0, "0.1", "0.2", "3"]]}]},
        ]});
        insta::assert_snapshot!(shown(Asked::At(NOW), data, &["a store was missing"], &["not a counter"]).text, @r#"
        query: up
        at: 2026-01-31T09:30:00Z (UTC)
        warning (the answer may be partial): a store was missing
        info: not a counter
        3 series, all with up{job="api"}
        {instance="a:1"} = 1
        {instance="b:1"} = NaN
        {instance="c:1"} = native histogram (count 10, sum 2.5); use histogram_quantile() or histogram_avg() for numbers
        "#);
    }

    #[test]
    fn a_matrix_has_a_summary_and_its_points_on_a_grid() {
        let start = NOW - 300_000;
        let t = |i: i64| (start + i * 60_000) as f64 / 1000.0;
        let data = json!({"resultType": "matrix", "result": [
            {"metric": {"pod": "a"}, "values":
                [[t(0), "1.5"], [t(1), "+Inf"], [t(3), "NaN"], [t(5), "0.123456789"]]},
        ]});
        let asked = Asked::Over { start_ms: start, end_ms: NOW, step_ms: 60_000 };
        insta::assert_snapshot!(shown(asked, data, &[], &[]).text, @r#"
        query: up
        window: 2026-01-31T09:25:00Z to 2026-01-31T09:30:00Z (UTC), step 1m
        1 series
        {pod="a"}: min 0.12346 at 01-31T09:30:00Z, max +Inf at 01-31T09:26:00Z, mean +Inf, first 1.5 at 01-31T09:25:00Z, last 0.12346 at 01-31T09:30:00Z, 4 points (1 of them NaN)
        points of {pod="a"}: from 01-31T09:25:00Z every 1m: 1.5 +Inf - NaN - 0.12346
        "#);
    }

    #[test]
    fn no_rows_are_not_the_value_zero() {
        for kind in ["vector", "matrix"] {
            let output = shown(Asked::At(NOW), json!({"resultType": kind, "result": []}), &[], &[]);
            assert_eq!(output.found, Found::Nothing);
            assert!(
                output.text.contains("at: 2026-01-31T09:30:00Z") && output.text.contains("no data: "),
                "{output:?}"
            );
        }
        let scalar = shown(Asked::At(NOW), json!({"resultType": "scalar", "result": [1.0, "0"]}), &[], &[]);
        assert_eq!(scalar.found, Found::Something);
        assert!(scalar.text.ends_with("value: 0\n"), "{scalar:?}");
    }

    #[test]
    fn many_series_and_many_points_are_bounded_and_said() {
        let values: Vec<Value> = (0..11_000).map(|i| json!([i, "1"])).collect();
        let result: Vec<Value> =
            (0..250).map(|i| json!({"metric": {"i": i.to_string()}, "values": values[..5]})).collect();
        let asked = Asked::Over { start_ms: 0, end_ms: 10_999_000, step_ms: 1000 };
        let many = shown(asked, json!({"resultType": "matrix", "result": result}), &[], &[]).text;
        assert!(many.contains("250 series\n") && many.contains("and 50 more series, not written"), "{many}");
        assert_eq!(many.matches("points of {").count(), 20);
        let long = json!({"resultType": "matrix", "result": [{"metric": {}, "values": values}]});
        let long = shown(asked, long, &[], &[]).text;
        let line = long.lines().find(|l| l.starts_with("points of")).unwrap();
        assert!(line.contains("(every 181th)") && line.split(": ").last().unwrap().split(' ').count() <= 61, "{line}");
    }

    #[test]
    fn numbers_are_short_and_true() {
        assert_eq!(
            [0.0, 42.0, 123_456_789.0, 0.333_333_333, 1234.5678, 1e-9, 2.5e20, 99.999_999, -0.05].map(number),
            ["0", "42", "123456789", "0.33333", "1234.6", "1.0000e-9", "2.5000e20", "100", "-0.05"]
        );
    }
}
