//! The tools of one run: an immutable, ordered set. It decides what is offered; whether a single call may run is
//! [`policy`](super::policy)'s business.

use std::sync::Arc;

use super::{
    Class, Role, SharedTool,
    redirect::{Elsewhere, Redirect, Stubs},
};
use crate::{
    model::ToolSpec,
    tool_names::{canonical, entry_means},
};

#[derive(Clone, Debug)]
pub struct Toolbox {
    tools: Arc<[SharedTool]>,
    /// Made once: the list in a request must be the same bytes from call to call.
    specs: Arc<[ToolSpec]>,
    stubs: Stubs,
}

/// What is left of all tools for one run, in the order in which it is asked.
#[derive(Clone, Copy, Debug)]
pub struct Cut<'a> {
    /// The asker's.
    pub role: Role,
    /// Absent to inherit everything and empty to get nothing. Patterns are names or aliases with `*`.
    pub tools: Option<&'a [String]>,
    /// A name in here stays out whatever allows it.
    pub disallowed_tools: &'a [String],
    /// A tool is offered if the least it does is one of these.
    pub mode: &'a [Class],
}

impl Cut<'_> {
    fn leaves(&self, name: &str, lowest: Class) -> bool {
        let named = |entries: &[String]| entries.iter().any(|entry| entry_means(entry, name));
        self.role.sees(lowest)
            && self.tools.is_none_or(named)
            && !named(self.disallowed_tools)
            && self.mode.contains(&lowest)
    }
}

impl Toolbox {
    fn new(tools: Vec<SharedTool>, stubs: Stubs) -> Self {
        let specs = tools.iter().map(|tool| tool.spec()).chain(stubs.specs()).collect();
        Self { tools: tools.into(), specs, stubs }
    }

    pub fn select(all: &[SharedTool], cut: &Cut<'_>) -> Self {
        let chosen = all.iter().filter(|tool| cut.leaves(tool.name(), tool.lowest()));
        Self::new(chosen.cloned().collect(), Stubs::default())
    }

    /// The same box, which knows what lies outside of it.
    #[must_use]
    pub fn knowing(&self, elsewhere: Elsewhere) -> Self {
        let stubs = Stubs::new(elsewhere, |name| self.tools.iter().any(|tool| tool.name() == name));
        Self::new(self.tools.to_vec(), stubs)
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
        by_name(name).or_else(|| by_name(canonical(name)))
    }

    /// Who is to be sent in place of a tool that isn't here.
    pub(super) fn redirect(&self, name: &str) -> Option<&Redirect> {
        self.stubs.get(name)
    }

    /// Who has a tool that isn't here, in one sentence.
    pub(super) fn owner(&self, name: &str) -> Option<String> {
        self.stubs.owner(name)
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
pub(super) fn likeness(meant: &str, known: &str) -> f64 {
    let words = |name: &str| -> Vec<String> {
        name.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 2).map(str::to_owned).collect()
    };
    let (left, right) = (words(meant), words(known));
    let alike = |a: &str, b: &str| a == b || a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count() >= 4;
    let shared = left.iter().filter(|a| right.iter().any(|b| alike(a, b))).count();
    let share = if left.is_empty() { 0.0 } else { shared as f64 / left.len() as f64 };
    strsim::jaro_winkler(meant, known) * 0.7 + share * 0.8
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
            ("query_devices", Class::Read),
            ("query_knowledge", Class::Read),
            ("host_bash", Class::Read),
            ("host_probe", Class::Read),
            ("restart_service", Class::Write),
            ("delete_volume", Class::Destructive),
        ]
        .map(|(name, class)| Arc::new(Named(name, class)) as SharedTool)
        .to_vec()
    }

    fn cut(role: Role, tools: Option<&[String]>, disallowed_tools: &[String], mode: &[Class]) -> Toolbox {
        Toolbox::select(&all(), &Cut { role, tools, disallowed_tools, mode })
    }

    fn whole() -> Toolbox {
        cut(Role::Operator, None, &[], &[Class::Read])
    }

    fn names(allow: Option<&[&str]>, deny: &[&str], modes: &[Class]) -> Vec<&'static str> {
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let (allow, deny) = (allow.map(owned), owned(deny));
        cut(Role::Admin, allow.as_deref(), &deny, modes).names().collect()
    }

    #[test]
    fn black_beats_white_and_the_mode_beats_both() {
        assert_eq!(
            names(Some(&["query_*", "restart_service"]), &["*_logql", "search_knowledge"], &[Class::Read]),
            ["query_promql", "query_alert_rules", "query_change_events", "query_devices"]
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
        let toolbox = whole();
        assert_eq!(toolbox.get("search_logs").map(|t| t.name()), Some("query_logql"));
        assert_eq!(toolbox.get("search_lamps").map(|t| t.name()), None);
        assert!(toolbox.numbered("search_logs") && !toolbox.numbered("bash"));
    }

    #[test]
    fn near_names_are_found_by_spelling_and_by_words() {
        let toolbox = whole();
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
    fn what_is_whitelisted_by_a_pattern_is_blacklisted_by_a_name() {
        assert_eq!(
            names(Some(&["query_*", "host_bash"]), &["query_devices"], &[Class::Read]),
            ["query_promql", "query_alert_rules", "query_change_events", "query_logql", "query_knowledge", "host_bash"]
        );
    }

    #[test]
    fn nobody_is_offered_more_than_her_role_sees() {
        let modes = [Class::Read, Class::Write, Class::Destructive];
        let writes = ["restart_service".to_owned(), "delete_volume".to_owned()];
        for (role, expected) in [
            (Role::Viewer, &[][..]),
            (Role::Operator, &["restart_service"]),
            (Role::Admin, &["restart_service", "delete_volume"]),
        ] {
            let toolbox = cut(role, Some(&writes), &[], &modes);
            assert_eq!(toolbox.names().collect::<Vec<_>>(), expected, "{role:?}");
        }
    }

    fn redirect(name: &str, offered: bool) -> Redirect {
        Redirect { name: name.into(), target: "specialist-disk".into(), reason: "It knows disks.".into(), offered }
    }

    #[test]
    fn a_stub_acts_only_where_the_tool_is_not_in_the_box_and_is_listed_only_if_offered() {
        let toolbox = cut(Role::Operator, Some(&["query_promql".to_owned(), "bash".to_owned()]), &[], &[Class::Read]);
        let redirects = vec![redirect("bash", true), redirect("query_logql", true), redirect("get_host_load", false)];
        let knowing = toolbox.knowing(Elsewhere { redirects, ..Elsewhere::default() });
        let acting = ["bash", "host_bash", "query_logql", "search_logs", "get_host_load", "query_promql"]
            .map(|name| knowing.redirect(name).is_some());
        assert_eq!(acting, [false, false, true, true, true, false]);
        let specs: Vec<String> = knowing.specs().iter().map(|spec| spec.name.clone()).collect();
        assert_eq!(specs, ["query_promql", "host_bash", "query_logql"]);
        assert_eq!(knowing.names().collect::<Vec<_>>(), ["query_promql", "host_bash"]);
        assert!(!knowing.numbered("query_logql"), "a stub has no result to cite");
    }

    #[test]
    fn no_more_than_twelve_stubs_are_listed() {
        let redirects = (0..20).map(|n| redirect(&format!("own_{n}"), true)).collect();
        let knowing = whole().knowing(Elsewhere { redirects, ..Elsewhere::default() });
        assert_eq!(knowing.specs().len() - whole().specs().len(), 12);
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
        /// The four steps, one after the other, each on what the one before has left.
        #[test]
        fn a_box_is_what_four_steps_leave_of_all_tools_in_their_order(
            role in prop::sample::select(vec![Role::Viewer, Role::Operator, Role::Admin]),
            allow in prop::option::of(prop::collection::vec(pattern(), 0..4)),
            deny in prop::collection::vec(pattern(), 0..4),
            modes in prop::sample::subsequence(vec![Class::Read, Class::Write, Class::Destructive], 0..=3),
        ) {
            let named = |entries: &[String], name: &str| entries.iter().any(|entry| entry_means(entry, name));
            let mut left = all();
            left.retain(|tool| role.sees(tool.lowest()));
            if let Some(allow) = &allow {
                left.retain(|tool| named(allow, tool.name()));
            }
            left.retain(|tool| !named(&deny, tool.name()));
            left.retain(|tool| modes.contains(&tool.lowest()));
            let expected: Vec<&str> = left.iter().map(|tool| tool.name()).collect();
            let toolbox = cut(role, allow.as_deref(), &deny, &modes);
            prop_assert_eq!(toolbox.names().collect::<Vec<_>>(), expected);
        }

        #[test]
        fn more_in_the_blacklist_or_a_lesser_role_never_offers_more(
            allow in prop::option::of(prop::collection::vec(pattern(), 0..4)),
            deny in prop::collection::vec(pattern(), 0..3),
            more in pattern(),
        ) {
            let modes = [Class::Read, Class::Write, Class::Destructive];
            let more: Vec<String> = deny.iter().cloned().chain([more]).collect();
            let names = |role, deny: &[String]| cut(role, allow.as_deref(), deny, &modes).names().collect::<Vec<_>>();
            let wide = names(Role::Admin, &deny);
            for narrow in [names(Role::Admin, &more), names(Role::Operator, &deny), names(Role::Viewer, &deny)] {
                prop_assert!(narrow.iter().all(|name| wide.contains(name)), "{narrow:?} {wide:?}");
            }
        }
    }
}
