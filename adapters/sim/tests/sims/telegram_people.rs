//! What people do, and what of it the bot gets to see.

use serde_json::{Value, json};
use watchfloor_sim::telegram::{ALICE, BOB, BOT_ID, FORUM, OPS, Post, SMALL_GROUP, SimFile, TelegramConfig};

use crate::telegram_support::{telegram, telegram_with};

/// Chosen fields of a message.
fn fields(message: &Value, names: &[&str]) -> Value {
    let present = names.iter().filter_map(|&name| Some((name.to_owned(), message.get(name)?.clone())));
    Value::Object(present.collect())
}

#[tokio::test]
async fn a_mention_arrives_with_its_entity_in_utf_16_units() {
    let (sim, mut bot) = telegram().await;
    let id = sim.say(ALICE, OPS, "🔥🔥 @ops_bot 支付失败 `a @b_c`").await;
    let mut messages = bot.messages().await;
    assert!(messages[0]["date"].as_u64().unwrap() > 1_700_000_000);
    messages[0]["date"] = json!(0);
    assert_eq!(
        messages,
        [json!({"message_id": id, "date": 0,
            "from": {"id": ALICE, "is_bot": false, "first_name": "Alice", "username": "alice_ops", "language_code": "en"},
            "chat": {"id": OPS, "type": "supergroup", "title": "Ops"},
            "text": "🔥🔥 @ops_bot 支付失败 a @b_c",
            "entities": [{"type": "mention", "offset": 5, "length": 8}, {"type": "code", "offset": 19, "length": 6}]})]
    );
    let odd = Post::text("ask Ops please").naming("Ops", BOT_ID).marked("please", "date_time", json!({"unix_time": 5}));
    sim.post(BOB, OPS, odd).await;
    let entities = &bot.messages().await[0]["entities"];
    assert_eq!([&entities[0]["user"]["id"], &entities[1]["unix_time"]], [&json!(BOT_ID), &json!(5)]);
}

#[tokio::test]
async fn in_a_topic_everything_carries_the_topic_and_its_creation() {
    let (sim, mut bot) = telegram().await;
    let topic = sim.new_topic(FORUM, "Checkout").await;
    let asked = sim.say_in_topic(ALICE, FORUM, topic, "slow?").await;
    sim.reply(BOB, FORUM, asked, "very").await;
    let general = sim.say(ALICE, FORUM, "lunch?").await;
    sim.reply(BOB, FORUM, general, "yes").await;
    let names = ["message_thread_id", "is_topic_message", "text"];
    let seen: Vec<_> = bot.messages().await.iter().map(|message| fields(message, &names)).collect();
    let mark = json!({"message_thread_id": topic, "is_topic_message": true});
    let with = |text: &str| json!({"message_thread_id": topic, "is_topic_message": true, "text": text});
    let rest = [json!({"text": "lunch?"}), json!({"text": "yes", "message_thread_id": general})];
    assert_eq!(seen, [&[mark, with("slow?"), with("very")], rest.as_slice()].concat());

    let (sim, mut bot) = telegram().await;
    let topic = sim.new_topic(FORUM, "Checkout").await;
    let asked = sim.say_in_topic(ALICE, FORUM, topic, "slow?").await;
    sim.reply(BOB, FORUM, asked, "very").await;
    let replied: Vec<_> = bot.messages().await[1..]
        .iter()
        .map(|message| fields(&message["reply_to_message"], &["message_id", "forum_topic_created", "text"]))
        .collect();
    let creation = json!({"message_id": topic, "forum_topic_created": {"name": "Checkout", "icon_color": 7_322_096}});
    assert_eq!(replied, [creation, json!({"message_id": asked, "text": "slow?"})]);
}

#[tokio::test]
async fn replies_in_a_supergroup_carry_the_first_message_of_their_chain_but_are_no_topic() {
    let (sim, mut bot) = telegram().await;
    let root = sim.say(ALICE, OPS, "slow").await;
    let second = sim.reply(BOB, OPS, root, "very").await;
    sim.reply(ALICE, OPS, second, "since noon").await;
    let in_group = sim.say(ALICE, SMALL_GROUP, "slow").await;
    sim.reply(BOB, SMALL_GROUP, in_group, "very").await;
    let seen: Vec<_> =
        bot.messages().await.iter().map(|m| (m["message_thread_id"].clone(), m["is_topic_message"].clone())).collect();
    let none = || (Value::Null, Value::Null);
    let chain = || (json!(root), Value::Null);
    assert_eq!(seen, [none(), chain(), chain(), none(), none()]);
}

#[tokio::test]
async fn with_privacy_on_only_what_is_meant_for_the_bot_arrives() {
    let config = TelegramConfig { can_read_all_group_messages: false, ..TelegramConfig::default() };
    let (sim, mut bot) = telegram_with(config).await;
    assert_eq!(bot.ok("getMe", json!({})).await["can_read_all_group_messages"], false);
    sim.say(ALICE, OPS, "@ops_bot why?").await;
    sim.say(ALICE, OPS, "/status").await;
    sim.say(ALICE, OPS, "/status@other_bot").await;
    sim.say(ALICE, OPS, "/status@OPS_BOT eu").await;
    let ours = bot.say(OPS, "Looking.").await;
    sim.reply(BOB, OPS, ours, "thanks").await;
    sim.say(ALICE, OPS, "/stop").await;
    sim.say(ALICE, ALICE, "in private").await;
    let heard: Vec<_> = bot.messages().await.iter().map(|message| message["text"].clone()).collect();
    assert_eq!(heard, ["/status@OPS_BOT eu", "thanks", "/stop", "in private"]);
    sim.promote_bot(OPS).await;
    sim.say(ALICE, OPS, "now?").await;
    let updates = bot.updates().await;
    assert_eq!(updates[0]["my_chat_member"]["new_chat_member"]["status"], "administrator");
    assert_eq!(updates[1]["message"]["text"], "now?");
}

#[tokio::test]
async fn edits_deletions_and_touches_are_told_as_telegram_tells_them() {
    let (sim, mut bot) = telegram().await;
    let id = sim.say(ALICE, OPS, "slow").await;
    sim.edit(ALICE, OPS, id, "very slow").await;
    sim.touch(OPS, id).await;
    sim.delete(OPS, id).await;
    let updates = bot.updates().await;
    assert_eq!(updates.len(), 3);
    for edited in &updates[1..] {
        let message = &edited["edited_message"];
        assert_eq!((&message["message_id"], &message["text"]), (&json!(id), &json!("very slow")));
        assert!(message["edit_date"].is_u64());
    }
}

#[tokio::test]
async fn anonymous_administrators_and_channels_have_no_person() {
    let (sim, mut bot) = telegram().await;
    sim.add_channel(-1_005_550_001, "Alerts");
    sim.say_anonymously(OPS, "@ops_bot approve it").await;
    sim.channel_post(-1_005_550_001, "[FIRING:1]").await;
    let updates = bot.updates().await;
    let message = &updates[0]["message"];
    assert_eq!(message["from"]["id"], 1_087_968_824);
    assert_eq!((&message["sender_chat"], &message["author_signature"]), (&message["chat"], &json!("lead")));
    assert_eq!(updates[1]["channel_post"].get("from"), None);
    assert_eq!(updates[1]["channel_post"]["text"], "[FIRING:1]");
}

#[tokio::test]
async fn an_upgraded_group_is_told_twice_and_refuses_with_its_new_id() {
    let (sim, mut bot) = telegram().await;
    let new = sim.upgrade_group(SMALL_GROUP).await;
    let messages = bot.messages().await;
    assert_eq!((&messages[0]["chat"]["id"], &messages[0]["migrate_to_chat_id"]), (&json!(SMALL_GROUP), &json!(new)));
    assert_eq!((&messages[1]["chat"]["id"], &messages[1]["migrate_from_chat_id"]), (&json!(new), &json!(SMALL_GROUP)));
    let (status, body) = bot.call("sendMessage", json!({"chat_id": SMALL_GROUP, "text": "hello"})).await;
    assert_eq!(status, 400);
    assert_eq!(
        body,
        json!({"ok": false, "error_code": 400, "parameters": {"migrate_to_chat_id": new},
            "description": "Bad Request: group chat was upgraded to a supergroup chat"})
    );
    bot.say(new, "hello").await;
}

#[tokio::test]
async fn files_albums_and_pastes_arrive_in_their_pieces() {
    let (sim, mut bot) = telegram().await;
    let log = SimFile::new("checkout.log", "text/plain", "pool exhausted");
    sim.attach(ALICE, OPS, log, "@ops_bot log").await;
    sim.photo(ALICE, OPS, &[7; 1600], "").await;
    let album = vec![SimFile::photo(vec![1]), SimFile::photo(vec![2])];
    sim.album(BOB, OPS, album, "two graphs").await;
    let pasted = sim.paste(ALICE, OPS, &"word ".repeat(1800)).await;
    let messages = bot.messages().await;
    assert_eq!(messages.len(), 4 + pasted.len());
    assert_eq!(pasted.len(), 3);
    assert_eq!(messages[0]["document"]["file_name"], "checkout.log");
    assert_eq!(messages[0]["caption_entities"], json!([{"type": "mention", "offset": 0, "length": 8}]));
    assert_eq!(messages[1]["photo"].as_array().unwrap().last().unwrap()["file_size"], 1600);
    assert_eq!(messages[2]["media_group_id"], messages[3]["media_group_id"]);
    assert_eq!([&messages[2]["caption"], &messages[3]["caption"]], [&json!("two graphs"), &Value::Null]);
}
