//! The long connection: how it is opened, kept alive, replaced and given up.

use std::time::Duration;

use serde_json::json;
use watchfloor_channel::{ChannelAdapter, ChannelState};
use watchfloor_sim::feishu::Fault;

use crate::desk::{Bot, tenant, until};

const ENDPOINT: &str = "endpoint";

fn is_connected(state: &ChannelState) -> bool {
    *state == ChannelState::Connected
}

fn pinging(seconds: i64) -> watchfloor_sim::feishu::FeishuConfig {
    watchfloor_sim::feishu::FeishuConfig { client_config: Some(json!({"PingInterval": seconds})), ..tenant() }
}

#[tokio::test]
async fn b056_a_cut_or_closed_connection_is_replaced_by_one_with_a_new_ticket() {
    let bot = Bot::connected(tenant(), |_| {}).await;
    bot.feishu.cut_connections();
    bot.feishu.wait_for_calls(ENDPOINT, 2).await;
    bot.feishu.connected(1).await;
    bot.feishu.close_connections();
    let calls = bot.feishu.wait_for_answers(ENDPOINT, 3).await;
    bot.feishu.connected(1).await;
    let mut addresses: Vec<_> =
        calls.iter().map(|call| call.answer.clone().unwrap()["data"]["URL"].to_string()).collect();
    addresses.dedup();
    assert_eq!(addresses.len(), 3);
    bot.mention("still there?").await;
    assert_eq!(bot.desk.texts(1).await, ["still there?"]);
    bot.feishu.wait_for_acks(1).await;
    assert_eq!(bot.feishu.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn b053_b055_a_connection_that_falls_silent_is_replaced() {
    let bot = Bot::connected(pinging(1), |config| config.inbound_deadline = Some(Duration::from_secs(2))).await;
    bot.feishu.wait_for_pings(1).await;
    bot.feishu.go_silent();
    bot.feishu.wait_for_calls(ENDPOINT, 2).await;
    bot.feishu.connected(1).await;
    bot.mention("still there?").await;
    bot.feishu.wait_for_acks(1).await;
}

#[tokio::test]
async fn a_quiet_tenant_is_no_dead_connection() {
    let bot = Bot::connected(pinging(1), |config| config.inbound_deadline = Some(Duration::from_secs(2))).await;
    // Twice the deadline passes; only pongs arrive.
    bot.feishu.wait_for_pings(5).await;
    assert_eq!(bot.feishu.calls(ENDPOINT).len(), 1);
}

#[tokio::test]
async fn the_first_ping_comes_at_once_and_a_pong_changes_the_interval() {
    let mut tenant = pinging(120);
    tenant.pong_config = Some(json!({"PingInterval": 1}));
    let bot = Bot::connected(tenant, |_| {}).await;
    bot.feishu.wait_for_pings(3).await;
    assert_eq!(bot.feishu.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn an_interval_of_zero_is_no_busy_loop() {
    for client_config in [Some(json!({"PingInterval": 0})), Some(json!({"PingInterval": -5})), Some(json!({})), None] {
        let mut tenant = tenant();
        tenant.client_config = client_config;
        tenant.pong_config = Some(json!({"PingInterval": 0}));
        let bot = Bot::connected(tenant, |_| {}).await;
        bot.feishu.wait_for_pings(1).await;
        bot.mention("hello").await;
        bot.feishu.wait_for_acks(1).await;
        assert_eq!(bot.feishu.pings(), 1);
    }
}

#[tokio::test]
async fn what_passes_is_waited_for() {
    let mut bot = Bot::idle(tenant(), |config| config.call_timeout = Duration::from_secs(1)).await;
    bot.feishu.fault(ENDPOINT, Fault::HtmlPage(502));
    bot.feishu.fault(ENDPOINT, Fault::HtmlPage(200));
    bot.feishu.fault(ENDPOINT, Fault::Http(500));
    bot.feishu.fault(ENDPOINT, Fault::Hang);
    bot.feishu.fault(ENDPOINT, Fault::DropResponse);
    for code in [1, 1_000_040_343] {
        bot.feishu.refuse_endpoint(code);
    }
    bot.feishu.refuse_upgrade(514, Some(1_000_040_344));
    bot.feishu.refuse_upgrade(500, None);
    bot.start();
    bot.state(|state| matches!(state, ChannelState::Disconnected(_))).await;
    bot.state(is_connected).await;
    assert_eq!(bot.feishu.calls(ENDPOINT).len(), 10);
}

#[tokio::test]
async fn what_a_person_must_mend_is_named_and_tried_again_slowly() {
    for (code, remedy) in [
        (403, "long connection"),
        (514, "app_secret"),
        (1_000_040_344, "app_secret"),
        (1_000_040_350, "another process"),
        (1_000_040_351, "open.larksuite.com"),
        (10_014, "app_secret"),
        (77, "77"),
    ] {
        let mut bot = Bot::idle(tenant(), |config| config.reconnect.longest = Duration::from_millis(50)).await;
        bot.feishu.refuse_endpoint(code);
        bot.start();
        bot.state(|state| matches!(state, ChannelState::Off(why) if why.contains(remedy))).await;
        // It was mended; nobody has to restart anything.
        bot.state(is_connected).await;
        assert_eq!(bot.feishu.calls(ENDPOINT).len(), 2, "{code}");
    }
    for (status, code) in [(514, Some(1_000_040_350)), (403, None)] {
        let mut bot = Bot::idle(tenant(), |config| config.reconnect.longest = Duration::from_millis(50)).await;
        bot.feishu.refuse_upgrade(status, code);
        bot.start();
        bot.state(|state| matches!(state, ChannelState::Off(_))).await;
        bot.state(is_connected).await;
    }
}

#[tokio::test]
async fn b054_while_nothing_can_be_reached_it_goes_on_trying() {
    let mut bot = Bot::idle(tenant(), |_| {}).await;
    bot.feishu.down(true);
    bot.start();
    bot.state(|state| matches!(state, ChannelState::Disconnected(_))).await;
    bot.mention("anybody?").await;
    bot.feishu.down(false);
    assert_eq!(bot.desk.texts(1).await, ["anybody?"]);
    bot.feishu.wait_for_acks(1).await;
    bot.state(is_connected).await;
}

#[tokio::test]
async fn until_it_knows_who_it_is_the_bot_leaves_events_with_feishu() {
    let mut bot = Bot::idle(tenant(), |_| {}).await;
    bot.feishu.fault_times("bot_info", Fault::Http(500), 4);
    bot.start();
    bot.state(|state| matches!(state, ChannelState::Disconnected(why) if why.contains("who the bot is"))).await;
    bot.mention("who are you?").await;
    assert_eq!(bot.desk.texts(1).await, ["who are you?"]);
    bot.feishu.wait_for_acks(1).await;
    assert_eq!(bot.feishu.calls("bot_info").len(), 5);
}

#[tokio::test]
async fn stopping_closes_the_connection_and_does_not_wait_for_a_stuck_store() {
    let mut bot = Bot::connected(tenant(), |_| {}).await;
    bot.desk.hold("slow");
    bot.mention("slow").await;
    bot.desk.texts(1).await;
    bot.stop.cancel();
    bot.ended().await.unwrap();
    until("the connection's end", || (bot.feishu.connections() == 0).then_some(())).await;
    assert_eq!(bot.feishu.acks(), []);
    bot.state(|state| *state == ChannelState::Off("stopped".into())).await;
}

#[tokio::test]
async fn stopping_interrupts_a_wait() {
    let mut bot = Bot::idle(tenant(), |config| config.reconnect.longest = Duration::from_secs(600)).await;
    bot.feishu.refuse_endpoint(403);
    bot.start();
    bot.state(|state| matches!(state, ChannelState::Off(_))).await;
    bot.stop.cancel();
    bot.ended().await.unwrap();
}

#[tokio::test]
async fn the_doctor_names_what_is_wrong() {
    let bot = Bot::idle(tenant(), |_| {}).await;
    let findings = bot.adapter.doctor(&[]).await;
    assert!(findings.iter().all(|finding| finding.ok) && findings.len() == 6, "{findings:?}");
    let wrong = async |bot: &Bot| {
        let findings = bot.adapter.doctor(&[]).await;
        let wrong: Vec<_> = findings.into_iter().filter(|finding| !finding.ok).collect();
        wrong.into_iter().map(|finding| (finding.what, finding.remedy.unwrap())).collect::<Vec<_>>()
    };
    let bot = Bot::idle(tenant(), |config| config.app_secret = "another".into()).await;
    let found = wrong(&bot).await;
    assert!(found[0].0.contains("accepted") && found[0].1.contains("base_url"), "{found:?}");
    let bot = Bot::idle(tenant(), |_| {}).await;
    bot.feishu.refuse_endpoint(1_000_040_351);
    let found = wrong(&bot).await;
    assert!(found.len() == 1 && found[0].1.contains("open.larksuite.com"), "{found:?}");
    let bot = Bot::idle(tenant(), |_| {}).await;
    let off = json!({"code": 0, "bot": {"activate_status": 1, "app_name": "watchfloor", "open_id": "ou_bot"}});
    bot.feishu.fault("bot_info", Fault::Answer { http: 200, body: off });
    let found = wrong(&bot).await;
    assert!(found.len() == 1 && found[0].1.contains("bot capability"), "{found:?}");
}
