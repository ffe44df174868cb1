//! Whole turns in Anthropic's wire format. The simulated model refuses what Anthropic refuses, so a story that is answered
//! was asked in the right form.

use serde_json::{Value, json};
use watchfloor_sim::model::{ModelFault, Rule};

use crate::{
    setting::Setting,
    stage::{ALICE, Stage},
};

async fn with(rules: impl IntoIterator<Item = Rule>) -> Stage {
    Setting::default().anthropic().rules(rules).open().await
}

fn ask_for(query: &str) -> (&'static str, Value) {
    ("query_promql", json!({"query": query}))
}

/// The blocks of this type in the messages of a request.
fn blocks(request: &Value, kind: &str) -> Vec<Value> {
    let messages = request["messages"].as_array().into_iter().flatten();
    let blocks = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
    blocks.filter(|block| block["type"] == kind).cloned().collect()
}

#[tokio::test]
async fn calls_of_one_step_are_answered_in_one_message() {
    let look = Rule::calls([ask_for("pool_in_use"), ask_for("error_rate")]).with_text("Let me look.").when_step(0);
    let stage = with([look, Rule::reply("Full.").when_step(1)]).await;
    let thread = stage.ask(ALICE, "what is it?").await;
    assert!(stage.answer().await.starts_with("Full."));
    let requests = stage.model.requests();
    let results = blocks(&requests[1], "tool_result");
    let contents: Vec<_> = results.iter().filter_map(|result| result["content"].as_str()).collect();
    assert!(contents[0].contains("pool_in_use") && contents[1].contains("error_rate"), "{contents:?}");
    assert_eq!(requests[1]["messages"].as_array().map(Vec::len), Some(3));
    let turn = stage.turn(&thread).await;
    assert!(turn.input_tokens > 0 && turn.output_tokens > 0, "{turn:?}");
    stage.done().await;
}

#[tokio::test]
async fn what_the_model_thought_goes_back_unchanged_also_after_a_restart() {
    let look = Rule::calls([ask_for("pool_in_use")]).thinking("Perhaps the pool?").with_text("Looking.").when_step(0);
    let rules = [
        look,
        Rule::reply("It is full.").thinking("20 of 20: it is the pool.").when_step(1),
        Rule::reply("Since ten minutes.").when_step(2),
    ];
    let stage = with(rules).await;
    let thread = stage.ask(ALICE, "what is it?").await;
    let answer = stage.answer().await;
    assert!(answer.starts_with("It is full.") && !answer.contains("Perhaps"), "{answer}");
    let stage = stage.restarted("", "").await;
    stage.ask_in(&thread, ALICE, "since when?").await;
    assert!(stage.answer().await.starts_with("Since ten minutes."));
    let thoughts = blocks(&stage.model.requests()[2], "thinking");
    let texts: Vec<_> = thoughts.iter().filter_map(|thought| thought["thinking"].as_str()).collect();
    assert_eq!(texts, ["Perhaps the pool?", "20 of 20: it is the pool."]);
    stage.done().await;
}

#[tokio::test]
async fn b081_an_overloaded_provider_is_asked_again() {
    let busy = Rule::fault(ModelFault::Status { status: 529, retry_after: None }).once();
    let stage = with([busy, Rule::reply("The pool.")]).await;
    stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "The pool.");
    assert_eq!(stage.model.requests().len(), 2);
    stage.done().await;
}

#[tokio::test]
async fn an_error_inside_the_stream_is_no_short_answer() {
    let breaks = |kind: &str| Rule::reply("The pool is full.").but(ModelFault::ErrorEvent(kind.into())).once();
    let stage = with([breaks("api_error"), Rule::reply("The pool.")]).await;
    stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "The pool.");
    stage.done().await;
    let stage = with([breaks("overloaded_error")]).await;
    stage.ask(ALICE, "why is it slow?").await;
    let answer = stage.answer().await;
    assert!(!answer.contains("The pool") && answer.contains("model"), "{answer}");
    stage.done().await;
}

#[tokio::test]
async fn b080_a_thread_goes_on_with_a_provider_of_another_format() {
    let look = |step| Rule::calls([ask_for("pool_in_use")]).thinking("The pool?").when_step(step);
    let rules = [
        look(0).with_call_id("call:1"),
        Rule::reply("One.").thinking("Yes.").when_step(1),
        look(2),
        Rule::reply("Two.").when_step(3),
        Rule::reply("Three.").when_step(4),
    ];
    let stage = Setting::default().rules(rules).open().await;
    let thread = stage.ask(ALICE, "what is it?").await;
    assert!(stage.answer().await.starts_with("One."));
    let stage = stage.restarted("openai/story", "anthropic/story").await;
    stage.ask_in(&thread, ALICE, "sure?").await;
    assert!(stage.answer().await.starts_with("Two."));
    let stage = stage.restarted("anthropic/story", "openai/story").await;
    stage.ask_in(&thread, ALICE, "quite?").await;
    assert!(stage.answer().await.starts_with("Three."));
    let requests = stage.model.requests();
    // Each format gets back what it thought itself.
    assert_eq!(blocks(&requests[3], "thinking").len(), 1);
    assert!(!requests[2].to_string().contains("reasoning_content"));
    assert!(requests[4].to_string().contains("reasoning_content") && !requests[4].to_string().contains("signature"));
    stage.done().await;
}
