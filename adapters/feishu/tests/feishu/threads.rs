//! Which messages are one conversation.

use watchfloor_channel::{Body, ConversationId};
use watchfloor_sim::feishu::{ALICE, BOB, GROUP, MENTION, TOPICS, ThreadIds};

use crate::desk::{Bot, conversation, tenant};

async fn bot(thread_ids: ThreadIds) -> Bot {
    let mut tenant = tenant();
    tenant.thread_ids = thread_ids;
    Bot::connected(tenant, |_| {}).await
}

async fn places(bot: &Bot, count: usize) -> Vec<ConversationId> {
    bot.desk.inbound(count).await.into_iter().map(|inbound| inbound.conversation).collect()
}

/// Alice asks in a topic group, and again in the topic.
async fn two_questions(bot: &Bot) -> (String, Vec<ConversationId>) {
    let first = bot.feishu.say(ALICE, TOPICS, &format!("{MENTION} why?")).await;
    bot.desk.inbound(1).await;
    bot.feishu.reply_in_thread(ALICE, &first, &format!("{MENTION} and now?")).await;
    (first, places(bot, 2).await)
}

#[tokio::test]
async fn a_topic_is_one_conversation_wherever_its_events_name_it() {
    for thread_ids in [ThreadIds::Always, ThreadIds::NotOnTheFirst, ThreadIds::Never] {
        let bot = bot(thread_ids).await;
        let (first, places) = two_questions(&bot).await;
        let topic = bot.feishu.message(&first).thread.unwrap();
        let name = if thread_ids == ThreadIds::Always { topic } else { first };
        assert_eq!(places, [conversation(TOPICS, &name), conversation(TOPICS, &name)], "{thread_ids:?}");
    }
}

#[tokio::test]
async fn a_conversation_keeps_its_name_over_a_restart() {
    let mut bot = bot(ThreadIds::NotOnTheFirst).await;
    let (first, _) = two_questions(&bot).await;
    bot.feishu.wait_for_acks(2).await;
    bot.stop.cancel();
    bot.ended().await.unwrap();
    bot.stop = Default::default();
    bot.restarted(|_| {});
    bot.start();
    bot.feishu.reply_in_thread(BOB, &first, &format!("{MENTION} me too")).await;
    assert_eq!(places(&bot, 3).await[2], conversation(TOPICS, &first));
}

#[tokio::test]
async fn a_topic_joined_in_the_middle_is_one_conversation() {
    let bot = bot(ThreadIds::Always).await;
    let first = bot.feishu.say(ALICE, TOPICS, "without us").await;
    bot.feishu.reply_in_thread(BOB, &first, &format!("{MENTION} why?")).await;
    bot.desk.inbound(1).await;
    bot.feishu.reply_in_thread(ALICE, &first, &format!("{MENTION} and now?")).await;
    let places = places(&bot, 2).await;
    assert_eq!(places[0], places[1]);
}

#[tokio::test]
async fn an_answer_without_a_question_lands_in_its_topic() {
    for thread_ids in [ThreadIds::Always, ThreadIds::NotOnTheFirst, ThreadIds::Never] {
        let bot = bot(thread_ids).await;
        let (first, places) = two_questions(&bot).await;
        let posted = bot.post_to(places[0].clone(), None, "key-1", Body::Plain("Because.".into())).await.unwrap();
        let posted = bot.feishu.message(&posted.id);
        assert_eq!(posted.thread, bot.feishu.message(&first).thread, "{thread_ids:?}");
        // What is said below it belongs there, too.
        bot.feishu.reply_in_thread(ALICE, &posted.id, &format!("{MENTION} really?")).await;
        assert_eq!(self::places(&bot, 3).await[2], places[0], "{thread_ids:?}");
    }
}

#[tokio::test]
async fn questions_in_a_group_are_apart_and_quotes_of_our_answers_are_not() {
    let bot = bot(ThreadIds::Always).await;
    let first = bot.mention("why?").await;
    bot.desk.inbound(1).await;
    let second = bot.mention("something else").await;
    bot.desk.inbound(2).await;
    let answer = bot.post(&first, "key-1", "Because.").await.unwrap();
    bot.feishu.reply(BOB, &answer.id, &format!("{MENTION} really?")).await;
    let wanted = [&first, &second, &first].map(|thread| conversation(GROUP, thread));
    assert_eq!(places(&bot, 3).await, wanted);
}

#[tokio::test]
async fn a_thread_that_a_person_opens_under_our_answer_is_the_same_conversation() {
    let bot = bot(ThreadIds::Always).await;
    let question = bot.mention("why?").await;
    bot.desk.inbound(1).await;
    let answer = bot.post(&question, "key-1", "Because.").await.unwrap();
    bot.feishu.reply_in_thread(BOB, &answer.id, &format!("{MENTION} really?")).await;
    bot.desk.inbound(2).await;
    bot.feishu.reply_in_thread(ALICE, &answer.id, &format!("{MENTION} go on")).await;
    let wanted = conversation(GROUP, &question);
    assert_eq!(places(&bot, 3).await, [wanted.clone(), wanted.clone(), wanted]);
}
