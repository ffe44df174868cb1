//! Presses on buttons.

use serde_json::json;
use watchfloor_channel::{Act, MessageId};
use watchfloor_sim::telegram::{ALICE, Fault, OPS};

use crate::desk::{Bot, conversation, named, number, question, world};

fn act(message: &MessageId, action: &str, value: &str) -> Act {
    Act::Click { message: message.clone(), action: action.into(), value: value.into() }
}

#[tokio::test]
async fn a_press_is_told_whole_and_answered() {
    let bot = Bot::connected(world(), |_| {}).await;
    let asked = bot.telegram.say(ALICE, OPS, "@ops_bot restart it").await;
    let sent = bot.answer(OPS, &format!("m{asked}"), asked, question()).await.unwrap();
    let press = bot.telegram.press(ALICE, OPS, number(&sent), "a:r7:Zk3v9QmN").await;
    let answer = bot.telegram.wait_for_answer(&press).await;
    assert!(format!("{answer:?}").contains("heard: "), "{answer:?}");
    let aside = bot.desk.asides(1).await.remove(0);
    assert_eq!(aside.act, act(&sent, "a", "r7:Zk3v9QmN"));
    assert_eq!(aside.conversation, conversation(OPS, &format!("m{asked}")));
    assert_eq!((aside.author.id.as_str(), aside.author.name.as_deref()), ("5001", Some("Alice")));
}

#[tokio::test]
async fn whatever_a_modified_app_sends_is_answered() {
    let bot = Bot::connected(world(), |_| {}).await;
    let gone = named(OPS, 4_000);
    for (nth, (data, action, value)) in [("", "", ""), ("noise", "noise", ""), ("::", "", ":")].into_iter().enumerate()
    {
        let press = bot.telegram.press(ALICE, OPS, 4_000, data).await;
        bot.telegram.wait_for_answer(&press).await;
        assert_eq!(bot.desk.asides(nth + 1).await[nth].act, act(&gone, action, value));
    }
    bot.telegram.raw(json!({"callback_query": {"id": "42", "from": {"id": ALICE}, "inline_message_id": "x"}})).await;
    bot.telegram.heard().await;
    assert_eq!(bot.desk.asides(3).await.len(), 3);
    assert_eq!(bot.figure("updates_set_aside"), 0);
}

#[tokio::test]
async fn a_press_that_waited_too_long_holds_nothing_up() {
    let bot = Bot::connected(world(), |_| {}).await;
    let text = "Bad Request: query is too old and response timeout expired or query id is invalid";
    bot.telegram.fault("answerCallbackQuery", Fault::error(400, text));
    let sent = bot.post(OPS, "", "Restart?").await.unwrap();
    bot.telegram.press(ALICE, OPS, number(&sent), "a:r7").await;
    bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    assert_eq!(bot.desk.texts(1).await, ["why?"]);
    bot.telegram.heard().await;
}
