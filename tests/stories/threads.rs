//! Who is addressed in a thread without a mention, and what a private chat's conversations are.

use crate::{
    asked,
    setting::Setting,
    stage::{ALICE, BOB, ROOM, Stage, by_step},
};

#[tokio::test]
async fn b032_the_askers_next_words_in_the_thread_need_no_mention_and_a_bystanders_are_overheard() {
    let stage = Stage::with(by_step()).await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.answer().await;
    stage.say_in(&thread, BOB, "I restarted the pool").await;
    stage.idle().await;
    assert_eq!(stage.tally().await.turns, 1);
    stage.say_in(&thread, ALICE, "and since when?").await;
    assert_eq!(stage.answer().await, "Two.");
    let said = asked::said(&stage.model.requests()[1]);
    assert_eq!(said.len(), 3, "{said:#?}");
    assert!(said[1].starts_with("<overheard>") && said[1].contains("I restarted the pool"), "{}", said[1]);
    assert_eq!(asked::words(&said[2]), "and since when?");
    // What was overheard once is not told again.
    stage.say_in(&thread, ALICE, "and now?").await;
    assert_eq!(stage.answer().await, "Three.");
    assert_eq!(asked::said(&stage.model.requests()[2]).len(), 4);
    stage.done().await;
}

#[tokio::test]
async fn a_bystander_who_mentions_the_bot_is_followed_from_then_on() {
    let stage = Stage::with(by_step()).await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.answer().await;
    stage.ask_in(&thread, BOB, "is it the pool?").await;
    assert_eq!(stage.answer().await, "Two.");
    stage.say_in(&thread, BOB, "sure?").await;
    assert_eq!(stage.answer().await, "Three.");
    stage.done().await;
}

#[tokio::test]
async fn a_message_that_begins_by_mentioning_somebody_else_is_not_for_the_bot() {
    let stage = Stage::with(by_step()).await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.answer().await;
    stage.say_in(&thread, ALICE, "<@U0BOB> can you look?").await;
    stage.idle().await;
    assert_eq!(stage.tally().await.turns, 1);
    stage.say_in(&thread, ALICE, "so what is it?").await;
    assert_eq!(stage.answer().await, "Two.");
    let said = asked::said(&stage.model.requests()[1]);
    assert!(said[1].starts_with("<overheard>") && said[1].contains("can you look?"), "{}", said[1]);
    stage.done().await;
}

#[tokio::test]
async fn a_thread_in_which_nobody_mentioned_the_bot_is_none_of_its_business() {
    let stage = Stage::with([]).await;
    let parent = stage.slack.say(ALICE, ROOM, "lunch?").await;
    stage.say_in(&parent, BOB, "yes").await;
    stage.idle().await;
    assert_eq!(stage.tally().await.messages, 0);
    stage.done().await;
}

#[tokio::test]
async fn with_thread_follow_mention_even_the_asker_has_to_mention() {
    let access = "allow_rooms = [\"*\"]\nthread_follow = \"mention\"\n";
    let stage = Setting::default().rules(by_step()).channel(access).open().await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.answer().await;
    stage.say_in(&thread, ALICE, "hm").await;
    stage.idle().await;
    assert_eq!(stage.tally().await.turns, 1);
    stage.done().await;
}

#[tokio::test]
async fn with_thread_follow_all_everybody_in_the_thread_is_answered() {
    let access = "allow_rooms = [\"*\"]\nthread_follow = \"all\"\n";
    let stage = Setting::default().rules(by_step()).channel(access).open().await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.answer().await;
    stage.say_in(&thread, BOB, "is it the pool?").await;
    assert_eq!(stage.answer().await, "Two.");
    stage.done().await;
}

#[tokio::test]
async fn the_top_level_of_a_private_chat_is_one_conversation_and_a_thread_in_it_another() {
    let stage = Stage::with(by_step()).await;
    let room = stage.slack.open_dm(ALICE).await;
    let ask = async |thread: Option<&str>, text: &str| {
        let ts = match thread {
            None => stage.slack.say(ALICE, &room, text).await,
            Some(thread) => stage.slack.reply(ALICE, &room, thread, text).await,
        };
        let message = stage.slack.next_message(&room).await;
        stage.idle().await;
        (ts, message.thread_ts.clone(), stage.slack.message(&message.ts).text().to_owned())
    };
    let (first, thread, text) = ask(None, "is it slow?").await;
    assert_eq!((thread, text.as_str()), (None, "One."));
    let (_, thread, text) = ask(None, "since when?").await;
    assert_eq!((thread, text.as_str()), (None, "Two."));
    let (_, thread, text) = ask(Some(&first), "and here?").await;
    assert_eq!((thread.as_deref(), text.as_str()), (Some(first.as_str()), "One."));
    stage.done().await;
}
