//! Events that come more than once, in bursts, or only after trouble: each question is answered once.

use std::time::Duration;

use serde_json::json;
use watchfloor_channel::ChannelState;
use watchfloor_sim::feishu::{ALICE, EventId, GROUP, HttpFault};

use super::{setting::Setting, stage::Stage};
use crate::stage::by_step;

#[tokio::test]
async fn b001_b007_a_redelivered_event_is_answered_once_also_after_a_restart() {
    for webhook in [false, true] {
        let stage = Setting::new(by_step()).webhook(webhook).open().await;
        let question = stage.ask(ALICE, "why is it slow?").await;
        for id in [EventId::Same, EventId::New] {
            stage.idle().await;
            stage.feishu.redeliver(&question, id).await;
        }
        stage.idle().await;
        let stage = stage.restarted().await;
        for id in [EventId::Same, EventId::New] {
            stage.feishu.redeliver(&question, id).await;
            stage.idle().await;
        }
        assert_eq!(stage.shown(&question), ["One."]);
        let tally = stage.tally().await;
        assert_eq!((tally.turns, tally.messages), (1, 1));
        stage.done().await;
    }
}

#[tokio::test]
async fn b002_b003_copies_within_the_same_instant_whatever_their_ids_are_answered_once() {
    let stage = Stage::with(by_step()).await;
    let question = stage.ask(ALICE, "why is it slow?").await;
    for id in [EventId::New, EventId::Same, EventId::New] {
        stage.feishu.redeliver(&question, id).await;
    }
    stage.idle().await;
    assert_eq!((stage.shown(&question), stage.tally().await.turns), (vec!["One.".to_owned()], 1));
    stage.done().await;
}

#[tokio::test]
async fn b004_a_message_of_which_only_a_retry_arrives_is_answered() {
    let setting = Setting::new(by_step()).webhook(true);
    let stage = setting.feishu(|feishu| feishu.redeliver_after = vec![Duration::from_millis(100); 100]).open().await;
    stage.feishu.http_fault(HttpFault::NeverArrives);
    let question = stage.ask(ALICE, "why is it slow?").await;
    stage.feishu.next_message(GROUP).await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["One."]);
    stage.done().await;
}

#[tokio::test]
async fn b001_b010_an_event_whose_acknowledgement_is_lost_is_answered_once() {
    let setting = Setting::new(by_step()).webhook(true);
    let stage = setting.feishu(|feishu| feishu.redeliver_after = vec![Duration::from_millis(100); 100]).open().await;
    stage.feishu.http_fault(HttpFault::ResponseLost);
    let question = stage.ask(ALICE, "why is it slow?").await;
    stage.feishu.wait_for_http_answers(2).await;
    stage.idle().await;
    let tally = stage.tally().await;
    assert_eq!((stage.shown(&question), tally.turns, tally.messages), (vec!["One.".to_owned()], 1, 1));
    stage.done().await;
}

#[tokio::test]
async fn b010_an_event_is_acknowledged_while_the_model_still_thinks() {
    let stage = Stage::with(by_step()).await;
    let (question, _) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
    stage.feishu.heard().await;
    assert!(stage.feishu.acks().iter().all(|ack| ack.attempt == 0), "{:?}", stage.feishu.acks());
    assert_eq!(stage.goes_on(&question).await, ["One."]);
    stage.done().await;
}

#[tokio::test]
async fn b011_a_burst_of_mentions_is_answered_one_by_one_and_each_once() {
    let stage = Stage::with(by_step()).await;
    let questions = stage.feishu.burst(10).await;
    for question in &questions {
        stage.feishu.redeliver(question, EventId::Same).await;
    }
    stage.idle().await;
    for question in &questions {
        stage.feishu.redeliver(question, EventId::New).await;
    }
    stage.idle().await;
    for question in &questions {
        assert_eq!(stage.shown(question), ["One."]);
    }
    assert_eq!(stage.tally().await.turns, 10);
    stage.done().await;
}

#[tokio::test]
async fn b052_a_turn_cut_by_a_restart_goes_on_in_its_placeholder() {
    let stage = Stage::with(by_step()).await;
    let (question, placeholder) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
    let stage = stage.restarted().await;
    assert_eq!(stage.goes_on(&question).await, ["One."]);
    assert_eq!(stage.beneath(&question)[0].id, placeholder.id);
    assert_eq!(stage.feishu.calls("reply").len(), 1);
    stage.done().await;
}

#[tokio::test]
async fn b056_b057_a_connection_that_ends_is_opened_anew_and_nothing_is_lost() {
    for cut in [true, false] {
        let setting = Setting::new(by_step());
        let stage =
            setting.feishu(|feishu| feishu.redeliver_after = vec![Duration::from_millis(300); 100]).open().await;
        let (question, _) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
        match cut {
            true => stage.feishu.cut_connections(),
            false => stage.feishu.close_connections(),
        }
        let second = stage.ask(ALICE, "and billing?").await;
        stage.feishu.next_message(GROUP).await;
        assert_eq!((stage.goes_on(&question).await, stage.shown(&second)), (vec!["One.".into()], vec!["One.".into()]));
        assert_eq!(stage.feishu.connections_so_far(), 2);
        stage.done().await;
    }
}

async fn disconnected(stage: &Stage) {
    let mut state = stage.app.channels()[0].state.clone();
    let lost = state.wait_for(|state| matches!(state, ChannelState::Disconnected(_)));
    assert!(tokio::time::timeout(Duration::from_secs(20), lost).await.is_ok(), "the connection was not missed");
}

fn impatient() -> Setting {
    Setting::new(by_step()).feishu(|feishu| feishu.redeliver_after = vec![Duration::from_millis(300); 100])
}

#[tokio::test]
async fn b053_b055_a_connection_that_falls_silent_is_replaced_and_nothing_is_lost() {
    let setting = impatient().line("inbound_deadline = \"2s\"");
    let stage = setting
        .feishu(|feishu| {
            feishu.client_config = Some(json!({"PingInterval": 1}));
            feishu.ack_deadline = Duration::from_secs(1);
        })
        .open()
        .await;
    let (question, _) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
    stage.feishu.heard().await;
    stage.feishu.go_silent();
    let second = stage.ask(ALICE, "and billing?").await;
    stage.feishu.next_message(GROUP).await;
    assert_eq!((stage.goes_on(&question).await, stage.shown(&second)), (vec!["One.".into()], vec!["One.".into()]));
    assert_eq!((stage.feishu.connections_so_far(), stage.tally().await.turns), (2, 2));
    stage.done().await;
}

#[tokio::test]
async fn b058_a_network_that_comes_back_finds_the_bot_waiting_and_a_stop_does_not_wait_for_it() {
    let stage = impatient().open().await;
    let (question, placeholder) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
    stage.feishu.down(true);
    disconnected(&stage).await;
    stage.feishu.down(false);
    let second = stage.ask(ALICE, "and billing?").await;
    stage.feishu.next_message(GROUP).await;
    assert_eq!((stage.goes_on(&question).await, stage.shown(&second)), (vec!["One.".into()], vec!["One.".into()]));
    assert_eq!(stage.beneath(&question)[0].id, placeholder.id);
    stage.feishu.down(true);
    disconnected(&stage).await;
    stage.done().await;
}

#[tokio::test]
async fn b060_too_many_connections_are_named_and_neither_asked_for_again_at_once_nor_waited_for_by_a_stop() {
    let stage = Stage::with(by_step()).await;
    let question = stage.ask(ALICE, "why is it slow?").await;
    stage.idle().await;
    stage.feishu.refuse_endpoint(1_000_040_350);
    stage.feishu.cut_connections();
    let mut state = stage.app.channels()[0].state.clone();
    let named = state.wait_for(|state| format!("{state:?}").contains("another process"));
    assert!(tokio::time::timeout(Duration::from_secs(20), named).await.is_ok(), "the cause was not named");
    assert_eq!((stage.shown(&question), stage.feishu.calls("endpoint").len()), (vec!["One.".to_owned()], 2));
    stage.done().await;
}
