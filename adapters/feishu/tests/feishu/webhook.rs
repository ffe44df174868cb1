//! Requests: who is believed, and what each is answered.

use std::time::Duration;

use axum::body::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};
use watchfloor_channel::{ChannelAdapter, ChannelState, Inbox, ReceiveError};
use watchfloor_feishu::Transport;
use watchfloor_sim::feishu::{self, APP_ID, ENCRYPT_KEY, Fault, HttpFault, VERIFICATION_TOKEN};

use crate::desk::{Bot, tenant};

fn transport(key: Option<&str>) -> Transport {
    Transport::Webhook { verification_token: Some(VERIFICATION_TOKEN.into()), encrypt_key: key.map(Into::into) }
}

/// The events arrive at the adapter's webhook, encrypted if the tenant has a key.
pub(crate) async fn connected(tenant: feishu::FeishuConfig) -> Bot {
    let key = tenant.encrypt_key.clone();
    let mut bot = Bot::idle(tenant, |config| config.transport = transport(key.as_deref())).await;
    bot.start();
    bot.state(|state| *state == ChannelState::Connected).await;
    let url = bot.serve().await;
    bot.feishu.subscribe(&url).await.unwrap();
    bot
}

fn unencrypted() -> feishu::FeishuConfig {
    feishu::FeishuConfig { encrypt_key: None, ..tenant() }
}

async fn asked(bot: &Bot, body: impl Into<Bytes>) -> (u16, String) {
    let request = Request::post("/").header("Content-Type", "application/json").body(body.into()).unwrap();
    let answer: Response<Bytes> = bot.adapter.webhook(request, &Inbox::new(bot.desk.clone())).await;
    (answer.status().as_u16(), String::from_utf8(answer.into_body().to_vec()).unwrap())
}

fn event(token: &str) -> Value {
    json!({"schema": "2.0", "header": {"event_id": "ev1", "event_type": "im.message.receive_v1", "token": token,
            "app_id": APP_ID, "tenant_key": "tenant_sim"},
        "event": {"sender": {"sender_id": {"open_id": "ou_alice"}, "sender_type": "user", "tenant_key": "tenant_sim"},
            "message": {"message_id": "om_1", "chat_id": "oc_p", "chat_type": "p2p", "message_type": "text",
                "create_time": "1767225600100", "content": "{\"text\":\"why?\"}"}}})
}

#[tokio::test]
async fn events_come_encrypted_and_signed_or_with_their_token() {
    for tenant in [tenant(), unencrypted()] {
        let bot = connected(tenant).await;
        bot.mention("数据库 🚨 why?").await;
        assert_eq!(bot.desk.texts(1).await, ["数据库 🚨 why?"]);
        bot.feishu.wait_for_acks(1).await;
        let answers = bot.feishu.http_answers();
        assert_eq!(answers.last().map(|answer| answer.status), Some(200));
        assert_eq!(bot.feishu.complaints(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn what_is_forged_or_stale_is_refused_and_its_retry_taken() {
    let bot = connected(tenant()).await;
    for fault in [
        HttpFault::BadSignature,
        HttpFault::NoSignature,
        HttpFault::Plain,
        HttpFault::OldTimestamp(Duration::from_secs(9 * 3600)),
    ] {
        let before = bot.desk.so_far();
        bot.feishu.http_fault(fault);
        bot.mention("why?").await;
        bot.desk.inbound(before + 1).await;
        bot.feishu.heard().await;
        let statuses: Vec<_> = bot.feishu.http_answers().iter().rev().take(2).map(|answer| answer.status).collect();
        assert_eq!(statuses, [200, 401], "{fault:?}");
    }
    assert_eq!(bot.figure("refused_requests"), Some(4));
    // As old as the last redelivery.
    bot.feishu.http_fault(HttpFault::OldTimestamp(Duration::from_secs(7 * 3600)));
    bot.mention("late").await;
    bot.desk.inbound(5).await;
    assert_eq!(bot.figure("refused_requests"), Some(4));
}

#[tokio::test]
async fn an_event_with_another_token_is_refused() {
    let bot = connected(unencrypted()).await;
    bot.feishu.http_fault(HttpFault::WrongToken);
    bot.mention("why?").await;
    bot.desk.inbound(1).await;
    bot.feishu.heard().await;
    let statuses: Vec<_> = bot.feishu.http_answers().iter().rev().take(2).map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 401]);
}

#[tokio::test]
async fn the_address_check_wants_the_token_and_no_connection() {
    for (tenant, key) in [(tenant(), Some(ENCRYPT_KEY)), (unencrypted(), None)] {
        // Not started: nobody has asked who we are.
        let mut bot = Bot::idle(tenant, |config| config.transport = transport(key)).await;
        let url = bot.serve().await;
        bot.feishu.http_fault(HttpFault::WrongToken);
        assert!(bot.feishu.subscribe(&url).await.is_err());
        bot.feishu.subscribe(&url).await.unwrap();
        assert_eq!(bot.figure("refused_requests"), Some(1));
    }
}

#[tokio::test]
async fn a_challenge_is_answered_as_json_whatever_it_holds() {
    let bot = Bot::idle(unencrypted(), |config| config.transport = transport(None)).await;
    let check = json!({"challenge": "a\"b\n</script>", "token": VERIFICATION_TOKEN, "type": "url_verification"});
    let (status, body) = asked(&bot, check.to_string()).await;
    assert_eq!((status, serde_json::from_str::<Value>(&body).unwrap()), (200, json!({"challenge": "a\"b\n</script>"})));
}

#[tokio::test]
async fn what_is_no_request_of_feishus_is_turned_away() {
    let bot = connected(unencrypted()).await;
    let token = |body: &mut Value| body["token"] = VERIFICATION_TOKEN.into();
    let mut old = json!({"uuid": "1", "type": "event_callback", "event": {"type": "message"}});
    token(&mut old);
    let mut other_app = event(VERIFICATION_TOKEN);
    other_app["header"]["app_id"] = "cli_other".into();
    let mut typeless = json!({"schema": "2.0"});
    token(&mut typeless);
    for (body, wanted) in [
        (Bytes::from_static(b"not json"), 400),
        (Bytes::from_static(b"[]"), 400),
        (Bytes::from_static(b""), 400),
        (Bytes::from_static(b"\xff\xfe{}"), 400),
        (Bytes::from_static(b"{\"a\":\"\xff\"}"), 400),
        (Bytes::from("[".repeat(100_000)), 400),
        (Bytes::from(vec![b' '; 10 << 20]), 413),
        (Bytes::from_static(b"{}"), 401),
        (Bytes::from_static(b"{\"encrypt\":\"AAAA\"}"), 401),
        (event("").to_string().into(), 401),
        (event("another").to_string().into(), 401),
        (other_app.to_string().into(), 401),
        (old.to_string().into(), 200),
        (typeless.to_string().into(), 200),
    ] {
        assert_eq!(asked(&bot, body.clone()).await.0, wanted, "{:?}", &body[..body.len().min(80)]);
    }
    assert_eq!((bot.figure("unreadable_events"), bot.figure("refused_requests")), (Some(7), Some(5)));
    assert_eq!(bot.desk.so_far(), 0);
    assert_eq!(asked(&bot, event(VERIFICATION_TOKEN).to_string()).await.0, 200);
    assert_eq!(bot.desk.texts(1).await, ["why?"]);
}

#[tokio::test]
async fn what_can_not_be_stored_is_brought_again() {
    let bot = connected(tenant()).await;
    bot.desk.refuse(1);
    bot.mention("why?").await;
    bot.desk.inbound(2).await;
    bot.feishu.heard().await;
    let statuses: Vec<_> = bot.feishu.http_answers().iter().rev().take(2).map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 503]);
}

#[tokio::test]
async fn the_door_is_closed_until_the_bot_knows_itself_and_after_a_stop() {
    let mut bot = Bot::idle(unencrypted(), |config| config.transport = transport(None)).await;
    let ours = event(VERIFICATION_TOKEN).to_string();
    assert_eq!(asked(&bot, ours.clone()).await.0, 503);
    bot.feishu.fault_times("bot_info", Fault::Http(500), 2);
    bot.start();
    bot.state(|state| matches!(state, ChannelState::Disconnected(_))).await;
    bot.state(|state| *state == ChannelState::Connected).await;
    assert_eq!(asked(&bot, ours.clone()).await.0, 200);
    bot.stop.cancel();
    assert_eq!(asked(&bot, ours).await.0, 503);
    bot.ended().await.unwrap();
    assert_eq!(bot.desk.so_far(), 1);
}

#[tokio::test]
async fn without_a_secret_nothing_is_believed() {
    for empty in [None, Some("".into())] {
        let without = Transport::Webhook { verification_token: empty, encrypt_key: None };
        let mut bot = Bot::idle(unencrypted(), |config| config.transport = without).await;
        bot.start();
        let Err(ReceiveError::Refused(refusal)) = bot.ended().await else { panic!() };
        assert_eq!(refusal.code, "no_secret");
        for token in ["", "null"] {
            assert_eq!(asked(&bot, event(token).to_string()).await.0, 401);
        }
    }
}

#[tokio::test]
async fn by_long_connection_there_is_no_address() {
    let bot = Bot::idle(unencrypted(), |_| {}).await;
    assert_eq!(asked(&bot, event(VERIFICATION_TOKEN).to_string()).await.0, 404);
}
