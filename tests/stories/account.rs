//! What becomes of the bot's account while nobody asks anything: health says it within a moment.

use std::time::Duration;

use serde_json::Value;
use watchfloor_channel::ChannelState;
use watchfloor_sim::slack::{Removal, Team};

use crate::{
    setting::Setting,
    stage::{ALICE, Stage, by_step},
};

/// Waits until the channel is in this state, and returns what `/readyz` says about it.
async fn health(stage: &Stage, is: fn(&ChannelState) -> bool) -> Value {
    let mut state = stage.app.channels()[0].state.clone();
    tokio::time::timeout(Duration::from_secs(10), state.wait_for(is)).await.unwrap().unwrap();
    let url = format!("http://{}/readyz", stage.app.address());
    let client = reqwest::Client::builder().timeout(Duration::from_secs(10)).build().unwrap();
    let mut health: Value = client.get(url).send().await.unwrap().json().await.unwrap();
    health["channels"][0].take()
}

#[tokio::test]
async fn an_app_that_is_removed_is_noticed_before_anybody_asks() {
    for how in [Removal::Uninstalled, Removal::Revoked] {
        for setting in [Setting::default(), Setting::default().over_http()] {
            let stage = setting.open().await;
            stage.slack.remove_app(&Team::default(), how).await;
            let health = health(&stage, |state| matches!(state, ChannelState::Off(_))).await;
            assert_eq!(health["state"], "off", "{health}");
            stage.done().await;
        }
    }
}

#[tokio::test]
async fn a_workspace_that_removes_the_app_leaves_the_others_at_work() {
    let two = Team::new("T0TWO");
    let lines = format!("workspaces = [{{ bot_token = \"{}\" }}]\nallow_rooms = [\"*\"]\n", two.bot_token);
    let setting = Setting::default().rules(by_step()).channel(&lines);
    let stage = setting.slack(|slack| slack.teams.push(two.clone())).open().await;
    stage.slack.remove_app(&two, Removal::Uninstalled).await;
    let health = health(&stage, |state| matches!(state, ChannelState::Degraded(_))).await;
    assert_eq!(health["state"], "degraded", "{health}");
    stage.ask(ALICE, "is it up?").await;
    assert_eq!(stage.answer().await, "One.");
    stage.done().await;
}

#[tokio::test]
async fn a_second_process_on_the_same_app_is_told_by_health() {
    let stage = Stage::with(by_step()).await;
    // Ours, the one that Slack may not have noticed to be gone, and another one.
    stage.slack.claim_connections(Some(3));
    stage.slack.cut_connections();
    let health = health(&stage, |state| matches!(state, ChannelState::Degraded(_))).await;
    assert!(health["reason"].as_str().unwrap().contains("another process"), "{health}");
    // What does come here is answered.
    stage.ask(ALICE, "is it up?").await;
    assert_eq!(stage.answer().await, "One.");
    stage.done().await;
}
