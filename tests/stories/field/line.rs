//! Faults of the way by which messages come: sockets that fall silent, end or can't be opened.

use std::time::Duration;

use watchfloor_channel::ChannelState;
use watchfloor_sim::slack::Fault;

use crate::{
    setting::Setting,
    stage::{ALICE, BOB, Stage, by_step},
};

const OPEN: &str = "apps.connections.open";

/// Slack brings again what was not acknowledged, and soon.
fn setting() -> Setting {
    Setting::default().rules(by_step()).slack(|slack| {
        slack.ack_deadline = Duration::from_secs(1);
        slack.redeliver_after = vec![Duration::from_millis(300); 100];
    })
}

async fn thinking(stage: &Stage) -> String {
    stage.model.hold();
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    stage.model.wait_for_open_streams(1).await;
    stage.slack.heard().await;
    thread
}

async fn both_are_answered(stage: &Stage, first: &str) {
    let second = stage.ask(BOB, "and billing?").await;
    stage.placeholder().await;
    stage.model.release();
    stage.idle().await;
    assert_eq!((stage.shown(first), stage.shown(&second)), (vec!["One.".to_owned()], vec!["One.".to_owned()]));
    let tally = stage.tally().await;
    assert_eq!((tally.turns, tally.messages), (2, 2));
}

async fn state(stage: &Stage, wanted: impl Fn(&ChannelState) -> bool) {
    let mut state = stage.app.channels()[0].state.clone();
    let found = tokio::time::timeout(Duration::from_secs(15), state.wait_for(|state| wanted(state))).await;
    assert!(found.is_ok(), "the state is {:?}", *stage.app.channels()[0].state.borrow());
}

#[tokio::test]
async fn b053_b055_a_socket_that_falls_silent_is_replaced_and_nothing_is_lost() {
    let lines = "allow_rooms = [\"*\"]\ninbound_deadline = \"2s\"\n";
    let stage = setting().channel(lines).open().await;
    let first = thinking(&stage).await;
    stage.slack.go_silent();
    both_are_answered(&stage, &first).await;
    assert_eq!(stage.slack.calls(OPEN).len(), 2);
    stage.done().await;
}

#[tokio::test]
async fn b054_a_socket_that_can_not_be_opened_at_once_is_opened_later() {
    let stage = setting().open().await;
    let first = thinking(&stage).await;
    stage.slack.fault(OPEN, Fault::DropResponse);
    stage.slack.fault(OPEN, Fault::Http(503));
    stage.slack.cut_connections();
    state(&stage, |state| matches!(state, ChannelState::Disconnected(_))).await;
    both_are_answered(&stage, &first).await;
    assert_eq!(stage.slack.calls(OPEN).len(), 4);
    stage.done().await;
}

#[tokio::test]
async fn b056_b057_a_socket_that_ends_planned_or_not_is_replaced_and_nothing_is_lost() {
    for planned in [false, true] {
        let stage = setting().open().await;
        let first = thinking(&stage).await;
        match planned {
            true => stage.slack.disconnect("refresh_requested", true),
            false => stage.slack.cut_connections(),
        }
        both_are_answered(&stage, &first).await;
        assert_eq!(stage.slack.calls(OPEN).len(), 2);
        stage.done().await;
    }
}

#[tokio::test]
async fn b058_a_network_that_comes_back_finds_the_bot_waiting_and_a_stop_does_not_wait_for_it() {
    let stage = setting().open().await;
    let first = thinking(&stage).await;
    for back in [true, false] {
        stage.slack.refuse_connections(true);
        stage.slack.cut_connections();
        state(&stage, |state| matches!(state, ChannelState::Disconnected(_))).await;
        if back {
            stage.slack.refuse_connections(false);
            both_are_answered(&stage, &first).await;
        }
    }
    stage.done().await;
}

#[tokio::test]
async fn b060_another_process_on_the_same_app_is_named_and_what_reaches_us_is_answered() {
    let stage = setting().open().await;
    stage.slack.claim_connections(Some(3));
    stage.slack.cut_connections();
    state(&stage, |state| matches!(state, ChannelState::Degraded(why) if why.contains("another process"))).await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "One.");
    assert_eq!((stage.shown(&thread).len(), stage.slack.calls(OPEN).len()), (1, 2));
    stage.done().await;
}
