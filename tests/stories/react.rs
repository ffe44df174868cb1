//! The loop of one turn: calls and their results, and calls that go wrong without taking the turn with them.

use serde_json::json;
use watchfloor_sim::{model::Rule, telemetry::Source};

use crate::{
    asked,
    setting::Setting,
    stage::{ALICE, PLACEHOLDER, Stage},
};

fn ask_for(query: &str) -> (&'static str, serde_json::Value) {
    ("query_promql", json!({"query": query}))
}

#[tokio::test]
async fn calls_of_one_step_run_side_by_side_and_their_results_keep_the_order() {
    let look = Rule::calls([ask_for("pool_in_use"), ask_for("error_rate")]).when_step(0);
    let stage = Stage::with([look, Rule::reply("Full.").when_step(1)]).await;
    stage.telemetry.hold();
    stage.ask(ALICE, "what is it?").await;
    stage.telemetry.wait_for_waiting(2).await;
    stage.telemetry.release();
    assert_eq!(stage.answer().await, "Full.");
    let results = asked::results(&stage.model.requests()[1]);
    assert_eq!(results.len(), 2);
    assert!(results[0].starts_with("[E1]") && results[0].contains("pool_in_use"), "{}", results[0]);
    assert!(results[1].starts_with("[E2]") && results[1].contains("error_rate"), "{}", results[1]);
    stage.done().await;
}

#[tokio::test]
async fn a_tool_that_does_not_exist_is_answered_with_the_nearest_names() {
    let setting = Setting::default().made_up("prometheus_query");
    let wrong = Rule::call("prometheus_query", json!({"q": "up"})).when_step(0);
    let right = Rule::calls([ask_for("pool_in_use")]).when_step(1);
    let stage = setting.rules([wrong, right, Rule::reply("Full.").when_step(2)]).open().await;
    stage.ask(ALICE, "how full?").await;
    assert_eq!(stage.answer().await, "Full.");
    let results = asked::results(&stage.model.requests()[1]);
    assert!(results[0].contains("there is no tool") && results[0].contains("query_promql"), "{}", results[0]);
    stage.done().await;
}

#[tokio::test]
async fn arguments_that_are_no_json_are_answered_and_the_turn_goes_on() {
    for arguments in ["{\"query\": ", "", "[]", "{\"querry\": \"up\"}"] {
        let wrong = Rule::raw_call("query_promql", arguments).when_step(0);
        let stage = Stage::with([wrong, Rule::reply("Sorry.").when_step(1)]).await;
        stage.ask(ALICE, "how full?").await;
        assert_eq!(stage.answer().await, "Sorry.", "{arguments:?}");
        let results = asked::results(&stage.model.requests()[1]);
        assert!(results[0].contains("state=\"mistaken\""), "{arguments:?}: {}", results[0]);
        stage.done().await;
    }
}

#[tokio::test]
async fn a_source_that_is_down_is_a_finding_for_the_model() {
    let look = Rule::calls([ask_for("pool_in_use")]).when_step(0);
    let stage = Stage::with([look, Rule::reply("Prometheus is down.").when_tool_result_contains("source down")]).await;
    stage.telemetry.source_down(Source::Prometheus, true);
    stage.ask(ALICE, "how full?").await;
    assert_eq!(stage.answer().await, "Prometheus is down.");
    let results = asked::results(&stage.model.requests()[1]);
    assert!(results[0].contains("found=\"source_down\""), "{}", results[0]);
    stage.done().await;
}

#[tokio::test]
async fn b071_what_the_model_says_beside_a_call_is_never_shown() {
    let look = Rule::calls([ask_for("pool_in_use")]).with_text("Let me think about the pool.").when_step(0);
    let stage = Stage::with([look, Rule::reply("Full.").when_step(1)]).await;
    stage.ask(ALICE, "how full?").await;
    let placeholder = stage.placeholder().await;
    stage.idle().await;
    let texts: Vec<_> = stage.slack.edits(&placeholder.ts).into_iter().map(|edit| edit.text).collect();
    assert!(texts.iter().all(|text| !text.contains("Let me think")), "{texts:#?}");
    assert_eq!((texts.first().unwrap().as_str(), texts.last().unwrap().as_str()), (PLACEHOLDER, "Full."));
    // But the model remembers what it said.
    assert_eq!(stage.model.requests()[1]["messages"][2]["content"], "Let me think about the pool.");
    stage.done().await;
}

#[tokio::test]
async fn b071_reasoning_and_tool_markup_in_an_answer_are_not_shown() {
    let text = "<think>The user wants numbers.</think>The pool is full.";
    let stage = Stage::with([Rule::reply(text)]).await;
    stage.ask(ALICE, "how full?").await;
    assert_eq!(stage.answer().await, "The pool is full.");
    stage.done().await;
}

#[tokio::test]
async fn an_answer_that_the_provider_cut_off_says_so() {
    let stage = Stage::with([Rule::reply("The pool is full because").finish("length")]).await;
    let thread = stage.ask(ALICE, "why?").await;
    let answer = stage.answer().await;
    assert!(answer.starts_with("The pool is full because"), "{answer}");
    assert!(answer.contains("cut at the model's output limit"), "{answer}");
    assert_eq!(stage.turn(&thread).await.reason.as_deref(), Some("length"));
    stage.done().await;
}

#[tokio::test]
async fn call_ids_that_the_model_repeats_are_told_apart() {
    let rules = [
        Rule::calls([ask_for("pool_in_use"), ask_for("error_rate")]).with_call_id("call_1").when_step(0),
        Rule::calls([ask_for("pool_in_use")]).with_call_id("call_1").when_step(1),
        Rule::reply("Full.").when_step(2),
    ];
    let stage = Stage::with(rules).await;
    stage.ask(ALICE, "how full?").await;
    assert_eq!(stage.answer().await, "Full.");
    let results = asked::results(stage.model.requests().last().unwrap());
    let queries = ["pool_in_use", "error_rate", "pool_in_use"];
    assert_eq!(results.len(), queries.len());
    for (result, query) in results.iter().zip(queries) {
        assert!(result.contains(query), "{result}");
    }
    stage.done().await;
}
