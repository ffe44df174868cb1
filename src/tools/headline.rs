//! The one line people read about a call.

/// Longer lines are folded by the platforms, and nobody reads them.
const LONGEST: usize = 120;

/// `tool: detail` on one line, cut with an ellipsis.
pub(super) fn headline(tool: &str, detail: &str) -> String {
    if detail.trim().is_empty() { one_line(tool) } else { one_line(&format!("{tool}: {detail}")) }
}

pub(super) fn one_line(text: &str) -> String {
    shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), LONGEST)
}

/// At most `longest` characters, the last of them an ellipsis if something is missing.
pub(super) fn shorten(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let kept: String = text.chars().take(longest.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headline_is_one_line_of_at_most_120_characters() {
        assert_eq!(headline("query_promql", "sum(\n  rate(x[5m])\n)"), "query_promql: sum( rate(x[5m]) )");
        assert_eq!(headline("get_active_incidents", " "), "get_active_incidents");
        let long = headline("query_promql", &"é".repeat(300));
        assert_eq!((long.chars().count(), long.ends_with('…')), (120, true));
    }
}
