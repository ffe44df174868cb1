//! `query_promql`: one PromQL expression, at one time or over a window.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Class, Found, Prometheus, Tool, ToolContext, ToolError, ToolOutput,
    headline::headline,
    metric_names,
    promql_text::{self, Asked},
    time::{self, When},
};

/// The server refuses more.
const MOST_STEPS: i64 = 11_000;
const WANTED_STEPS: i64 = 60;
const LADDER_S: [i64; 11] = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 21_600, 86_400];

#[derive(Debug)]
pub struct QueryPromql {
    prometheus: Prometheus,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The PromQL expression.
    query: String,
    /// For an instant query: RFC 3339, unix seconds, or relative (now, -15m). Default: now.
    time: Option<When>,
    /// Makes it a range query: where the window starts (-1h, RFC 3339, unix seconds).
    start: Option<When>,
    /// Where the window ends. Default: now.
    end: Option<When>,
    /// Distance of points in a range query (30s, 5m). Default: chosen for about 60 points.
    step: Option<When>,
}

impl QueryPromql {
    pub fn new(prometheus: Prometheus) -> Self {
        Self { prometheus }
    }
}

impl Tool for QueryPromql {
    const NAME: &'static str = "query_promql";
    const LOWEST: Class = Class::Read;
    type Args = Args;

    fn description(&self) -> String {
        "Asks Prometheus. Without `start` an instant query (the value at one time); with `start` a range query over a \
         window. Use rate() or increase() on counters with a window of at least 4 scrapes, and aggregate (sum by, topk) \
         what would return more than 20 series. No data is an answer, and it is not the value 0."
            .to_owned()
    }

    fn headline(&self, args: &Args) -> String {
        headline(Self::NAME, &args.query)
    }

    async fn call(&self, args: Args, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let asked = args.asked(context.now_ms)?;
        let answer = match asked {
            Asked::At(ms) => self.prometheus.instant(&args.query, ms).await,
            Asked::Over { start_ms, end_ms, step_ms } => {
                self.prometheus.range(&args.query, (start_ms, end_ms), step_ms).await
            }
        };
        match answer {
            Ok(answer) => {
                let mut output = promql_text::text(&args.query, asked, &answer);
                if output.found == Found::Nothing {
                    output.text.push_str(&self.why_nothing(&args.query, asked).await);
                }
                Ok(output)
            }
            Err(error) => error.into_result(Prometheus::NAME),
        }
    }
}

impl QueryPromql {
    /// A wrong name is the commonest reason. Advice only: if it can't be had quickly, the answer stands without it.
    async fn why_nothing(&self, query: &str, asked: Asked) -> String {
        const PATIENCE: Duration = Duration::from_secs(3);
        const LOOKBACK_MS: i64 = 3_600_000;
        let window = match asked {
            Asked::At(ms) => (ms - LOOKBACK_MS, ms),
            Asked::Over { start_ms, end_ms, .. } => (start_ms, end_ms),
        };
        match tokio::time::timeout(PATIENCE, self.prometheus.metric_names(window)).await {
            Ok(Ok(names)) if !names.is_empty() => metric_names::advice(query, &names),
            _ => String::new(),
        }
    }
}

impl Args {
    fn asked(&self, now_ms: i64) -> Result<Asked, ToolError> {
        let tell = |text: &str| Err(ToolError::TellModel(text.to_owned()));
        if self.query.trim().is_empty() {
            return tell("`query` is empty: write a PromQL expression.");
        }
        let Some(start) = &self.start else {
            if self.end.is_some() || self.step.is_some() {
                return tell("`end` and `step` belong to a range query: give `start` too, or only `time`.");
            }
            let at = self.time.as_ref().map_or(Ok(now_ms), |when| time::point("time", when, now_ms))?;
            return Ok(Asked::At(at));
        };
        if self.time.is_some() {
            return tell("`time` is for an instant query and `start` for a range query: give one of them.");
        }
        let start_ms = time::point("start", start, now_ms)?;
        let end_ms = self.end.as_ref().map_or(Ok(now_ms), |when| time::point("end", when, now_ms))?;
        let (start_ms, end_ms) = time::window(start_ms, end_ms, now_ms)?;
        let fitting = auto_step_ms(end_ms - start_ms);
        let step_ms = match &self.step {
            None => fitting,
            Some(step) => time::length("step", step)?,
        };
        if (end_ms - start_ms) / step_ms > MOST_STEPS {
            return Err(ToolError::TellModel(format!(
                "a step of {} s over this window gives more than 11,000 points per series, which Prometheus refuses. Use \
                 step = \"{}s\" or leave it out.",
                step_ms as f64 / 1000.0,
                fitting / 1000
            )));
        }
        Ok(Asked::Over { start_ms, end_ms, step_ms })
    }
}

/// The next tidy step that gives at most the wanted number of steps; beyond the ladder whole days.
fn auto_step_ms(window_ms: i64) -> i64 {
    let wanted_s = (window_ms + WANTED_STEPS * 1000 - 1) / (WANTED_STEPS * 1000);
    let day = 86_400;
    LADDER_S.into_iter().find(|s| *s >= wanted_s).unwrap_or((wanted_s + day - 1) / day * day) * 1000
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::{Router, extract::RawQuery, http::StatusCode, routing::get};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::testing::{NOW, Server, call, client};

    async fn ask(status: u16, body: &str, arguments: Value) -> (Result<ToolOutput, ToolError>, Vec<String>) {
        let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (log, body) = (Arc::clone(&asked), body.to_owned());
        let handler = move |name: &'static str| {
            let (log, body) = (Arc::clone(&log), body.clone());
            move |RawQuery(query): RawQuery| {
                log.lock().unwrap().push(format!("{name}?{}", query.unwrap_or_default()));
                async move { (StatusCode::from_u16(status).unwrap(), body) }
            }
        };
        let router = Router::new()
            .route("/api/v1/query", get(handler("query")))
            .route("/api/v1/query_range", get(handler("query_range")))
            .route("/api/v1/label/__name__/values", get(|| async { r#"{"status":"success","data":["up","upper"]}"# }));
        let server = Server::start(router).await;
        let output = call(QueryPromql::new(Prometheus::new(client(), server.url(""))), arguments).await;
        let asked = asked.lock().unwrap().clone();
        (output, asked)
    }

    #[tokio::test]
    async fn an_instant_query_gives_the_value_now() {
        let body = r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{"job":"api"},"value":[1,"98"]}]}}"#;
        let (output, asked) = ask(200, body, json!({"query": "pg_pool_in_use"})).await;
        let text = "query: pg_pool_in_use\nat: 2026-01-31T09:30:00Z (UTC)\n1 series\n{job=\"api\"} = 98\n";
        assert_eq!(output, Ok(ToolOutput { text: text.into(), found: Found::Something }));
        assert_eq!(asked, ["query?query=pg_pool_in_use&time=1769851800&timeout=20s"]);
    }

    #[tokio::test]
    async fn a_range_query_resolves_its_window_and_says_when_nothing_is_there() {
        let body = r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#;
        let (output, asked) = ask(200, body, json!({"query": "uppr", "start": "-1h"})).await;
        let output = output.unwrap();
        assert_eq!(output.found, Found::Nothing);
        assert!(
            output.text.contains("window: 2026-01-31T08:30:00Z to 2026-01-31T09:30:00Z (UTC), step 1m"),
            "{output:?}"
        );
        assert_eq!(asked, ["query_range?query=uppr&start=1769848200&end=1769851800&step=60&timeout=20s"]);
    }

    #[tokio::test]
    async fn each_refusal_of_prometheus_is_told_or_is_source_down() {
        let error = |kind: &str, text: &str| json!({"status": "error", "errorType": kind, "error": text}).to_string();
        for (status, body, told) in [
            (400, error("bad_data", "1:5: parse error: unexpected end"), Some("(bad_data): 1:5: parse error")),
            (422, error("execution", "many-to-many"), Some("(execution): many-to-many")),
            (503, error("timeout", "query timed out"), Some("halve the window")),
            (504, "<html>gateway</html>".to_owned(), Some("halve the window")),
            (500, error("internal", "storage"), None),
            (401, "denied".to_owned(), None),
            (404, "404 page not found".to_owned(), None),
            (200, "<html>login</html>".to_owned(), None),
            (200, r#"{"status":"success","data":{"resultType":"odd"}}"#.to_owned(), None),
        ] {
            let (output, _) = ask(status, &body, json!({"query": "up"})).await;
            match (told, output) {
                (Some(part), Err(ToolError::TellModel(text))) => assert!(text.contains(part), "{text}"),
                (None, Ok(output)) => {
                    assert_eq!(output.found, Found::SourceDown, "{output:?}");
                    assert!(output.text.starts_with("source down: Prometheus gave no answer ("), "{output:?}");
                }
                (_, other) => panic!("{status} {body}: {other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn nobody_listening_is_source_down() {
        let output = call(
            QueryPromql::new(Prometheus::new(client(), Server::closed().await)),
            json!({"query": "up", "start": "-15m"}),
        );
        assert_eq!(output.await.unwrap().found, Found::SourceDown);
    }

    #[tokio::test]
    async fn arguments_that_contradict_each_other_are_told_before_anything_is_sent() {
        for arguments in [
            json!({"query": " "}),
            json!({"query": "up", "end": "now"}),
            json!({"query": "up", "step": "1m"}),
            json!({"query": "up", "time": "now", "start": "-1h"}),
            json!({"query": "up", "start": "-1h", "end": "-2h"}),
            json!({"query": "up", "start": "-1d", "step": "1s"}),
            json!({"query": "up", "start": "soon"}),
            json!({"query": "up", "range": "1h"}),
        ] {
            let (output, asked) = ask(200, "{}", arguments.clone()).await;
            assert!(matches!(output, Err(ToolError::TellModel(_))), "{arguments}: {output:?}");
            assert_eq!(asked, [""; 0]);
        }
    }

    #[test]
    fn steps_are_tidy() {
        let hours = [0, 1, 24, 168, 24 * 30, 24 * 365].map(|h| auto_step_ms(h * 3_600_000) / 1000);
        assert_eq!(hours, [15, 60, 1800, 21_600, 86_400, 7 * 86_400]);
    }

    proptest! {
        #[test]
        fn an_automatic_step_gives_at_most_sixty_steps(window_ms in 1_i64..40_000_000_000) {
            let step = auto_step_ms(window_ms);
            prop_assert!(step > 0 && window_ms / step <= WANTED_STEPS);
            let args = Args {
                query: "up".into(), time: None, step: None, end: None,
                start: Some(When(format!("-{window_ms}ms"))),
            };
            let asked = args.asked(NOW);
            let fits = matches!(asked, Ok(Asked::Over { step_ms, .. }) if step_ms == step);
            prop_assert!(fits, "{:?}", asked);
        }
    }
}
