//! The client of Prometheus and of what speaks its API: three kinds of answers, and its errors as advice. How an answer looks
//! to a model is left to the tools.

use reqwest::{Client, Url};
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    labels::Labels,
    source::{Reply, SERVER_LIMIT, Source, SourceError},
};

#[derive(Clone, Debug)]
pub struct Prometheus {
    source: Source,
}

/// Data with what the server said about it: the only sign of a partial answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer<T> {
    pub(super) data: T,
    pub(super) warnings: Vec<String>,
    pub(super) infos: Vec<String>,
}

/// Unix seconds, and the value as text: it may be `NaN` or `+Inf`.
pub(super) type Point = (f64, String);

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "resultType", content = "result", rename_all = "lowercase")]
pub(super) enum Data {
    Vector(Vec<Sample>),
    Matrix(Vec<Series>),
    Scalar(Point),
    String(Point),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Sample {
    pub(super) metric: Labels,
    pub(super) value: Option<Point>,
    pub(super) histogram: Option<(f64, Histogram)>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Series {
    pub(super) metric: Labels,
    #[serde(default)]
    pub(super) values: Vec<Point>,
    #[serde(default)]
    pub(super) histograms: Vec<(f64, Histogram)>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Histogram {
    pub(super) count: String,
    pub(super) sum: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct RuleGroups {
    pub(super) groups: Vec<RuleGroup>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct RuleGroup {
    pub(super) name: String,
    #[serde(default)]
    pub(super) rules: Vec<Rule>,
}

/// An alerting rule as its evaluator sees it; it knows nothing of silences.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) query: String,
    #[serde(default)]
    pub(super) state: String,
    #[serde(default)]
    pub(super) duration: f64,
    #[serde(default)]
    pub(super) labels: Labels,
    #[serde(default)]
    pub(super) annotations: Labels,
    #[serde(default)]
    pub(super) health: String,
    #[serde(default)]
    pub(super) last_error: String,
    #[serde(default)]
    pub(super) alerts: Vec<ActiveAlert>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ActiveAlert {
    #[serde(default)]
    pub(super) labels: Labels,
    #[serde(default)]
    pub(super) annotations: Labels,
    #[serde(default)]
    pub(super) state: String,
    #[serde(default)]
    pub(super) active_at: String,
    #[serde(default)]
    pub(super) value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    status: String,
    data: Option<serde_json::Value>,
    #[serde(default)]
    error_type: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    infos: Vec<String>,
}

impl Prometheus {
    pub const NAME: &'static str = "Prometheus";

    pub fn new(client: Client, base: Url) -> Self {
        Self { source: Source::new(Self::NAME, client, base) }
    }

    pub(super) async fn instant(&self, query: &str, time_ms: i64) -> Result<Answer<Data>, SourceError> {
        let parameters = [("query", query.to_owned()), ("time", unix(time_ms)), ("timeout", limit())];
        read(&self.source.ask("api/v1/query", &parameters, true).await?)
    }

    pub(super) async fn range(
        &self,
        query: &str,
        (start_ms, end_ms): (i64, i64),
        step_ms: i64,
    ) -> Result<Answer<Data>, SourceError> {
        let parameters = [
            ("query", query.to_owned()),
            ("start", unix(start_ms)),
            ("end", unix(end_ms)),
            ("step", unix(step_ms)),
            ("timeout", limit()),
        ];
        read(&self.source.ask("api/v1/query_range", &parameters, true).await?)
    }

    /// Every metric that had a sample in the window, up to a bound that only very large servers reach.
    pub(super) async fn metric_names(&self, (start_ms, end_ms): (i64, i64)) -> Result<Vec<String>, SourceError> {
        let parameters = [("start", unix(start_ms)), ("end", unix(end_ms)), ("limit", "50000".to_owned())];
        let reply = self.source.ask("api/v1/label/__name__/values", &parameters, false).await?;
        read::<Vec<String>>(&reply).map(|answer| answer.data)
    }

    pub(super) async fn alert_rules(&self) -> Result<Answer<RuleGroups>, SourceError> {
        read(&self.source.ask("api/v1/rules", &[("type", "alert".to_owned())], false).await?)
    }
}

/// Seconds with milliseconds, as the API takes times and steps.
fn unix(ms: i64) -> String {
    if ms % 1000 == 0 { (ms / 1000).to_string() } else { format!("{}.{:03}", ms / 1000, ms % 1000) }
}

fn limit() -> String {
    format!("{}s", SERVER_LIMIT.as_secs())
}

fn read<T: DeserializeOwned>(reply: &Reply) -> Result<Answer<T>, SourceError> {
    let Ok(envelope) = serde_json::from_slice::<Envelope>(&reply.body) else { return Err(reply.stranger()) };
    if envelope.status != "success" {
        return Err(refused(&envelope, reply));
    }
    let data = serde_json::from_value(envelope.data.unwrap_or_default())
        .map_err(|error| SourceError::Down(format!("an answer that was not understood: {error}")))?;
    Ok(Answer { data, warnings: envelope.warnings, infos: envelope.infos })
}

fn refused(envelope: &Envelope, reply: &Reply) -> SourceError {
    let (kind, text) = (envelope.error_type.as_str(), envelope.error.as_str());
    let ask = |advice: &str| SourceError::Ask(format!("Prometheus refused the query ({kind}): {text}. {advice}"));
    match kind {
        "bad_data" if text.contains("11,000") => ask("Use a larger step, or leave it out."),
        "bad_data" => ask("Correct the query; a position in it is line:column."),
        "execution" => {
            ask("The query is valid but can't be evaluated: narrow the selector or the window, or aggregate.")
        }
        "timeout" | "canceled" => ask("It took too long: halve the window, narrow the selector or aggregate."),
        "" if text.is_empty() => reply.stranger(),
        _ => SourceError::Down(format!("HTTP {}, {kind}: {text}", reply.status.as_u16())),
    }
}
