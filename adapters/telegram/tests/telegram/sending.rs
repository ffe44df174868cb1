//! Posts, edits and signs, as people in the chat see them.

use serde_json::json;
use watchfloor_channel::{
    Ask, Body, ChannelAdapter, Choice, DeliveryKey, MessageId, Operation, RefusalKind, SendError, Sign, Tone,
    text::{Size, split_within},
};
use watchfloor_sim::{
    long_answers,
    telegram::{ALICE, FORUM, Fault, OPS, SMALL_GROUP},
};

use crate::desk::{Bot, conversation, named, number, outcome, question, world};

const POST: &str = "sendMessage";
const EDIT: &str = "editMessageText";

async fn bot() -> Bot {
    Bot::idle(world(), |_| {}).await
}

fn markdown(text: &str) -> Body {
    Body::Markdown(text.into())
}

#[tokio::test]
async fn a_post_answers_its_question_and_names_no_topic_in_a_group_without_topics() {
    let bot = bot().await;
    let asked = bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    let body = markdown("It is **full**: https://example.org/pool");
    let ours = bot.answer(OPS, &format!("m{asked}"), asked, body).await.unwrap();
    let shown = bot.telegram.message(OPS, number(&ours));
    assert_eq!((shown.text(), shown.marked("bold")), ("It is full: https://example.org/pool", vec!["full".to_owned()]));
    assert_eq!((shown.reply_to, shown.topic, ours.room.clone()), (Some(asked), None, OPS.to_string()));
    let args = bot.telegram.calls(POST).remove(0).args;
    assert_eq!(args["link_preview_options"], json!({"is_disabled": true}));
    assert_eq!(args["reply_parameters"], json!({"message_id": asked, "allow_sending_without_reply": true}));
    assert_eq!((args.get("message_thread_id"), args.get("reply_markup")), (None, None));

    // Without a question it hangs on the message that began the chain.
    let more = bot.post(OPS, &format!("m{asked}"), "more").await.unwrap();
    assert_eq!(bot.telegram.message(OPS, number(&more)).reply_to, Some(asked));
    bot.edit(&ours, "It was **full**.").await.unwrap();
    assert_eq!(bot.telegram.message(OPS, number(&ours)).text(), "It was full.");
    assert_eq!(bot.telegram.calls(EDIT).remove(0).args["link_preview_options"], json!({"is_disabled": true}));
    assert_eq!(bot.telegram.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn a_topic_is_named_and_general_never_is() {
    let bot = bot().await;
    let topic = bot.telegram.new_topic(FORUM, "Checkout").await;
    let ours = bot.post(FORUM, &format!("t{topic}"), "looking …").await.unwrap();
    assert_eq!(bot.telegram.message(FORUM, number(&ours)).topic, Some(topic));
    for general in ["", "t1"] {
        let ours = bot.post(FORUM, general, "looking …").await.unwrap();
        assert_eq!(bot.telegram.message(FORUM, number(&ours)).topic, None, "{general}");
        bot.adapter.typing(&conversation(FORUM, general)).await.unwrap();
    }
    bot.adapter.typing(&conversation(FORUM, &format!("t{topic}"))).await.unwrap();
    let shown: Vec<_> = bot.telegram.actions().into_iter().map(|a| (a.chat, a.topic, a.action)).collect();
    let typing = |topic| (FORUM, topic, "typing".to_owned());
    assert_eq!(shown, [typing(None), typing(None), typing(Some(topic))]);
}

#[tokio::test]
async fn a_topic_that_closes_or_goes_takes_no_more_words_and_general_gets_none() {
    let bot = bot().await;
    let topic = bot.telegram.new_topic(FORUM, "Checkout").await;
    let thread = format!("t{topic}");
    bot.telegram.close_topic(FORUM, topic).await;
    assert_eq!(outcome(bot.post(FORUM, &thread, "looking …").await), "Room");
    bot.telegram.delete_topic(FORUM, topic).await;
    assert_eq!(outcome(bot.post(FORUM, &thread, "looking …").await), "Room");
    assert!(bot.telegram.messages(FORUM).iter().all(|message| message.text() != "looking …"));
}

#[tokio::test]
async fn a_deleted_question_does_not_lose_the_answer() {
    let bot = bot().await;
    let asked = bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    bot.telegram.delete(OPS, asked).await;
    let ours = bot.answer(OPS, "", asked, markdown("full")).await.unwrap();
    assert_eq!(bot.telegram.message(OPS, number(&ours)).reply_to, None);
    bot.telegram.fault(POST, Fault::error(400, "Bad Request: message to be replied not found"));
    let ours = bot.answer(OPS, "", asked, markdown("full")).await.unwrap();
    assert_eq!(bot.telegram.message(OPS, number(&ours)).reply_to, None);
    assert_eq!(bot.telegram.messages(OPS).len(), 2);
}

#[tokio::test]
async fn an_edit_that_changes_nothing_is_done() {
    let bot = bot().await;
    let ours = bot.post(OPS, "", "looking …").await.unwrap();
    assert_eq!(bot.edit(&ours, "looking …").await.unwrap(), ours);
    assert_eq!(bot.telegram.calls(EDIT)[0].error().map(|error| error.contains("not modified")), Some(true));
}

#[tokio::test]
async fn a_message_that_is_gone_can_be_removed_and_not_edited() {
    let bot = bot().await;
    let ours = bot.post(OPS, "", "looking …").await.unwrap();
    assert_eq!(bot.delete(&ours).await.unwrap(), ours);
    assert!(bot.telegram.message(OPS, number(&ours)).deleted);
    assert_eq!(bot.delete(&ours).await.unwrap(), ours);
    assert_eq!(outcome(bot.edit(&ours, "found it").await), "MessageGone");
}

#[tokio::test]
async fn a_question_has_its_buttons_until_another_text_takes_them_away() {
    let bot = bot().await;
    let ours = bot.send(OPS, "", Operation::Post(DeliveryKey("k1".into())), question()).await.unwrap();
    let buttons = || bot.telegram.message(OPS, number(&ours)).buttons();
    let both: Vec<(String, String)> =
        [("Approve", "a:r7:Zk3v9QmN"), ("Deny", "d:r7:Zk3v9QmN")].map(|(l, d)| (l.into(), d.into())).into();
    assert_eq!(buttons(), both);
    let Body::Ask(ask) = question() else { panic!() };
    let again = Ask { text: "Restart **checkout** in eu?".into(), ..ask };
    bot.change(Operation::Edit(ours.clone()), Body::Ask(again)).await.unwrap();
    assert_eq!((buttons(), bot.telegram.message(OPS, number(&ours)).text()), (both, "Restart checkout in eu?"));
    bot.change(Operation::Edit(ours.clone()), Body::Plain("Approved by Alice.".into())).await.unwrap();
    assert_eq!(buttons(), []);
}

#[tokio::test]
async fn what_can_never_pass_is_refused_before_anything_is_sent() {
    let bot = bot().await;
    let kind = async |body| match bot.send(OPS, "", Operation::Post(DeliveryKey("k1".into())), body).await {
        Err(SendError::Refused(refusal)) => refusal.kind,
        other => panic!("{other:?}"),
    };
    let carries = |value: &str| {
        let choice = Choice { label: "Yes".into(), action: "approve".into(), value: value.into(), tone: Tone::Plain };
        Body::Ask(Ask { text: "Restart?".into(), choices: vec![choice] })
    };
    assert_eq!(kind(carries(&"x".repeat(57))).await, RefusalKind::Content);
    assert_eq!(kind(markdown(" \n ")).await, RefusalKind::Content);
    assert_eq!(kind(markdown(&"x".repeat(4_097))).await, RefusalKind::TooLong);
    for (room, thread) in [("C0OPS", ""), ("", ""), ("5001", "1767225600.000100")] {
        let at = watchfloor_channel::ConversationId { room: room.into(), ..conversation(OPS, thread) };
        assert_eq!(outcome(bot.adapter.typing(&at).await), "Room", "{room}/{thread}");
    }
    let foreign = MessageId { room: OPS.to_string(), id: "1767225600.000100".into() };
    assert_eq!(outcome(bot.edit(&foreign, "found it").await), "Room");
    assert_eq!(bot.telegram.all_calls(), []);
    // The longest text and the longest data pass.
    bot.send(OPS, "", Operation::Post(DeliveryKey("k2".into())), carries(&"x".repeat(56))).await.unwrap();
    bot.post(OPS, "", &"🔥".repeat(2_048)).await.unwrap();
}

#[tokio::test]
async fn a_group_that_moved_is_followed_and_what_stayed_behind_gives_its_place_to_others() {
    let bot = bot().await;
    let asked = bot.telegram.say(ALICE, SMALL_GROUP, "@ops_bot why?").await;
    let thread = format!("m{asked}");
    let before = bot.answer(SMALL_GROUP, &thread, asked, markdown("looking …")).await.unwrap();
    let now = bot.telegram.upgrade_group(SMALL_GROUP).await;
    let after = bot.answer(SMALL_GROUP, &thread, asked, markdown("full")).await.unwrap();
    assert_eq!(after.room, now.to_string());
    let shown = bot.telegram.message(now, number(&after));
    // The same number is another message there.
    assert_eq!((shown.text(), shown.reply_to), ("full", None));
    let calls = bot.telegram.all_calls().len();
    assert_eq!(outcome(bot.edit(&before, "found it").await), "NotEditable");
    assert_eq!(outcome(bot.delete(&before).await), "done");
    assert_eq!(outcome(bot.adapter.react(&before, Sign::Done).await), "NotEditable");
    assert_eq!(bot.telegram.all_calls().len(), calls, "nothing of it is worth a call");
    bot.edit(&after, "found it").await.unwrap();
    bot.post(SMALL_GROUP, &thread, "more").await.unwrap();
    let refused = bot.telegram.all_calls().iter().filter(|call| call.error().is_some()).count();
    assert_eq!(refused, 1, "the new id is known from then on");
}

#[tokio::test]
async fn an_edit_or_a_removal_can_be_the_first_to_hear_of_a_move() {
    for edits in [true, false] {
        let bot = bot().await;
        let before = bot.post(SMALL_GROUP, "", "looking …").await.unwrap();
        let now = bot.telegram.upgrade_group(SMALL_GROUP).await;
        let said = if edits { bot.edit(&before, "found it").await } else { bot.delete(&before).await };
        assert_eq!(outcome(said), if edits { "NotEditable" } else { "done" });
        assert_eq!(bot.post(SMALL_GROUP, "", "found it").await.unwrap().room, now.to_string());
        assert_eq!(bot.telegram.calls(POST).iter().filter(|call| call.error().is_some()).count(), 0);
    }
}

#[tokio::test]
async fn a_flooded_chat_says_how_long_to_wait() {
    let bot = bot().await;
    let ours = bot.post(OPS, "", "looking …").await.unwrap();
    bot.telegram.flood(OPS, 40);
    for held in [bot.edit(&ours, "found it").await, bot.post(OPS, "", "more").await] {
        assert!(matches!(held, Err(SendError::RateLimited(wait)) if wait.as_secs() >= 39), "{held:?}");
    }
    bot.post(FORUM, "", "elsewhere it goes on").await.unwrap();
}

#[tokio::test]
async fn a_sign_is_put_on_a_message_and_replaced() {
    let bot = bot().await;
    let asked = bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    for (sign, emoji) in [(Sign::Taken, "👀"), (Sign::Taken, "👀"), (Sign::Done, "👌")] {
        bot.adapter.react(&named(OPS, asked), sign).await.unwrap();
        assert_eq!(bot.telegram.message(OPS, asked).reactions, [emoji]);
    }
}

#[tokio::test]
async fn a_person_is_told_in_her_private_chat_once_she_has_opened_it() {
    let bot = bot().await;
    bot.telegram.say(ALICE, ALICE, "/start").await;
    let chat = bot.adapter.private_chat(&ALICE.to_string()).await.unwrap();
    assert_eq!(chat, conversation(ALICE, ""));
    assert!(bot.adapter.is_private(&chat.room) && !bot.adapter.is_private(&OPS.to_string()));
    let ours = bot.post(ALICE, "", "I can't write there.").await.unwrap();
    assert_eq!(bot.telegram.message(ALICE, number(&ours)).text(), "I can't write there.");
    bot.telegram.block_bot(ALICE).await;
    assert_eq!(outcome(bot.post(ALICE, "", "Still not.").await), "Room");
    for nobody in ["", "-4001", "alice_ops"] {
        assert_eq!(outcome(bot.adapter.private_chat(nobody).await), "Room", "{nobody}");
    }
}

#[tokio::test]
async fn our_own_sentence_mentions_a_person_and_a_models_text_never_does() {
    let bot = bot().await;
    let mention = bot.adapter.mention(&ALICE.to_string());
    let sentence = Body::Plain(format!("Stopped by {mention}."));
    let ours = bot.send(OPS, "", Operation::Post(DeliveryKey("k1".into())), sentence).await.unwrap();
    let shown = bot.telegram.message(OPS, number(&ours));
    let of = |kind: &str| shown.entities().iter().filter(|entity| entity["type"] == kind).count();
    assert_eq!(of("text_mention") + of("text_link"), 1, "{:?}", shown.entities());
    let ours = bot.post(OPS, "", &format!("{mention} and [her](tg://user?id=5001)")).await.unwrap();
    assert_eq!(bot.telegram.message(OPS, number(&ours)).entities(), &[] as &[serde_json::Value]);
}

#[tokio::test]
async fn a_text_is_measured_as_telegram_counts_it_and_every_limit_counts() {
    let bot = bot().await;
    let measure = |text: &str| bot.adapter.measure(&markdown(text));
    let size = |text: usize, bytes, marks| Size { text: bot.adapter.features().limits.length(text), bytes, marks };
    assert_eq!(measure("**a < b**"), size(5, "<b>a &lt; b</b>".len(), 0));
    assert_eq!(measure(&"🔥".repeat(2_000)), size(4_000, 8_000, 0));
    // 101 pieces of code are short, and more than a message can hold.
    assert!(!bot.adapter.features().limits.hold(&measure(&"`a` ".repeat(101))));
}

#[tokio::test]
async fn a_long_answer_goes_out_in_parts_that_fit_and_loses_nothing() {
    for answer in long_answers() {
        let bot = bot().await;
        let limits = bot.adapter.features().limits;
        let measure = |part: &str| bot.adapter.measure(&markdown(part));
        let mut shown = String::new();
        for part in split_within(&answer.text, &limits, measure) {
            assert!(limits.hold(&measure(&part)), "{}: {:?}", answer.name, measure(&part));
            let ours = bot.post(OPS, "", &part).await.unwrap();
            let message = bot.telegram.message(OPS, number(&ours));
            shown.push_str(message.text());
            // Where the links lead.
            shown.push_str(&json!(message.entities()).to_string());
        }
        assert_eq!(answer.lost(&shown), Vec::<String>::new(), "{}", answer.name);
        assert_eq!(bot.telegram.complaints(), Vec::<String>::new(), "{}", answer.name);
    }
}

/// Telegram takes the white space off the beginning of a message, whatever style it has.
#[tokio::test]
async fn a_part_that_begins_inside_code_keeps_its_indentation_with_markup_and_without() {
    let bot = bot().await;
    let lines: Vec<_> = (0..200).map(|n| format!("    indented: {n} {}", "x".repeat(60))).collect();
    let answer = format!("```yaml\n{}\n```", lines.join("\n"));
    let parts = split_within(&answer, &bot.adapter.features().limits, |part| bot.adapter.measure(&markdown(part)));
    assert!(parts.len() > 2, "{}", parts.len());
    for refused in [false, true] {
        let mut shown = Vec::new();
        for part in &parts {
            if refused {
                bot.telegram.fault(POST, Fault::error(400, "Bad Request: can't parse entities: no reason"));
            }
            let ours = bot.post(OPS, "", part).await.unwrap();
            let message = bot.telegram.message(OPS, number(&ours));
            assert_eq!(message.marked("pre").len(), usize::from(!refused));
            shown.extend(message.text().trim_start_matches('\u{2060}').lines().map(str::to_owned));
        }
        assert_eq!(shown, lines, "without markup: {refused}");
    }
}
