//! However often and in whichever form Slack tells of a message, it is answered once.

use std::time::Duration;

use watchfloor_sim::{
    model::Rule,
    slack::{EventId, Mentions},
};

use crate::{
    setting::Setting,
    stage::{ALICE, BOB, ROOM, Stage},
};

/// One turn, one message, however many events there were.
async fn answered_once(stage: &Stage, thread: &str) {
    stage.idle().await;
    let tally = stage.tally().await;
    assert_eq!((tally.turns, tally.messages), (1, 1));
    assert_eq!(stage.shown(thread), ["Yes."]);
}

async fn a_pair_is_answered_once(mentions: Mentions, gap: Duration) {
    let setting = Setting::default().rules([Rule::reply("Yes.")]);
    let stage = setting
        .slack(|slack| {
            slack.mentions = mentions;
            slack.pair_gap = gap;
        })
        .open()
        .await;
    let events = if matches!(mentions, Mentions::MessageFirst | Mentions::MentionFirst) { 2 } else { 1 };
    let question = stage.ask(ALICE, "is it up?").await;
    stage.placeholder().await;
    // The placeholder and its edit are events too.
    stage.slack.wait_for_acks(events + 2).await;
    answered_once(&stage, &question).await;
    stage.done().await;
}

#[tokio::test]
async fn b003_both_events_of_one_mention_are_answered_once_in_either_order() {
    for mentions in [Mentions::MessageFirst, Mentions::MentionFirst] {
        for gap in [Duration::ZERO, Duration::from_millis(50)] {
            a_pair_is_answered_once(mentions, gap).await;
        }
    }
}

/// The copy of a mention may lack it, where a client writes it as nothing but a block.
#[tokio::test]
async fn a_copy_that_shows_no_mention_never_costs_the_mention() {
    for mention_first in [false, true] {
        let stage = Stage::with([Rule::reply("Yes.")]).await;
        let known = stage.ask(ALICE, "is it up?").await;
        stage.answer().await;
        for thread in [None, Some(&known)] {
            let ts = if thread.is_none() { "1999999999.000100" } else { "1999999999.000200" };
            let mut events = ["message", "app_mention"].map(|kind| {
                let text = if kind == "message" { "and now?" } else { "<@U0BOT> and now?" };
                serde_json::json!({"type": kind, "user": BOB, "text": text, "channel": ROOM, "channel_type": "channel",
                    "ts": ts, "thread_ts": thread, "event_ts": ts})
            });
            if mention_first {
                events.reverse();
            }
            for event in events {
                stage.slack.say_raw(event).await;
                stage.slack.heard().await;
            }
            stage.idle().await;
            let shown = stage.shown(thread.map_or(ts, |thread| thread));
            assert_eq!(shown.len(), if thread.is_none() { 1 } else { 2 }, "{shown:?}");
            let request = stage.model.requests().pop().unwrap().to_string();
            assert_eq!(request.matches("and now?").count(), 1, "{request}");
        }
        assert_eq!(stage.tally().await.turns, 3);
        stage.done().await;
    }
}

#[tokio::test]
async fn a_mention_of_which_only_one_event_comes_is_answered() {
    for mentions in [Mentions::OnlyMessage, Mentions::OnlyMention] {
        a_pair_is_answered_once(mentions, Duration::ZERO).await;
    }
}

#[tokio::test]
async fn b001_a_redelivered_event_is_answered_once_during_and_after_the_answer() {
    let stage = Stage::with([Rule::reply("Yes.")]).await;
    stage.model.hold();
    let question = stage.ask(ALICE, "is it up?").await;
    stage.placeholder().await;
    stage.slack.redeliver(&question, EventId::Same).await;
    stage.slack.redeliver(&question, EventId::New).await;
    stage.slack.heard().await;
    stage.model.release();
    answered_once(&stage, &question).await;
    stage.slack.redeliver(&question, EventId::Same).await;
    stage.slack.redeliver(&question, EventId::New).await;
    answered_once(&stage, &question).await;
    stage.done().await;
}

#[tokio::test]
async fn an_edit_of_a_mention_that_was_taken_changes_nothing() {
    let stage = Stage::with([Rule::reply("Yes.")]).await;
    let question = stage.ask(ALICE, "is it up?").await;
    stage.answer().await;
    stage.slack.edit(ROOM, &question, "<@U0BOT> is it really up?").await;
    answered_once(&stage, &question).await;
    stage.slack.edit(ROOM, &question, "never mind").await;
    answered_once(&stage, &question).await;
    stage.done().await;
}

#[tokio::test]
async fn a_message_that_is_edited_to_mention_the_bot_is_answered() {
    let stage = Stage::with([Rule::reply("Yes.")]).await;
    let message = stage.slack.say(ALICE, ROOM, "is it up?").await;
    stage.idle().await;
    assert_eq!(stage.tally().await.messages, 0);
    stage.slack.edit(ROOM, &message, "<@U0BOT> is it up?").await;
    answered_once(&stage, &message).await;
    stage.done().await;
}

#[tokio::test]
async fn b004_a_retry_whose_first_copy_never_came_is_answered() {
    let setting = Setting::default().rules([Rule::reply("Yes.")]);
    let stage = setting
        .slack(|slack| {
            slack.ack_deadline = Duration::from_millis(500);
            slack.redeliver_after = vec![Duration::from_millis(100); 50];
        })
        .open()
        .await;
    stage.slack.refuse_connections(true);
    stage.slack.cut_connections();
    let question = stage.ask(ALICE, "is it up?").await;
    stage.slack.refuse_connections(false);
    stage.placeholder().await;
    answered_once(&stage, &question).await;
    assert!(stage.slack.acks().iter().any(|ack| ack.attempt > 0), "{:?}", stage.slack.acks());
    stage.done().await;
}

#[tokio::test]
async fn b034_a_reply_counter_on_the_parent_is_no_message() {
    let stage = Stage::with([Rule::reply("Yes.")]).await;
    let question = stage.ask(ALICE, "is it up?").await;
    stage.answer().await;
    let parent = serde_json::json!({"type": "message", "user": ALICE, "text": "<@U0BOT> is it up?", "ts": question,
        "thread_ts": question, "reply_count": 1});
    let event = serde_json::json!({"type": "message", "subtype": "message_changed", "channel": ROOM,
        "channel_type": "channel", "ts": "1999999999.000100", "event_ts": "1999999999.000100",
        "message": parent, "previous_message": parent});
    stage.slack.say_raw(event).await;
    answered_once(&stage, &question).await;
    stage.done().await;
}

#[tokio::test]
async fn b011_a_burst_of_mentions_is_answered_message_by_message() {
    let stage = Stage::with([Rule::reply("Yes.")]).await;
    let mut questions = Vec::new();
    for n in 0..3 {
        questions.push(stage.ask(if n % 2 == 0 { ALICE } else { BOB }, &format!("question {n}")).await);
    }
    for question in &questions {
        stage.slack.redeliver(question, EventId::Same).await;
    }
    stage.idle().await;
    for question in &questions {
        assert_eq!(stage.shown(question), ["Yes."]);
    }
    assert_eq!(stage.tally().await.turns, 3);
    stage.done().await;
}
