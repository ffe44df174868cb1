//! `query_change_events`: deployments, flags and configuration changes that were reported to us.

use std::{collections::BTreeSet, fmt::Write};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Class, Found, Tool, ToolContext, ToolError, ToolOutput,
    headline::{headline, shorten},
    time::{self, When, span, utc},
};
use crate::store::{ChangeQuery, ChangeRow, Store, StoreError};

const MOST: u32 = 100;
const DAY_MS: i64 = 86_400_000;

#[derive(Debug)]
pub struct QueryChangeEvents {
    store: Store,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Start of the window: RFC 3339, unix seconds, or relative (-2h). Default: 24 hours before its end.
    since: Option<When>,
    /// End of the window. Default: now.
    until: Option<When>,
    /// Only changes of this service, by its exact name. Default: all.
    service: Option<String>,
}

impl QueryChangeEvents {
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    async fn query(&self, since: i64, until: i64, service: Option<&str>) -> Result<Vec<ChangeRow>, ToolError> {
        let query = ChangeQuery { since, until, service: service.map(str::to_owned), limit: MOST };
        let rows = self.store.changes().query(query).await;
        rows.map_err(|error: StoreError| ToolError::Broken(format!("changes can't be read now: {error}")))
    }
}

impl Tool for QueryChangeEvents {
    const NAME: &'static str = "query_change_events";
    const LOWEST: Class = Class::Read;
    type Args = Args;

    fn description(&self) -> String {
        "Lists changes (deployments, flags, configuration) in a window, newest first, with author and link. Ask what changed \
         shortly before the first symptom. Only changes that were reported here are known."
            .to_owned()
    }

    fn headline(&self, args: &Args) -> String {
        let service = args.service.as_deref().unwrap_or("all services");
        let since = args.since.as_ref().map_or("-24h", |when| when.0.as_str());
        headline(Self::NAME, &format!("{service} since {since}"))
    }

    async fn call(&self, args: Args, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let now = context.now_ms;
        let until = args.until.as_ref().map_or(Ok(now), |when| time::point("until", when, now))?;
        let since = args.since.as_ref().map_or(Ok(until - DAY_MS), |when| time::point("since", when, now))?;
        let (since, until) = time::window(since, until, now)?;
        let service = args.service.as_deref().map(str::trim).filter(|service| !service.is_empty());
        let changes = self.query(since, until, service).await?;
        let of = service.map(|service| format!(" of {service}")).unwrap_or_default();
        let mut out = format!("changes{of} from {} to {} (UTC)\n", utc(since), utc(until));
        if changes.is_empty() {
            out.push_str("none was reported in this window. A change nobody reported is not known here.\n");
            if service.is_some() {
                let others: BTreeSet<String> =
                    self.query(since, until, None).await?.into_iter().filter_map(|change| change.service).collect();
                if !others.is_empty() {
                    let others: Vec<String> = others.into_iter().take(20).collect();
                    let _ = writeln!(out, "services with changes in this window: {}", others.join(", "));
                }
            }
            return Ok(ToolOutput { text: out, found: Found::Nothing });
        }
        let _ = writeln!(out, "{} changes, newest first", changes.len());
        for change in &changes {
            one(&mut out, change, now);
        }
        if changes.len() >= MOST as usize {
            let _ = writeln!(out, "… there may be older ones: end the window earlier to see them.");
        }
        Ok(ToolOutput { text: out, found: Found::Something })
    }
}

fn one(out: &mut String, change: &ChangeRow, now_ms: i64) {
    let one_line = |text: &str, longest| shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), longest);
    let _ = write!(out, "- {} ({} ago) {}", utc(change.time), span(now_ms - change.time), one_line(&change.kind, 40));
    for (word, value) in [("of", &change.service), ("by", &change.author)] {
        if let Some(value) = value {
            let _ = write!(out, " {word} {}", one_line(value, 80));
        }
    }
    let _ = writeln!(out, ": {}", one_line(&change.title, 300));
    for value in [&change.url, &change.details].into_iter().flatten() {
        let _ = writeln!(out, "  {}", one_line(value, 500));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        store::NewChange,
        tools::testing::{NOW, call, store},
    };

    async fn ask(arguments: Value) -> Result<ToolOutput, ToolError> {
        let store = store().await;
        let change = |id: &str, minutes: i64, service: &str| NewChange {
            id: id.into(),
            time: NOW - minutes * 60_000,
            kind: "deploy".into(),
            title: format!("{service}\nv{id}"),
            service: Some(service.into()),
            author: Some("Alice".into()),
            url: Some("https://ci.example/1".into()),
            details: None,
            received_at: NOW,
        };
        let changes = vec![change("1", 90, "orders"), change("2", 20, "cart"), change("3", 3000, "orders")];
        store.changes().insert(changes).await.unwrap();
        call(QueryChangeEvents::new(store), arguments).await
    }

    #[tokio::test]
    async fn changes_of_a_day_come_newest_first() {
        let output = ask(json!({})).await.unwrap();
        assert_eq!(output.found, Found::Something);
        insta::assert_snapshot!(output.text, @r"
        changes from 2026-01-30T09:30:00Z to 2026-01-31T09:30:00Z (UTC)
        2 changes, newest first
        - 2026-01-31T09:10:00Z (20m00s ago) deploy of cart by Alice: cart v2
          https://ci.example/1
        - 2026-01-31T08:00:00Z (1h30m ago) deploy of orders by Alice: orders v1
          https://ci.example/1
        ");
    }

    #[tokio::test]
    async fn no_change_of_a_service_names_the_services_that_changed() {
        let output = ask(json!({"service": "order", "since": "-2h"})).await.unwrap();
        assert_eq!(output.found, Found::Nothing);
        assert!(output.text.starts_with("changes of order from 2026-01-31T07:30:00Z"), "{}", output.text);
        assert!(output.text.ends_with("services with changes in this window: cart, orders\n"), "{}", output.text);
        assert_eq!(ask(json!({"since": "-5m"})).await.unwrap().found, Found::Nothing);
        assert_eq!(ask(json!({"service": "orders"})).await.unwrap().text.matches("\n- ").count(), 1);
        assert!(matches!(ask(json!({"since": "now"})).await, Err(ToolError::TellModel(_))));
    }
}
