//! What becomes of a turn when the chat around it changes: upgraded, closed, taken away; and who is heard in it at all.

use watchfloor::store::TurnStatus;
use watchfloor_sim::{
    model::Rule,
    telegram::{ALICE, BOB, FORUM, Fault, OPS, SMALL_GROUP},
};

use super::{
    setting::Setting,
    stage::{POST, Stage, chain},
};
use crate::stage::{PLACEHOLDER, by_step};

#[tokio::test]
async fn a_group_that_is_upgraded_in_mid_run_gets_its_answer_where_it_is_now() {
    let setting = Setting::default().rules(by_step()).channel(&format!("allow_rooms = [\"{SMALL_GROUP}\"]"));
    let stage = setting.open().await;
    stage.model.hold();
    let question = stage.ask_in(SMALL_GROUP, ALICE, "why is it slow?").await;
    let placeholder = stage.telegram.next_message(SMALL_GROUP).await;
    stage.model.wait_for_open_streams(1).await;
    let new = stage.telegram.upgrade_group(SMALL_GROUP).await;
    stage.model.release();
    let answer = stage.answer_in(new).await;
    assert_eq!(answer.text(), "One.");
    assert_eq!(stage.versions(SMALL_GROUP, placeholder.id), [PLACEHOLDER]);
    assert_eq!(stage.turn(SMALL_GROUP, &chain(question)).await.status, TurnStatus::Answered);
    // The conversation moved along, and the list of allowed rooms still means this group.
    stage.telegram.reply(BOB, new, answer.id, "since when?").await;
    assert_eq!(stage.answer_in(new).await.text(), "Two.");
    stage.ask_in(new, ALICE, "something else?").await;
    assert_eq!(stage.answer_in(new).await.text(), "One.");
    stage.done().await;
}

/// Alice asks in a topic whose placeholder can't be posted yet.
async fn asked_in_a_topic() -> (Stage, i64) {
    let stage = Stage::with(by_step()).await;
    stage.telegram.say(ALICE, ALICE, "/start").await;
    stage.telegram.next_message(ALICE).await;
    let topic = stage.telegram.new_topic(FORUM, "Checkout").await;
    stage.model.hold();
    stage.telegram.fault(POST, Fault::retry_after(1));
    stage.telegram.say_in_topic(ALICE, FORUM, topic, "@ops_bot why is it slow?").await;
    stage.telegram.wait_for_calls(POST, 2).await;
    (stage, topic)
}

async fn told_in_private(stage: Stage, topic: i64, why: &str) {
    let told = stage.telegram.next_message(ALICE).await;
    let sentence = format!("I can't answer in the room where you asked “why is it slow?”: {why}");
    assert!(told.text().starts_with(&sentence), "{}", told.text());
    stage.model.release();
    stage.idle().await;
    // Nothing slips into General or into another topic.
    assert!(stage.ours(FORUM).iter().all(|message| message.topic == Some(topic)), "{:#?}", stage.ours(FORUM));
    assert_eq!(stage.ours(ALICE).len(), 2);
    stage.done().await;
}

#[tokio::test]
async fn a_topic_that_is_closed_before_the_placeholder_is_told_of_in_private() {
    let (stage, topic) = asked_in_a_topic().await;
    stage.telegram.close_topic(FORUM, topic).await;
    told_in_private(stage, topic, "the topic is closed").await;
}

#[tokio::test]
async fn a_topic_that_is_deleted_before_the_placeholder_is_told_of_in_private() {
    let (stage, topic) = asked_in_a_topic().await;
    stage.telegram.delete_topic(FORUM, topic).await;
    told_in_private(stage, topic, "the topic was deleted").await;
}

#[tokio::test]
async fn a_topic_that_is_deleted_under_a_running_turn_is_told_of_in_private() {
    let stage = Stage::with(by_step()).await;
    stage.telegram.say(ALICE, ALICE, "/start").await;
    stage.telegram.next_message(ALICE).await;
    let topic = stage.telegram.new_topic(FORUM, "Checkout").await;
    stage.model.hold();
    stage.telegram.say_in_topic(ALICE, FORUM, topic, "@ops_bot why is it slow?").await;
    stage.telegram.next_message(FORUM).await;
    stage.model.wait_for_open_streams(1).await;
    stage.telegram.delete_topic(FORUM, topic).await;
    stage.model.release();
    told_in_private(stage, topic, "the topic was deleted").await;
}

#[tokio::test]
async fn a_bot_that_is_muted_or_thrown_out_tells_the_asker_in_private() {
    for (kicked, why) in [(false, "the chat does not let the bot write"), (true, "the bot is not in this chat")] {
        let stage = Stage::with(by_step()).await;
        stage.telegram.say(ALICE, ALICE, "/start").await;
        stage.telegram.next_message(ALICE).await;
        stage.model.hold();
        stage.ask(ALICE, "why is it slow?").await;
        let placeholder = stage.placeholder().await;
        stage.model.wait_for_open_streams(1).await;
        match kicked {
            true => stage.telegram.kick_bot(OPS).await,
            false => {
                stage.telegram.mute_bot(OPS).await;
                // Otherwise there is nothing left to post.
                stage.telegram.delete(OPS, placeholder.id).await;
            }
        }
        stage.model.release();
        let told = stage.telegram.next_message(ALICE).await;
        assert!(told.text().contains(why), "{}", told.text());
        stage.done().await;
    }
}

#[tokio::test]
async fn with_privacy_mode_on_a_mention_is_not_heard_but_commands_replies_and_administrators_are() {
    let setting = Setting::default().rules(by_step());
    let stage = setting.telegram(|telegram| telegram.can_read_all_group_messages = false).open().await;
    stage.ask(ALICE, "why is it slow?").await;
    stage.idle().await;
    assert_eq!(stage.counted().await, (0, 0));
    stage.telegram.say(ALICE, OPS, "/help@ops_bot").await;
    let greeting = stage.placeholder().await;
    assert!(greeting.text().contains("mention me with your question"), "{}", greeting.text());
    stage.reply(ALICE, greeting.id, "why is it slow?").await;
    assert_eq!(stage.answer().await, "One.");
    stage.telegram.promote_bot(OPS).await;
    stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "One.");
    stage.done().await;
}

#[tokio::test]
async fn an_anonymous_administrator_is_answered_where_everybody_may_ask() {
    let stage = Stage::with(by_step()).await;
    let question = stage.telegram.say_anonymously(OPS, "@ops_bot why is it slow?").await;
    let answer = stage.answer_in(OPS).await;
    assert_eq!((answer.text(), answer.reply_to), ("One.", Some(question)));
    stage.done().await;
}

#[tokio::test]
async fn an_anonymous_administrator_is_nobody_on_a_list_of_people() {
    let setting = Setting::default().rules(by_step());
    let stage = setting.channel(&format!("allow_rooms = [\"*\"]\nallow_from = [\"{ALICE}\"]")).open().await;
    stage.telegram.say_anonymously(OPS, "@ops_bot why is it slow?").await;
    let refusal = stage.placeholder().await;
    assert!(refusal.text().starts_with("I'm not allowed to answer you here."), "{}", refusal.text());
    stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "One.");
    assert_eq!(stage.counted().await, (1, 1));
    stage.done().await;
}

#[tokio::test]
async fn a_room_that_is_not_served_gets_no_word() {
    let setting = Setting::default().rules([Rule::reply("One.")]).channel(&format!("allow_rooms = [\"{FORUM}\"]"));
    let stage = setting.open().await;
    stage.ask(ALICE, "why is it slow?").await;
    stage.idle().await;
    assert_eq!((stage.shown(OPS), stage.counted().await), (vec![], (0, 0)));
    stage.done().await;
}
