//! The names under which people and models know a tool, and what an entry of a list of tools means. One table, for the lists
//! of personas and for the calls of models alike.

/// Other names of a tool; the last stands for a family.
const ALIASES: [(&str, &str); 4] = [
    ("bash", "host_bash"),
    ("search_knowledge", "query_knowledge"),
    ("search_logs", "query_logql"),
    ("host_probe_*", "host_probe"),
];

/// The name a tool goes by, for one of the names people know it by.
pub(crate) fn canonical(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| glob(alias, name)).map_or(name, |(_, real)| real)
}

/// Whether an entry of `tools` or `disallowed_tools` means this tool, under any of its names; `*` stands for any characters.
pub fn entry_means(entry: &str, tool: &str) -> bool {
    let (entry, real) = (entry.trim(), canonical(tool));
    canonical(entry) == real
        || glob(entry, real)
        || glob(entry, tool)
        || ALIASES.iter().any(|(alias, of)| *of == real && glob(entry, alias))
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_entry_means_a_tool_under_each_of_its_names() {
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
            (" bash ", "host_bash", true),
            ("search_*", "query_logql", true),
            ("search_*", "query_knowledge", true),
            ("search_*", "query_promql", false),
            ("search_logs", "query_logql", true),
            ("query_*", "search_logs", true),
            ("host_probe_disk", "host_probe", true),
            ("host_probe_*", "host_probe", true),
            ("host_probe", "host_probe_disk", true),
            ("query_promql", "query_logql", false),
            ("", "query_logql", false),
        ] {
            assert_eq!(entry_means(entry, tool), expected, "{entry} {tool}");
        }
    }

    proptest! {
        /// A pattern made of a name by putting stars into it fits that name.
        #[test]
        fn a_name_fits_what_is_left_of_it_when_stars_stand_in(
            name in "[a-z_]{1,12}", cuts in prop::collection::vec((0..12_usize, 0..4_usize), 0..4)
        ) {
            let mut pattern = name.clone();
            for (at, length) in cuts {
                let at = at.min(pattern.len());
                pattern.replace_range(at..(at + length).min(pattern.len()), "*");
            }
            prop_assert!(entry_means(&pattern, &name), "{pattern} {name}");
        }

        #[test]
        fn without_a_star_only_the_same_tool_is_meant(
            one in "bash|host_bash|search_logs|query_logql|host_probe|host_probe_[a-z]{1,3}|[a-z_]{1,6}",
            other in "bash|host_bash|search_logs|query_logql|host_probe|host_probe_[a-z]{1,3}|[a-z_]{1,6}",
        ) {
            prop_assert_eq!(entry_means(&one, &other), canonical(&one) == canonical(&other));
            prop_assert_eq!(entry_means(&one, &other), entry_means(&other, &one));
        }
    }
}
