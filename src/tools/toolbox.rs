//! The tools of one run: an immutable, ordered set. It decides what is offered; whether a single call may run is
//! [`policy`](super::policy)'s business.

use std::sync::Arc;

use globset::{Glob, GlobMatcher};

use super::{Class, SharedTool};
use crate::model::ToolSpec;

/// Other names under which personas and models know a tool.
const ALIASES: [(&str, &str); 4] = [
    ("bash", "host_bash"),
    ("search_knowledge", "query_knowledge"),
    ("search_logs", "query_logql"),
    ("host_probe_*", "host_probe"),
];

#[derive(Clone, Debug)]
pub struct Toolbox {
    tools: Arc<[SharedTool]>,
    /// Made once: the list in a request must be the same bytes from call to call.
    specs: Arc<[ToolSpec]>,
}

impl Toolbox {
    fn new(tools: Vec<SharedTool>) -> Self {
        let specs = tools.iter().map(|tool| tool.spec()).collect();
        Self { tools: tools.into(), specs }
    }

    /// `allow` is absent to inherit everything and empty to get nothing. A denied name stays out whatever allows it. A tool
    /// is offered if the least it does fits one of `modes`. Patterns are names or aliases with `*`.
    pub fn select(all: &[SharedTool], allow: Option<&[String]>, deny: &[String], modes: &[Class]) -> Self {
        let allow = allow.map(|patterns| patterns.iter().map(|p| Pattern::new(p)).collect::<Vec<_>>());
        let deny: Vec<Pattern> = deny.iter().map(|p| Pattern::new(p)).collect();
        let chosen = all.iter().filter(|tool| {
            let name = tool.name();
            modes.contains(&tool.lowest())
                && allow.as_ref().is_none_or(|patterns| patterns.iter().any(|p| p.fits(name)))
                && !deny.iter().any(|p| p.fits(name))
        });
        Self::new(chosen.cloned().collect())
    }

    /// The same box with more tools behind the others. A name that is already there keeps its first tool.
    #[must_use]
    pub fn with(&self, extra: impl IntoIterator<Item = SharedTool>) -> Self {
        let mut tools = self.tools.to_vec();
        for tool in extra {
            if !tools.iter().any(|t| t.name() == tool.name()) {
                tools.push(tool);
            }
        }
        Self::new(tools)
    }

    pub fn specs(&self) -> Arc<[ToolSpec]> {
        Arc::clone(&self.specs)
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.tools.iter().map(|tool| tool.name())
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// By name, or by alias where no tool has that name.
    pub fn get(&self, name: &str) -> Option<SharedTool> {
        let by_name = |name: &str| self.tools.iter().find(|tool| tool.name() == name).cloned();
        by_name(name).or_else(|| by_name(ALIASES.iter().find(|(alias, _)| *alias == name)?.1))
    }

    /// Whether a call of that name would carry an evidence number.
    pub fn numbered(&self, name: &str) -> bool {
        self.get(name).is_some_and(|tool| tool.numbered())
    }

    /// Up to three names that may have been meant, best first.
    pub fn near(&self, name: &str) -> Vec<&'static str> {
        let meant = name.to_lowercase();
        let mut scored: Vec<(f64, &'static str)> =
            self.names().map(|known| (likeness(&meant, known), known)).filter(|(score, _)| *score >= 0.5).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        scored.into_iter().take(3).map(|(_, known)| known).collect()
    }
}

/// Between 0 and about 1.5: spelling, and words in common (`prometheus_query` is far from `query_promql` by spelling alone).
fn likeness(meant: &str, known: &str) -> f64 {
    let words = |name: &str| -> Vec<String> {
        name.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 2).map(str::to_owned).collect()
    };
    let (left, right) = (words(meant), words(known));
    let alike = |a: &str, b: &str| a == b || a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count() >= 4;
    let shared = left.iter().filter(|a| right.iter().any(|b| alike(a, b))).count();
    let share = if left.is_empty() { 0.0 } else { shared as f64 / left.len() as f64 };
    strsim::jaro_winkler(meant, known) * 0.7 + share * 0.8
}

/// A name, an alias or a glob of either.
struct Pattern {
    text: String,
    /// Absent where the text is no glob: then it is a plain name.
    glob: Option<GlobMatcher>,
}

impl Pattern {
    fn new(text: &str) -> Self {
        let text = text.trim().to_owned();
        // Toolboxes are cut for every turn, and compiling a glob costs more than all the rest of it.
        let glob = text.contains('*').then(|| Glob::new(&text).ok()).flatten().map(|glob| glob.compile_matcher());
        Self { text, glob }
    }

    fn matches(&self, name: &str) -> bool {
        self.text == name || self.glob.as_ref().is_some_and(|glob| glob.is_match(name))
    }

    fn fits(&self, tool: &str) -> bool {
        self.matches(tool) || ALIASES.iter().any(|(alias, real)| *real == tool && self.matches(alias))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tools::{DynTool, Prepared, ToolError};

    struct Named(&'static str, Class);

    impl DynTool for Named {
        fn name(&self) -> &'static str {
            self.0
        }
        fn lowest(&self) -> Class {
            self.1
        }
        fn numbered(&self) -> bool {
            self.0.starts_with("query")
        }
        fn spec(&self) -> ToolSpec {
            ToolSpec { name: self.0.into(), description: String::new(), parameters: serde_json::Value::Null }
        }
        fn prepare(self: Arc<Self>, _: &str) -> Result<Prepared, ToolError> {
            Err(ToolError::Broken("not for running".into()))
        }
    }

    fn all() -> Vec<SharedTool> {
        [
            ("query_promql", Class::Read),
            ("query_alert_rules", Class::Read),
            ("get_active_incidents", Class::Read),
            ("query_change_events", Class::Read),
            ("query_logql", Class::Read),
            ("query_knowledge", Class::Read),
            ("host_bash", Class::Read),
            ("host_probe", Class::Read),
            ("restart_service", Class::Write),
            ("delete_volume", Class::Destructive),
        ]
        .map(|(name, class)| Arc::new(Named(name, class)) as SharedTool)
        .to_vec()
    }

    fn names(allow: Option<&[&str]>, deny: &[&str], modes: &[Class]) -> Vec<&'static str> {
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let allow = allow.map(owned);
        Toolbox::select(&all(), allow.as_deref(), &owned(deny), modes).names().collect()
    }

    #[test]
    fn black_beats_white_and_the_mode_beats_both() {
        assert_eq!(
            names(Some(&["query_*", "restart_service"]), &["*_logql", "search_knowledge"], &[Class::Read]),
            ["query_promql", "query_alert_rules", "query_change_events"]
        );
        assert_eq!(names(Some(&[]), &[], &[Class::Read]), [""; 0]);
        assert_eq!(names(None, &["*"], &[Class::Read, Class::Write]), [""; 0]);
        assert_eq!(names(None, &["query_*", "host_*", "get_*"], &[Class::Write]), ["restart_service"]);
    }

    #[test]
    fn aliases_name_the_real_tool() {
        assert_eq!(names(Some(&["bash"]), &[], &[Class::Read]), ["host_bash"]);
        assert_eq!(names(Some(&["search_*"]), &[], &[Class::Read]), ["query_logql", "query_knowledge"]);
        assert_eq!(names(Some(&["host_probe_*"]), &[], &[Class::Read]), ["host_probe"]);
        let toolbox = Toolbox::select(&all(), None, &[], &[Class::Read]);
        assert_eq!(toolbox.get("search_logs").map(|t| t.name()), Some("query_logql"));
        assert_eq!(toolbox.get("search_lamps").map(|t| t.name()), None);
        assert!(toolbox.numbered("search_logs") && !toolbox.numbered("bash"));
    }

    #[test]
    fn near_names_are_found_by_spelling_and_by_words() {
        let toolbox = Toolbox::select(&all(), None, &[], &[Class::Read]);
        for (meant, best) in [
            ("query_prom", "query_promql"),
            ("QueryPromQL", "query_promql"),
            ("prometheus_query", "query_promql"),
            ("get_incidents", "get_active_incidents"),
            ("list_alert_rules", "query_alert_rules"),
            ("change_events", "query_change_events"),
        ] {
            assert_eq!(toolbox.near(meant).first(), Some(&best), "{meant}: {:?}", toolbox.near(meant));
            assert!(toolbox.near(meant).len() <= 3);
        }
        assert_eq!(toolbox.near("xyzzy"), [""; 0]);
    }

    #[test]
    fn more_tools_come_last_and_never_replace_one() {
        let extra = [("AgentTool", Class::Read), ("query_promql", Class::Write)]
            .map(|(name, class)| Arc::new(Named(name, class)) as SharedTool);
        let toolbox = Toolbox::select(&all(), Some(&["query_promql".to_owned()]), &[], &[Class::Read]).with(extra);
        assert_eq!(toolbox.names().collect::<Vec<_>>(), ["query_promql", "AgentTool"]);
        assert_eq!(toolbox.get("query_promql").unwrap().lowest(), Class::Read);
        let specs: Vec<String> = toolbox.specs().iter().map(|s| s.name.clone()).collect();
        assert_eq!(specs, ["query_promql", "AgentTool"]);
    }

    fn pattern() -> impl Strategy<Value = String> {
        prop_oneof![
            prop::sample::select(vec![
                "query_*",
                "*_rules",
                "*",
                "bash",
                "search_*",
                "host_bash",
                "delete_volume",
                "["
            ])
            .prop_map(str::to_owned),
            "[a-z_*\\[{]{0,8}",
        ]
    }

    proptest! {
        #[test]
        fn a_selection_keeps_order_and_obeys_every_list(
            allow in prop::option::of(prop::collection::vec(pattern(), 0..4)),
            deny in prop::collection::vec(pattern(), 0..4),
            modes in prop::sample::subsequence(vec![Class::Read, Class::Write, Class::Destructive], 0..=3),
        ) {
            let all = all();
            let chosen: Vec<&str> = Toolbox::select(&all, allow.as_deref(), &deny, &modes).names().collect();
            let expected: Vec<&str> = all
                .iter()
                .filter(|tool| {
                    let alone = std::slice::from_ref(*tool);
                    let only = |patterns: &[String]| {
                        let every = [Class::Read, Class::Write, Class::Destructive];
                        !Toolbox::select(alone, Some(patterns), &[], &every).is_empty()
                    };
                    modes.contains(&tool.lowest()) && allow.as_deref().is_none_or(only) && !only(&deny)
                })
                .map(|tool| tool.name())
                .collect();
            prop_assert_eq!(chosen, expected);
        }
    }
}
