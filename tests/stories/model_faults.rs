//! A model that fails: one more try where that can help, then a sentence that says what happened and what to do.

use watchfloor::store::TurnStatus;
use watchfloor_sim::model::{ModelFault, Rule};

use crate::{
    setting::Setting,
    stage::{ALICE, Stage},
};

fn fails(status: u16) -> Rule {
    Rule::fault(ModelFault::Status { status, retry_after: None })
}

/// Asks, and expects an answer that begins like this after so many requests.
async fn ask(stage: Stage, words: &str, requests: usize) {
    let thread = stage.ask(ALICE, "why is it slow?").await;
    let answer = stage.answer().await;
    assert!(answer.starts_with(words), "{answer}");
    assert_eq!(stage.model.requests().len(), requests, "{words}");
    let answered = stage.turn(&thread).await.status == TurnStatus::Answered;
    assert_eq!(answered, words == "The pool.");
    stage.done().await;
}

#[tokio::test]
async fn b074_an_empty_answer_is_asked_for_once_more() {
    ask(Stage::with([Rule::default().once(), Rule::reply("The pool.")]).await, "The pool.", 2).await;
}

#[tokio::test]
async fn b074_two_empty_answers_end_with_an_honest_line() {
    for nothing in [Rule::default(), Rule::reply(""), Rule::reply(" \n"), Rule::reply("<think>hm</think>")] {
        ask(Stage::with([nothing]).await, "The model gave no answer, twice.", 2).await;
    }
}

#[tokio::test]
async fn a_stream_that_breaks_is_asked_for_once_more() {
    let broken = || Rule::reply("The pool is full. ".repeat(50)).but(ModelFault::CutAfterBytes(1500));
    ask(Stage::with([broken().once(), Rule::reply("The pool.")]).await, "The pool.", 2).await;
    ask(Stage::with([broken()]).await, "I could not reach the model", 2).await;
}

#[tokio::test]
async fn an_error_inside_the_stream_is_asked_for_once_more() {
    let broken = Rule::reply("The pool is full.").but(ModelFault::ErrorEvent("server_error".into())).once();
    ask(Stage::with([broken, Rule::reply("The pool.")]).await, "The pool.", 2).await;
}

#[tokio::test]
async fn a_busy_or_failing_provider_is_asked_again() {
    for status in [429, 500, 503] {
        ask(Stage::with([fails(status).once(), Rule::reply("The pool.")]).await, "The pool.", 2).await;
    }
}

#[tokio::test]
async fn a_provider_that_stays_rate_limited_ends_the_turn_with_a_sentence() {
    ask(Stage::with([fails(429)]).await, "The model's provider is limiting us", 3).await;
}

#[tokio::test]
async fn a_wait_that_nobody_would_sit_through_is_said_at_once() {
    let wait = Rule::fault(ModelFault::Status { status: 429, retry_after: Some(600) });
    ask(Stage::with([wait]).await, "The model's provider is limiting us", 1).await;
}

#[tokio::test]
async fn a_refused_key_and_a_refused_request_are_not_tried_again() {
    ask(Stage::with([fails(401)]).await, "The model's provider refuses our key.", 1).await;
    ask(Stage::with([fails(400)]).await, "The model's provider rejected the request", 1).await;
}

#[tokio::test]
async fn a_model_that_falls_silent_is_given_up_after_its_idle_time() {
    let silent = Rule::reply("The pool is full.").but(ModelFault::Hang).once();
    let rules = [silent, Rule::reply("The pool.")];
    ask(Setting::default().rules(rules).limit("model_idle = \"1s\"").open().await, "The pool.", 2).await;
}

#[tokio::test]
async fn without_a_key_the_bot_names_what_to_set() {
    let stage = Setting::default().without_api_key().open().await;
    stage.ask(ALICE, "why is it slow?").await;
    let answer = stage.answer().await;
    assert!(answer.contains("models.providers.openai.api_key"), "{answer}");
    stage.done().await;
}
