//! Who may talk to the bot where, as people meet it.

use watchfloor_sim::model::Rule;

use crate::{
    setting::Setting,
    stage::{ALICE, BOB, ROOM, Stage},
};

async fn with(access: &str) -> Stage {
    Setting::default().rules([Rule::reply("Yes.")]).channel(access).open().await
}

#[tokio::test]
async fn a_room_that_is_not_served_stays_silent() {
    let stage = with("allow_rooms = [\"C0OTHER\"]\n").await;
    stage.ask(ALICE, "is it up?").await;
    stage.idle().await;
    assert_eq!(stage.tally().await.messages, 0);
    assert_eq!(stage.slack.messages(ROOM, None).len(), 1);
    stage.done().await;
}

#[tokio::test]
async fn an_unknown_person_in_a_served_room_is_told_once_whom_to_ask() {
    let stage = with("allow_rooms = [\"*\"]\nallow_from = [\"U0ALICE\"]\nadmins = [\"U0ALICE\"]\n").await;
    let first = stage.ask(BOB, "is it up?").await;
    let told = stage.slack.next_message(ROOM).await;
    assert_eq!(told.thread_ts, Some(first));
    assert_eq!(told.text(), "I'm not allowed to answer you here. <@U0ALICE> can change that.");
    stage.ask(BOB, "hello?").await;
    let question = stage.ask(ALICE, "is it up?").await;
    assert_eq!(stage.answer().await, "Yes.");
    assert_eq!(stage.shown(&question), ["Yes."]);
    assert_eq!(stage.slack.calls("chat.postMessage").len(), 2);
    stage.done().await;
}

async fn in_private(access: &str) -> (Stage, String) {
    let stage = with(access).await;
    let room = stage.slack.open_dm(ALICE).await;
    stage.slack.say(ALICE, &room, "is it up?").await;
    (stage, room)
}

#[tokio::test]
async fn an_open_private_chat_answers_everybody() {
    let (stage, room) = in_private("dm_policy = \"open\"\n").await;
    let message = stage.slack.next_message(&room).await;
    stage.slack.wait_for_text(&message.ts, |text| text == "Yes.").await;
    stage.done().await;
}

#[tokio::test]
async fn an_allow_listed_person_is_answered_in_private_and_others_are_told_once() {
    for (policy, listed) in [("allowlist", true), ("allowlist", false), ("pairing", true), ("pairing", false)] {
        let from = if listed { ALICE } else { BOB };
        let (stage, room) = in_private(&format!("dm_policy = \"{policy}\"\nallow_from = [\"{from}\"]\n")).await;
        let message = stage.slack.next_message(&room).await;
        if listed {
            stage.slack.wait_for_text(&message.ts, |text| text == "Yes.").await;
        } else {
            assert!(message.text().starts_with("I'm not allowed"), "{policy}: {}", message.text());
            stage.slack.say(ALICE, &room, "hello?").await;
            stage.idle().await;
            assert_eq!(stage.slack.calls("chat.postMessage").len(), 1);
            assert_eq!(stage.tally().await.messages, 0);
        }
        stage.done().await;
    }
}

#[tokio::test]
async fn a_disabled_private_chat_is_silent() {
    let (stage, room) = in_private("dm_policy = \"disabled\"\n").await;
    stage.idle().await;
    assert_eq!(stage.slack.messages(&room, None).len(), 1);
    stage.done().await;
}
