//! "Stop" ends what is under way at once, whatever that is; the thread stays usable.

use serde_json::json;
use watchfloor::store::{SessionStatus, TurnStatus};
use watchfloor_sim::model::Rule;

use crate::{
    asked,
    setting::Setting,
    stage::{ALICE, BOB, PLACEHOLDER, ROOM, Stage, by_step},
};

/// Whether the text says that she stopped it: by her name, or by her mention while the name isn't known yet.
fn says_stopped(by: &str, text: &str) -> bool {
    let name = by.trim_start_matches("U0").to_lowercase();
    [name, format!("<@{by}>")].iter().any(|by| text == format!("Stopped by {by}. Mention me again to start over."))
}

fn look() -> Rule {
    Rule::call("query_promql", json!({"query": "pool_in_use"}))
}

/// A thread whose first question waits for the model.
async fn thinking(stage: &Stage) -> String {
    stage.model.hold();
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.model.wait_for_open_streams(1).await;
    thread
}

/// The turn ended as stopped, and nothing but the placeholder was ever posted.
async fn stopped(stage: &Stage, thread: &str, by: &str) {
    let placeholder = stage.placeholder().await;
    stage.slack.wait_for_text(&placeholder.ts, |text| says_stopped(by, text)).await;
    stage.model.wait_for_open_streams(0).await;
    stage.idle().await;
    assert_eq!(stage.shown(thread).len(), 1);
    let turn = stage.turn(thread).await;
    assert_eq!((turn.status, turn.reason.as_deref()), (TurnStatus::Stopped, Some("stopped")));
}

async fn a_stop_ends_the_thinking(person: &str, text: &str) {
    let stage = Stage::with(by_step()).await;
    let thread = thinking(&stage).await;
    stage.say_in(&thread, person, text).await;
    stopped(&stage, &thread, person).await;
    assert_eq!(stage.model.abandoned(), 1);
    // The thread goes on, and the model knows that what was stopped needs no answer.
    stage.model.release();
    stage.say_in(&thread, ALICE, "and now?").await;
    assert_eq!(stage.answer().await, "One.");
    let request = stage.model.requests().pop().unwrap();
    let said = asked::said(&request);
    assert_eq!(said.len(), 3, "{said:#?}");
    assert_eq!([asked::words(&said[0]), asked::words(&said[2])], ["why is it slow?", "and now?"]);
    assert!(said[1].contains("The turn was stopped by a person."), "{}", said[1]);
    stage.done().await;
}

#[tokio::test]
async fn the_asker_stops_the_thinking_with_one_word() {
    a_stop_ends_the_thinking(ALICE, "stop").await;
    a_stop_ends_the_thinking(ALICE, "/STOP").await;
}

#[tokio::test]
async fn anybody_stops_the_thinking_by_mentioning_the_bot() {
    a_stop_ends_the_thinking(ALICE, "<@U0BOT> Stop!").await;
    a_stop_ends_the_thinking(BOB, "<@U0BOT> stop").await;
}

#[tokio::test]
async fn a_bystanders_stop_without_a_mention_stops_nothing() {
    let stage = Stage::with(by_step()).await;
    let thread = thinking(&stage).await;
    stage.say_in(&thread, BOB, "stop").await;
    stage.slack.heard().await;
    stage.model.release();
    assert_eq!(stage.answer().await, "One.");
    stage.done().await;
}

#[tokio::test]
async fn b075_a_stop_during_a_call_leaves_a_thread_that_can_go_on() {
    let rules = [look().when_step(0), Rule::reply("Now I know.").when_step(1)];
    let stage = Stage::with(rules).await;
    stage.telemetry.hold();
    let thread = stage.ask(ALICE, "how full is the pool?").await;
    stage.telemetry.wait_for_waiting(1).await;
    stage.say_in(&thread, ALICE, "stop").await;
    stopped(&stage, &thread, ALICE).await;
    // The source is no longer asked.
    stage.telemetry.wait_for_waiting(0).await;
    stage.telemetry.release();
    stage.say_in(&thread, ALICE, "go on").await;
    assert_eq!(stage.answer().await, "Now I know.");
    let request = stage.model.requests().pop().unwrap();
    // The call has its one result, then come the stop and the next question.
    assert_eq!(asked::roles(&request), ["system", "user", "assistant", "tool", "user", "user"]);
    assert!(asked::results(&request)[0].contains("interrupted"), "{:?}", asked::results(&request));
    stage.done().await;
}

#[tokio::test]
async fn b076_a_stop_reaches_a_worker_and_its_calls() {
    let send = json!({"description": "look at the pool", "subagent_type": "looker", "prompt": "How full?"});
    let rules = [
        look().when_persona("looker"),
        Rule::call("AgentTool", send).when_persona("default").when_step(0),
        Rule::reply("Going on.").when_persona("default").when_step(1),
    ];
    let stage = Setting::default().rules(rules).persona("looker", "query_promql", 5).open().await;
    stage.telemetry.hold();
    let thread = stage.ask(ALICE, "how full is the pool?").await;
    stage.telemetry.wait_for_waiting(1).await;
    let session = stage.session(&thread).await.unwrap();
    let workers = stage.app.store.sessions().running_workers(&session.id).await.unwrap();
    stage.say_in(&thread, ALICE, "stop").await;
    stopped(&stage, &thread, ALICE).await;
    stage.telemetry.wait_for_waiting(0).await;
    let worker = stage.app.store.sessions().get(&workers[0].id).await.unwrap().unwrap();
    assert_eq!((worker.agent_id.as_str(), worker.status), ("looker", SessionStatus::Killed));
    assert!(stage.app.store.calls().unfinished(&worker.id).await.unwrap().is_empty());
    assert!(stage.app.store.calls().unfinished(&session.id).await.unwrap().is_empty());
    stage.telemetry.release();
    stage.say_in(&thread, ALICE, "go on").await;
    assert_eq!(stage.answer().await, "Going on.");
    stage.done().await;
}

#[tokio::test]
async fn a_stop_with_nothing_to_stop_gets_a_sign_and_no_words() {
    let stage = Stage::with(by_step()).await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.answer().await;
    let stop = stage.say_in(&thread, ALICE, "stop").await;
    stage.slack.wait_for_reactions(&stop, &["white_check_mark"]).await;
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["One."]);
    assert_eq!(stage.tally().await.turns, 1);
    stage.done().await;
}

#[tokio::test]
async fn what_is_said_after_the_stop_is_the_next_turn() {
    let stage = Stage::with(by_step()).await;
    let thread = thinking(&stage).await;
    stage.say_in(&thread, ALICE, "stop").await;
    stage.say_in(&thread, ALICE, "look at the pool instead").await;
    let placeholder = stage.placeholder().await;
    stage.slack.wait_for_text(&placeholder.ts, |text| says_stopped(ALICE, text)).await;
    let next = stage.placeholder().await;
    assert_eq!(next.text(), PLACEHOLDER);
    stage.model.release();
    stage.slack.wait_for_text(&next.ts, |text| text == "One.").await;
    stage.idle().await;
    let said = asked::said(&stage.model.requests().pop().unwrap());
    assert_eq!(asked::words(said.last().unwrap()), "look at the pool instead");
    stage.done().await;
}

#[tokio::test]
async fn a_stop_ends_a_turn_that_waits_for_its_slot() {
    let stage = Setting::default().rules(by_step()).limit("turns = 1").open().await;
    let first = thinking(&stage).await;
    stage.placeholder().await;
    let second = stage.ask(BOB, "and the disk?").await;
    let waiting = stage.placeholder().await;
    stage.slack.wait_for_text(&waiting.ts, |text| text.contains("as soon as one of the 1")).await;
    stage.say_in(&second, BOB, "stop").await;
    stage.slack.wait_for_text(&waiting.ts, |text| says_stopped(BOB, text)).await;
    stage.model.release();
    stage.idle().await;
    assert_eq!((stage.shown(&first), stage.shown(&second).len()), (vec!["One.".to_owned()], 1));
    stage.done().await;
}

#[tokio::test]
async fn a_stop_ends_the_turn_of_its_own_thread_alone() {
    let stage = Stage::with(by_step()).await;
    let first = thinking(&stage).await;
    let second = stage.ask(ALICE, "and the disk?").await;
    stage.model.wait_for_open_streams(2).await;
    stage.say_in(&second, ALICE, "stop").await;
    stage.model.wait_for_open_streams(1).await;
    stage.model.release();
    stage.idle().await;
    assert_eq!(stage.shown(&first), ["One."]);
    let shown = stage.shown(&second);
    assert!(shown.len() == 1 && says_stopped(ALICE, &shown[0]), "{shown:#?}");
    stage.done().await;
}

#[tokio::test]
async fn stop_the_deploy_is_a_question_and_no_command() {
    let stage = Stage::with(by_step()).await;
    let thread = thinking(&stage).await;
    let more = stage.slack.reply(ALICE, ROOM, &thread, "stop the deploy?").await;
    stage.slack.wait_for_reactions(&more, &["eyes"]).await;
    stage.model.release();
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["One.", "Two."]);
    stage.done().await;
}

#[tokio::test]
async fn a_stop_covers_what_its_author_had_added_and_nobody_elses_question() {
    let stage = Stage::with(by_step()).await;
    let thread = thinking(&stage).await;
    let added = stage.say_in(&thread, ALICE, "and in eu-west?").await;
    let asked_by_bob = stage.say_in(&thread, BOB, "<@U0BOT> and the disk?").await;
    stage.slack.wait_for_reactions(&added, &["eyes"]).await;
    stage.slack.wait_for_reactions(&asked_by_bob, &["eyes"]).await;
    stage.say_in(&thread, ALICE, "stop").await;
    let placeholder = stage.placeholder().await;
    stage.slack.wait_for_text(&placeholder.ts, |text| says_stopped(ALICE, text)).await;
    let next = stage.placeholder().await;
    stage.model.release();
    stage.slack.wait_for_text(&next.ts, |text| text == "One.").await;
    stage.idle().await;
    assert_eq!(stage.tally().await.turns, 2);
    let said = asked::said(&stage.model.requests().pop().unwrap());
    let words: Vec<_> = said.iter().map(|said| asked::words(said)).collect();
    assert_eq!([words[0], words[1], words[3]], ["why is it slow?", "and in eu-west?", "and the disk?"]);
    stage.done().await;
}
