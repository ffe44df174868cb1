//! Buttons: what is pressed reaches the coordinator, and its sentence the person, by either transport.

use serde_json::json;
use watchfloor_channel::{Act, Aside, Ask, Author, Body, Choice, MessageId, Tone};
use watchfloor_sim::feishu::{ALICE, EXTERNAL, GROUP, GUEST, MENTION};

use crate::{
    desk::{Bot, conversation, tenant},
    webhook,
};

fn ask() -> Body {
    let choice = |label: &str, value: &str, tone| Choice {
        label: label.into(),
        action: "approve".into(),
        value: value.into(),
        tone,
    };
    let choices = vec![choice("Yes", "yes-1", Tone::Positive), choice("No", "no-1", Tone::Danger)];
    Body::Ask(Ask { text: "Restart it?".into(), choices })
}

fn clicked(room: &str, thread: &str, message: &str, author: Author) -> Aside {
    Aside {
        conversation: conversation(room, thread),
        author,
        act: Act::Click {
            message: MessageId { room: room.into(), id: message.into() },
            action: "approve".into(),
            value: "yes-1".into(),
        },
    }
}

fn person(id: &str) -> Author {
    Author { id: id.into(), name: None, is_bot: false, is_self: false, is_outsider: false }
}

#[tokio::test]
async fn a_click_is_answered_with_the_coordinators_sentence() {
    for by_webhook in [false, true] {
        for card_frames in [false, true] {
            let bot = match by_webhook {
                true => webhook::connected(tenant()).await,
                false => Bot::connected(tenant(), |_| {}).await,
            };
            bot.feishu.card_frames(card_frames);
            let question = bot.mention("may I?").await;
            bot.desk.inbound(1).await;
            let posted = bot.post_as(&question, "key-1", ask()).await.unwrap();
            let (label, value) = bot.feishu.buttons(&posted.id).remove(0);
            assert_eq!((label.as_str(), &value), ("Yes", &json!({"action": "approve", "value": "yes-1"})));
            let pressed = bot.feishu.press(ALICE, &posted.id, &value).await;
            assert_eq!(pressed.answer, Some(json!({"toast": {"type": "info", "content": "no longer valid"}})));
            assert_eq!(pressed.error, None);
            // Twice is twice: whoever acts on it makes it one.
            bot.feishu.press(ALICE, &posted.id, &value).await;
            let wanted = clicked(GROUP, &question, &posted.id, person(ALICE));
            assert_eq!(bot.desk.asides(), [wanted.clone(), wanted]);
            assert_eq!(bot.feishu.complaints(), Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn a_guest_who_clicks_is_known_as_one() {
    let bot = Bot::connected(tenant(), |_| {}).await;
    let question = bot.feishu.say(ALICE, EXTERNAL, &format!("{MENTION} may I?")).await;
    bot.desk.inbound(1).await;
    let posted = bot.post_to(conversation(EXTERNAL, &question), Some(&question), "key-1", ask()).await.unwrap();
    bot.feishu.press(GUEST, &posted.id, &json!({"action": "approve", "value": "yes-1"})).await;
    let guest = Author { is_outsider: true, ..person(GUEST) };
    assert_eq!(bot.desk.asides(), [clicked(EXTERNAL, &question, &posted.id, guest)]);
}

#[tokio::test]
async fn a_click_that_says_nothing_we_know_is_answered_all_the_same() {
    let bot = Bot::connected(tenant(), |_| {}).await;
    let question = bot.mention("may I?").await;
    for value in
        [json!("{\"action\":\"approve\",\"value\":\"yes-1\"}"), json!("plain"), json!({}), json!(7), json!(null)]
    {
        let pressed = bot.feishu.press_gone(ALICE, &question, &value).await;
        assert_eq!((pressed.toast(), pressed.error), (Some("no longer valid"), None), "{value}");
    }
    assert_eq!(bot.desk.asides()[0], clicked(GROUP, &question, &question, person(ALICE)));
}
