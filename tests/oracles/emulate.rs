//! Vercel's emulate as Slack: a second opinion on our adapter, which otherwise only meets our own simulator. It sends
//! `message` events alone, so the mention has to be seen in them.

use serde_json::json;
use watchfloor_sim::{
    ModelSim,
    model::{API_KEY, Rule},
    slack::BOT_TOKEN,
};

use crate::{judge::Judge, service::Service};

const SECRET: &str = "judged-secret";

#[tokio::test]
async fn a_question_in_emulates_workspace_is_answered_in_its_thread() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let model = ModelSim::start(vec![Rule::reply("The pool is full.")]).await.unwrap();
    let env = [("ANSWER", "The pool is full."), ("BOT_TOKEN", BOT_TOKEN), ("QUESTION", "why?"), ("SECRET", SECRET)];
    let mut emulate = Judge::node("emulate.mjs", &env).await;
    let api_url = emulate.says().await["api_url"].as_str().unwrap().to_owned();
    let provider = Service::provider("openai", &model.base_url(), API_KEY);
    let (_service, events_url) = Service::over_http(&api_url, SECRET, &provider).await;
    let subscribe = api_url.replace("/api/", "/subscribe");
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    client.post(subscribe).body(events_url).send().await.unwrap().error_for_status().unwrap();
    let replies = emulate.reports().await;
    assert_eq!(replies, [json!({"replies": [{"text": "The pool is full.", "edited": true, "here": true}]})]);
    assert_eq!((model.requests().len(), model.complaints()), (1, Vec::new()));
}
