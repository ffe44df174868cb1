//! The recorded answers: tools and personas that there are, and rules that can fit.

use super::{Node, Problem};
use crate::{app, persona::Registry};

pub(super) fn check(root: &Node<'_>, problems: &mut Vec<Problem>) {
    let personas = Registry::builtin();
    let known = Known {
        workers: personas.names(),
        coordinator: personas.coordinator().name.clone(),
        tools: app::tool_names(),
        made_up: made_up(root),
    };
    let rules = root.get("model").map(|model| model.get("rules").unwrap_or(model)).map(|rules| rules.items());
    let rules = rules.unwrap_or_default();
    for (index, rule) in rules.iter().enumerate() {
        known.rule(rule, problems);
        if rule.get("times").is_some_and(|times| times.value.as_u64() == Some(0)) {
            problems.push(Problem::new(rule, "this rule can never fit: `times` is 0"));
        } else if let Some(earlier) = rules[..index].iter().position(|earlier| hides(earlier, rule)) {
            let text = format!("this rule can never fit: rule {earlier} takes all of its requests and has no `times`");
            problems.push(Problem::new(rule, text));
        }
    }
    let queries = root.get("telemetry").and_then(|telemetry| telemetry.get("prometheus"));
    let queries = queries.map(|prometheus| prometheus.list("queries")).unwrap_or_default();
    for (index, query) in queries.iter().enumerate() {
        if let Some(earlier) = queries[..index].iter().position(|earlier| takes(earlier, query)) {
            let text = format!("this query is never answered: query {earlier} takes all that contain this text");
            problems.push(Problem::new(query, text));
        }
    }
    let Some(expect) = root.get("expect") else { return };
    for node in expect.list("tools") {
        known.tool(&node, problems);
    }
    for node in expect.list("workers") {
        known.worker(&node, problems);
    }
}

/// Names that the model makes up on purpose.
fn made_up<'a>(root: &Node<'a>) -> Vec<&'a str> {
    let model = root.get("model");
    model.map(|model| model.list("unknown_tools")).unwrap_or_default().iter().filter_map(Node::text).collect()
}

struct Known<'a> {
    workers: Vec<&'a str>,
    coordinator: String,
    tools: Vec<&'static str>,
    made_up: Vec<&'a str>,
}

impl Known<'_> {
    fn rule(&self, rule: &Node<'_>, problems: &mut Vec<Problem>) {
        if let Some(when) = rule.get("when") {
            if let Some(node) = when.get("persona").filter(|node| node.text() != Some(self.coordinator.as_str())) {
                self.worker(&node, problems);
            }
            if let Some(node) = when.get("last_tool") {
                self.tool(&node, problems);
            }
            if let Some((choice, node)) = when.text_of("tool_choice")
                && !["auto", "none", "required"].contains(&choice)
            {
                self.tool(&node, problems);
            }
        }
        let calls = rule.get("reply").map(|reply| reply.list("calls")).unwrap_or_default();
        for node in calls.iter().filter_map(|call| call.get("tool")) {
            self.tool(&node, problems);
        }
    }

    fn tool(&self, node: &Node<'_>, problems: &mut Vec<Problem>) {
        let Some(name) = node.text() else { return };
        if !self.tools.contains(&name) && !self.made_up.contains(&name) {
            let problem =
                Problem::new(node, format!("there is no tool {name:?}; model.unknown_tools lists made-up ones"));
            problems.push(problem.meant(name, self.tools.iter().copied()));
        }
    }

    fn worker(&self, node: &Node<'_>, problems: &mut Vec<Problem>) {
        let Some(name) = node.text() else { return };
        if !self.workers.contains(&name) {
            let problem = Problem::new(node, format!("there is no persona {name:?}"));
            let known = self.workers.iter().copied().chain([self.coordinator.as_str()]);
            problems.push(problem.meant(name, known));
        }
    }
}

/// Whether every request that fits `later` is answered by `earlier`: it asks for less, and is never used up.
fn hides(earlier: &Node<'_>, later: &Node<'_>) -> bool {
    if earlier.get("times").is_some() {
        return false;
    }
    let when = |rule: &Node<'_>| rule.get("when").map(|when| when.value.clone()).unwrap_or_default();
    let (earlier, later) = (when(earlier), when(later));
    let entries = earlier.as_mapping().into_iter().flatten();
    entries.into_iter().all(|(matcher, wanted)| {
        let Some(got) = later.as_mapping().and_then(|later| later.get(matcher)) else { return false };
        let contains = matcher.as_str().is_some_and(|matcher| matcher.ends_with("_contains"));
        match (wanted.as_str(), got.as_str()) {
            (Some(wanted), Some(got)) if contains => got.contains(wanted),
            _ => wanted == got,
        }
    })
}

fn takes(earlier: &Node<'_>, later: &Node<'_>) -> bool {
    let contains = |query: &Node<'_>| query.text_of("contains").map(|(text, _)| text.to_owned()).unwrap_or_default();
    let endpoint = |query: &Node<'_>| query.text_of("endpoint").map(|(text, _)| text.to_owned());
    let same_way = endpoint(earlier).is_none_or(|wanted| endpoint(later) == Some(wanted));
    same_way && contains(later).contains(&contains(earlier))
}
