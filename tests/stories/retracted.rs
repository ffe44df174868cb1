//! A question that is deleted wants no answer: its turn ends and leaves nothing behind.

use serde_json::json;
use watchfloor::store::TurnStatus;
use watchfloor_sim::model::Rule;

use crate::{
    asked,
    setting::Setting,
    stage::{ALICE, BOB, ROOM, Stage, by_step},
};

async fn was_retracted(stage: &Stage, thread: &str) {
    stage.model.wait_for_open_streams(0).await;
    stage.idle().await;
    assert_eq!(stage.shown(thread), [""; 0]);
    let turn = stage.turn(thread).await;
    assert_eq!((turn.status, turn.reason.as_deref()), (TurnStatus::Stopped, Some("retracted")));
}

#[tokio::test]
async fn a_deleted_question_ends_its_turn_and_its_placeholder_goes() {
    for tombstones in [true, false] {
        let setting = Setting::default().rules(by_step());
        let stage = setting.slack(|slack| slack.tombstones = tombstones).open().await;
        stage.model.hold();
        let thread = stage.ask(ALICE, "why is it slow?").await;
        stage.placeholder().await;
        stage.model.wait_for_open_streams(1).await;
        stage.slack.delete(ROOM, &thread).await;
        was_retracted(&stage, &thread).await;
        assert_eq!((stage.model.abandoned(), stage.slack.calls("chat.postMessage").len()), (1, 1));
        stage.model.release();
        stage.done().await;
    }
}

#[tokio::test]
async fn a_question_deleted_inside_a_thread_leaves_a_thread_that_can_go_on() {
    let stage = Stage::with(by_step()).await;
    let thread = stage.slack.say(BOB, ROOM, "checkout is slow").await;
    stage.model.hold();
    let question = stage.ask_in(&thread, ALICE, "why?").await;
    stage.placeholder().await;
    stage.model.wait_for_open_streams(1).await;
    stage.slack.delete(ROOM, &question).await;
    was_retracted(&stage, &thread).await;
    stage.model.release();
    stage.ask_in(&thread, BOB, "since when?").await;
    assert_eq!(stage.answer().await, "One.");
    let said = asked::said(&stage.model.requests().pop().unwrap());
    assert!(said.iter().any(|said| said.contains("needs no answer")), "{said:#?}");
    stage.done().await;
}

#[tokio::test]
async fn a_question_deleted_while_it_waits_is_never_answered() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    stage.model.wait_for_open_streams(1).await;
    let question = stage.ask_in(&thread, BOB, "and who deployed?").await;
    stage.slack.wait_for_reactions(&question, &["eyes"]).await;
    stage.slack.delete(ROOM, &question).await;
    stage.slack.heard().await;
    stage.model.release();
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["One."]);
    assert_eq!(stage.tally().await.turns, 1);
    stage.done().await;
}

#[tokio::test]
async fn a_question_deleted_after_its_answer_leaves_the_answer() {
    let stage = Stage::with(by_step()).await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "One.");
    stage.slack.delete(ROOM, &thread).await;
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["One."]);
    stage.done().await;
}

#[tokio::test]
async fn a_deleted_addition_does_not_end_the_turn_it_was_added_to() {
    let look = Rule::call("query_promql", json!({"query": "pool_in_use"})).when_step(0);
    let stage = Stage::with([look, Rule::reply("Full.").when_step(1)]).await;
    stage.telemetry.hold();
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.telemetry.wait_for_waiting(1).await;
    let added = stage.say_in(&thread, ALICE, "in eu-west").await;
    stage.slack.wait_for_reactions(&added, &["eyes"]).await;
    stage.slack.delete(ROOM, &added).await;
    stage.slack.heard().await;
    stage.telemetry.release();
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["Full."]);
    let said = asked::said(&stage.model.requests()[1]);
    assert!(!said.iter().any(|said| said.contains("eu-west")), "{said:#?}");
    stage.done().await;
}

/// A turn that goes on after its question was added to, with the question and the addition.
async fn added_to() -> (Stage, String, [String; 2]) {
    let look = Rule::call("query_promql", json!({"query": "pool_in_use"})).when_step(0);
    let stage = Stage::with([look, Rule::reply("Full.").when_step(1)]).await;
    let thread = stage.slack.say(BOB, ROOM, "checkout is slow").await;
    stage.telemetry.hold();
    let question = stage.ask_in(&thread, ALICE, "why?").await;
    stage.placeholder().await;
    stage.telemetry.wait_for_waiting(1).await;
    let added = stage.say_in(&thread, ALICE, "in eu-west").await;
    stage.slack.wait_for_reactions(&added, &["eyes"]).await;
    stage.model.hold();
    stage.telemetry.release();
    stage.model.wait_for_open_streams(1).await;
    (stage, thread, [question, added])
}

#[tokio::test]
async fn a_deleted_question_leaves_the_turn_to_what_was_added_to_it() {
    let (stage, thread, [question, _]) = added_to().await;
    stage.slack.delete(ROOM, &question).await;
    stage.slack.heard().await;
    stage.model.release();
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["Full."]);
    stage.done().await;
}

#[tokio::test]
async fn a_question_deleted_with_all_that_was_added_to_it_ends_its_turn() {
    let (stage, thread, messages) = added_to().await;
    for message in &messages {
        stage.slack.delete(ROOM, message).await;
    }
    was_retracted(&stage, &thread).await;
    stage.model.release();
    stage.done().await;
}

#[tokio::test]
async fn a_remark_that_was_overheard_and_deleted_is_told_to_nobody() {
    let stage = Stage::with(by_step()).await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.answer().await;
    let slip = stage.say_in(&thread, BOB, "try it with swordfish").await;
    stage.slack.heard().await;
    stage.slack.delete(ROOM, &slip).await;
    stage.slack.heard().await;
    stage.say_in(&thread, ALICE, "and now?").await;
    assert_eq!(stage.answer().await, "Two.");
    let said = asked::said(&stage.model.requests()[1]);
    assert!(!said.iter().any(|said| said.contains("swordfish")), "{said:#?}");
    stage.done().await;
}

#[tokio::test]
async fn a_deleted_remark_that_was_never_for_the_bot_is_nothing() {
    let stage = Stage::with([]).await;
    let remark = stage.slack.say(BOB, ROOM, "lunch?").await;
    stage.slack.delete(ROOM, &remark).await;
    stage.idle().await;
    assert_eq!(stage.tally().await.messages, 0);
    stage.done().await;
}
