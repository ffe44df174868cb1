//! A group becomes a supergroup in mid-conversation.

use serde_json::json;
use watchfloor_channel::Addressed;
use watchfloor_sim::telegram::{ALICE, SMALL_GROUP};

use crate::desk::{Bot, conversation, number, world};

#[tokio::test]
async fn the_conversation_moves_along() {
    let bot = Bot::connected(world(), |_| {}).await;
    let question = bot.telegram.say(ALICE, SMALL_GROUP, "@ops_bot why?").await;
    let came = bot.desk.inbound(1).await;
    assert_eq!(came[0].room_now, None);
    let new = bot.telegram.upgrade_group(SMALL_GROUP).await;
    bot.telegram.heard().await;
    let here = conversation(SMALL_GROUP, &format!("m{question}"));
    let answer = bot.post(SMALL_GROUP, &here.thread, "It is the pool.").await.unwrap();
    assert_eq!(answer.room, new.to_string());
    // The question stayed behind: its number means another message here.
    assert_eq!(bot.telegram.message(new, number(&answer)).reply_to, None);
    bot.telegram.reply(ALICE, new, number(&answer), "since when?").await;
    let other = bot.telegram.say(ALICE, new, "@ops_bot something else").await;
    let came = bot.desk.inbound(3).await;
    assert_eq!((came[1].conversation.clone(), came[1].addressed), (here, Addressed::Reply));
    assert_eq!(came[2].conversation, conversation(SMALL_GROUP, &format!("m{new}:{other}")));
    for moved in &came[1..] {
        assert_eq!(moved.room_now, Some(new.to_string()));
        assert_eq!(moved.message.room, new.to_string());
    }
    assert_eq!(came[2].message_key, format!("{new}/{other}"));
}

#[tokio::test]
async fn each_of_the_three_signals_is_enough() {
    const NEW: i64 = -1_009_876_547_211;
    let old = json!({"id": SMALL_GROUP, "type": "group"});
    let new = json!({"id": NEW, "type": "supergroup"});
    for signal in [
        Some(json!({"message": {"message_id": 14, "chat": old, "migrate_to_chat_id": NEW}})),
        Some(json!({"message": {"message_id": 1, "chat": new, "migrate_from_chat_id": SMALL_GROUP}})),
        None,
    ] {
        let mut bot = Bot::idle(world(), |_| {}).await;
        match &signal {
            Some(update) => {
                bot.telegram.raw(update.clone()).await;
                bot.start();
                bot.telegram.heard().await;
            }
            None => {
                assert_eq!(bot.telegram.upgrade_group(SMALL_GROUP).await, NEW);
                bot.post(SMALL_GROUP, "", "Still here.").await.unwrap();
            }
        }
        // Another process has only the notes.
        let bot = bot.again(|_| {}).await;
        let said = json!({"message_id": 90, "chat": new, "from": {"id": ALICE}, "text": "why?", "date": 1});
        bot.telegram.raw(json!({"message": said})).await;
        let came = bot.desk.inbound(1).await;
        assert_eq!(came[0].conversation.room, SMALL_GROUP.to_string(), "{signal:?}");
        assert_eq!(came[0].room_now, Some(NEW.to_string()));
    }
}
