//! Frames in and out: what is split is joined, what is stored is acknowledged, what makes no sense harms nobody.

use serde_json::json;
use watchfloor_channel::ChannelAdapter;
use watchfloor_sim::feishu::EventId;

use crate::desk::{Bot, tenant};

fn codes(bot: &Bot) -> Vec<i64> {
    bot.feishu.acks().iter().map(|ack| ack.code).collect()
}

#[tokio::test]
async fn a_split_push_is_joined_in_either_order_and_acknowledged_once() {
    for reversed in [false, true] {
        for empty_optionals in [false, true] {
            let mut tenant = tenant();
            tenant.empty_optionals = empty_optionals;
            let bot = Bot::connected(tenant, |_| {}).await;
            bot.feishu.split(7, reversed);
            bot.mention("数据库延迟升高 🚨 why?").await;
            assert_eq!(bot.desk.texts(1).await, ["数据库延迟升高 🚨 why?"]);
            bot.feishu.wait_for_acks(1).await;
            bot.feishu.split(1, false);
            bot.mention("and now?").await;
            bot.feishu.wait_for_acks(2).await;
            assert_eq!(codes(&bot), [200, 200]);
            assert_eq!(bot.feishu.complaints(), Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn b001_an_event_is_acknowledged_when_it_is_stored_and_not_before() {
    let bot = Bot::connected(tenant(), |_| {}).await;
    bot.desk.hold("slow");
    bot.mention("slow").await;
    bot.desk.texts(1).await;
    // The reader goes on meanwhile.
    bot.mention("quick").await;
    let acks = bot.feishu.wait_for_acks(1).await;
    assert_eq!((acks.len(), bot.feishu.unacked().len()), (1, 1));
    bot.desk.release();
    bot.feishu.wait_for_acks(2).await;
    assert_eq!(codes(&bot), [200, 200]);
}

#[tokio::test]
async fn what_could_not_be_stored_is_asked_for_again() {
    let bot = Bot::connected(tenant(), |_| {}).await;
    bot.desk.refuse(2);
    let message = bot.mention("why?").await;
    bot.feishu.wait_for_acks(3).await;
    assert_eq!(codes(&bot), [500, 500, 200]);
    let keys: Vec<_> = bot.desk.inbound(3).await.into_iter().map(|inbound| inbound.message_key).collect();
    assert_eq!(keys, [message.clone(), message.clone(), message]);
    assert_eq!(bot.feishu.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn b001_b002_a_redelivery_has_the_key_of_its_message_whatever_its_event_is_called() {
    let bot = Bot::connected(tenant(), |_| {}).await;
    let message = bot.mention("why?").await;
    bot.feishu.wait_for_acks(1).await;
    bot.feishu.redeliver(&message, EventId::Same).await;
    bot.feishu.redeliver(&message, EventId::New).await;
    let came = bot.desk.inbound(3).await;
    assert!(came.iter().all(|inbound| inbound.message_key == message));
    assert_eq!(came[0].event_id, came[1].event_id);
    assert_ne!(came[0].event_id, came[2].event_id);
    bot.feishu.wait_for_acks(3).await;
}

#[tokio::test]
async fn b011_a_burst_of_mentions_is_taken_whole_and_each_once() {
    let bot = Bot::connected(tenant(), |_| {}).await;
    let mut said = bot.feishu.burst(100).await;
    bot.feishu.wait_for_acks(100).await;
    let mut keys: Vec<_> = bot.desk.inbound(100).await.into_iter().map(|inbound| inbound.message_key).collect();
    keys.sort();
    said.sort();
    assert_eq!(keys, said);
    assert_eq!(bot.feishu.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn an_event_that_we_do_not_use_is_acknowledged() {
    let bot = Bot::connected(tenant(), |_| {}).await;
    for kind in [
        "im.message.reaction.created_v1",
        "im.chat.member.bot.added_v1",
        "im.chat.member.bot.deleted_v1",
        "im.chat.disbanded_v1",
        "invented.next_year_v9",
    ] {
        bot.feishu.raw_event(json!({"header": {"event_type": kind}, "event": {"chat_id": "oc_group"}})).await;
    }
    bot.feishu.raw_event(json!({"header": {"event_type": "im.message.receive_v1", "app_id": "cli_other"}})).await;
    bot.feishu.wait_for_acks(6).await;
    assert_eq!(codes(&bot), [200; 6]);
    assert_eq!(bot.desk.so_far(), 0);
}

#[tokio::test]
async fn frames_that_make_no_sense_harm_nobody() {
    let bot = Bot::connected(tenant(), |_| {}).await;
    for noise in [vec![], vec![0], vec![0xff; 64], b"{\"type\":\"event\"}".to_vec(), vec![8, 0, 16, 0, 24, 7, 32]] {
        bot.feishu.raw_frame(noise);
    }
    bot.feishu.raw_text("hello");
    bot.feishu.odd_frame(7);
    bot.feishu.odd_frame(-1);
    // A control frame that is neither ping nor pong.
    bot.feishu.odd_frame(0);
    bot.mention("still there?").await;
    assert_eq!(bot.desk.texts(1).await, ["still there?"]);
    bot.feishu.wait_for_acks(1).await;
    assert_eq!(bot.feishu.connections_so_far(), 1);
    let unreadable = bot.adapter.figures().into_iter().find(|(name, _)| *name == "unreadable_events");
    assert!(unreadable.is_some_and(|(_, count)| count >= 4), "{unreadable:?}");
}
