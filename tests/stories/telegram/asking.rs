//! The usual case in every kind of chat: somebody asks, one message becomes the answer, and what belongs together is one
//! conversation.

use watchfloor_sim::{
    model::Rule,
    telegram::{ALICE, BOB, FORUM, OPS, SMALL_GROUP},
};

use super::stage::{EDIT, POST, Stage, chain};
use crate::{
    asked,
    stage::{PLACEHOLDER, by_step},
};

#[tokio::test]
async fn a_mention_in_a_group_is_answered_by_editing_one_message_that_replies_to_it() {
    for chat in [OPS, SMALL_GROUP] {
        let stage = Stage::with([Rule::reply("Checkout is **fine**.")]).await;
        stage.model.hold();
        let question = stage.ask_in(chat, ALICE, "is checkout fine?").await;
        let placeholder = stage.telegram.next_message(chat).await;
        assert_eq!((placeholder.text(), placeholder.reply_to), (PLACEHOLDER, Some(question)));
        stage.model.release();
        stage.idle().await;
        assert_eq!(stage.versions(chat, placeholder.id), [PLACEHOLDER, "Checkout is fine."]);
        assert_eq!(stage.telegram.message(chat, placeholder.id).marked("bold"), ["fine"]);
        assert_eq!((stage.telegram.calls(POST).len(), stage.telegram.calls(EDIT).len()), (1, 1));
        assert_eq!(stage.session(chat, &chain(question)).await.unwrap().user_id, ALICE.to_string());
        stage.done().await;
    }
}

#[tokio::test]
async fn a_topic_is_one_conversation_and_its_answers_stay_in_it() {
    let stage = Stage::with(by_step()).await;
    let topic = stage.telegram.new_topic(FORUM, "Checkout").await;
    for (person, answer) in [(ALICE, "One."), (BOB, "Two.")] {
        stage.telegram.say_in_topic(person, FORUM, topic, "@ops_bot why is it slow?").await;
        let message = stage.answer_in(FORUM).await;
        assert_eq!((message.text(), message.topic), (answer, Some(topic)));
    }
    // Who asked there needs no further mention.
    stage.telegram.say_in_topic(ALICE, FORUM, topic, "since when?").await;
    assert_eq!(stage.answer_in(FORUM).await.text(), "Three.");
    assert!(stage.session(FORUM, &format!("t{topic}")).await.is_some());
    assert!(stage.telegram.actions().iter().all(|action| action.topic == Some(topic)));
    stage.done().await;
}

#[tokio::test]
async fn b027_in_general_the_answer_stays_in_general_and_no_topic_is_named() {
    let stage = Stage::with(by_step()).await;
    let question = stage.ask_in(FORUM, ALICE, "why is it slow?").await;
    let message = stage.answer_in(FORUM).await;
    assert_eq!((message.text(), message.topic, message.reply_to), ("One.", None, Some(question)));
    for call in stage.telegram.all_calls() {
        assert!(call.args.get("message_thread_id").is_none_or(serde_json::Value::is_null), "{call:?}");
    }
    // What is said there to nobody is for nobody.
    stage.telegram.say(ALICE, FORUM, "lunch?").await;
    stage.idle().await;
    assert_eq!(stage.counted().await, (1, 1));
    assert_eq!(stage.ours(ALICE).len(), 0);
    stage.done().await;
}

#[tokio::test]
async fn in_a_private_chat_every_message_is_a_question() {
    let stage = Stage::with(by_step()).await;
    for (text, answer) in [("why is it slow?", "One."), ("since when?", "Two.")] {
        stage.telegram.say(ALICE, ALICE, text).await;
        assert_eq!(stage.answer_in(ALICE).await.text(), answer);
    }
    let requests = stage.model.requests();
    assert_eq!(asked::roles(&requests[1]), ["system", "user", "assistant", "user"]);
    stage.done().await;
}

#[tokio::test]
async fn b030_b032_a_reply_to_the_answer_goes_on_with_the_conversation_without_a_mention() {
    let stage = Stage::with(by_step()).await;
    let question = stage.ask(ALICE, "why is checkout slow?").await;
    let first = stage.answer_in(OPS).await;
    let session = stage.session(OPS, &chain(question)).await.unwrap();
    // A reply to the bot is said to it, whoever says it.
    let second = stage.reply(BOB, first.id, "since when?").await;
    let answer = stage.answer_in(OPS).await;
    assert_eq!((answer.text(), answer.reply_to), ("Two.", Some(second)));
    // Deeper in the chain, to a message of somebody else.
    stage.reply(ALICE, second, "and in eu-west?").await;
    assert_eq!(stage.answer().await, "Three.");
    assert_eq!(stage.session(OPS, &chain(question)).await.unwrap().id, session.id);
    let said = asked::said(&stage.model.requests()[2]);
    let words: Vec<_> = said.iter().map(|said| asked::words(said).lines().next().unwrap_or_default()).collect();
    assert_eq!(words, ["why is checkout slow?", "since when?", "and in eu-west?"]);
    stage.done().await;
}

#[tokio::test]
async fn b049_a_chain_names_who_said_what() {
    let stage = Stage::with(by_step()).await;
    stage.ask(ALICE, "what is it?").await;
    let first = stage.answer_in(OPS).await;
    stage.reply(BOB, first.id, "and now?").await;
    assert_eq!(stage.answer().await, "Two.");
    let said = asked::said(&stage.model.requests()[1]);
    assert!(said[0].contains("id=\"5001\"") && said[1].contains("id=\"5002\""), "{said:#?}");
    stage.done().await;
}

#[tokio::test]
async fn a_command_that_acts_on_nothing_gets_one_sentence_and_starts_no_turn() {
    let stage = Stage::with([]).await;
    for (command, sentence) in [
        ("/new@ops_bot", "/new does nothing here: of all commands only /stop acts"),
        ("/start", "I look into what is going wrong and show what I found: mention me"),
    ] {
        let said = stage.telegram.say(ALICE, OPS, command).await;
        let message = stage.placeholder().await;
        assert!(message.text().starts_with(sentence), "{}", message.text());
        assert_eq!(message.reply_to, Some(said));
    }
    stage.telegram.say(ALICE, OPS, "/new@other_bot").await;
    stage.idle().await;
    assert_eq!((stage.ours(OPS).len(), stage.counted().await), (2, (0, 0)));
    stage.done().await;
}

#[tokio::test]
async fn only_stop_stands_in_the_command_menu() {
    let stage = Stage::with([]).await;
    stage.telegram.wait_for_calls("setMyCommands", 1).await;
    let menus = stage.telegram.commands();
    assert_eq!(menus.len(), 1, "{menus:#?}");
    let names: Vec<_> = menus[0].1.as_array().unwrap().iter().map(|command| command["command"].clone()).collect();
    assert_eq!(names, ["stop"]);
    stage.done().await;
}
