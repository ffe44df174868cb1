//! Posts, edits, look-ups, and what their failures mean.

use std::time::Duration;

use serde_json::json;
use watchfloor_channel::{
    Body, ChannelAdapter, DeliveryKey, MessageId, Operation, Outbound, Refusal, RefusalKind, SendError, Sign, Urgency,
    text::split_within,
};
use watchfloor_sim::{long_answers, slack::Fault};

use crate::desk::{ALICE, Bot, OPS, conversation, workspace};

const POST: &str = "chat.postMessage";

fn refusal<T: std::fmt::Debug>(result: Result<T, SendError>) -> Refusal {
    match result {
        Err(SendError::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

async fn bot() -> Bot {
    Bot::idle(workspace(), |config| config.call_timeout = Duration::from_secs(2)).await
}

#[tokio::test]
async fn a_placeholder_becomes_the_answer() {
    let bot = bot().await;
    let ts = bot.mention("why?").await;
    let posted = bot.post(&ts, "k1", "looking …").await.unwrap();
    let placeholder = bot.slack.next_message(OPS).await;
    assert_eq!(posted, MessageId { room: OPS.into(), id: placeholder.ts.clone() });
    assert_eq!(placeholder.thread_ts.as_deref(), Some(ts.as_str()));
    assert_eq!(
        placeholder.metadata,
        Some(json!({"event_type": "watchfloor_delivery", "event_payload": {"key": "k1"}}))
    );
    assert_eq!(bot.edit(&posted, "**db-1** is full: a < b").await.unwrap(), posted);
    assert_eq!(bot.slack.message(&posted.id).text(), "*db-1* is full: a &lt; b");
    let args = &bot.slack.calls(POST)[0].args;
    assert_eq!((&args["unfurl_links"], &args["unfurl_media"]), (&json!(false), &json!(false)));
}

#[tokio::test]
async fn the_top_level_of_a_private_chat_is_answered_there() {
    let bot = bot().await;
    let room = bot.slack.open_dm(ALICE).await;
    let posted = bot
        .adapter
        .send(&Outbound {
            conversation: conversation(&room, ""),
            question: None,
            operation: Operation::Post(DeliveryKey("k1".into())),
            body: Body::Plain(format!("{} ready <now>", bot.adapter.mention(ALICE))),
            urgency: Urgency::Final,
        })
        .await
        .unwrap();
    let message = bot.slack.message(&posted.id);
    assert_eq!((message.thread_ts.as_deref(), message.text()), (None, "<@U0ALICE> ready &lt;now&gt;"));
    let found = bot.adapter.find(&conversation(&room, ""), &DeliveryKey("k1".into())).await.unwrap();
    assert_eq!(found, Some(posted));
}

#[tokio::test]
async fn a_post_whose_answer_was_lost_is_uncertain_and_found_again() {
    let bot = bot().await;
    let ts = bot.mention("why?").await;
    let thread = conversation(OPS, &ts);
    let faults = [Fault::DropResponse, Fault::HttpAfter(500), Fault::DelayAfter(Duration::from_secs(4))];
    for (n, fault) in faults.into_iter().enumerate() {
        let key = DeliveryKey(format!("k{n}"));
        assert_eq!(bot.adapter.find(&thread, &key).await.unwrap(), None);
        bot.slack.fault(POST, fault.clone());
        let lost = bot.post(&ts, &key.0, "looking …").await;
        assert!(matches!(lost, Err(SendError::Uncertain(_))), "{fault:?}: {lost:?}");
        let posted = bot.slack.next_message(OPS).await;
        let found = bot.adapter.find(&thread, &key).await.unwrap();
        assert_eq!(found, Some(MessageId { room: OPS.into(), id: posted.ts }));
    }
}

#[tokio::test]
async fn an_unclear_answer_is_uncertain_also_if_nothing_was_posted() {
    let bot = bot().await;
    let ts = bot.mention("why?").await;
    for fault in [
        Fault::Http(503),
        Fault::Http(408),
        Fault::HtmlPage(200),
        Fault::HtmlPage(502),
        Fault::Error("internal_error"),
        Fault::Hang,
    ] {
        bot.slack.fault(POST, fault.clone());
        let lost = bot.post(&ts, "k1", "looking …").await;
        assert!(matches!(lost, Err(SendError::Uncertain(_))), "{fault:?}: {lost:?}");
    }
    assert_eq!(bot.adapter.find(&conversation(OPS, &ts), &DeliveryKey("k1".into())).await.unwrap(), None);
}

#[tokio::test]
async fn a_post_that_never_left_is_unavailable() {
    let mut bot = bot().await;
    let slack = std::mem::replace(&mut bot.slack, watchfloor_sim::SlackSim::start(workspace()).await.unwrap());
    slack.stop().await;
    let lost = bot.post("1.000001", "k1", "looking …").await;
    assert!(matches!(lost, Err(SendError::Unavailable(_))), "{lost:?}");
}

#[tokio::test]
async fn a_rate_limit_says_how_long_to_wait() {
    let bot = bot().await;
    let ts = bot.mention("why?").await;
    for (http_200, wait) in [(false, 7), (true, 10)] {
        bot.slack.fault(POST, Fault::RateLimited { retry_after_secs: 7, http_200 });
        let limited = bot.post(&ts, "k1", "looking …").await;
        assert!(
            matches!(limited, Err(SendError::RateLimited(told)) if told == Duration::from_secs(wait)),
            "{limited:?}"
        );
    }
}

#[tokio::test]
async fn a_post_under_a_deleted_parent_is_taken_back() {
    let bot = bot().await;
    let ts = bot.mention("why?").await;
    bot.slack.delete(OPS, &ts).await;
    assert_eq!(refusal(bot.post(&ts, "k1", "looking …").await).kind, RefusalKind::ThreadGone);
    assert!(bot.slack.next_message(OPS).await.deleted || bot.slack.messages(OPS, None).is_empty());
    assert_eq!(refusal(bot.adapter.thread(&conversation(OPS, &ts), 10).await).kind, RefusalKind::ThreadGone);
}

#[tokio::test]
async fn a_post_under_a_deleted_parent_whose_answer_was_lost_is_taken_back_when_found() {
    for replies in [0, 1] {
        let bot = bot().await;
        let ts = bot.mention("why?").await;
        for _ in 0..replies {
            bot.slack.reply(ALICE, OPS, &ts, "same here").await;
        }
        bot.slack.delete(OPS, &ts).await;
        bot.slack.fault(POST, Fault::DropResponse);
        assert!(matches!(bot.post(&ts, "k1", "looking …").await, Err(SendError::Uncertain(_))));
        let stray = bot.slack.next_message(OPS).await;
        let found = bot.adapter.find(&conversation(OPS, &ts), &DeliveryKey("k1".into())).await;
        assert_eq!(refusal(found).kind, RefusalKind::ThreadGone);
        assert!(bot.slack.message(&stray.ts).deleted);
    }
}

#[tokio::test]
async fn what_is_gone_can_be_deleted_but_not_edited() {
    let bot = bot().await;
    let ts = bot.mention("why?").await;
    let posted = bot.post(&ts, "k1", "looking …").await.unwrap();
    for _ in 0..2 {
        let deleted = bot.send(&ts, Operation::Delete(posted.clone()), Body::Plain(String::new())).await;
        assert_eq!(deleted.unwrap(), posted);
    }
    assert_eq!(refusal(bot.edit(&posted, "found it").await).kind, RefusalKind::MessageGone);
}

#[tokio::test]
async fn what_slack_would_cut_or_refuse_is_not_sent() {
    let bot = bot().await;
    let ts = bot.mention("why?").await;
    let posted = bot.post(&ts, "k1", &"a".repeat(4_000)).await.unwrap();
    // 1,001 characters that are 4,004 after escaping.
    let grown = "<".repeat(1_001);
    assert_eq!(refusal(bot.edit(&posted, &grown).await).kind, RefusalKind::TooLong);
    assert_eq!(refusal(bot.post(&ts, "k2", &"😀".repeat(2_001)).await).kind, RefusalKind::TooLong);
    assert_eq!(refusal(bot.post(&ts, "k2", "  \n").await).kind, RefusalKind::Content);
    assert_eq!((bot.slack.calls(POST).len(), bot.slack.calls("chat.update").len()), (1, 0));
}

#[tokio::test]
async fn refusals_say_what_a_person_can_do() {
    let bot = bot().await;
    let ts = bot.mention("why?").await;
    bot.slack.kick_bot(OPS).await;
    let refused = refusal(bot.post(&ts, "k1", "looking …").await);
    assert_eq!((refused.kind, refused.code.as_str()), (RefusalKind::Room, "not_in_channel"));
    assert_eq!(refused.remedy, "the bot is not in this channel: invite it there");
    bot.slack.revoke_token().await;
    assert_eq!(refusal(bot.post(&ts, "k1", "looking …").await).kind, RefusalKind::Credentials);
    let findings = bot.adapter.doctor(&[]).await;
    assert_eq!(findings.iter().map(|finding| finding.ok).collect::<Vec<_>>(), [false, true, true]);
}

#[tokio::test]
async fn a_thread_is_read_with_its_alert_and_its_authors() {
    let bot = bot().await;
    let root =
        bot.slack.alert(OPS, json!([{"id": "x", "title": "[FIRING:1] HighErrorRate", "text": "5xx at 12 %"}])).await;
    bot.slack.reply(ALICE, OPS, &root, "<@U0BOB> did you deploy?").await;
    let odd = json!({"type": "message", "user": "U0BOB", "text": "yes &amp; no", "ts": "1767225600.000200",
        "thread_ts": root, "channel": OPS, "metadata": {"event_type": "x", "event_payload": {"n": 1}}, "files": 3});
    bot.slack.say_raw(odd).await;
    bot.post(&root, "k1", "looking …").await.unwrap();
    let thread = bot.adapter.thread(&conversation(OPS, &root), 10).await.unwrap();
    let mut said: Vec<_> =
        thread.iter().map(|m| (m.author.id.as_str(), m.author.is_bot, m.author.is_self, m.text.as_str())).collect();
    said.sort_unstable();
    assert_eq!(
        said,
        [
            ("B0ALERT", true, false, "[FIRING:1] HighErrorRate\n5xx at 12 %"),
            ("U0ALICE", false, false, "@U0BOB did you deploy?"),
            ("U0BOB", false, false, "yes & no"),
            ("U0BOT", true, true, "looking …"),
        ]
    );
    assert_eq!(thread[0].message_key, format!("C0OPS/{root}"));
}

#[tokio::test]
async fn of_a_long_thread_the_newest_messages_are_read_oldest_first() {
    let bot = bot().await;
    let root = bot.slack.say(ALICE, OPS, "0").await;
    for n in 1..=450 {
        bot.slack.reply(ALICE, OPS, &root, &n.to_string()).await;
    }
    let thread = bot.adapter.thread(&conversation(OPS, &root), 3).await.unwrap();
    assert_eq!(thread.iter().map(|m| m.text.as_str()).collect::<Vec<_>>(), ["448", "449", "450"]);
    bot.post(&root, "k1", "looking …").await.unwrap();
    assert!(bot.adapter.find(&conversation(OPS, &root), &DeliveryKey("k1".into())).await.unwrap().is_some());
}

#[tokio::test]
async fn the_top_level_of_a_private_chat_is_read_oldest_first() {
    let bot = bot().await;
    let room = bot.slack.open_dm(ALICE).await;
    for text in ["one", "two", "three"] {
        bot.slack.say(ALICE, &room, text).await;
    }
    let thread = bot.adapter.thread(&conversation(&room, ""), 2).await.unwrap();
    assert_eq!(thread.iter().map(|m| m.text.as_str()).collect::<Vec<_>>(), ["two", "three"]);
}

#[tokio::test]
async fn a_sign_that_is_already_there_is_success() {
    let bot = bot().await;
    let ts = bot.mention("why?").await;
    let message = MessageId { room: OPS.into(), id: ts.clone() };
    bot.adapter.react(&message, Sign::Taken).await.unwrap();
    bot.adapter.react(&message, Sign::Taken).await.unwrap();
    bot.adapter.react(&message, Sign::Done).await.unwrap();
    bot.slack.wait_for_reactions(&ts, &["eyes", "white_check_mark"]).await;
}

#[tokio::test]
async fn a_long_answer_goes_out_in_parts_that_fit_and_loses_nothing() {
    for answer in long_answers() {
        let bot = bot().await;
        let question = bot.mention("why?").await;
        let limits = bot.adapter.features().limits;
        let measure = |part: &str| bot.adapter.measure(&Body::Markdown(part.to_owned()));
        let mut shown = String::new();
        for (n, part) in split_within(&answer.text, &limits, measure).iter().enumerate() {
            assert!(limits.hold(&measure(part)), "{}: {:?}", answer.name, measure(part));
            let posted = bot.post(&question, &format!("k{n}"), part).await.unwrap();
            shown.push_str(bot.slack.message(&posted.id).text());
        }
        assert_eq!(answer.lost(&shown), Vec::<String>::new(), "{}", answer.name);
        assert_eq!(bot.slack.disagreeing(), Vec::<String>::new(), "{}", answer.name);
        // None was refused and sent again in a plainer form.
        assert!(bot.slack.calls(POST).iter().all(|call| call.error().is_none()), "{}", answer.name);
    }
}
