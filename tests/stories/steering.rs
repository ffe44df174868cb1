//! What people say while the bot is at work: the asker's words join the running turn, everybody else's wait for a later one,
//! and nothing is lost.

use serde_json::json;
use watchfloor_sim::model::{ModelFault, Rule};

use crate::{
    asked,
    setting::Setting,
    stage::{ALICE, BOB, CAROL, Stage, by_step},
};

fn look() -> Rule {
    Rule::call("query_promql", json!({"query": "pool_in_use"})).when_step(0)
}

#[tokio::test]
async fn b046_the_askers_words_during_a_call_are_in_the_next_request_and_get_a_sign() {
    let stage = Stage::with([look(), Rule::reply("Both are full.").when_step(1)]).await;
    stage.telemetry.hold();
    let thread = stage.ask(ALICE, "how full is the pool?").await;
    stage.telemetry.wait_for_waiting(1).await;
    let more = stage.say_in(&thread, ALICE, "and the disk").await;
    stage.slack.wait_for_reactions(&more, &["eyes"]).await;
    stage.telemetry.release();
    assert_eq!(stage.answer().await, "Both are full.");
    let request = stage.model.requests().pop().unwrap();
    assert_eq!(asked::roles(&request), ["system", "user", "assistant", "tool", "user"]);
    let said = asked::said(&request);
    assert!(said[1].contains("id=\"U0ALICE\""), "{}", said[1]);
    assert_eq!(asked::words(&said[1]), "and the disk");
    let tally = stage.tally().await;
    assert_eq!((tally.turns, tally.messages), (1, 2));
    assert_eq!(stage.shown(&thread), ["Both are full."]);
    stage.done().await;
}

#[tokio::test]
async fn b044_the_askers_words_during_the_last_model_call_become_the_next_turn() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.model.wait_for_open_streams(1).await;
    let more = stage.say_in(&thread, ALICE, "since when?").await;
    stage.slack.wait_for_reactions(&more, &["eyes"]).await;
    stage.model.release();
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["One.", "Two."]);
    assert_eq!(stage.tally().await.turns, 2);
    stage.done().await;
}

#[tokio::test]
async fn mentions_by_bystanders_during_a_turn_open_one_later_turn_together() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.model.wait_for_open_streams(1).await;
    for (person, text) in [(BOB, "is it the pool?"), (CAROL, "or the disk?")] {
        let message = stage.ask_in(&thread, person, text).await;
        stage.slack.wait_for_reactions(&message, &["eyes"]).await;
    }
    stage.model.release();
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["One.", "Two."]);
    let said = asked::said(&stage.model.requests()[1]);
    let words: Vec<_> = said.iter().map(|text| asked::words(text)).collect();
    assert_eq!(words, ["why is it slow?", "is it the pool?", "or the disk?"]);
    assert_eq!(stage.turn(&thread).await.asker_id, BOB);
    stage.done().await;
}

#[tokio::test]
async fn a_bystanders_mention_does_not_steer_the_askers_turn() {
    let rules = [look(), Rule::reply("Full.").when_step(1), Rule::reply("No.").when_step(2)];
    let stage = Stage::with(rules).await;
    stage.telemetry.hold();
    let thread = stage.ask(ALICE, "how full is the pool?").await;
    stage.telemetry.wait_for_waiting(1).await;
    let other = stage.ask_in(&thread, BOB, "is it the disk?").await;
    stage.slack.wait_for_reactions(&other, &["eyes"]).await;
    stage.telemetry.release();
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["Full.", "No."]);
    assert_eq!(asked::said(&stage.model.requests()[1]).len(), 1);
    stage.done().await;
}

#[tokio::test]
async fn b043_what_waits_behind_a_failed_turn_is_answered() {
    let stage = Stage::with([
        Rule::fault(ModelFault::Status { status: 400, retry_after: None }).once(),
        Rule::reply("The disk is fine."),
    ])
    .await;
    stage.model.hold();
    let thread = stage.ask(ALICE, "how full is the pool?").await;
    stage.model.wait_for_open_streams(1).await;
    let more = stage.say_in(&thread, ALICE, "and the disk?").await;
    stage.slack.wait_for_reactions(&more, &["eyes"]).await;
    stage.model.release();
    stage.idle().await;
    let shown = stage.shown(&thread);
    assert!(shown[0].starts_with("The model's provider rejected the request"), "{shown:#?}");
    assert_eq!(shown[1..], ["The disk is fine."]);
    stage.done().await;
}

#[tokio::test]
async fn different_threads_are_worked_on_at_the_same_time() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let first = stage.ask(ALICE, "why is it slow?").await;
    let second = stage.ask(BOB, "is the disk full?").await;
    stage.model.wait_for_open_streams(2).await;
    stage.model.release();
    stage.idle().await;
    assert_eq!((stage.shown(&first), stage.shown(&second)), (vec!["One.".to_owned()], vec!["One.".to_owned()]));
    stage.done().await;
}

#[tokio::test]
async fn a_turn_beyond_the_limit_says_that_it_waits_and_then_runs() {
    let stage = Setting::default().rules(by_step()).limit("turns = 1").open().await;
    stage.model.hold();
    let first = stage.ask(ALICE, "why is it slow?").await;
    stage.model.wait_for_open_streams(1).await;
    stage.placeholder().await;
    let second = stage.ask(BOB, "is the disk full?").await;
    let waiting = stage.placeholder().await;
    stage.slack.wait_for_text(&waiting.ts, |text| text.contains("as soon as one of the 1")).await;
    assert_eq!(stage.model.requests().len(), 1);
    stage.model.release();
    stage.idle().await;
    assert_eq!((stage.shown(&first), stage.shown(&second)), (vec!["One.".to_owned()], vec!["One.".to_owned()]));
    stage.done().await;
}

#[tokio::test]
async fn what_a_bystander_says_during_a_turn_is_overheard_by_the_next() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.model.wait_for_open_streams(1).await;
    stage.say_in(&thread, BOB, "I restarted it").await;
    stage.slack.heard().await;
    stage.model.release();
    assert_eq!(stage.answer().await, "One.");
    stage.say_in(&thread, ALICE, "and now?").await;
    assert_eq!(stage.answer().await, "Two.");
    let said = asked::said(&stage.model.requests()[1]);
    assert!(said[1].starts_with("<overheard>") && said[1].contains("I restarted it"), "{said:#?}");
    stage.done().await;
}

#[tokio::test]
async fn several_words_of_the_asker_during_a_call_join_the_turn_in_their_order() {
    let stage = Stage::with([look(), Rule::reply("All full.").when_step(1)]).await;
    stage.telemetry.hold();
    let thread = stage.ask(ALICE, "how full is the pool?").await;
    stage.telemetry.wait_for_waiting(1).await;
    for text in ["and the disk", "<@U0BOT> and the queue"] {
        let more = stage.say_in(&thread, ALICE, text).await;
        stage.slack.wait_for_reactions(&more, &["eyes"]).await;
    }
    stage.telemetry.release();
    assert_eq!(stage.answer().await, "All full.");
    let said = asked::said(&stage.model.requests()[1]);
    let words: Vec<_> = said.iter().map(|text| asked::words(text)).collect();
    assert_eq!(words, ["how full is the pool?", "and the disk", "and the queue"]);
    assert_eq!(stage.tally().await.turns, 1);
    stage.done().await;
}
