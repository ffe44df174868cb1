//! Posts and where they land.

use std::time::Duration;

use watchfloor_channel::{Body, ChannelAdapter, MessageId, Now, RefusalKind, SendError, Sign, text::split_within};
use watchfloor_feishu::ReplyMode;
use watchfloor_sim::{
    feishu::{ALICE, Chat, ChatKind, Fault, FeishuConfig as FeishuTenant, GROUP, MENTION, TOPICS, ThreadIds},
    long_answers,
};

use crate::desk::{Bot, conversation, now_ms, refusal, tenant};

async fn bot() -> Bot {
    Bot::idle(tenant(), |config| config.call_timeout = Duration::from_secs(2)).await
}

#[tokio::test]
async fn an_answer_quotes_its_question_and_opens_no_thread() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let posted = bot.post(&question, "k1", "looking …").await.unwrap();
    let message = bot.feishu.message(&posted.id);
    assert_eq!((message.chat.as_str(), message.kind(), message.text().as_str()), (GROUP, "post", "looking …"));
    assert_eq!((message.parent.as_deref(), message.thread), (Some(question.as_str()), None));
    assert_eq!((posted.room.as_str(), message.uuid.as_deref()), (GROUP, Some("k1")));
    assert!(bot.feishu.calls("reply")[0].body.get("reply_in_thread").is_none());
    assert_eq!(bot.feishu.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn in_a_topic_group_an_answer_stays_in_its_topic() {
    let bot = bot().await;
    let question = bot.feishu.say(ALICE, TOPICS, &format!("{MENTION} why?")).await;
    let topic = bot.feishu.message(&question).thread.unwrap();
    let at = conversation(TOPICS, &topic);
    let posted = bot.post_to(at, Some(&question), "k1", Body::Plain("looking …".into())).await.unwrap();
    assert_eq!(bot.feishu.message(&posted.id).thread, Some(topic));
}

#[tokio::test]
async fn a_private_chat_is_opened_by_the_first_message_to_the_person() {
    let bot = bot().await;
    let chat = bot.adapter.private_chat(ALICE).await.unwrap();
    let posted = bot.post_to(chat, None, "k1", Body::Plain("only for you".into())).await.unwrap();
    let message = bot.feishu.message(&posted.id);
    assert_eq!((message.chat, posted.room.as_str()), (bot.feishu.p2p(ALICE), ALICE));
    let moved = bot.edit(&posted, "still only for you").await.unwrap();
    assert_eq!((moved.clone(), bot.feishu.message(&moved.id).text()), (posted, "still only for you".into()));
}

#[tokio::test]
async fn a_post_whose_answer_was_lost_is_uncertain_and_its_repetition_is_the_same_message() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let faults = [Fault::DropResponse, Fault::HttpAfter(502), Fault::DelayAfter(Duration::from_secs(4))];
    for (n, fault) in faults.into_iter().enumerate() {
        let key = format!("k{n}");
        bot.feishu.fault("reply", fault.clone());
        let lost = bot.post(&question, &key, "looking …").await;
        assert!(matches!(lost, Err(SendError::Uncertain(_))), "{fault:?}: {lost:?}");
        let first = bot.feishu.next_message(GROUP).await;
        assert_eq!(
            bot.post(&question, &key, "looking …").await.unwrap(),
            MessageId { room: GROUP.into(), id: first.id }
        );
    }
    assert_eq!(bot.feishu.calls("edit").len(), 0);
}

/// Feishu answers the key with the first message and drops the new text.
#[tokio::test]
async fn a_repetition_that_has_something_else_to_say_says_it() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    bot.feishu.fault("reply", Fault::DropResponse);
    let lost = bot.post(&question, "k1", "looking …").await;
    assert!(matches!(lost, Err(SendError::Uncertain(_))), "{lost:?}");
    let posted = bot.post(&question, "k1", "the disk is full").await.unwrap();
    assert_eq!(bot.feishu.message(&posted.id).text(), "the disk is full");
    let again = bot.post(&question, "k1", "the disk is full").await.unwrap();
    assert_eq!((again, bot.feishu.calls("edit").len()), (posted, 1));
}

#[tokio::test]
async fn what_an_earlier_process_posted_under_the_key_becomes_what_is_to_be_said_now() {
    let mut bot = bot().await;
    let question = bot.mention("why?").await;
    bot.feishu.fault("reply", Fault::DropResponse);
    let lost = bot.post(&question, "k1", "looking …").await;
    assert!(matches!(lost, Err(SendError::Uncertain(_))), "{lost:?}");
    bot.restarted(|config| config.now = Now::new(|| now_ms() + 60_000));
    let posted = bot.post(&question, "k1", "the disk is full").await.unwrap();
    assert_eq!(bot.feishu.message(&posted.id).text(), "the disk is full");
    // A new post needs no edit, however the clocks differ.
    bot.restarted(|config| config.now = Now::new(|| now_ms() + 60_000));
    bot.post(&question, "k2", "and the cause").await.unwrap();
    assert_eq!(bot.feishu.calls("edit").len(), 1);
}

#[tokio::test]
async fn when_the_question_is_recalled_the_answer_goes_to_the_group_under_the_same_key() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    bot.feishu.recall(&question).await;
    let posted = bot.post(&question, "k1", "the disk is full").await.unwrap();
    let message = bot.feishu.message(&posted.id);
    assert_eq!((message.parent, message.uuid.as_deref()), (None, Some("k1")));
    bot.feishu.fault("send", Fault::DropResponse);
    let lost = bot.post(&question, "k2", "more").await;
    assert!(matches!(lost, Err(SendError::Uncertain(_))), "{lost:?}");
    let first = bot.feishu.next_message(GROUP).await;
    assert_eq!(bot.post(&question, "k2", "more").await.unwrap().id, first.id);
}

#[tokio::test]
async fn when_everything_of_a_topic_is_recalled_no_new_topic_is_opened() {
    let bot = bot().await;
    bot.feishu.add_chat("oc_form", Chat::new("in thread form", ChatKind::Threads)).await;
    for room in [TOPICS, "oc_form"] {
        let question = bot.feishu.say(ALICE, room, &format!("{MENTION} why?")).await;
        let topic = bot.feishu.message(&question).thread.unwrap();
        bot.feishu.recall(&question).await;
        // By either name that a topic can have.
        for name in [topic.as_str(), question.as_str()] {
            let at = conversation(room, name);
            let refused = refusal(bot.post_to(at, Some(&question), "k1", Body::Plain("found it".into())).await);
            assert_eq!(refused.kind, RefusalKind::ThreadGone, "{room} {name}");
        }
    }
    assert_eq!(bot.feishu.calls("send").len(), 0);
}

/// A topic that Feishu named before is one also where nobody can ask any more; a question without an answer is no answer.
#[tokio::test]
async fn what_may_be_a_topic_is_not_left_for_the_group() {
    let bot = Bot::connected(FeishuTenant { thread_ids: ThreadIds::NotOnTheFirst, ..tenant() }, |_| {}).await;
    let question = bot.feishu.say(ALICE, TOPICS, &format!("{MENTION} why?")).await;
    let at = bot.desk.inbound(1).await.remove(0).conversation;
    bot.feishu.recall(&question).await;
    bot.feishu.fault("chat", Fault::Http(503));
    let unknown = bot.post_to(at.clone(), Some(&question), "k1", Body::Plain("found it".into())).await;
    assert!(matches!(unknown, Err(SendError::Unavailable(_))), "{unknown:?}");

    let question = bot.feishu.say(ALICE, TOPICS, &format!("{MENTION} why?")).await;
    let more = bot.feishu.reply_in_thread(ALICE, &question, &format!("{MENTION} and now?")).await;
    let at = bot.desk.inbound(3).await.remove(2).conversation;
    for gone in [&question, &more] {
        bot.feishu.recall(gone).await;
    }
    bot.feishu.fault("chat", Fault::Code { code: 99_991_672, http: 400 });
    let refused = refusal(bot.post_to(at, Some(&more), "k2", Body::Plain("found it".into())).await);
    assert_eq!((refused.kind, bot.feishu.calls("send").len()), (RefusalKind::ThreadGone, 0));
}

#[tokio::test]
async fn when_the_question_is_recalled_in_a_topic_the_answer_stays_there() {
    let bot = Bot::connected(tenant(), |_| {}).await;
    let root = bot.feishu.say(ALICE, TOPICS, "checkout is slow").await;
    let question = bot.feishu.reply(ALICE, &root, &format!("{MENTION} why?")).await;
    let at = bot.desk.inbound(1).await.remove(0).conversation;
    bot.feishu.recall(&question).await;
    let posted = bot.post_to(at, Some(&question), "k1", Body::Plain("found it".into())).await.unwrap();
    let message = bot.feishu.message(&posted.id);
    assert_eq!((message.root.as_deref(), message.thread), (Some(root.as_str()), bot.feishu.message(&root).thread));
}

#[tokio::test]
async fn a_post_that_never_left_is_unavailable() {
    let mut bot = bot().await;
    let question = bot.mention("why?").await;
    bot.post(&question, "k1", "looking …").await.unwrap();
    let feishu = std::mem::replace(&mut bot.feishu, watchfloor_sim::FeishuSim::start(tenant()).await.unwrap());
    feishu.stop().await;
    let lost = bot.post(&question, "k2", "looking …").await;
    assert!(matches!(lost, Err(SendError::Unavailable(_))), "{lost:?}");
}

#[tokio::test]
async fn what_feishu_would_refuse_is_not_sent() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    assert_eq!(refusal(bot.post(&question, "k1", "  \n").await).kind, RefusalKind::Content);
    assert_eq!(refusal(bot.post(&question, "k1", &"a".repeat(30_000)).await).kind, RefusalKind::TooLong);
    // Short, but each of these is four bytes in the request.
    assert_eq!(refusal(bot.post(&question, "k1", &"\"".repeat(10_000)).await).kind, RefusalKind::TooLong);
    assert_eq!(bot.feishu.calls("reply").len(), 0);
}

#[tokio::test]
async fn what_measures_as_much_as_is_allowed_is_taken() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let limits = bot.adapter.features().limits;
    let most = limits.bytes;
    for (n, unit) in ["a", "\"", "\\", "é ", "数据 "].into_iter().enumerate() {
        let sizes = [most / 8, most / 6, most / 5, most / 4, most / 3, most / 2, most].map(|bytes| bytes / unit.len());
        let texts = sizes.map(|count| Body::Plain(unit.repeat(count)));
        let longest = texts.into_iter().rfind(|text| limits.hold(&bot.adapter.measure(text))).unwrap();
        bot.post_as(&question, &format!("k{n}"), longest).await.unwrap();
    }
}

#[tokio::test]
async fn a_sign_is_put_on_a_message_and_is_no_trouble_where_there_can_be_none() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let message = MessageId { room: GROUP.into(), id: question.clone() };
    for sign in [Sign::Taken, Sign::Taken, Sign::Done] {
        bot.adapter.react(&message, sign).await.unwrap();
    }
    let signs: Vec<_> = bot.feishu.reactions(&question).into_iter().map(|reaction| reaction.emoji).collect();
    assert!(signs.contains(&"OnIt".to_owned()) && signs.contains(&"DONE".to_owned()), "{signs:?}");
    for code in [231_003, 231_008, 231_021] {
        bot.feishu.fault("react", Fault::Code { code, http: 400 });
        bot.adapter.react(&message, Sign::Taken).await.unwrap();
    }
}

#[tokio::test]
async fn people_are_mentioned_in_our_own_sentences() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let text = format!("{} the answer is there", bot.adapter.mention(ALICE));
    let posted = bot.post_as(&question, "k1", Body::Plain(text)).await.unwrap();
    let mentioned = bot.feishu.message(&posted.id).mentions;
    assert_eq!(mentioned.iter().map(|mention| mention.open_id.as_str()).collect::<Vec<_>>(), [ALICE]);
}

#[tokio::test]
async fn calls_are_counted_by_the_month_and_over_restarts() {
    let mut bot = bot().await;
    let question = bot.mention("why?").await;
    let posted = bot.post(&question, "k1", "looking …").await.unwrap();
    bot.edit(&posted, "found it").await.unwrap();
    bot.feishu.fault("edit", Fault::Code { code: 230_020, http: 400 });
    bot.edit(&posted, "found it!").await.unwrap_err();
    assert_eq!((bot.figure("calls_this_month"), bot.feishu.call_count()), (Some(2), 2));
    bot.start();
    bot.stop.cancel();
    bot.ended().await.unwrap();
    let before = bot.figure("calls_this_month").unwrap();
    bot.restarted(|_| {});
    bot.stop = tokio_util::sync::CancellationToken::new();
    bot.start();
    bot.stop.cancel();
    bot.ended().await.unwrap();
    assert!(bot.figure("calls_this_month") >= Some(before), "{:?} of {before}", bot.figure("calls_this_month"));
}

#[tokio::test]
async fn a_long_answer_goes_out_in_parts_that_fit_and_loses_nothing() {
    for mode in [ReplyMode::Auto, ReplyMode::Text, ReplyMode::Card] {
        for answer in long_answers() {
            let bot = Bot::idle(tenant(), |config| config.reply_mode = mode).await;
            let question = bot.mention("why?").await;
            let limits = bot.adapter.features().limits;
            let measure = |part: &str| bot.adapter.measure(&Body::Markdown(part.to_owned()));
            let mut shown = String::new();
            let parts = split_within(&answer.text, &limits, measure);
            for (n, part) in parts.iter().enumerate() {
                assert!(limits.hold(&measure(part)), "{}: {:?}", answer.name, measure(part));
                let posted = bot.post(&question, &format!("k{n}"), part).await.unwrap();
                shown.push_str(bot.feishu.message(&posted.id).content());
            }
            assert_eq!(answer.lost(&shown), Vec::<String>::new(), "{mode:?} {}", answer.name);
            assert_eq!(bot.feishu.complaints(), Vec::<String>::new(), "{mode:?} {}", answer.name);
            // None was refused and sent again in a plainer form.
            assert_eq!(bot.feishu.calls("reply").len(), parts.len(), "{mode:?} {}", answer.name);
        }
    }
}
