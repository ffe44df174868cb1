//! The socket: how it is opened, replaced and given up.

use std::time::Duration;

use watchfloor_channel::{ChannelAdapter, ChannelState, ReceiveError, RefusalKind};
use watchfloor_sim::slack::Fault;

use crate::desk::{Bot, until, workspace};

const OPEN: &str = "apps.connections.open";

fn is_connected(state: &ChannelState) -> bool {
    *state == ChannelState::Connected
}

#[tokio::test]
async fn b056_a_cut_connection_is_replaced() {
    let bot = Bot::connected(workspace(), |_| {}).await;
    bot.slack.cut_connections();
    bot.slack.wait_for_calls(OPEN, 2).await;
    bot.state(is_connected).await;
    bot.mention("still there?").await;
    assert_eq!(bot.desk.texts(1).await, ["still there?"]);
}

#[tokio::test]
async fn b055_a_socket_that_falls_silent_is_replaced() {
    let bot = Bot::connected(workspace(), |config| config.inbound_deadline = Duration::from_secs(2)).await;
    bot.slack.go_silent();
    bot.slack.wait_for_calls(OPEN, 2).await;
    bot.slack.connected(1).await;
    bot.mention("still there?").await;
    bot.slack.wait_for_acks(1).await;
}

#[tokio::test]
async fn a_quiet_workspace_is_no_dead_socket() {
    let bot = Bot::connected(workspace(), |config| config.inbound_deadline = Duration::from_secs(2)).await;
    // Two deadlines pass; only pings arrive.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(bot.slack.calls(OPEN).len(), 1);
}

#[tokio::test]
async fn b057_the_next_socket_is_open_before_the_last_is_closed() {
    for (reason, with_debug_info) in [("warning", true), ("refresh_requested", false)] {
        let bot = Bot::connected(workspace(), |_| {}).await;
        let mut states = bot.adapter.state();
        states.mark_unchanged();
        bot.desk.hold("slow");
        bot.mention("slow").await;
        bot.desk.texts(1).await;
        bot.slack.disconnect(reason, with_debug_info);
        bot.slack.connected(1).await;
        // The last one still owes an acknowledgement, and gives it.
        assert_eq!(bot.slack.connections(), 2);
        bot.desk.release();
        bot.slack.wait_for_acks(1).await;
        until("the last socket's end", || (bot.slack.connections() == 1).then_some(())).await;
        assert!(!states.has_changed().unwrap(), "{reason}: nobody was to notice");
        bot.mention("on the new one").await;
        bot.slack.wait_for_acks(2).await;
    }
}

#[tokio::test]
async fn a_reason_we_do_not_know_is_a_reason_to_reconnect() {
    let bot = Bot::connected(workspace(), |_| {}).await;
    bot.slack.disconnect("invented_next_year", false);
    bot.slack.wait_for_calls(OPEN, 2).await;
    bot.slack.connected(1).await;
}

#[tokio::test]
async fn too_many_connections_raise_an_alarm_and_a_later_connect_ends_it() {
    let bot = Bot::connected(workspace(), |config| {
        config.reconnect.first = Duration::from_millis(400);
        config.reconnect.longest = Duration::from_millis(400);
    })
    .await;
    bot.slack.disconnect("too_many_websockets", true);
    bot.state(|state| matches!(state, ChannelState::Degraded(why) if why.contains("too many"))).await;
    bot.state(is_connected).await;
    assert_eq!(bot.slack.calls(OPEN).len(), 2);
}

#[tokio::test]
async fn another_process_on_the_same_app_is_noticed() {
    let mut bot = Bot::idle(workspace(), |_| {}).await;
    bot.slack.claim_connections(Some(3));
    bot.start();
    bot.state(|state| matches!(state, ChannelState::Degraded(why) if why.contains("another process"))).await;
}

#[tokio::test]
async fn socket_mode_switched_off_ends_receiving() {
    let mut bot = Bot::connected(workspace(), |_| {}).await;
    bot.slack.disconnect("link_disabled", true);
    let Err(ReceiveError::Refused(refusal)) = bot.ended().await else { panic!() };
    assert_eq!(refusal.code, "link_disabled");
    bot.state(|state| *state == ChannelState::Off(refusal.remedy.clone())).await;
}

#[tokio::test]
async fn a_token_that_is_not_accepted_ends_receiving() {
    for method in ["auth.test", OPEN] {
        let mut bot = Bot::idle(workspace(), |_| {}).await;
        bot.slack.fault(method, Fault::Error("invalid_auth"));
        bot.start();
        let Err(ReceiveError::Refused(refusal)) = bot.ended().await else { panic!() };
        assert_eq!((refusal.kind, refusal.code.as_str()), (RefusalKind::Credentials, "invalid_auth"));
        assert_eq!(bot.slack.calls(method).len(), 1);
        bot.state(|state| matches!(state, ChannelState::Off(_))).await;
    }
}

#[tokio::test]
async fn what_passes_is_waited_for() {
    let mut bot = Bot::idle(workspace(), |config| config.step_timeout = Duration::from_secs(2)).await;
    bot.slack.fault("auth.test", Fault::HtmlPage(502));
    bot.slack.fault("auth.test", Fault::HtmlPage(200));
    bot.slack.fault(OPEN, Fault::Http(500));
    bot.slack.fault(OPEN, Fault::Hang);
    bot.slack.fault(OPEN, Fault::Error("internal_error"));
    bot.slack.refuse_connections(true);
    bot.start();
    bot.slack.wait_for_calls(OPEN, 5).await;
    bot.state(|state| matches!(state, ChannelState::Disconnected(_))).await;
    bot.slack.refuse_connections(false);
    bot.state(is_connected).await;
}

#[tokio::test]
async fn a_rate_limit_on_connecting_is_respected() {
    let mut bot = Bot::idle(workspace(), |_| {}).await;
    bot.slack.fault(OPEN, Fault::RateLimited { retry_after_secs: 1, http_200: false });
    bot.start();
    let calls = bot.slack.wait_for_calls(OPEN, 2).await;
    assert!(calls[1].at - calls[0].at >= Duration::from_secs(1));
    bot.state(is_connected).await;
}

#[tokio::test]
async fn stopping_closes_the_socket_and_does_not_wait_for_a_stuck_store() {
    let mut bot = Bot::connected(workspace(), |_| {}).await;
    bot.desk.hold("slow");
    bot.mention("slow").await;
    bot.desk.texts(1).await;
    bot.stop.cancel();
    bot.ended().await.unwrap();
    until("the socket's end", || (bot.slack.connections() == 0).then_some(())).await;
    assert_eq!(bot.slack.acks(), []);
}
