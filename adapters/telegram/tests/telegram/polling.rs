//! Long polling: what is confirmed, what comes again, and what trouble does.

use std::time::Duration;

use serde_json::Value;
use watchfloor_channel::{ChannelAdapter, ChannelState, Notes, RefusalKind};
use watchfloor_sim::telegram::{ALICE, Fault, OPS};
use watchfloor_telegram::Intake;

use crate::desk::{Bot, until, world};

fn is_connected(state: &ChannelState) -> bool {
    *state == ChannelState::Connected
}

async fn offset(bot: &Bot) -> Option<String> {
    bot.notes.read("offset").await.unwrap()
}

/// B008, B009.
#[tokio::test]
async fn the_offset_follows_what_is_durable_and_outlives_a_restart() {
    let bot = Bot::connected(world(), |_| {}).await;
    bot.desk.hold("first");
    bot.telegram.say(ALICE, OPS, "@ops_bot first").await;
    bot.telegram.say(ALICE, OPS, "@ops_bot second").await;
    bot.desk.inbound(1).await;
    let id = bot.telegram.unread()[0]["update_id"].as_i64().unwrap();
    assert_eq!(offset(&bot).await, None, "nothing is confirmed while the first is being written");
    bot.desk.release();
    bot.telegram.heard().await;
    assert_eq!(bot.desk.texts(2).await, ["first", "second"]);
    assert_eq!(offset(&bot).await, Some((id + 2).to_string()));
    let bot = bot.again(|_| {}).await;
    bot.telegram.say(ALICE, OPS, "@ops_bot third").await;
    assert_eq!(bot.desk.texts(1).await, ["third"]);
    let offsets: Vec<_> = bot.telegram.calls("getUpdates").iter().map(|call| call.args["offset"].clone()).collect();
    assert!(offsets.iter().all(|offset| *offset == Value::Null || offset.as_i64() >= Some(id + 1)), "{offsets:?}");
}

#[tokio::test]
async fn what_telegram_brings_again_is_handed_on_again_under_the_same_key() {
    let bot = Bot::connected(world(), |_| {}).await;
    bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    bot.telegram.heard().await;
    bot.telegram.redeliver();
    let came = bot.desk.inbound(2).await;
    assert_eq!(came[0], came[1]);
}

#[tokio::test]
async fn a_store_that_refuses_holds_the_stream_and_loses_nothing() {
    let bot = Bot::connected(world(), |_| {}).await;
    bot.desk.refuse(2);
    bot.telegram.say(ALICE, OPS, "@ops_bot one").await;
    bot.telegram.say(ALICE, OPS, "@ops_bot two").await;
    assert_eq!(bot.desk.texts(4).await, ["one", "one", "one", "two"]);
    bot.telegram.heard().await;
}

#[tokio::test]
async fn an_update_whose_handling_always_fails_is_set_aside_and_the_stream_goes_on() {
    let bot = Bot::connected(world(), |_| {}).await;
    bot.telegram.say(ALICE, OPS, "@ops_bot boom").await;
    let id = bot.telegram.unread()[0]["update_id"].as_i64().unwrap();
    bot.telegram.say(ALICE, OPS, "@ops_bot and now?").await;
    assert_eq!(bot.desk.texts(1).await, ["and now?"]);
    bot.telegram.heard().await;
    assert_eq!(bot.figure("updates_set_aside"), 1);
    let kept = bot.notes.read(&format!("quarantine/{id}")).await.unwrap();
    assert!(kept.is_some_and(|kept| kept.contains("@ops_bot boom") || kept.contains("\"boom\"")), "with its words");
}

#[tokio::test]
async fn an_update_that_cannot_be_read_does_not_spoil_the_others_of_its_answer() {
    let bot = Bot::connected(world(), |_| {}).await;
    let deep = (0..300).fold(serde_json::json!("why?"), |inside, _| serde_json::json!([inside]));
    let update = |id: i64, text: Value| {
        let chat = serde_json::json!({"id": ALICE, "type": "private"});
        let message =
            serde_json::json!({"message_id": id, "date": 1, "chat": chat, "from": {"id": ALICE}, "text": text});
        serde_json::json!({"update_id": id, "message": message})
    };
    let updates = [update(1, deep), update(2, "and now?".into())];
    bot.telegram.fault("getUpdates", Fault::Answer(200, serde_json::json!({"ok": true, "result": updates})));
    bot.telegram.cut_connections();
    assert_eq!(bot.desk.texts(1).await, ["and now?"]);
    bot.telegram.say(ALICE, OPS, "@ops_bot and the disk?").await;
    assert_eq!(bot.desk.texts(2).await, ["and now?", "and the disk?"]);
    let kept = bot.notes.read("quarantine/1").await.unwrap();
    assert!(kept.is_some_and(|kept| kept.contains("it is not readable") && kept.contains("why?")), "with its words");
    assert_eq!(bot.figure("updates_set_aside"), 1);
}

#[tokio::test]
async fn answers_that_bring_nothing_new_are_not_asked_for_without_a_pause() {
    const PAUSE: Duration = Duration::from_millis(300);
    let bot =
        Bot::connected(world(), |config| (config.reconnect.first, config.reconnect.longest) = (PAUSE, PAUSE)).await;
    let nameless = serde_json::json!({"ok": true, "result": [{"message": {"text": "why?"}}]});
    bot.telegram.fault_times("getUpdates", Fault::Answer(200, nameless), 3);
    bot.telegram.cut_connections();
    until("three of them", || (bot.figure("updates_set_aside") == 3).then_some(())).await;
    bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    assert_eq!(bot.desk.texts(1).await, ["why?"]);
    let polls = bot.telegram.calls("getUpdates");
    let pauses = polls.windows(2).filter(|pair| pair[1].at - pair[0].at >= PAUSE).count();
    assert!(pauses >= 2, "{polls:?}");
}

/// B058: the way to Telegram fails in every manner, and is found again.
#[tokio::test]
async fn trouble_on_the_way_is_waited_out() {
    for fault in [
        Fault::HtmlPage(502),
        Fault::Garbage,
        Fault::DropRequest,
        Fault::DropResponse,
        Fault::HtmlPageAfter(504),
        Fault::error(500, "Internal Server Error"),
        Fault::error(400, "Bad Request: something new"),
    ] {
        let bot = Bot::connected(world(), |_| {}).await;
        bot.telegram.fault_times("getUpdates", fault.clone(), 3);
        bot.telegram.cut_connections();
        bot.state(|state| matches!(state, ChannelState::Disconnected(_))).await;
        bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
        assert_eq!(bot.desk.texts(1).await[0], "why?", "{fault:?}");
        bot.state(is_connected).await;
    }
}

#[tokio::test]
async fn a_bot_that_starts_before_telegram_is_there_waits_for_it() {
    let mut bot = Bot::idle(world(), |_| {}).await;
    bot.telegram.down(true);
    bot.start();
    bot.state(|state| matches!(state, ChannelState::Disconnected(_))).await;
    bot.telegram.down(false);
    bot.state(is_connected).await;
}

#[tokio::test]
async fn a_poll_that_hangs_is_cut_and_repeated_on_a_fresh_connection() {
    let bot = Bot::connected(world(), |config| {
        config.intake = Intake::Polling { poll_timeout: Duration::from_secs(1) };
        config.inbound_deadline = Duration::from_millis(200);
    })
    .await;
    bot.telegram.hang_polls(true);
    bot.state(|state| matches!(state, ChannelState::Disconnected(_))).await;
    bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    bot.telegram.hang_polls(false);
    assert_eq!(bot.desk.texts(1).await, ["why?"]);
    bot.state(is_connected).await;
}

#[tokio::test]
async fn the_wait_that_telegram_asks_for_is_kept() {
    let bot = Bot::connected(world(), |_| {}).await;
    bot.telegram.fault("getUpdates", Fault::retry_after(1));
    bot.telegram.cut_connections();
    bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    assert_eq!(bot.desk.texts(1).await, ["why?"]);
    let calls = bot.telegram.calls("getUpdates");
    let limited = calls.iter().position(|call| call.error().is_some_and(|error| error.contains("Too Many"))).unwrap();
    assert!(calls[limited + 1].at - calls[limited].at >= Duration::from_secs(1));
}

/// B060.
#[tokio::test]
async fn b060_a_lasting_conflict_names_its_cause_in_health() {
    let bot = Bot::connected(world(), |_| {}).await;
    bot.telegram.conflict(1_000);
    bot.telegram.cut_connections();
    let state = bot.state(|state| matches!(state, ChannelState::Degraded(_))).await;
    assert!(format!("{state:?}").contains("another process polls"), "{state:?}");
    bot.telegram.conflict(0);
    bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    assert_eq!(bot.desk.texts(1).await, ["why?"]);
    bot.state(is_connected).await;
}

#[tokio::test]
async fn a_conflict_or_two_at_a_restart_are_no_stranger() {
    let mut bot = Bot::idle(world(), |config| config.reconnect.longest = Duration::from_secs(60)).await;
    bot.telegram.conflict(2);
    let mut states = bot.adapter.state();
    bot.start();
    while !is_connected(&states.borrow_and_update()) {
        assert!(!matches!(*states.borrow(), ChannelState::Degraded(_)));
        states.changed().await.unwrap();
    }
    assert_eq!(bot.telegram.calls("getUpdates").iter().filter(|call| call.error().is_some()).count(), 2);
}

#[tokio::test]
async fn a_webhook_in_the_way_is_named_and_left_alone() {
    let bot = Bot::connected(world(), |_| {}).await;
    let text =
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";
    bot.telegram.fault_times("getUpdates", Fault::error(409, text), 3);
    bot.telegram.cut_connections();
    let state = bot.state(|state| matches!(state, ChannelState::Degraded(_))).await;
    assert!(format!("{state:?}").contains("webhook is set"), "{state:?}");
    bot.state(is_connected).await;
    assert!(bot.telegram.calls("deleteWebhook").is_empty());
}

#[tokio::test]
async fn a_stop_interrupts_a_sleeping_poll_and_a_long_wait() {
    let mut bot = Bot::connected(world(), |config| {
        config.intake = Intake::Polling { poll_timeout: Duration::from_secs(50) };
    })
    .await;
    bot.stop.cancel();
    bot.ended().await.unwrap();
    assert_eq!(*bot.adapter.state().borrow(), ChannelState::Off("stopped".into()));
    for method in ["getMe", "getUpdates"] {
        let mut bot = Bot::idle(world(), |_| {}).await;
        bot.telegram.fault(method, Fault::retry_after(600));
        bot.start();
        bot.state(|state| matches!(state, ChannelState::Disconnected(_))).await;
        bot.stop.cancel();
        bot.ended().await.unwrap();
    }
    let mut bot = Bot::connected(world(), |_| {}).await;
    bot.desk.refuse(usize::MAX);
    bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    bot.desk.inbound(1).await;
    bot.stop.cancel();
    bot.ended().await.unwrap();
    assert_eq!(bot.telegram.unread().len(), 1);
}

#[tokio::test]
async fn a_token_that_is_out_ends_it_for_good() {
    let mut bot = Bot::connected(world(), |_| {}).await;
    bot.telegram.revoke_token();
    bot.telegram.cut_connections();
    let error = bot.ended().await.unwrap_err();
    let watchfloor_channel::ReceiveError::Refused(refusal) = error;
    assert_eq!(refusal.kind, RefusalKind::Credentials);
    assert!(matches!(*bot.adapter.state().borrow(), ChannelState::Off(_)));
    for token in ["6000:AAanother-bot-token_for-the-tests-x", "nonsense"] {
        let mut bot = Bot::idle(world(), |config| config.bot_token = token.into()).await;
        bot.start();
        let error = bot.ended().await.unwrap_err().to_string();
        assert!(!error.contains(token), "{error}");
    }
}

#[tokio::test]
async fn polls_ask_for_the_kinds_we_use_and_the_menu_names_what_acts() {
    let bot = Bot::connected(world(), |config| config.stop_description = "stops what I am doing".into()).await;
    let calls = bot.telegram.calls("getUpdates");
    let kinds = serde_json::json!(["message", "edited_message", "callback_query", "my_chat_member"]);
    assert!(calls.iter().all(|call| call.args["allowed_updates"] == kinds), "{calls:?}");
    until("the menu", || (!bot.telegram.commands().is_empty()).then_some(())).await;
    let commands = bot.telegram.commands();
    assert_eq!(commands.len(), 1);
    assert_eq!(commands[0].1, serde_json::json!([{"command": "stop", "description": "stops what I am doing"}]));
}

#[tokio::test]
async fn doctor_says_what_is_wrong_and_how_to_mend_it() {
    let wrong = async |bot: &Bot| {
        let findings = bot.adapter.doctor(&[]).await;
        let wrong = findings.into_iter().filter(|finding| !finding.ok);
        wrong.map(|finding| (finding.what, finding.remedy.unwrap())).collect::<Vec<_>>()
    };
    let bot = Bot::idle(world(), |_| {}).await;
    assert_eq!(wrong(&bot).await, []);
    bot.telegram.set_can_read_all_group_messages(false);
    let found = wrong(&bot).await;
    assert!(found.len() == 1 && found[0].1.contains("/setprivacy"), "{found:?}");
    bot.telegram.set_can_read_all_group_messages(true);
    let waiting_webhook = serde_json::json!({"ok": true, "result": {"url": "https://example.org/x",
        "pending_update_count": 400, "last_error_message": "Connection refused"}});
    bot.telegram.fault("getWebhookInfo", Fault::Answer(200, waiting_webhook));
    let found = wrong(&bot).await;
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].1.contains("deleteWebhook") && found[1].1.contains("Connection refused"), "{found:?}");
    let hooked = Bot::idle(world(), |config| {
        config.intake = Intake::Webhook { secret_token: "s3cret".into(), url: None };
    })
    .await;
    assert_eq!(wrong(&hooked).await.len(), 1);
    bot.telegram.revoke_token();
    let found = wrong(&bot).await;
    assert!(found.len() == 1 && found[0].1.contains("BotFather"), "{found:?}");
}
