//! After a PromQL query that found nothing: do its metrics exist at all, and which ones may have been meant?

use std::{collections::BTreeSet, fmt::Write};

/// Words that stand where a metric could.
const WORDS: [&str; 16] = [
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
    "offset",
    "bool",
    "and",
    "or",
    "unless",
    "atan2",
    "inf",
    "nan",
    "start",
    "end",
];
/// Words followed by a list of labels in parentheses.
const LISTS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];

/// What the list of existing names says about the metrics of a query, one line each.
pub(super) fn advice(query: &str, existing: &[String]) -> String {
    let mut out = String::new();
    for metric in metrics_in(query) {
        if existing.contains(&metric) {
            let _ = writeln!(out, "metric {metric} exists: its labels, the window or the expression give nothing.");
            continue;
        }
        let near = nearest(&metric, existing);
        let _ = if near.is_empty() {
            writeln!(out, "metric {metric} does not exist here.")
        } else {
            writeln!(out, "metric {metric} does not exist here; nearest names: {}.", near.join(", "))
        };
    }
    out
}

fn nearest<'a>(metric: &str, existing: &'a [String]) -> Vec<&'a str> {
    let words = |name: &str| name.split(['_', ':']).filter(|w| w.len() > 2).map(str::to_owned).collect::<BTreeSet<_>>();
    let meant = words(metric);
    let mut scored: Vec<(f64, &str)> = existing
        .iter()
        .map(|name| {
            let shared = words(name).intersection(&meant).count() as f64 / meant.len().max(1) as f64;
            (strsim::jaro_winkler(metric, name) + shared, name.as_str())
        })
        .filter(|(score, _)| *score >= 0.9)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// The names a query uses as metrics. A reader of words, not a parser: where it is unsure it names nothing.
fn metrics_in(query: &str) -> BTreeSet<String> {
    let chars: Vec<char> = query.chars().collect();
    let mut metrics = BTreeSet::new();
    let mut at = 0;
    // Set while the next parenthesis holds labels.
    let mut labels_follow = false;
    while at < chars.len() {
        match chars[at] {
            quote @ ('"' | '\'' | '`') => at = after_string(&chars, at, quote),
            '{' => at = after_closing(&chars, at, '}'),
            '[' => at = after_closing(&chars, at, ']'),
            '(' if labels_follow => at = after_closing(&chars, at, ')'),
            '#' => at = chars[at..].iter().position(|c| *c == '\n').map_or(chars.len(), |n| at + n),
            // Numbers and durations: `5m` holds no metric called `m`.
            c if c.is_ascii_digit() => at = after_word(&chars, at),
            c if c.is_ascii_alphabetic() || matches!(c, '_' | ':') => {
                let end = after_word(&chars, at);
                let word: String = chars[at..end].iter().collect();
                let lower = word.to_ascii_lowercase();
                let next = chars[end..].iter().find(|c| !c.is_whitespace());
                labels_follow = LISTS.contains(&lower.as_str());
                // `sum by (x) (…)`: an aggregation before its list.
                let aggregates = ["by", "without"].iter().any(|list| {
                    let rest: String = chars[end..].iter().collect::<String>().trim_start().to_ascii_lowercase();
                    rest.strip_prefix(list).is_some_and(|rest| rest.trim_start().starts_with('('))
                });
                if next != Some(&'(') && !aggregates && !WORDS.contains(&lower.as_str()) {
                    metrics.insert(word);
                }
                at = end;
                continue;
            }
            _ => {
                at += 1;
                continue;
            }
        }
        labels_follow = false;
    }
    metrics
}

fn after_word(chars: &[char], from: usize) -> usize {
    let length = chars[from..].iter().position(|c| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.')));
    length.map_or(chars.len(), |length| from + length)
}

fn after_string(chars: &[char], from: usize, quote: char) -> usize {
    let mut at = from + 1;
    while at < chars.len() {
        match chars[at] {
            '\\' if quote != '`' => at += 1,
            c if c == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    chars.len()
}

/// Behind the bracket that closes; brackets inside strings don't count.
fn after_closing(chars: &[char], from: usize, close: char) -> usize {
    let mut at = from + 1;
    while at < chars.len() {
        match chars[at] {
            quote @ ('"' | '\'' | '`') => at = after_string(chars, at, quote),
            c if c == close => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn metrics_are_told_from_functions_labels_and_words() {
        for (query, expected) in [
            ("up", vec!["up"]),
            ("rate(http_requests_total{job=\"a}b\", code=~'5..'}[5m])", vec!["http_requests_total"]),
            ("sum by (job, le) (rate(a_bucket[5m])) / on(job) group_left(team) b", vec!["a_bucket", "b"]),
            ("sum(x) by (pod) > bool 5", vec!["x"]),
            ("histogram_quantile(0.99, sum without(le) (y offset 1h)) # z", vec!["y"]),
            ("job:errors:rate5m @ end() unless vector(1e3) or NaN", vec!["job:errors:rate5m"]),
            ("{__name__=\"up\"}", vec![]),
            ("label_replace(m, \"dst\", \"$1\", \"src\", \"(.*)\")", vec!["m"]),
        ] {
            assert_eq!(metrics_in(query).iter().map(String::as_str).collect::<Vec<_>>(), expected, "{query}");
        }
    }

    #[test]
    fn a_missing_metric_gets_its_nearest_names() {
        let existing = ["pg_pool_in_use", "pg_pool_size", "http_requests_total", "go_goroutines"].map(str::to_owned);
        assert_eq!(
            advice("pg_pool_used / pg_pool_size", &existing),
            "metric pg_pool_size exists: its labels, the window or the expression give nothing.\n\
             metric pg_pool_used does not exist here; nearest names: pg_pool_in_use, pg_pool_size.\n"
        );
        assert_eq!(advice("zzz", &existing), "metric zzz does not exist here.\n");
        assert_eq!(advice("vector(1) > 2", &existing), "");
    }

    proptest! {
        #[test]
        fn no_query_panics(query in ".{0,60}") {
            let _ = metrics_in(&query);
        }
    }
}
