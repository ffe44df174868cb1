//! The requests of a whole turn, held against the providers' own types.

use serde_json::{Value, json};
use watchfloor_sim::{
    ModelSim, TelemetrySim,
    model::{API_KEY, Rule},
    telemetry::TelemetryScript,
};

use crate::{
    judge::Judge,
    service::Service,
    slack_python::{ALICE, ROOM, workspace},
};

/// What the types complain about, for each of these bodies.
async fn judged(api: &str, bodies: &[Value]) -> Vec<Value> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("bodies.json");
    let asked: Vec<_> = bodies.iter().map(|body| json!({"api": api, "body": body})).collect();
    std::fs::write(&file, serde_json::to_vec(&asked).unwrap()).unwrap();
    Judge::python("request_shape.py", &[("BODIES", file.to_str().unwrap())]).reports().await
}

/// What the model is asked in two turns of a thread with parallel calls, a call that fails and an answer.
async fn requests(api: &str) -> Vec<Value> {
    let slack = workspace().await;
    let telemetry = TelemetrySim::start(TelemetryScript::default()).await.unwrap();
    let calls = [("query_alert_rules", json!({})), ("query_promql", json!({"nonsense": true}))];
    let model = ModelSim::start(vec![
        Rule::calls(calls).with_text("Two looks.").when_step(0),
        Rule::reply("All is quiet.").when_step(1),
        Rule::reply("Still quiet.").when_step(2),
    ])
    .await
    .unwrap();
    let base_url = if api == "openai" { model.base_url() } else { model.anthropic_base_url() };
    let prometheus = format!("[sources.prometheus]\nurl = \"{}\"\n", telemetry.prometheus_url());
    let provider = Service::provider(api, &base_url, API_KEY);
    let _service = Service::start(&slack, &(provider + &prometheus)).await;
    let thread = slack.say(ALICE, ROOM, "<@U0BOT> why?").await;
    let first = slack.next_message(ROOM).await;
    slack.wait_for_text(&first.ts, |text| text.contains("All is quiet.")).await;
    slack.reply(ALICE, ROOM, &thread, "<@U0BOT> and now?").await;
    let second = slack.next_message(ROOM).await;
    slack.wait_for_text(&second.ts, |text| text.contains("Still quiet.")).await;
    assert_eq!(model.complaints(), [""; 0]);
    model.requests()
}

fn broken(whole: &Value, change: fn(&mut Value)) -> Value {
    let mut body = whole.clone();
    change(&mut body);
    body
}

fn all_refused(judged: &[Value]) -> bool {
    !judged.is_empty() && judged.iter().all(|complaints| *complaints != json!([]))
}

#[tokio::test]
async fn what_we_ask_fits_the_types_of_openai() {
    let requests = requests("openai").await;
    assert_eq!(judged("openai", &requests).await, vec![json!([]); 3]);
    // The judge isn't asleep: it sees a mistake at the top, in a message, in a call and in a tool.
    let broken = [
        broken(&requests[1], |body| body["max_token"] = 5.into()),
        broken(&requests[1], |body| body["messages"][1]["role"] = "person".into()),
        broken(&requests[1], |body| {
            let messages = body["messages"].as_array_mut().unwrap();
            let calls = messages.iter_mut().find_map(|message| message.get_mut("tool_calls")).unwrap();
            calls[0]["function"]["arguments"] = json!({});
        }),
        broken(&requests[1], |body| body["tools"][0] = json!({"name": "flat", "parameters": {}})),
    ];
    let judged = judged("openai", &broken).await;
    assert!(all_refused(&judged), "{judged:#?}");
}

#[tokio::test]
async fn what_we_ask_fits_the_types_of_anthropic() {
    let requests = requests("anthropic").await;
    assert_eq!(judged("anthropic", &requests).await, vec![json!([]); 3]);
    let broken = [
        broken(&requests[1], |body| body["max_token"] = 5.into()),
        broken(&requests[1], |body| body["max_tokens"] = Value::Null),
        broken(&requests[1], |body| body["messages"][0]["role"] = "person".into()),
        broken(&requests[1], |body| body["messages"][2]["content"][0]["tool_use_id"] = Value::Null),
        broken(&requests[1], |body| body["tools"][0] = json!({"name": "flat", "parameters": {}})),
    ];
    let judged = judged("anthropic", &broken).await;
    assert!(all_refused(&judged), "{judged:#?}");
}
