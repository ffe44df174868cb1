//! Names: when two personas are the same one, which names are taken, and which tool a name stands for.

/// Words that are routes beside `/agents/{name}`.
pub(super) const RESERVED: [&str; 3] = ["warnings", "reload", "custom"];

pub(super) const MAX_CHARS: usize = 64;

/// The form in which names are compared: without case, `_` as `-`.
pub fn fold(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace('_', "-")
}

pub(super) fn is_valid(name: &str) -> bool {
    (1..=MAX_CHARS).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        && name.bytes().any(|b| b.is_ascii_alphanumeric())
}

/// The name a tool goes by, for one of the names people know it by.
pub fn canonical_tool(name: &str) -> &str {
    match name {
        "bash" => "host_bash",
        "search_knowledge" => "query_knowledge",
        "search_logs" => "query_logql",
        _ if name.starts_with("host_probe_") => "host_probe",
        _ => name,
    }
}

/// Whether an entry of `tools` or `disallowed_tools` means this tool; `*` stands for any characters.
pub fn entry_means(entry: &str, tool: &str) -> bool {
    entry == tool || glob(canonical_tool(entry), canonical_tool(tool))
}

fn glob(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = tail.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The candidate that somebody who wrote `wanted` most likely meant.
pub(super) fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = fold(wanted);
    candidates
        .into_iter()
        .map(|name| (likeness(&wanted, &fold(name)), name))
        .filter(|(likeness, _)| *likeness >= 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, name)| name)
}

/// 1 = the same. A part of a name is enough (`disk` for `specialist-disk`).
fn likeness(wanted: &str, name: &str) -> f64 {
    if wanted.len() >= 3 && name.split('-').any(|part| part == wanted) {
        return 0.95;
    }
    // Names are short, but what a model asks for need not be.
    if wanted.len() > 2 * MAX_CHARS { 0.0 } else { strsim::normalized_damerau_levenshtein(wanted, name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (entry, tool, expected) in [
            ("query_promql", "query_promql", true),
            ("query_*", "query_promql", true),
            ("*_skill", "run_skill", true),
            ("*_skill", "skills", false),
            ("*", "anything", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("bash", "host_bash", true),
            ("host_bash", "bash", true),
            ("search_logs", "query_logql", true),
            ("search_knowledge", "query_knowledge", true),
            ("host_probe_disk", "host_probe", true),
            ("host_probe_*", "host_probe", true),
            ("query_promql", "query_logql", false),
        ] {
            assert_eq!(entry_means(entry, tool), expected, "{entry} {tool}");
        }
    }

    #[test]
    fn a_near_name_is_found_and_a_far_one_isnt() {
        let names = ["incident-investigator", "specialist-compute", "specialist-disk", "reviewer"];
        assert_eq!(nearest("Specialist_Disc", names), Some("specialist-disk"));
        assert_eq!(nearest("disk", names), Some("specialist-disk"));
        assert_eq!(nearest("incident_investigater", names), Some("incident-investigator"));
        assert_eq!(nearest("poet", names), None);
        assert_eq!(nearest(&"x".repeat(100_000), names), None);
    }
}
