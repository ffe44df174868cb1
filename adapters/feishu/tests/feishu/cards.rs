//! Cards: asked for, needed for buttons, or the way out where texts can't be edited.

use serde_json::json;
use watchfloor_channel::{Ask, Body, ChannelAdapter, Choice, RefusalKind, SendError, Tone};
use watchfloor_feishu::ReplyMode;
use watchfloor_sim::feishu::{ALICE, EXTERNAL, Fault, GROUP, MENTION};

use crate::desk::{Bot, conversation, refusal, tenant};

pub(crate) fn question() -> Body {
    let choice = |label: &str, value: &str, tone| Choice {
        label: label.into(),
        action: "approve".into(),
        value: value.into(),
        tone,
    };
    let choices = vec![choice("Roll back", "yes", Tone::Danger), choice("Wait", "no", Tone::Plain)];
    Body::Ask(Ask { text: "Shall I?".into(), choices })
}

async fn bot(mode: ReplyMode) -> Bot {
    Bot::idle(tenant(), |config| config.reply_mode = mode).await
}

async fn outside(bot: &Bot, key: &str, text: &str) -> watchfloor_channel::MessageId {
    let question = bot.feishu.say(ALICE, EXTERNAL, &format!("{MENTION} why?")).await;
    let at = conversation(EXTERNAL, &question);
    bot.post_to(at, Some(&question), key, Body::Markdown(text.into())).await.unwrap()
}

#[tokio::test]
async fn a_card_is_edited_as_a_card_for_as_long_as_anybody_likes() {
    let bot = bot(ReplyMode::Card).await;
    assert_eq!(bot.adapter.features().edit_budget, None);
    let asked = bot.mention("why?").await;
    let posted = bot.post(&asked, "k1", "looking …").await.unwrap();
    for n in 0..25 {
        bot.edit(&posted, &format!("step {n}")).await.unwrap();
    }
    let message = bot.feishu.message(&posted.id);
    assert_eq!((message.kind(), message.text().as_str(), message.puts), ("interactive", "step 24", 0));
    assert_eq!(bot.feishu.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn a_question_with_buttons_is_a_card_in_every_mode() {
    for mode in [ReplyMode::Auto, ReplyMode::Text, ReplyMode::Card] {
        let bot = bot(mode).await;
        let asked = bot.mention("roll back?").await;
        let posted = bot.post_as(&asked, "k1", question()).await.unwrap();
        let answer = bot.feishu.message(&posted.id);
        assert_eq!(answer.kind(), "interactive", "{mode:?}");
        let values = values(&answer.json());
        assert_eq!(values, [json!({"action": "approve", "value": "yes"}), json!({"action": "approve", "value": "no"})]);
        bot.edit(&posted, "rolled back").await.unwrap();
        assert_eq!(bot.feishu.message(&posted.id).text(), "rolled back", "the buttons are gone");
    }
}

/// What the buttons of a card bring back.
fn values(card: &serde_json::Value) -> Vec<serde_json::Value> {
    match card {
        serde_json::Value::Array(items) => items.iter().flat_map(values).collect(),
        serde_json::Value::Object(fields) if fields.get("tag") == Some(&json!("button")) => {
            vec![fields["behaviors"][0]["value"].clone()]
        }
        serde_json::Value::Object(fields) => fields.values().flat_map(values).collect(),
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn where_texts_can_not_be_edited_answers_become_cards_also_after_a_restart() {
    let mut bot = bot(ReplyMode::Auto).await;
    let first = outside(&bot, "k1", "looking …").await;
    assert_eq!(bot.feishu.message(&first.id).kind(), "post");
    let refused = refusal(bot.edit(&first, "found it").await);
    assert_eq!((refused.kind, refused.code.as_str()), (RefusalKind::NotEditable, "230027"));
    // What the coordinator does then.
    let second = outside(&bot, "k2", "looking …").await;
    bot.delete(&first).await.unwrap();
    bot.edit(&second, "found it").await.unwrap();
    let message = bot.feishu.message(&second.id);
    assert_eq!((message.kind(), message.text().as_str()), ("interactive", "found it"));
    bot.restarted(|_| {});
    bot.edit(&second, "found it again").await.unwrap();
    let third = outside(&bot, "k3", "looking …").await;
    assert_eq!(bot.feishu.message(&third.id).kind(), "interactive");
    // Only there.
    let asked = bot.mention("why?").await;
    let fourth = bot.post(&asked, "k4", "looking …").await.unwrap();
    assert_eq!(bot.feishu.message(&fourth.id).kind(), "post");
}

/// The key of a lost post brings back a text that says something else, and can't be edited.
#[tokio::test]
async fn what_a_key_brings_back_and_can_not_be_changed_gives_way_to_another_message() {
    for mode in [ReplyMode::Auto, ReplyMode::Text] {
        let bot = Bot::idle(tenant(), |config| config.reply_mode = mode).await;
        let question = bot.feishu.say(ALICE, EXTERNAL, &format!("{MENTION} why?")).await;
        let at = conversation(EXTERNAL, &question);
        let post = async |text: &str| bot.post_to(at.clone(), Some(&question), "k1", Body::Markdown(text.into())).await;
        bot.feishu.fault("reply", Fault::DropResponse);
        let lost = post("looking …").await;
        assert!(matches!(lost, Err(SendError::Uncertain(_))), "{lost:?}");
        let first = bot.feishu.next_message(EXTERNAL).await;
        let second = post("found it").await.unwrap();
        assert!(bot.feishu.message(&first.id).recalled);
        let message = bot.feishu.message(&second.id);
        let kind = if mode == ReplyMode::Auto { "interactive" } else { "post" };
        assert_eq!((message.kind(), message.text().as_str()), (kind, "found it"));
        // However often it is tried.
        assert_eq!(post("found it").await.unwrap(), second);
    }
}

#[tokio::test]
async fn told_to_write_texts_it_writes_texts() {
    let bot = bot(ReplyMode::Text).await;
    let first = outside(&bot, "k1", "looking …").await;
    assert_eq!(refusal(bot.edit(&first, "found it").await).kind, RefusalKind::NotEditable);
    let second = outside(&bot, "k2", "found it").await;
    assert_eq!(bot.feishu.message(&second.id).kind(), "post");
}

#[tokio::test]
async fn where_cards_are_refused_the_same_is_said_as_a_post_and_then_as_text() {
    let bot = bot(ReplyMode::Card).await;
    bot.feishu.change_chat(GROUP, |chat| chat.no_cards = true).await;
    let asked = bot.mention("why?").await;
    let posted = bot.post(&asked, "k1", "looking …").await.unwrap();
    let message = bot.feishu.message(&posted.id);
    assert_eq!((message.kind(), message.uuid.as_deref()), ("post", Some("k1")));
    bot.edit(&posted, "found it").await.unwrap();
    assert_eq!(bot.feishu.message(&posted.id).text(), "found it");

    for (n, code) in [230_099, 230_001, 230_054].into_iter().enumerate() {
        bot.feishu.fault_times("reply", Fault::Code { code, http: 400 }, 2);
        let posted = bot.post(&asked, &format!("t{n}"), "looking …").await.unwrap();
        let message = bot.feishu.message(&posted.id);
        assert_eq!((message.kind(), message.text().as_str()), ("text", "looking …"), "{code}");
        bot.edit(&posted, "found it").await.unwrap();
        let message = bot.feishu.message(&posted.id);
        assert_eq!((message.kind(), message.text().as_str()), ("text", "found it"), "{code}");
    }
}

#[tokio::test]
async fn what_the_companys_rules_bar_is_not_tried_in_other_forms() {
    let bot = bot(ReplyMode::Card).await;
    let asked = bot.mention("why?").await;
    for code in [230_022, 230_028] {
        let before = bot.feishu.calls("reply").len();
        bot.feishu.fault("reply", Fault::Code { code, http: 400 });
        let refused = refusal(bot.post(&asked, "k1", "call 555 0100").await);
        assert_eq!((refused.kind, bot.feishu.calls("reply").len()), (RefusalKind::Content, before + 1));
        assert!(refused.remedy.contains("rules"), "{}", refused.remedy);
    }
}

#[tokio::test]
async fn a_card_older_than_two_weeks_can_not_be_edited() {
    let bot = bot(ReplyMode::Card).await;
    let asked = bot.mention("why?").await;
    let posted = bot.post(&asked, "k1", "looking …").await.unwrap();
    bot.feishu.age_message(&posted.id, std::time::Duration::from_secs(15 * 86_400));
    let refused = refusal(bot.edit(&posted, "found it").await);
    assert_eq!((refused.kind, refused.code.as_str()), (RefusalKind::NotEditable, "230031"));
}
