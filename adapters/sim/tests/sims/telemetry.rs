//! Recorded telemetry: fresh times, filters, refusals and outages.

use serde_json::{Value, json};
use watchfloor_sim::telemetry::{Source, TelemetryScript, TelemetrySim};

use crate::support::http;

const SCRIPT: &str = r#"
prometheus:
  queries:
    - contains: pg_pool_in_use
      result:
        resultType: matrix
        result:
          - metric: {__name__: pg_pool_in_use, pool: checkout}
            values: [["-2h", 3], ["-10m", 19], ["-1m", "20"]]
    - contains: broken(
      error: {type: bad_data, message: "1:8: parse error"}
  rules:
    - name: checkout
      file: checkout.yaml
      interval: 15
      rules:
        - {name: HighErrorRate, type: alerting, state: firing, query: "rate(x[5m]) > 0.1", duration: 300,
           alerts: [{labels: {alertname: HighErrorRate}, annotations: {}, state: firing, activeAt: "-10m", value: "0.2"}]}
        - {name: "x:rate5m", type: recording, query: "rate(x[5m])"}
alertmanager:
  alerts:
    - labels: {alertname: HighErrorRate, severity: critical}
      startsAt: "-10m"
    - labels: {alertname: DiskFull, severity: warning}
      status: {silencedBy: [s1]}
"#;

async fn telemetry() -> TelemetrySim {
    TelemetrySim::start(TelemetryScript::parse(SCRIPT).unwrap()).await.unwrap()
}

async fn get(url: String) -> (u16, Value) {
    let answer = http().get(url).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn recorded_series_are_fresh_in_both_kinds_of_query() {
    let sim = telemetry().await;
    let base = sim.prometheus_url() + "/api/v1/";
    let (_, instant) = get(base.clone() + "query?query=max(pg_pool_in_use)").await;
    assert_eq!(instant["data"]["resultType"], "vector");
    assert_eq!(instant["data"]["result"][0]["value"][1], "20");
    let now = instant["data"]["result"][0]["value"][0].as_f64().unwrap() + 60.0;
    let form = [
        ("query", "pg_pool_in_use".to_owned()),
        ("start", (now - 3600.0).to_string()),
        ("end", now.to_string()),
        ("step", "1m".to_owned()),
    ];
    let range: Value =
        http().post(base.clone() + "query_range").form(&form).send().await.unwrap().json().await.unwrap();
    let values = range["data"]["result"][0]["values"].as_array().unwrap();
    assert_eq!(values.iter().map(|value| &value[1]).collect::<Vec<_>>(), ["19", "20"]);
    let (_, nothing) = get(base.clone() + "query?query=up").await;
    assert_eq!(nothing, json!({"status": "success", "data": {"resultType": "vector", "result": []}}));
    let (_, series) = get(base.clone() + "series?match[]=pg_pool_in_use").await;
    assert_eq!(series["data"], json!([{"__name__": "pg_pool_in_use", "pool": "checkout"}]));
    let (_, names) = get(base + "label/__name__/values").await;
    assert_eq!(names["data"], json!(["pg_pool_in_use"]));
    assert_eq!(sim.requests()[1].param("query"), Some("pg_pool_in_use"));
}

#[tokio::test]
async fn prometheus_refuses_in_its_own_words() {
    let sim = telemetry().await;
    let base = sim.prometheus_url() + "/api/v1/";
    let error = |message: &str| json!({"status": "error", "errorType": "bad_data", "error": message});
    assert_eq!(get(base.clone() + "query?query=broken(").await, (400, error("1:8: parse error")));
    let (status, body) = get(base.clone() + "query").await;
    assert_eq!((status, &body["errorType"]), (400, &json!("bad_data")));
    let (status, body) = get(base.clone() + "query_range?query=up&start=0&end=86400&step=1").await;
    assert!(status == 400 && body["error"].as_str().unwrap().contains("11,000 points"), "{body}");
    let (status, _) = get(base + "query_range?query=up&start=2&end=1&step=1").await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn rules_and_alerts_can_be_narrowed() {
    let sim = telemetry().await;
    let base = sim.prometheus_url() + "/api/v1/";
    let (_, rules) = get(base.clone() + "rules?type=alert").await;
    let names: Vec<_> = rules["data"]["groups"][0]["rules"].as_array().unwrap().iter().map(|r| &r["name"]).collect();
    assert_eq!(names, ["HighErrorRate"]);
    let (_, alerts) = get(base + "alerts").await;
    assert!(alerts["data"]["alerts"][0]["activeAt"].as_str().unwrap().ends_with('Z'));
    let base = sim.alertmanager_url() + "/api/v2/alerts";
    let names = async |query: &str| {
        let (_, alerts) = get(format!("{base}{query}")).await;
        let name = |alert: &Value| alert["labels"]["alertname"].as_str().unwrap().to_owned();
        alerts.as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names("").await, ["HighErrorRate", "DiskFull"]);
    assert_eq!(names("?silenced=false&inhibited=false").await, ["HighErrorRate"]);
    assert_eq!(names("?active=false").await, ["DiskFull"]);
    assert_eq!(names("?filter=severity%3D~%22warn.*%22").await, ["DiskFull"]);
    let (status, message) = get(format!("{base}?filter=nonsense")).await;
    assert_eq!((status, message.is_string()), (400, true));
    let (_, status) = get(sim.alertmanager_url() + "/api/v2/status").await;
    assert_eq!(status["cluster"]["status"], "disabled");
}

#[tokio::test]
async fn a_source_can_be_down_or_behind_a_failing_gateway() {
    let sim = telemetry().await;
    let ready = |url: String| http().get(url + "/-/ready").send();
    assert_eq!(ready(sim.prometheus_url()).await.unwrap().status(), 200);
    sim.source_down(Source::Prometheus, true);
    assert!(ready(sim.prometheus_url()).await.is_err());
    assert_eq!(ready(sim.alertmanager_url()).await.unwrap().status(), 200);
    sim.down(false);
    sim.unavailable(true);
    assert_eq!(ready(sim.prometheus_url()).await.unwrap().status(), 503);
    sim.stop().await;
}

#[test]
fn a_mistake_in_a_script_names_its_line() {
    let error = TelemetryScript::parse("prometheus:\n  querys: []\n").unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("querys"), "{error}");
}
