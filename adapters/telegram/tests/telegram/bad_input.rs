//! Updates that are not what they should be: the stream goes on, and no text is lost with them.

use serde_json::{Value, json};
use watchfloor_sim::telegram::{ALICE, OPS};

use crate::desk::{Bot, world};

#[tokio::test]
async fn kinds_we_do_not_use_are_passed_over_and_what_is_unreadable_is_set_aside() {
    let bot = Bot::connected(world(), |_| {}).await;
    let passed_over = [
        json!({"poll": {"id": "1"}}),
        json!({"shape_of_next_year": {"text": "x"}}),
        json!({"channel_post": {"message_id": 3, "text": "x"}}),
        json!({"message": {"message_id": 3, "chat": {"id": OPS, "type": "supergroup"}, "pinned_message": {}}}),
        json!({}),
    ];
    let set_aside = [
        json!({"message": 7}),
        json!({"message": {"text": "whose?"}}),
        json!({"message": {"message_id": 3, "text": "where?"}}),
        json!({"edited_message": null}),
        json!({"callback_query": "?"}),
    ];
    for update in passed_over.iter().chain(&set_aside) {
        bot.telegram.raw(update.clone()).await;
    }
    bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    assert_eq!(bot.desk.texts(1).await, ["why?"]);
    bot.telegram.heard().await;
    assert_eq!(bot.figure("updates_set_aside"), u64::try_from(set_aside.len()).unwrap());
}

#[tokio::test]
async fn odd_fields_cost_only_themselves() {
    let bot = Bot::connected(world(), |_| {}).await;
    let odd = |field: &str, value: Value| {
        let mut message = json!({"message_id": 12, "chat": {"id": ALICE, "type": "private"}, "date": 1, "text": "why?",
            "from": {"id": ALICE, "first_name": "Alice"}});
        message[field] = value;
        json!({"message": message})
    };
    let fields = [
        ("from", json!(7)),
        ("from", json!({"id": i64::MAX, "first_name": null})),
        ("date", json!("today")),
        ("date", json!(i64::MAX)),
        ("entities", json!([{"type": "mention", "offset": 900, "length": 8}, {"offset": -1}, 7])),
        ("entities", json!({"type": "mention"})),
        ("reply_to_message", json!({"message_id": "x", "text": 7})),
        ("message_thread_id", json!(9_000_000_000_i64)),
        ("photo", json!("none")),
        ("media_group_id", json!(7)),
        ("quote", json!([])),
        ("forward_origin", json!({"type": "shape_of_next_year"})),
    ];
    let count = fields.len();
    for (field, value) in fields {
        bot.telegram.raw(odd(field, value)).await;
    }
    assert_eq!(bot.desk.texts(count).await, vec!["why?"; count]);
}

#[tokio::test]
async fn numbers_of_updates_may_jump_and_begin_anew() {
    let bot = Bot::connected(world(), |_| {}).await;
    bot.telegram.skip_update_ids(1_000_000_000_000);
    bot.telegram.say(ALICE, OPS, "@ops_bot first").await;
    bot.telegram.heard().await;
    assert_eq!(bot.desk.texts(1).await, ["first"]);
}
