//! `query_alert_rules`: what the alerting rules of Prometheus say and which of them are active.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Class, Found, Prometheus, Tool, ToolContext, ToolError, ToolOutput,
    headline::headline,
    labels::{annotation, print, runbook, without},
    prometheus::{Answer, Rule, RuleGroups},
    time::{span, utc},
};

const MOST_ALERTS: usize = 50;

#[derive(Debug)]
pub struct QueryAlertRules {
    prometheus: Prometheus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum State {
    Firing,
    Pending,
    Inactive,
}

impl State {
    fn of(rule: &Rule) -> Self {
        match rule.state.as_str() {
            "firing" => Self::Firing,
            "pending" => Self::Pending,
            _ => Self::Inactive,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Firing => "firing",
            Self::Pending => "pending",
            Self::Inactive => "inactive",
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Part of a rule's name, upper or lower case. Default: all rules.
    name: Option<String>,
    /// Only rules in this state. Default: all states, active ones first.
    state: Option<State>,
}

impl QueryAlertRules {
    pub fn new(prometheus: Prometheus) -> Self {
        Self { prometheus }
    }
}

impl Tool for QueryAlertRules {
    const NAME: &'static str = "query_alert_rules";
    const LOWEST: Class = Class::Read;
    type Args = Args;

    fn description(&self) -> String {
        "Shows alerting rules of Prometheus: expression, threshold, `for` time, labels, and active alerts with their values \
         and since when. Start an alert's investigation here: query the rule's own expression, not a similar metric. \
         Silences are unknown here; get_active_incidents knows them."
            .to_owned()
    }

    fn headline(&self, args: &Args) -> String {
        let state = args.state.map(State::word).unwrap_or_default();
        headline(Self::NAME, format!("{} {state}", args.name.as_deref().unwrap_or_default()).trim())
    }

    async fn call(&self, args: Args, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        match self.prometheus.alert_rules().await {
            Ok(answer) => Ok(text(&args, &answer, context.now_ms)),
            Err(error) => error.into_result(Prometheus::NAME),
        }
    }
}

fn text(args: &Args, answer: &Answer<RuleGroups>, now_ms: i64) -> ToolOutput {
    let wanted = args.name.as_deref().unwrap_or_default().trim().to_lowercase();
    let all: Vec<(&str, &Rule)> = answer
        .data
        .groups
        .iter()
        .flat_map(|group| group.rules.iter().map(|rule| (group.name.as_str(), rule)))
        .collect();
    let mut rules: Vec<&(&str, &Rule)> = all
        .iter()
        .filter(|(_, rule)| rule.name.to_lowercase().contains(&wanted))
        .filter(|(_, rule)| args.state.is_none_or(|state| state == State::of(rule)))
        .collect();
    rules.sort_by_key(|(_, rule)| State::of(rule) as u8);

    let mut out = format!("alert rules at {} (UTC)\n", utc(now_ms));
    for warning in &answer.warnings {
        let _ = writeln!(out, "warning (the answer may be partial): {warning}");
    }
    if rules.is_empty() {
        let _ = writeln!(out, "no rule matches{}. Prometheus has {} alert rules.", asked(args), all.len());
        let mut near: Vec<(f64, &str)> = all
            .iter()
            .map(|(_, rule)| (strsim::jaro_winkler(&wanted, &rule.name.to_lowercase()), rule.name.as_str()))
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        near.dedup_by_key(|(_, name)| *name);
        let near: Vec<&str> = near.into_iter().take(3).map(|(_, name)| name).collect();
        if !wanted.is_empty() && !near.is_empty() {
            let _ = writeln!(out, "nearest names: {}", near.join(", "));
        }
        return ToolOutput { text: out, found: Found::Nothing };
    }
    let count = |state| rules.iter().filter(|(_, rule)| State::of(rule) == state).count();
    let _ = writeln!(
        out,
        "{} rules{}: {} firing, {} pending, {} inactive",
        rules.len(),
        asked(args),
        count(State::Firing),
        count(State::Pending),
        count(State::Inactive)
    );
    // Whoever asks for everything gets idle rules in one line each; whoever asks for a name gets all of it.
    let brief = wanted.is_empty();
    for (group, rule) in rules {
        one(&mut out, group, rule, brief, now_ms);
    }
    ToolOutput { text: out, found: Found::Something }
}

fn asked(args: &Args) -> String {
    let name = args.name.as_deref().map(|name| format!(" name containing {name:?}"));
    let state = args.state.map(|state| format!(" state {}", state.word()));
    format!("{}{}", name.unwrap_or_default(), state.unwrap_or_default())
}

fn one(out: &mut String, group: &str, rule: &Rule, brief: bool, now_ms: i64) {
    let state = State::of(rule);
    let query = rule.query.split_whitespace().collect::<Vec<_>>().join(" ");
    if brief && state == State::Inactive && rule.health != "err" {
        let _ = writeln!(out, "- {} [inactive]: {query}", rule.name);
        return;
    }
    let _ = writeln!(out, "- {} [{}] in group {group}", rule.name, state.word());
    let _ = writeln!(out, "  expression: {query}");
    if rule.duration > 0.0 {
        let _ = writeln!(out, "  for: {} s", rule.duration);
    }
    if !rule.labels.is_empty() {
        let _ = writeln!(out, "  labels: {}", print(&rule.labels));
    }
    // With active alerts the text with its values filled in stands there.
    if let Some(text) = annotation(&rule.annotations).filter(|_| rule.alerts.is_empty()) {
        let _ = writeln!(out, "  says: {text}");
    }
    if let Some(runbook) = runbook(&rule.annotations) {
        let _ = writeln!(out, "  runbook: {runbook}");
    }
    if rule.health == "err" {
        let _ = writeln!(out, "  the rule itself fails, so it can't fire: {}", rule.last_error);
    }
    for alert in rule.alerts.iter().take(MOST_ALERTS) {
        let mut own = without(&alert.labels, &rule.labels);
        own.remove("alertname");
        let since = alert.active_at.parse::<jiff::Timestamp>().map_or_else(
            |_| alert.active_at.clone(),
            |at| format!("{} ({} ago)", utc(at.as_millisecond()), span(now_ms - at.as_millisecond())),
        );
        let _ = write!(out, "  * {} {} since {since}, value {}", alert.state, print(&own), alert.value);
        let _ = match annotation(&alert.annotations) {
            Some(text) => writeln!(out, ": {text}"),
            None => writeln!(out),
        };
    }
    if rule.alerts.len() > MOST_ALERTS {
        let _ = writeln!(out, "  … and {} more alerts of this rule", rule.alerts.len() - MOST_ALERTS);
    }
}

#[cfg(test)]
mod tests {
    use axum::{Router, routing::get};
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::testing::{Server, call, client};

    async fn ask(arguments: Value) -> Result<ToolOutput, ToolError> {
        let body = json!({"status": "success", "data": {"groups": [
            {"name": "pool", "file": "/etc/pool.yml", "interval": 30, "rules": [
                {"type": "alerting", "name": "PoolIdle", "query": "pool_free >\n 100", "state": "inactive", "health": "ok"},
                {"type": "alerting", "name": "PoolBroken", "query": "x", "state": "inactive", "health": "err",
                 "lastError": "many-to-many"},
                {"type": "alerting", "name": "PoolExhausted", "query": "pool_in_use / pool_size > 0.95", "duration": 300,
                 "state": "firing", "health": "ok", "labels": {"severity": "critical"},
                 "annotations": {"summary": "Pool of {{ $labels.db }} full", "runbook_url": "https://runbooks.example/pool"},
                 "alerts": [{"labels": {"alertname": "PoolExhausted", "severity": "critical", "db": "orders"},
                             "annotations": {"summary": "Pool of orders full"}, "state": "firing",
                             "activeAt": "2026-01-31T09:12:00.5Z", "value": "9.8e-01"}]},
            ]},
        ]}});
        let body = body.to_string();
        let router = Router::new().route("/api/v1/rules", get(move || async move { body }));
        let server = Server::start(router).await;
        call(QueryAlertRules::new(Prometheus::new(client(), server.url(""))), arguments).await
    }

    #[tokio::test]
    async fn active_rules_come_first_and_idle_ones_in_short() {
        let output = ask(json!({})).await.unwrap();
        assert_eq!(output.found, Found::Something);
        insta::assert_snapshot!(output.text, @r#"
        alert rules at 2026-01-31T09:30:00Z (UTC)
        3 rules: 1 firing, 0 pending, 2 inactive
        - PoolExhausted [firing] in group pool
          expression: pool_in_use / pool_size > 0.95
          for: 300 s
          labels: {severity="critical"}
          runbook: https://runbooks.example/pool
          * firing {db="orders"} since 2026-01-31T09:12:00Z (17m59s ago), value 9.8e-01: Pool of orders full
        - PoolIdle [inactive]: pool_free > 100
        - PoolBroken [inactive] in group pool
          expression: x
          the rule itself fails, so it can't fire: many-to-many
        "#);
    }

    #[tokio::test]
    async fn a_name_or_state_without_a_rule_is_nothing_with_near_names() {
        let output = ask(json!({"name": "PoolExhaustion"})).await.unwrap();
        assert_eq!(output.found, Found::Nothing);
        assert!(output.text.contains("nearest names: PoolExhausted, "), "{}", output.text);
        assert_eq!(ask(json!({"state": "pending"})).await.unwrap().found, Found::Nothing);
        assert!(matches!(ask(json!({"state": "red"})).await, Err(ToolError::TellModel(_))));
        let text = ask(json!({"name": "poolidle", "state": "inactive"})).await.unwrap().text;
        assert!(text.contains("- PoolIdle [inactive] in group pool\n  expression: pool_free > 100\n"), "{text}");
    }

    #[tokio::test]
    async fn nobody_listening_is_source_down() {
        let tool = QueryAlertRules::new(Prometheus::new(client(), Server::closed().await));
        assert_eq!(call(tool, json!({})).await.unwrap().found, Found::SourceDown);
    }
}
