//! What people do while the bot is at work: add to their question, stop it; and what a restart does to it.

use std::time::Duration;

use serde_json::json;
use watchfloor::store::TurnStatus;
use watchfloor_sim::{
    model::Rule,
    telegram::{ALICE, BOB, FORUM, Message, OPS},
};

use super::stage::{POST, Stage, chain};
use crate::{
    asked,
    stage::{PLACEHOLDER, by_step},
};

fn look() -> Rule {
    Rule::call("query_promql", json!({"query": "pool_in_use"})).when_step(0)
}

/// A question of Alice that waits for the model, and its placeholder.
async fn thinking(stage: &Stage) -> (i64, Message) {
    stage.model.hold();
    let question = stage.ask(ALICE, "why is it slow?").await;
    let placeholder = stage.placeholder().await;
    stage.model.wait_for_open_streams(1).await;
    (question, placeholder)
}

#[tokio::test]
async fn b046_the_askers_reply_during_a_call_joins_the_running_turn() {
    let stage = Stage::with([look(), Rule::reply("Both are full.").when_step(1)]).await;
    stage.telemetry.hold();
    stage.ask(ALICE, "how full is the pool?").await;
    let placeholder = stage.placeholder().await;
    stage.telemetry.wait_for_waiting(1).await;
    let more = stage.reply(ALICE, placeholder.id, "and the disk").await;
    stage.taken(more).await;
    stage.telemetry.release();
    stage.idle().await;
    assert_eq!((stage.shown(OPS), stage.counted().await), (vec!["Both are full.".to_owned()], (1, 2)));
    let said = asked::said(&stage.model.requests()[1]);
    assert_eq!(asked::words(&said[1]), "and the disk");
    stage.done().await;
}

#[tokio::test]
async fn b043_b044_what_is_said_during_the_last_step_becomes_the_next_turn() {
    let stage = Stage::with(by_step()).await;
    let (_, placeholder) = thinking(&stage).await;
    let more = stage.reply(ALICE, placeholder.id, "since when?").await;
    stage.taken(more).await;
    stage.model.release();
    stage.idle().await;
    assert_eq!((stage.shown(OPS), stage.counted().await.0), (vec!["One.".to_owned(), "Two.".to_owned()], 2));
    stage.done().await;
}

#[tokio::test]
async fn a_stop_command_ends_the_thinking_in_every_spelling() {
    for (person, command, name) in
        [(ALICE, "/stop", "Alice"), (BOB, "/stop@ops_bot", "Bob"), (ALICE, "stop", "Alice"), (BOB, "Stop!", "Bob")]
    {
        let stage = Stage::with(by_step()).await;
        let (question, placeholder) = thinking(&stage).await;
        stage.reply(person, placeholder.id, command).await;
        let stopped = format!("Stopped by {name}. Mention me again to start over.");
        stage.telegram.wait_for_text(OPS, placeholder.id, |text| text == stopped).await;
        stage.idle().await;
        assert_eq!((stage.shown(OPS), stage.model.abandoned()), (vec![stopped], 1));
        let turn = stage.turn(OPS, &chain(question)).await;
        assert_eq!((turn.status, turn.reason.as_deref()), (TurnStatus::Stopped, Some("stopped")));
        // The chain goes on.
        stage.model.release();
        stage.reply(ALICE, placeholder.id, "and now?").await;
        assert_eq!(stage.answer().await, "One.");
        stage.done().await;
    }
}

#[tokio::test]
async fn a_question_that_is_edited_into_stop_ends_and_stays_ended() {
    let stage = Stage::with(by_step()).await;
    let (question, placeholder) = thinking(&stage).await;
    stage.telegram.edit(ALICE, OPS, question, "@ops_bot /stop").await;
    let stopped = "Stopped by Alice. Mention me again to start over.".to_owned();
    stage.telegram.wait_for_text(OPS, placeholder.id, |text| text == stopped).await;
    stage.idle().await;
    // Telegram reports edits that changed no word, too.
    stage.reply(ALICE, placeholder.id, "and now?").await;
    stage.model.wait_for_open_streams(1).await;
    stage.telegram.touch(OPS, question).await;
    stage.telegram.heard().await;
    stage.model.release();
    assert_eq!(stage.answer().await, "One.");
    stage.idle().await;
    assert_eq!(stage.shown(OPS), [stopped, "One.".to_owned()]);
    stage.done().await;
}

#[tokio::test]
async fn a_stop_in_a_topic_ends_what_is_under_way_there_and_nothing_else() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let topics = [stage.telegram.new_topic(FORUM, "A").await, stage.telegram.new_topic(FORUM, "B").await];
    for (count, topic) in topics.iter().enumerate() {
        stage.telegram.say_in_topic(ALICE, FORUM, *topic, "@ops_bot why?").await;
        stage.model.wait_for_open_streams(count + 1).await;
    }
    stage.telegram.say_in_topic(BOB, FORUM, topics[1], "/stop").await;
    stage.model.wait_for_open_streams(1).await;
    stage.model.release();
    stage.idle().await;
    let mut shown: Vec<_> = stage.ours(FORUM).iter().map(|m| (m.topic, m.text().to_owned())).collect();
    shown.sort();
    let stopped = "Stopped by Bob. Mention me again to start over.".to_owned();
    assert_eq!(shown, [(Some(topics[0]), "One.".to_owned()), (Some(topics[1]), stopped)]);
    stage.done().await;
}

#[tokio::test]
async fn b052_a_restart_in_the_middle_of_a_turn_goes_on_in_the_same_placeholder() {
    let stage = Stage::with(by_step()).await;
    let (_, placeholder) = thinking(&stage).await;
    stage.placed().await;
    let stage = stage.restarted(Duration::ZERO).await;
    stage.model.wait_for_open_streams(1).await;
    stage.model.release();
    stage.idle().await;
    let texts = stage.versions(OPS, placeholder.id);
    assert_eq!((texts[0].as_str(), texts.last().unwrap().as_str()), (PLACEHOLDER, "One."));
    assert_eq!((stage.shown(OPS).len(), stage.telegram.calls(POST).len()), (1, 1));
    // The chain is known to the new process too.
    stage.reply(BOB, placeholder.id, "since when?").await;
    assert_eq!(stage.answer().await, "Two.");
    stage.done().await;
}

#[tokio::test]
async fn b007_b008_what_was_answered_before_a_restart_is_not_answered_again() {
    let stage = Stage::with(by_step()).await;
    stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "One.");
    let stage = stage.restarted(Duration::from_secs(5)).await;
    stage.telegram.redeliver();
    stage.idle().await;
    assert_eq!((stage.shown(OPS), stage.counted().await), (vec!["One.".to_owned()], (1, 1)));
    stage.done().await;
}

#[tokio::test]
async fn what_is_asked_while_the_bot_is_away_is_answered_when_it_is_back() {
    let stage = Stage::with(by_step()).await;
    stage.telegram.down(true);
    stage.ask(ALICE, "why is it slow?").await;
    stage.telegram.down(false);
    assert_eq!(stage.answer().await, "One.");
    stage.done().await;
}
