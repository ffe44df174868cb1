//! `get_active_incidents`: what fires now and since when, as Alertmanager knows it: without what is silenced or inhibited.

use std::{collections::BTreeMap, fmt::Write};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::{
    Alertmanager, Class, Found, Tool, ToolContext, ToolError, ToolOutput,
    alertmanager::Alert,
    headline::headline,
    labels::{Labels, annotation, common, print, runbook, without},
    time::{span, utc},
};

const MOST_OF_A_NAME: usize = 30;

#[derive(Debug)]
pub struct GetActiveIncidents {
    alertmanager: Alertmanager,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Only alerts that fit all of these, such as severity="critical" or team=~"a|b". Default: every alert.
    #[serde(default, deserialize_with = "one_or_many")]
    matchers: Vec<String>,
}

/// Models write one matcher as a plain string.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a list of matchers such as [\"severity=\\\"critical\\\"\"]")]
    enum OneOrMany {
        Many(Vec<String>),
        One(String),
        None(()),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::Many(many) => many,
        OneOrMany::One(one) if one.trim().is_empty() => Vec::new(),
        OneOrMany::One(one) => vec![one],
        OneOrMany::None(()) => Vec::new(),
    })
}

impl GetActiveIncidents {
    pub fn new(alertmanager: Alertmanager) -> Self {
        Self { alertmanager }
    }
}

impl Tool for GetActiveIncidents {
    const NAME: &'static str = "get_active_incidents";
    const LOWEST: Class = Class::Read;
    type Args = Args;

    fn description(&self) -> String {
        "Lists the alerts that fire now, oldest first by name, with their labels, since when, and who was told. Silenced and \
         inhibited alerts are left out. Ask this first when it is unclear what is wrong."
            .to_owned()
    }

    fn headline(&self, args: &Args) -> String {
        headline(Self::NAME, &args.matchers.join(", "))
    }

    async fn call(&self, args: Args, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        match self.alertmanager.firing(&args.matchers).await {
            Ok(alerts) => Ok(text(&args.matchers, &alerts, context.now_ms)),
            Err(error) => error.into_result(Alertmanager::NAME),
        }
    }
}

fn text(matchers: &[String], alerts: &[Alert], now_ms: i64) -> ToolOutput {
    let with = if matchers.is_empty() { String::new() } else { format!(" with {}", matchers.join(", ")) };
    let mut out = format!("active alerts{with} at {} (UTC), without silenced and inhibited ones\n", utc(now_ms));
    if alerts.is_empty() {
        out.push_str("none: nothing fires. What has no alert may still be broken.\n");
        return ToolOutput { text: out, found: Found::Nothing };
    }
    let mut by_name: BTreeMap<&str, Vec<(Option<i64>, &Alert)>> = BTreeMap::new();
    for alert in alerts {
        let name = alert.labels.get("alertname").map_or("(without a name)", String::as_str);
        let since = alert.starts_at.parse::<jiff::Timestamp>().ok().map(|at| at.as_millisecond());
        by_name.entry(name).or_default().push((since, alert));
    }
    let mut groups: Vec<_> = by_name.into_iter().collect();
    for (_, group) in &mut groups {
        group.sort_by_key(|(since, _)| since.unwrap_or(i64::MAX));
    }
    // What began first is nearest to the cause.
    groups.sort_by_key(|(_, group)| group.first().and_then(|(since, _)| *since).unwrap_or(i64::MAX));
    let _ = writeln!(out, "{} firing, {} names", alerts.len(), groups.len());
    for (name, group) in groups {
        one_name(&mut out, name, &group, now_ms);
    }
    ToolOutput { text: out, found: Found::Something }
}

fn one_name(out: &mut String, name: &str, group: &[(Option<i64>, &Alert)], now_ms: i64) {
    let mut shared = common(group.iter().map(|(_, alert)| &alert.labels));
    // Said in the heading, and never again for an alert.
    let mut said = shared.clone();
    said.insert("alertname".to_owned(), name.to_owned());
    shared.remove("alertname");
    let mut receivers: Vec<&str> =
        group.iter().flat_map(|(_, alert)| alert.receivers.iter().map(|r| r.name.as_str())).collect();
    receivers.sort_unstable();
    receivers.dedup();
    let _ = write!(out, "- {name}: {} firing {}", group.len(), print(&shared));
    let _ = if receivers.is_empty() { writeln!(out) } else { writeln!(out, ", told: {}", receivers.join(", ")) };
    if let Some(runbook) = group.iter().find_map(|(_, alert)| runbook(&alert.annotations)) {
        let _ = writeln!(out, "  runbook: {runbook}");
    }
    for (since, alert) in group.iter().take(MOST_OF_A_NAME) {
        let own: Labels = without(&alert.labels, &said);
        let own = if own.is_empty() { String::new() } else { format!("{} ", print(&own)) };
        let since =
            since.map_or_else(|| "an unknown time".to_owned(), |at| format!("{} ({} ago)", utc(at), span(now_ms - at)));
        let _ = write!(out, "  * {own}since {since}");
        let _ = match annotation(&alert.annotations) {
            Some(text) => writeln!(out, ": {text}"),
            None => writeln!(out),
        };
    }
    if group.len() > MOST_OF_A_NAME {
        let _ = writeln!(out, "  … and {} more", group.len() - MOST_OF_A_NAME);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::{Router, extract::RawQuery, http::StatusCode, routing::get};
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::testing::{Server, call, client};

    async fn ask(status: u16, body: Value, arguments: Value) -> (Result<ToolOutput, ToolError>, String) {
        let asked = Arc::new(Mutex::new(String::new()));
        let log = Arc::clone(&asked);
        let router = Router::new().route(
            "/am/api/v2/alerts",
            get(move |RawQuery(query): RawQuery| {
                *log.lock().unwrap() = query.unwrap_or_default();
                async move { (StatusCode::from_u16(status).unwrap(), body.to_string()) }
            }),
        );
        let server = Server::start(router).await;
        let output = call(GetActiveIncidents::new(Alertmanager::new(client(), server.url("/am"))), arguments).await;
        let asked = asked.lock().unwrap().clone();
        (output, asked)
    }

    fn alert(name: &str, pod: &str, since: &str) -> Value {
        json!({
            "labels": {"alertname": name, "severity": "critical", "pod": pod},
            "annotations": {"summary": format!("{pod} is\nunwell")},
            "receivers": [{"name": "pager"}], "fingerprint": "ab", "startsAt": since, "updatedAt": since,
            "endsAt": "2026-01-31T09:40:00Z", "status": {"state": "active", "silencedBy": [], "inhibitedBy": []},
        })
    }

    #[tokio::test]
    async fn what_fires_is_told_oldest_first_with_its_age() {
        let alerts = json!([
            alert("Errors", "b", "2026-01-31T09:20:00Z"),
            alert("PoolFull", "db", "2026-01-30T09:00:00.000Z"),
            alert("Errors", "a", "2026-01-31T09:10:00Z"),
        ]);
        let (output, asked) = ask(200, alerts, json!({"matchers": ["severity=\"critical\""]})).await;
        let output = output.unwrap();
        assert_eq!(output.found, Found::Something);
        insta::assert_snapshot!(output.text, @r#"
        active alerts with severity="critical" at 2026-01-31T09:30:00Z (UTC), without silenced and inhibited ones
        3 firing, 2 names
        - PoolFull: 1 firing {pod="db", severity="critical"}, told: pager
          * since 2026-01-30T09:00:00Z (1d00h ago): db is unwell
        - Errors: 2 firing {severity="critical"}, told: pager
          * {pod="a"} since 2026-01-31T09:10:00Z (20m00s ago): a is unwell
          * {pod="b"} since 2026-01-31T09:20:00Z (10m00s ago): b is unwell
        "#);
        assert_eq!(asked, "active=true&silenced=false&inhibited=false&filter=severity%3D%22critical%22");
    }

    #[tokio::test]
    async fn nothing_firing_is_an_answer_and_one_matcher_may_be_a_string() {
        for arguments in [json!({}), json!({"matchers": "team=a"}), json!({"matchers": null}), json!({"matchers": ""})]
        {
            assert_eq!(ask(200, json!([]), arguments).await.0.unwrap().found, Found::Nothing);
        }
        assert!(matches!(ask(200, json!([]), json!({"matchers": 5})).await.0, Err(ToolError::TellModel(_))));
    }

    #[tokio::test]
    async fn a_refused_matcher_is_told_and_a_broken_server_is_down() {
        let (output, _) = ask(400, json!("bad matcher format: severity"), json!({"matchers": ["severity"]})).await;
        let Err(ToolError::TellModel(text)) = output else { panic!("{output:?}") };
        assert!(text.contains("refused the matchers: bad matcher format: severity."), "{text}");
        for (status, body) in [(500, json!("oops")), (200, json!({"odd": 1})), (404, json!(null))] {
            assert_eq!(ask(status, body, json!({})).await.0.unwrap().found, Found::SourceDown);
        }
        let tool = GetActiveIncidents::new(Alertmanager::new(client(), Server::closed().await));
        assert_eq!(call(tool, json!({})).await.unwrap().found, Found::SourceDown);
    }
}
