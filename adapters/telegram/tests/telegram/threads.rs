//! Which conversation a message belongs to, and that answers stay in it.

use watchfloor_channel::{Addressed, ConversationId, Inbound};
use watchfloor_sim::telegram::{ALICE, BOB, FORUM, OPS, SMALL_GROUP};

use crate::desk::{Bot, conversation, number, world};

fn at(inbound: &[Inbound]) -> Vec<ConversationId> {
    inbound.iter().map(|inbound| inbound.conversation.clone()).collect()
}

/// B028: topic in, topic out.
#[tokio::test]
async fn a_topic_is_a_conversation_and_its_answers_stay_there() {
    let bot = Bot::connected(world(), |_| {}).await;
    let topic = bot.telegram.new_topic(FORUM, "Checkout").await;
    bot.telegram.say_in_topic(ALICE, FORUM, topic, "@ops_bot why?").await;
    bot.telegram.say_in_topic(BOB, FORUM, topic, "me too").await;
    let came = bot.desk.inbound(2).await;
    let here = conversation(FORUM, &format!("t{topic}"));
    assert_eq!(at(&came), [here.clone(), here.clone()]);
    assert_eq!(came[1].addressed, Addressed::Overheard);
    assert!(came.iter().all(|it| !it.text.contains("In reply")));
    let sent = bot.post(FORUM, &here.thread, "It is the pool.").await.unwrap();
    bot.telegram.reply(ALICE, FORUM, number(&sent), "since when?").await;
    let came = bot.desk.inbound(3).await;
    assert_eq!((came[2].conversation.clone(), came[2].addressed), (here, Addressed::Reply));
}

/// B027: General has no thread, and answers don't name one.
#[tokio::test]
async fn b027_general_is_the_room_itself() {
    let bot = Bot::connected(world(), |_| {}).await;
    bot.telegram.say(ALICE, FORUM, "@ops_bot why?").await;
    let came = bot.desk.inbound(1).await;
    assert_eq!(at(&came), [conversation(FORUM, "")]);
    let sent = bot.post(FORUM, "", "It is the pool.").await.unwrap();
    bot.telegram.reply(ALICE, FORUM, number(&sent), "since when?").await;
    assert_eq!(at(&bot.desk.inbound(2).await)[1], conversation(FORUM, ""));
    assert!(bot.telegram.complaints().is_empty());
}

#[tokio::test]
async fn without_topics_the_chain_of_replies_is_the_conversation() {
    for group in [OPS, SMALL_GROUP] {
        let bot = Bot::connected(world(), |_| {}).await;
        let question = bot.telegram.say(ALICE, group, "@ops_bot why?").await;
        let here = conversation(group, &format!("m{question}"));
        let came = bot.desk.inbound(1).await;
        assert_eq!((at(&came), came[0].starts_thread), (vec![here.clone()], true));
        let answer = bot.post(group, &here.thread, "It is the pool.").await.unwrap();
        let more = bot.telegram.reply(BOB, group, number(&answer), "since when?").await;
        bot.desk.inbound(2).await;
        bot.telegram.reply(ALICE, group, more, "yesterday, I think").await;
        bot.telegram.reply(ALICE, group, question, "anybody?").await;
        let other = bot.telegram.say(ALICE, group, "@ops_bot something else").await;
        let came = bot.desk.inbound(5).await;
        let there = conversation(group, &format!("m{other}"));
        assert_eq!(at(&came)[1..], [here.clone(), here.clone(), here, there], "{group}");
    }
}

#[tokio::test]
async fn an_answer_whose_question_was_deleted_still_carries_its_conversation() {
    let bot = Bot::connected(world(), |_| {}).await;
    let question = bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    bot.desk.inbound(1).await;
    bot.telegram.delete(OPS, question).await;
    let answer = bot.post(OPS, &format!("m{question}"), "It is the pool.").await.unwrap();
    let bot = bot.again(|_| {}).await;
    bot.telegram.reply(BOB, OPS, number(&answer), "since when?").await;
    assert_eq!(at(&bot.desk.inbound(1).await), [conversation(OPS, &format!("m{question}"))]);
}

#[tokio::test]
async fn a_mention_that_answers_somebody_else_belongs_to_what_it_answers() {
    let bot = Bot::connected(world(), |_| {}).await;
    let alert = bot.telegram.say(BOB, OPS, "checkout is down").await;
    bot.telegram.reply(ALICE, OPS, alert, "@ops_bot why?").await;
    let came = bot.desk.inbound(2).await;
    assert_eq!(at(&came)[1], conversation(OPS, &format!("m{alert}")));
    assert_eq!(came[1].text, "why?\n\nIn reply to Bob:\n> checkout is down");
    assert!(!came[1].starts_thread);
}

#[tokio::test]
async fn a_stop_that_answers_nothing_means_what_its_author_asked_last() {
    for group in [OPS, SMALL_GROUP] {
        let bot = Bot::connected(world(), |_| {}).await;
        bot.telegram.say(ALICE, group, "/stop").await;
        bot.telegram.say(ALICE, group, "@ops_bot why?").await;
        let last = bot.telegram.say(ALICE, group, "@ops_bot something else").await;
        let bobs = bot.telegram.say(BOB, group, "@ops_bot and mine?").await;
        bot.telegram.say(ALICE, group, "/stop@ops_bot").await;
        let stop = bot.telegram.say(BOB, group, "@ops_bot stop").await;
        let came = bot.desk.inbound(6).await;
        let stopped: Vec<_> = came[4..].iter().map(|stop| stop.conversation.clone()).collect();
        assert_eq!(stopped, [conversation(group, &format!("m{last}")), conversation(group, &format!("m{bobs}"))]);
        assert!(came[0].starts_thread, "there is nothing to stop yet");
        // One that answers something means that.
        bot.telegram.reply(ALICE, group, bobs, "/stop@ops_bot").await;
        assert_eq!(at(&bot.desk.inbound(7).await)[6], conversation(group, &format!("m{bobs}")), "after {stop}");
    }
}
