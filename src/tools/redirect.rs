//! What a run is told that calls a tool it doesn't have: whom to send in its place, or who has such a tool. A table of data;
//! which of it acts in a run is decided when the run's toolbox is cut.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;

use super::toolbox::likeness;
use crate::{model::ToolSpec, tool_names::canonical};

/// Stubs that a request's list of tools may hold: each costs as much as a tool.
pub const MOST_OFFERED: usize = 12;
/// A tool of somebody else's is only named where it is quite surely meant.
const SURELY_MEANT: f64 = 0.9;

const WHY_STUBS: &str = "Models ask for this tool by name from habit, and being told who has it takes one step where an \
    error would end in a guess.";

/// A name that models call, and the persona that answers what they want from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    pub name: String,
    pub target: String,
    /// One sentence for the model: why that persona.
    pub reason: String,
    /// Stands in the list of tools, instead of only answering who calls it.
    pub offered: bool,
}

impl Redirect {
    fn shipped(name: &str, target: &str, reason: &str) -> Self {
        let [name, target, reason] = [name, target, reason].map(str::to_owned);
        Self { name, target, reason, offered: false }
    }

    /// The answer to a call, instead of a result.
    pub(super) fn answer(&self) -> String {
        let target = &self.target;
        let answer = Answer {
            status: "redirect",
            hint: format!(
                "This tool is not available in coordinator scope. Re-invoke via AgentTool to dispatch to {target}."
            ),
            reason: &self.reason,
            suggested_call: format!(
                "AgentTool(description=\"…\", subagent_type=\"{target}\", prompt=\"<self-contained task>\")"
            ),
            why_stub_exists: WHY_STUBS,
        };
        serde_json::to_string(&answer).unwrap_or_default()
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.clone(),
            description: format!("Not available here: send {} with AgentTool. {}", self.target, self.reason),
            parameters: serde_json::json!({"type": "object", "properties": {}}),
        }
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    status: &'static str,
    hint: String,
    reason: &'a str,
    suggested_call: String,
    why_stub_exists: &'static str,
}

/// What is redirected without any configuration, with what an operator added or replaced.
pub fn redirects(configured: impl IntoIterator<Item = Redirect>) -> Vec<Redirect> {
    const ON_THE_HOST: &str = "It looks at a host's load, memory and processes with the tools there are for that.";
    const DISKS: &str = "It finds out what fills or slows a disk.";
    let mut all = vec![
        Redirect::shipped("host_bash", "specialist-compute", ON_THE_HOST),
        Redirect::shipped("get_host_load", "specialist-compute", ON_THE_HOST),
        Redirect::shipped("get_host_processes", "specialist-compute", ON_THE_HOST),
        Redirect::shipped("host_du_summary", "specialist-disk", DISKS),
        Redirect::shipped("host_find_large_files", "specialist-disk", DISKS),
        Redirect::shipped(
            "host_restart_service",
            "specialist-ops",
            "It works out whether a restart helps and what it costs; a person has to do it.",
        ),
        Redirect::shipped(
            "correlate_incident",
            "incident-investigator",
            "It brings alerts, changes and metrics of an incident together, which takes many calls.",
        ),
    ];
    for redirect in configured {
        all.retain(|known| canonical(&known.name) != canonical(&redirect.name));
        all.push(redirect);
    }
    all
}

/// What lies outside of one run's toolbox.
#[derive(Clone, Debug, Default)]
pub struct Elsewhere {
    /// Those that act: their targets can be sent.
    pub redirects: Vec<Redirect>,
    /// Tools that there are, by the personas that have them.
    pub owners: BTreeMap<&'static str, Vec<String>>,
    /// The run can send somebody itself.
    pub can_send: bool,
}

/// As a toolbox keeps it.
#[derive(Clone, Debug, Default)]
pub(super) struct Stubs(Arc<Elsewhere>);

impl Stubs {
    /// A name that is in the box is never redirected.
    pub(super) fn new(mut elsewhere: Elsewhere, has: impl Fn(&str) -> bool) -> Self {
        elsewhere.redirects.retain(|redirect| !has(canonical(&redirect.name)));
        Self(Arc::new(elsewhere))
    }

    pub(super) fn specs(&self) -> impl Iterator<Item = ToolSpec> {
        self.0.redirects.iter().filter(|redirect| redirect.offered).take(MOST_OFFERED).map(Redirect::spec)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Redirect> {
        self.0.redirects.iter().find(|redirect| canonical(&redirect.name) == canonical(name))
    }

    /// Which persona has the tool that was meant, in one sentence.
    pub(super) fn owner(&self, name: &str) -> Option<String> {
        let wanted = canonical(name).to_lowercase();
        let near = |tool: &&'static str| likeness(&wanted, tool);
        let best = self.0.owners.keys().max_by(|a, b| near(a).total_cmp(&near(b)));
        let tool = self.0.owners.get_key_value(wanted.as_str()).map(|(tool, _)| tool).or(best)?;
        if near(tool) < SURELY_MEANT {
            return None;
        }
        let who = self.0.owners.get(tool)?;
        let (first, who) = (who.first()?, who.iter().take(3).cloned().collect::<Vec<_>>().join(", "));
        Some(if self.0.can_send {
            format!(" {tool} belongs to {who}: send {first} with AgentTool.")
        } else {
            format!(" {tool} belongs to {who}: say in your report what should be asked there.")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_names_the_persona_and_the_call_that_reaches_it() {
        let redirect = Redirect::shipped("host_du_summary", "specialist-disk", "It knows disks.");
        assert_eq!(
            redirect.answer(),
            "{\"status\":\"redirect\",\"hint\":\"This tool is not available in coordinator scope. Re-invoke via AgentTool \
             to dispatch to specialist-disk.\",\"reason\":\"It knows disks.\",\"suggested_call\":\
             \"AgentTool(description=\\\"…\\\", subagent_type=\\\"specialist-disk\\\", \
             prompt=\\\"<self-contained task>\\\")\",\"why_stub_exists\":\"Models ask for this tool by name from habit, \
             and being told who has it takes one step where an error would end in a guess.\"}"
        );
    }

    #[test]
    fn the_configuration_adds_to_what_is_shipped_and_replaces_by_name() {
        let names = |all: &[Redirect]| -> Vec<String> {
            all.iter().map(|redirect| format!("{} {}", redirect.name, redirect.target)).collect()
        };
        let shipped = [
            "host_bash specialist-compute",
            "get_host_load specialist-compute",
            "get_host_processes specialist-compute",
            "host_du_summary specialist-disk",
            "host_find_large_files specialist-disk",
            "host_restart_service specialist-ops",
            "correlate_incident incident-investigator",
        ];
        assert_eq!(names(&redirects([])), shipped);
        assert!(redirects([]).iter().all(|redirect| !redirect.offered));
        let own = [("bash", "shell-expert"), ("kubectl", "k8s")].map(|(name, to)| Redirect::shipped(name, to, "Own."));
        let merged = names(&redirects(own));
        assert_eq!(merged[..6], shipped[1..]);
        assert_eq!(merged[6..], ["bash shell-expert", "kubectl k8s"]);
    }

    #[test]
    fn the_owner_of_a_tool_is_named_by_its_name_or_one_close_to_it() {
        let who = vec!["specialist-logs".to_owned(), "investigator".to_owned()];
        let elsewhere = |can_send| {
            let owners = BTreeMap::from([("query_logql", who.clone()), ("host_probe", vec!["probe".to_owned()])]);
            Stubs::new(Elsewhere { owners, can_send, ..Elsewhere::default() }, |_| false)
        };
        let sent = " query_logql belongs to specialist-logs, investigator: send specialist-logs with AgentTool.";
        for name in ["query_logql", "search_logs", "query_logq", "QUERY_LOGQL"] {
            assert_eq!(elsewhere(true).owner(name).as_deref(), Some(sent), "{name}");
        }
        let told =
            " query_logql belongs to specialist-logs, investigator: say in your report what should be asked there.";
        assert_eq!(elsewhere(false).owner("query_logql").as_deref(), Some(told));
        assert_eq!(elsewhere(true).owner("make_coffee"), None);
        assert_eq!(Stubs::default().owner("query_logql"), None);
    }
}
