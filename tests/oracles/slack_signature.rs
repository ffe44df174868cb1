//! Slack's own signature verifier against both ends of our HTTP transport.

use serde_json::{Value, json};
use watchfloor_sim::{
    ModelSim,
    model::{API_KEY, Rule},
};

use crate::{
    judge::Judge,
    service::Service,
    slack_python::{ALICE, ROOM, workspace},
};

const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";

#[tokio::test]
async fn our_program_believes_what_slacks_sdk_has_signed_and_nothing_else() {
    let slack = workspace().await;
    let model = ModelSim::start(Vec::<Rule>::new()).await.unwrap();
    let provider = Service::provider("openai", &model.base_url(), API_KEY);
    let (_service, url) = Service::over_http(&slack.api_url(), SECRET, &provider).await;
    let reports = Judge::python("slack_signature.py", &[("SECRET", SECRET), ("EVENTS_URL", &url)]).reports().await;
    let refused = |step: &str| json!({"step": step, "status": 401});
    let wanted = [
        json!({"step": "signed", "status": 200, "given_back": true}),
        refused("changed on its way"),
        refused("another secret"),
        refused("six minutes old"),
    ];
    assert_eq!(reports, wanted);
}

#[tokio::test]
async fn slacks_sdk_believes_what_the_simulator_has_signed() {
    let slack = workspace().await;
    let mut judge = Judge::python("slack_signature.py", &[("SECRET", SECRET)]);
    let url = judge.says().await["url"].as_str().unwrap().to_owned();
    slack.subscribe(&url, SECRET).await.unwrap();
    let signed = |kind: &str, text: Value| json!({"type": kind, "text": text, "valid": true, "spoiled": false});
    assert_eq!(judge.says().await, signed("url_verification", Value::Null));
    slack.say(ALICE, ROOM, "goodbye, ünïcödé ✓").await;
    assert_eq!(judge.reports().await, [signed("event_callback", json!("goodbye, ünïcödé ✓"))]);
}
