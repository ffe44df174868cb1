//! What the doctor sees of the rooms, and its remedy for each.

use serde_json::json;
use watchfloor_channel::{ChannelAdapter, Finding};
use watchfloor_sim::telegram::{ALICE, FORUM, Fault, OPS, SMALL_GROUP};

use crate::desk::{Bot, world};

const ELSEWHERE: i64 = -1_001_234_567_999;

async fn look(bot: &Bot, rooms: &[i64]) -> Vec<Finding> {
    bot.adapter.doctor(&rooms.iter().map(i64::to_string).collect::<Vec<_>>()).await
}

/// Of the rooms alone.
async fn rooms(bot: &Bot, rooms: &[i64]) -> Vec<Finding> {
    look(bot, rooms).await.split_off(4)
}

fn writes(room: i64) -> String {
    format!("the bot can write in {room}")
}

#[tokio::test]
async fn each_room_the_bot_can_not_write_in_has_its_remedy() {
    let bot = Bot::idle(world(), |_| {}).await;
    assert_eq!(rooms(&bot, &[OPS, FORUM, SMALL_GROUP]).await, [OPS, FORUM, SMALL_GROUP].map(writes).map(Finding::fine));
    bot.telegram.mute_bot(OPS).await;
    bot.telegram.kick_bot(FORUM).await;
    let only_admins = json!({"ok": true, "result": {"id": SMALL_GROUP, "type": "group",
        "permissions": {"can_send_messages": false}}});
    assert_eq!(
        rooms(&bot, &[OPS, FORUM, ELSEWHERE, ALICE]).await,
        [
            Finding::wrong(
                writes(OPS),
                "the bot is restricted and may not write: lift the restriction, or make it an administrator"
            ),
            Finding::wrong(writes(FORUM), "the bot is not in this chat: add it there"),
            Finding::wrong(
                writes(ELSEWHERE),
                "Telegram shows the bot no such chat: add it there, compare the id, or take it out of allow_rooms"
            ),
            Finding::wrong(
                writes(ALICE),
                "the person does not take messages from the bot: she has to open its chat and press Start"
            ),
        ]
    );
    bot.telegram.fault("getChat", Fault::Answer(200, only_admins));
    let remedy = "only administrators may write in this chat: make the bot one";
    assert_eq!(rooms(&bot, &[SMALL_GROUP]).await, [Finding::wrong(writes(SMALL_GROUP), remedy)]);
    for (member, remedy) in [
        (json!({"status": "left"}), "the bot is not in this chat: add it there, or take it out of allow_rooms"),
        (
            json!({"status": "restricted", "is_member": false, "can_send_messages": true}),
            "the bot is not in this chat: add it there, or take it out of allow_rooms",
        ),
        (
            json!({"status": "kicked"}),
            "the bot was removed from this chat: lift the ban and add it again, or take it out of allow_rooms",
        ),
    ] {
        bot.telegram.fault("getChatMember", Fault::Answer(200, json!({"ok": true, "result": member})));
        assert_eq!(rooms(&bot, &[SMALL_GROUP]).await, [Finding::wrong(writes(SMALL_GROUP), remedy)]);
    }
    let named = bot.adapter.doctor(&["@ops".to_owned()]).await.pop().unwrap();
    assert!(!named.ok && named.remedy.unwrap().contains("ids are numbers"));
}

#[tokio::test]
async fn an_upgraded_group_is_followed_and_its_new_id_is_said() {
    let bot = Bot::idle(world(), |_| {}).await;
    let new = bot.telegram.upgrade_group(SMALL_GROUP).await;
    let moved = format!("the group {SMALL_GROUP} was upgraded and is {new} now");
    let remedy =
        format!("write \"{new}\" into allow_rooms: the old id works only as long as the store remembers the move");
    let fine = || Finding::fine(writes(SMALL_GROUP));
    assert_eq!(rooms(&bot, &[SMALL_GROUP]).await, [Finding::could_be_better(moved.clone(), remedy.clone()), fine()]);
    bot.telegram.kick_bot(new).await;
    let found = rooms(&bot, &[SMALL_GROUP]).await;
    assert_eq!(found[0], Finding::could_be_better(moved, remedy));
    assert!(!found[1].ok, "{found:?}");
}

#[tokio::test]
async fn privacy_mode_is_no_fault_where_the_bot_is_an_administrator_of_every_room() {
    let bot = Bot::idle(world(), |_| {}).await;
    bot.telegram.set_can_read_all_group_messages(false);
    bot.telegram.promote_bot(OPS).await;
    let sees = async |rooms: &[i64]| look(&bot, rooms).await.remove(1);
    assert!(sees(&[OPS]).await.ok);
    for rooms in [&[OPS, FORUM][..], &[OPS, ELSEWHERE], &[]] {
        let found = sees(rooms).await;
        assert!(!found.ok && found.remedy.unwrap().contains("/setprivacy"), "{rooms:?}");
    }
}
