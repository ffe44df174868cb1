//! Long pastes and albums: several messages of Telegram's, one of ours.

use std::time::Duration;

use watchfloor_channel::{Addressed, InboundKind};
use watchfloor_sim::telegram::{ALICE, BOB, OPS, SimFile};

use crate::desk::{Bot, conversation, number, world};

fn paste() -> String {
    format!("@ops_bot {}", "line of a log\n".repeat(700))
}

async fn quick() -> Bot {
    Bot::connected(world(), |config| config.gather = Duration::from_millis(200)).await
}

#[tokio::test]
async fn a_paste_arrives_as_one_message_and_the_offset_waits_for_it() {
    let bot = quick().await;
    let pieces = bot.telegram.paste(ALICE, OPS, &paste()).await;
    bot.telegram.say(BOB, OPS, "me too").await;
    bot.telegram.heard().await;
    let came = bot.desk.inbound(2).await;
    assert_eq!(came.len(), 2);
    let whole = came.iter().find(|it| it.author.id == ALICE.to_string()).unwrap();
    assert_eq!(whole.text.matches("line of a log").count(), 700);
    assert_eq!(whole.message_key, format!("{OPS}/{}", pieces[0]));
    assert_eq!(whole.conversation, conversation(OPS, &format!("m{}", pieces[0])));
}

#[tokio::test]
async fn pieces_that_come_while_the_first_waits_are_fetched_without_confirming_it() {
    let bot = Bot::connected(world(), |config| config.gather = Duration::from_millis(600)).await;
    bot.telegram.say(ALICE, ALICE, &"x".repeat(4_000)).await;
    bot.telegram.wait_for_calls("getUpdates", 2).await;
    bot.telegram.say(ALICE, ALICE, "and the rest").await;
    bot.telegram.heard().await;
    let texts = bot.desk.texts(1).await;
    assert_eq!(texts, [format!("{}\nand the rest", "x".repeat(4_000))]);
}

#[tokio::test]
async fn a_stop_in_the_middle_loses_nothing() {
    let bot = Bot::connected(world(), |config| config.gather = Duration::from_secs(600)).await;
    bot.telegram.paste(ALICE, OPS, &paste()).await;
    bot.telegram.say(BOB, OPS, "me too").await;
    assert_eq!(bot.desk.texts(1).await, ["me too"]);
    let bot = bot.again(|config| config.gather = Duration::from_millis(200)).await;
    let came = bot.desk.inbound(2).await;
    assert!(came.iter().any(|it| it.text.matches("line of a log").count() == 700));
}

#[tokio::test]
async fn a_later_change_of_a_piece_starts_nothing_new() {
    let bot = quick().await;
    let pieces = bot.telegram.paste(ALICE, ALICE, &paste()).await;
    bot.telegram.touch(ALICE, pieces[1]).await;
    bot.telegram.heard().await;
    assert_eq!(bot.desk.inbound(1).await.len(), 1);
    bot.telegram.touch(ALICE, pieces[1]).await;
    bot.telegram.edit(ALICE, ALICE, pieces[1], "something else").await;
    bot.telegram.say(ALICE, ALICE, "next").await;
    let came = bot.desk.inbound(2).await;
    let seen: Vec<_> = came.iter().map(|it| (it.kind, it.text.len() > 100)).collect();
    assert_eq!(seen, [(InboundKind::Message, true), (InboundKind::Message, false)]);
}

#[tokio::test]
async fn a_mention_that_is_added_while_a_piece_waits_is_heard() {
    let bot = Bot::connected(world(), |config| config.gather = Duration::from_millis(600)).await;
    let first = bot.telegram.say(ALICE, OPS, &"x".repeat(4_000)).await;
    bot.telegram.edit(ALICE, OPS, first, &format!("@ops_bot {}", "x".repeat(4_000))).await;
    bot.telegram.heard().await;
    let came = bot.desk.inbound(1).await;
    let seen: Vec<_> = came.iter().map(|it| (it.kind, it.addressed, it.text.len())).collect();
    assert_eq!(seen, [(InboundKind::Message, Addressed::Mention, 4_000)]);
}

/// What is said after a paste commands us at once.
#[tokio::test]
async fn a_stop_right_behind_a_paste_is_a_stop() {
    let bot = quick().await;
    bot.telegram.paste(ALICE, ALICE, &paste()).await;
    bot.telegram.say(ALICE, ALICE, "/stop").await;
    bot.telegram.heard().await;
    let commands: Vec<_> = bot.desk.inbound(2).await.into_iter().map(|it| it.command).collect();
    assert_eq!(commands, [None, Some("stop".to_owned())]);
}

#[tokio::test]
async fn an_answer_to_a_later_piece_belongs_to_the_whole() {
    let bot = quick().await;
    let pieces = bot.telegram.paste(ALICE, OPS, &paste()).await;
    bot.telegram.heard().await;
    bot.telegram.reply(BOB, OPS, pieces[1], "I see that too").await;
    let came = bot.desk.inbound(2).await;
    assert_eq!(came[1].conversation, came[0].conversation);
}

#[tokio::test]
async fn an_album_is_one_message_with_its_files() {
    let bot = quick().await;
    let files = ["a.log", "b.log", "c.log"].map(|name| SimFile::new(name, "text/plain", name));
    bot.telegram.album(ALICE, OPS, files.into(), "@ops_bot what is this?").await;
    bot.telegram.heard().await;
    let came = bot.desk.inbound(1).await;
    assert_eq!((came.len(), came[0].text.as_str()), (1, "what is this?"));
    assert_eq!(came[0].files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["a.log", "b.log", "c.log"]);
    let sent = bot.post(OPS, &came[0].conversation.thread, "Logs.").await.unwrap();
    assert!(number(&sent) > 0);
}
