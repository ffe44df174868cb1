//! The recorded world: what the metrics server and the alert server know.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::fresh;
use crate::{
    ScriptError,
    time::{self, span_in_words},
};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TelemetryScript {
    pub prometheus: PrometheusScript,
    pub alertmanager: AlertmanagerScript,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PrometheusScript {
    pub queries: Vec<QueryScript>,
    /// Rule groups, as `/api/v1/rules` lists them.
    pub rules: Vec<Value>,
    pub down: bool,
}

/// The first whose text occurs in the query answers. A query without one gets an empty result.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryScript {
    /// Empty fits every query.
    #[serde(default)]
    pub contains: String,
    /// `query` or `query_range`; without it both.
    pub endpoint: Option<String>,
    /// `resultType` and `result`. An instant query takes the last sample of a matrix.
    pub result: Option<Value>,
    pub error: Option<QueryError>,
    #[serde(default)]
    pub warnings: Vec<String>,
    #[serde(default, deserialize_with = "span_in_words")]
    pub delay: Option<Duration>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryError {
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AlertmanagerScript {
    /// As `/api/v2/alerts` lists them; what is missing besides `labels` gets a usual value.
    pub alerts: Vec<Value>,
    pub silences: Vec<Value>,
    pub down: bool,
}

impl TelemetryScript {
    pub fn parse(yaml: &str) -> Result<Self, ScriptError> {
        Ok(serde_yaml::from_str(yaml)?)
    }

    /// Settles relative times and fills in what every server sends.
    pub(crate) fn freshen(&mut self) {
        let now = time::now().as_secs_f64();
        let results = self.prometheus.queries.iter_mut().filter_map(|query| query.result.as_mut());
        let alerts = self.alertmanager.alerts.iter_mut().chain(&mut self.alertmanager.silences);
        for value in results.chain(&mut self.prometheus.rules).chain(alerts) {
            fresh::refresh(value, now);
        }
        for alert in &mut self.alertmanager.alerts {
            complete(alert, now);
        }
    }
}

fn complete(alert: &mut Value, now: f64) {
    let labels = alert["labels"].to_string();
    // FNV-1a: stable for a label set, which is all a fingerprint promises.
    let fingerprint = labels
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let usual = json!({"annotations": {}, "receivers": [{"name": "on-call"}], "startsAt": time::rfc3339(now - 300.0),
        "updatedAt": time::rfc3339(now - 15.0), "endsAt": time::rfc3339(now + 225.0), "generatorURL": "",
        "fingerprint": format!("{fingerprint:016x}"), "labels": {}, "status": {}});
    fill(alert, usual);
    let status = &alert["status"];
    let some = |key: &str| status[key].as_array().is_some_and(|list| !list.is_empty());
    let state = if some("silencedBy") || some("inhibitedBy") || some("mutedBy") { "suppressed" } else { "active" };
    let usual = json!({"state": state, "silencedBy": [], "inhibitedBy": [], "mutedBy": []});
    fill(&mut alert["status"], usual);
}

fn fill(into: &mut Value, usual: Value) {
    if into.is_null() {
        *into = Value::Object(Map::new());
    }
    let (Value::Object(into), Value::Object(usual)) = (into, usual) else { return };
    for (key, value) in usual {
        into.entry(key).or_insert(value);
    }
}
