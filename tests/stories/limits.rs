//! At a limit a turn still ends with what is known, and says that it is not all.

use std::time::Duration;

use serde_json::json;
use watchfloor::store::TurnStatus;
use watchfloor_sim::model::Rule;

use crate::{
    asked,
    setting::Setting,
    stage::{ALICE, Stage},
};

fn look() -> Rule {
    Rule::call("query_promql", json!({"query": "pool_in_use"}))
}

fn last(rule: Rule) -> Rule {
    rule.when_tool_choice("none")
}

async fn with_two_steps(rules: Vec<Rule>) -> Stage {
    Setting::default().rules(rules).persona("default", "query_promql", 2).open().await
}

#[tokio::test]
async fn b072_at_the_step_limit_the_findings_are_kept() {
    let stage = with_two_steps(vec![last(Rule::reply("So far: 20 of 20.")), look()]).await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    let answer = stage.answer().await;
    assert_eq!(
        answer,
        "So far: 20 of 20.\n\nThis answer is incomplete: I reached my limit of 2 steps. Ask me to go on, or narrow the \
         question."
    );
    let requests = stage.model.requests();
    let choices: Vec<_> = requests.iter().map(|request| request["tool_choice"] == "none").collect();
    assert_eq!(choices, [false, false, true]);
    assert!(requests.iter().all(|request| request["tools"] == requests[0]["tools"]), "the tools stay the same");
    let turn = stage.turn(&thread).await;
    assert_eq!(
        (turn.status, turn.answer_complete, turn.reason.as_deref()),
        (TurnStatus::Answered, Some(false), Some("max_turns"))
    );
    stage.done().await;
}

#[tokio::test]
async fn b072_a_call_that_comes_at_the_limit_is_not_run_and_the_thread_can_go_on() {
    let stage = with_two_steps(vec![
        last(look().with_text("So far: 20 of 20.")),
        Rule::reply("Because of the pool.").when_last_user_contains("go on"),
        look(),
    ])
    .await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    assert!(stage.answer().await.starts_with("So far: 20 of 20.\n\nThis answer is incomplete"));
    assert_eq!(stage.tally().await.calls.len(), 2);
    stage.say_in(&thread, ALICE, "go on").await;
    assert_eq!(stage.answer().await, "Because of the pool.");
    stage.done().await;
}

#[tokio::test]
async fn a_worker_at_its_step_limit_reports_what_it_has_as_failed() {
    let send = json!({"description": "look", "subagent_type": "looker", "prompt": "How full?"});
    let rules = [
        last(Rule::reply("Partly: 20.")).when_persona("looker"),
        look().when_persona("looker"),
        Rule::call("AgentTool", send).when_step(0),
        Rule::reply("Partly full.").when_step(1),
    ];
    let stage = Setting::default().rules(rules).persona("looker", "query_promql", 1).open().await;
    stage.ask(ALICE, "how full?").await;
    assert_eq!(stage.answer().await, "Partly full.");
    let report = asked::results(stage.model.requests().last().unwrap()).remove(0);
    for part in ["status=\"failed\"", "reason=\"max_turns\"", "Partly: 20."] {
        assert!(report.contains(part), "{part} is missing in {report}");
    }
    stage.done().await;
}

#[tokio::test]
async fn a_turn_at_its_time_limit_answers_from_what_it_has() {
    let rules = [last(Rule::reply("So far: 20 of 20.")), look()];
    let stage = Setting::default().rules(rules).limit("turn_timeout = \"1s\"").open().await;
    stage.telemetry.delay(Duration::from_millis(1100));
    let thread = stage.ask(ALICE, "why is it slow?").await;
    let answer = stage.answer().await;
    assert!(answer.starts_with("So far: 20 of 20.\n\n") && answer.contains("time limit of 1 s"), "{answer}");
    assert_eq!(stage.turn(&thread).await.reason.as_deref(), Some("timeout"));
    stage.done().await;
}

#[tokio::test]
async fn b074_a_last_call_that_says_nothing_ends_with_an_honest_line() {
    let stage = with_two_steps(vec![last(look()), look()]).await;
    stage.ask(ALICE, "why is it slow?").await;
    let answer = stage.answer().await;
    assert!(answer.starts_with("The model gave no answer, twice."), "{answer}");
    assert_eq!(stage.model.requests().len(), 4);
    stage.done().await;
}

#[tokio::test]
async fn at_the_limit_an_earlier_answer_is_not_given_again() {
    let stage =
        with_two_steps(vec![Rule::reply("The pool.").when_last_user_contains("slow"), last(Rule::default()), look()])
            .await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "The pool.");
    stage.say_in(&thread, ALICE, "and the disk?").await;
    let answer = stage.answer().await;
    assert!(answer.starts_with("The model gave no answer, twice."), "{answer}");
    stage.done().await;
}
