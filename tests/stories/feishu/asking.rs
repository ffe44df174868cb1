//! Where people ask, and what is one conversation.

use serde_json::json;
use watchfloor_sim::{
    feishu::{ALICE, BOB, GROUP, MENTION, TOPICS, ThreadIds},
    model::Rule,
};

use super::{setting::Setting, stage::Stage};
use crate::{
    asked,
    stage::{PLACEHOLDER, by_step},
};

#[tokio::test]
async fn a_mention_in_a_group_becomes_one_message_that_ends_as_the_answer() {
    for webhook in [false, true] {
        let stage = Setting::new([Rule::reply("The pool is **full**.")]).webhook(webhook).open().await;
        let question = stage.ask(ALICE, "why is it slow?").await;
        let shown = stage.feishu.next_message(GROUP).await;
        stage.idle().await;
        let texts: Vec<_> = stage.feishu.edits(&shown.id).iter().map(|edit| edit.text()).collect();
        assert_eq!(texts, [PLACEHOLDER, "The pool is **full**."]);
        let shown = stage.feishu.message(&shown.id);
        assert_eq!((shown.kind(), shown.puts, shown.parent.as_deref()), ("post", 1, Some(question.as_str())));
        assert_eq!(stage.shown(&question), ["The pool is **full**."]);
        assert_eq!(stage.feishu.connections() == 0, webhook);
        stage.done().await;
    }
}

#[tokio::test]
async fn a_topic_and_what_is_said_in_it_are_one_conversation_however_events_name_it() {
    for thread_ids in [ThreadIds::Always, ThreadIds::NotOnTheFirst, ThreadIds::Never] {
        let stage = Setting::new(by_step()).feishu(|feishu| feishu.thread_ids = thread_ids).open().await;
        let first = stage.ask_at(TOPICS, ALICE, "why is it slow?").await;
        stage.idle().await;
        stage.feishu.reply_in_thread(BOB, &first, &format!("{MENTION} and now?")).await;
        stage.idle().await;
        assert_eq!(stage.shown(&first), ["One.", "Two."], "{thread_ids:?}");
        let topic = stage.feishu.message(&first).thread;
        assert!(stage.beneath(&first).iter().all(|message| message.thread == topic), "{thread_ids:?}");
        assert_eq!(asked::said(&stage.model.requests()[1]).len(), 2);
        stage.done().await;
    }
}

#[tokio::test]
async fn a_private_chat_is_one_conversation_without_mentions() {
    let stage = Stage::with(by_step()).await;
    let chat = stage.feishu.p2p(ALICE);
    for (question, answer) in [("why is it slow?", "One."), ("and now?", "Two.")] {
        let question = stage.feishu.say(ALICE, &chat, question).await;
        stage.idle().await;
        assert_eq!(stage.shown(&question), [answer]);
    }
    stage.done().await;
}

#[tokio::test]
async fn b030_b032_a_thread_opened_beneath_an_answer_goes_on_with_its_conversation() {
    for thread_ids in [ThreadIds::Always, ThreadIds::Never] {
        let setting = Setting::new(by_step()).hears_all();
        let stage = setting.feishu(|feishu| feishu.thread_ids = thread_ids).open().await;
        let question = stage.ask(ALICE, "why is it slow?").await;
        let answer = stage.feishu.next_message(GROUP).await;
        stage.idle().await;
        // Whoever asked need not mention the bot again.
        let follow_up = stage.feishu.reply_in_thread(ALICE, &answer.id, "and now?").await;
        stage.idle().await;
        assert_eq!(stage.shown(&question), ["One.", "Two."], "{thread_ids:?}");
        assert_eq!(stage.beneath(&question)[1].thread, stage.feishu.message(&follow_up).thread);
        stage.done().await;
    }
}

#[tokio::test]
async fn a_quote_of_an_answer_is_a_question_about_it() {
    let stage = Setting::new(by_step()).hears_all().open().await;
    let question = stage.ask(ALICE, "why is it slow?").await;
    let answer = stage.feishu.next_message(GROUP).await;
    stage.idle().await;
    stage.feishu.reply(BOB, &answer.id, "are you sure?").await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["One.", "Two."]);
    stage.done().await;
}

#[tokio::test]
async fn b033_what_stood_in_a_thread_before_the_mention_is_read_and_nothing_beside_it() {
    let stage = Setting::new([Rule::reply("Yes.")]).hears_all().open().await;
    stage.feishu.say(BOB, TOPICS, "the coffee machine is broken").await;
    let first = stage.feishu.say(BOB, TOPICS, "checkout is slow since 10:02").await;
    for n in 0..60 {
        stage.feishu.reply_in_thread(BOB, &first, &format!("pod {n} restarted")).await;
    }
    stage.feishu.reply_in_thread(ALICE, &first, &format!("{MENTION} is it the pool?")).await;
    stage.idle().await;
    assert_eq!(stage.shown(&first), ["Yes."]);
    let said = asked::said(&stage.model.requests()[0]);
    let read = said.iter().find(|said| said.starts_with("<thread>")).unwrap();
    assert!(read.contains("pod 59 restarted") && !read.contains("coffee"), "{read}");
    stage.done().await;
}

#[tokio::test]
async fn what_is_said_while_the_bot_is_at_it_steers_it() {
    let look = Rule::call("query_promql", json!({"query": "pool_in_use"})).when_step(0);
    let rules = [look, Rule::reply("Of billing: no.").when_step(1)];
    let stage = Setting::new(rules).hears_all().open().await;
    let (question, placeholder) = stage.ask_and_hold(GROUP, ALICE, "is checkout down?").await;
    stage.feishu.reply(ALICE, &placeholder.id, "I meant billing").await;
    stage.feishu.wait_for_answers("react", 1).await;
    let shown = stage.goes_on(&question).await;
    assert_eq!(shown, ["Of billing: no."]);
    assert_eq!(stage.tally().await.messages, 2);
    stage.done().await;
}

#[tokio::test]
async fn stop_ends_what_is_under_way() {
    let stage = Setting::new(by_step()).hears_all().open().await;
    let (question, placeholder) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
    stage.feishu.reply(ALICE, &placeholder.id, "stop").await;
    stage.feishu.wait_for_text(&placeholder.id, |text| text.starts_with("Stopped by ")).await;
    assert_eq!(stage.goes_on(&question).await.len(), 1);
    stage.done().await;
}
