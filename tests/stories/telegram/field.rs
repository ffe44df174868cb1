//! Faults that bots like this one had in the field, each by its number, as Telegram would bring them: conversations, mentions,
//! loops and leaks. Those of arrival, editing and formatting stand beside their subjects.

use std::time::Duration;

use serde_json::json;
use watchfloor_sim::{
    model::{ModelFault, Rule},
    telegram::{ALICE, BOB, BOT_ID, FORUM, Fault, OPS},
};

use super::{
    setting::Setting,
    stage::{POST, Stage, chain},
};
use crate::{asked, field::OPENINGS, stage::by_step};

#[tokio::test]
async fn b005_b070_what_opens_a_text_and_is_not_for_people_is_never_shown() {
    for opening in OPENINGS {
        let tell = Rule::call("SendMessage", json!({"message": format!("{opening}Looking.")})).when_step(0);
        let stage = Stage::with([tell, Rule::reply(format!("{opening}The pool is full.")).when_step(1)]).await;
        // In a private chat.
        stage.telegram.say(ALICE, ALICE, "why is it slow?").await;
        let message = stage.answer_in(ALICE).await;
        assert_eq!(stage.shown(ALICE), ["The pool is full."], "{opening}");
        let texts = stage.versions(ALICE, message.id);
        assert!(texts.iter().all(|text| !opening.lines().any(|line| text.contains(line))), "{texts:#?}");
        assert_eq!(stage.telegram.calls(POST).len(), 1, "{opening}");
        stage.done().await;
    }
}

#[tokio::test]
async fn b006_what_was_shown_before_is_replaced_and_never_doubled() {
    let begins = "The pool is full.";
    let whole = format!("{begins} Since ten minutes.");
    let rules = [
        Rule::call("SendMessage", json!({"message": begins})).with_text(begins).when_step(0),
        // Said once, broken off, and said again from the beginning.
        Rule::reply(whole.repeat(50)).but(ModelFault::CutAfterBytes(2_000)).when_step(1).once(),
        Rule::reply(whole.clone()).when_step(1),
    ];
    let stage = Stage::with(rules).await;
    stage.ask(ALICE, "why is it slow?").await;
    let message = stage.placeholder().await;
    stage.idle().await;
    assert_eq!(stage.shown(OPS), [whole.as_str()]);
    let versions = stage.versions(OPS, message.id);
    assert!(versions.iter().all(|text| text.matches(begins).count() <= 1), "{versions:#?}");
    stage.done().await;
}

#[tokio::test]
async fn b015_an_answer_that_is_ready_before_its_placeholder_stands_is_one_message() {
    let slow = Duration::from_millis(700);
    for fault in [Fault::DelayBefore(slow), Fault::DelayAfter(slow)] {
        let stage = Stage::with(by_step()).await;
        stage.telegram.fault(POST, fault);
        stage.ask(ALICE, "why is it slow?").await;
        stage.model.next_request().await;
        stage.model.wait_for_open_streams(0).await;
        stage.idle().await;
        assert_eq!((stage.shown(OPS), stage.telegram.calls(POST).len()), (vec!["One.".to_owned()], 1));
        stage.done().await;
    }
}

#[tokio::test]
async fn b028_b029_b031_everything_of_a_turn_goes_into_the_topic_it_was_asked_in() {
    let send = json!({"description": "look", "subagent_type": "looker", "prompt": "Errors?"});
    let long = format!("{}\n\n{}", "First. ".repeat(400), "Second. ".repeat(400));
    let rules = [
        Rule::reply("20 % errors.").when_persona("looker"),
        Rule::calls([("SendMessage", json!({"message": "Looking."})), ("AgentTool", send)])
            .when_persona("default")
            .when_step(0),
        Rule::reply(long).when_persona("default").when_step(1),
    ];
    let setting = Setting::default().rules(rules).persona("looker", "query_promql");
    let stage = setting.limit("notify_after = \"1ms\"").open().await;
    let topic = stage.telegram.new_topic(FORUM, "Checkout").await;
    stage.telegram.say_in_topic(ALICE, FORUM, topic, "@ops_bot why?").await;
    stage.idle().await;
    let ours = stage.ours(FORUM);
    assert!(ours.len() >= 3 && ours.iter().all(|message| message.topic == Some(topic)), "{ours:#?}");
    for call in stage.telegram.calls(POST) {
        assert_eq!(call.args["message_thread_id"], topic, "{call:?}");
    }
    let actions = stage.telegram.actions();
    assert!(!actions.is_empty() && actions.iter().all(|action| action.topic == Some(topic)), "{actions:?}");
    stage.done().await;
}

#[tokio::test]
async fn b035_people_who_are_named_in_a_question_stay_in_it() {
    let stage = Stage::with(by_step()).await;
    stage.ask(BOB, "remind @alice_ops about the deploy").await;
    stage.answer().await;
    let said = asked::said(&stage.model.requests()[0]);
    assert_eq!(asked::words(&said[0]), "remind @alice_ops about the deploy");
    stage.done().await;
}

#[tokio::test]
async fn b036_b037_of_two_bots_each_hears_what_is_said_to_it() {
    let stage = Stage::with(by_step()).await;
    for text in
        ["@other_bot what do you say?", "/status@other_bot", "mail ops_bot@example.org", "`@ops_bot`", "@ops_bot2 hi"]
    {
        stage.telegram.say(ALICE, OPS, text).await;
    }
    stage.idle().await;
    assert_eq!(stage.counted().await, (0, 0));
    stage.ask(ALICE, "and @other_bot, why is it slow?").await;
    assert_eq!(stage.answer().await, "One.");
    let said = asked::said(&stage.model.requests()[0]);
    assert_eq!(asked::words(&said[0]), "and @other_bot, why is it slow?");
    stage.done().await;
}

#[tokio::test]
async fn b039_b040_b042_neither_its_own_words_nor_other_bots_start_anything() {
    let stage = Stage::with([Rule::reply("Ask @ops_bot again.")]).await;
    stage.ask(ALICE, "who knows?").await;
    let answer = stage.answer_in(OPS).await;
    let mention = json!([{"type": "mention", "offset": 4, "length": 8}]);
    let group = json!({"id": OPS, "type": "supergroup", "title": "Ops"});
    let private = json!({"id": ALICE, "type": "private", "first_name": "Alice"});
    for (kind, chat, from) in [
        ("message", &group, BOT_ID),
        ("edited_message", &group, BOT_ID),
        ("message", &private, BOT_ID),
        // Another bot.
        ("message", &group, 7_000),
    ] {
        let from = json!({"id": from, "is_bot": true, "first_name": "Bot"});
        let message = json!({"message_id": answer.id + 100, "date": 1, "from": from, "chat": chat,
            "text": "Ask @ops_bot again.", "entities": mention});
        stage.telegram.raw(json!({ kind: message })).await;
    }
    stage.idle().await;
    assert_eq!((stage.counted().await, stage.model.requests().len()), ((1, 1), 1));
    stage.done().await;
}

#[tokio::test]
async fn b041_telling_the_asker_something_ends_neither_the_turn_nor_starts_another() {
    let tell = |step| Rule::call("SendMessage", json!({"message": format!("Step {step}.")})).when_step(step);
    let stage = Stage::with([tell(0), tell(1), Rule::reply("Done.").when_step(2)]).await;
    stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "Done.");
    assert_eq!((stage.shown(OPS).len(), stage.counted().await), (1, (1, 1)));
    stage.done().await;
}

#[tokio::test]
async fn b047_b050_a_new_chain_begins_empty_also_beside_another() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let questions = [stage.ask(ALICE, "why is checkout slow?").await, stage.ask(BOB, "who deployed billing?").await];
    stage.model.wait_for_open_streams(2).await;
    stage.model.release();
    stage.idle().await;
    for request in stage.model.requests() {
        assert_eq!((asked::said(&request).len(), asked::results(&request).len()), (1, 0));
    }
    let mut answered: Vec<_> = stage.ours(OPS).iter().map(|m| (m.reply_to, m.text().to_owned())).collect();
    answered.sort();
    assert_eq!(answered, questions.map(|question| (Some(question), "One.".to_owned())));
    for question in questions {
        assert!(stage.session(OPS, &chain(question)).await.is_some());
    }
    stage.done().await;
}

#[tokio::test]
async fn b070_what_the_runtime_told_the_model_is_not_shown() {
    let reply = "<system-reminder>You have 2 steps left.</system-reminder>\n\nThe pool is full.";
    let stage = Stage::with([Rule::reply(reply)]).await;
    stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "The pool is full.");
    stage.done().await;
}

#[tokio::test]
async fn b071_neither_thoughts_nor_narration_nor_tool_markup_are_shown() {
    let look = Rule::call("query_promql", json!({"query": "pool_in_use"})).with_text("I will look.").when_step(0);
    let reply = Rule::reply("<think>is it the disk?</think>The pool is full.").thinking("hm").when_step(1);
    let stage = Stage::with([look, reply]).await;
    stage.ask(ALICE, "why is it slow?").await;
    let message = stage.answer_in(OPS).await;
    assert_eq!(message.text(), "The pool is full.");
    for text in stage.versions(OPS, message.id) {
        assert!(!["I will look", "is it the disk", "<think"].iter().any(|leak| text.contains(leak)), "{text}");
    }
    stage.done().await;
}
