//! `/healthz` and `/readyz`.

use super::*;

#[tokio::test]
async fn a_process_that_answers_is_healthy_whatever_its_store_does() {
    let house = House::new().await;
    house.http.store.close().await;
    let answer = house.get("/healthz").await;
    assert_eq!((answer.status, answer.text.as_str()), (StatusCode::OK, "ok"));
}

#[tokio::test]
async fn without_channels_a_writable_store_is_enough() {
    let answer = House::new().await.get("/readyz").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.json(), json!({"status": "ok", "reasons": [], "channels": []}));
}

#[tokio::test]
async fn one_channel_that_works_is_enough_and_the_others_are_named() {
    let house = House::new().await.with_channels(&[
        ("ops", "slack", ChannelState::Connected),
        ("lab", "slack", ChannelState::Degraded("another process takes part of our events".into())),
        ("old", "slack", ChannelState::Off("app_token not set".into())),
        ("new", "telegram", ChannelState::Connecting),
    ]);
    let answer = house.get("/readyz").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(
        answer.json(),
        json!({
            "status": "degraded",
            "reasons": [
                "lab is degraded: another process takes part of our events",
                "old is off: app_token not set",
                "new is connecting",
            ],
            "channels": [
                {"name": "ops", "kind": "slack", "state": "connected", "reason": null},
                {"name": "lab", "kind": "slack", "state": "degraded", "reason": "another process takes part of our events"},
                {"name": "old", "kind": "slack", "state": "off", "reason": "app_token not set"},
                {"name": "new", "kind": "telegram", "state": "connecting", "reason": null},
            ],
        })
    );
}

#[tokio::test]
async fn no_connected_channel_means_not_ready() {
    let house = House::new().await.with_channels(&[("ops", "slack", ChannelState::Disconnected("no answer".into()))]);
    let answer = house.get("/readyz").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        answer.json(),
        json!({
            "status": "down",
            "reasons": ["ops is disconnected: no answer"],
            "channels": [{"name": "ops", "kind": "slack", "state": "disconnected", "reason": "no answer"}],
        })
    );
}

#[tokio::test]
async fn a_store_that_takes_no_writes_means_not_ready() {
    let house = House::new().await.with_channels(&[("ops", "slack", ChannelState::Connected)]);
    house.http.store.close().await;
    let answer = house.get("/readyz").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        answer.json(),
        json!({
            "status": "down",
            "reasons": ["the store takes no writes"],
            "channels": [{"name": "ops", "kind": "slack", "state": "connected", "reason": null}],
        })
    );
}

#[tokio::test]
async fn what_a_channel_counts_is_shown_with_it() {
    let mut house = House::new()
        .await
        .with_channels(&[("feishu", "feishu", ChannelState::Connected), ("ops", "slack", ChannelState::Connected)]);
    let mut channels = house.http.channels.to_vec();
    channels[0].figures = Figures::of(super::webhooks::echo());
    house.http.channels = channels.into();
    assert_eq!(
        house.get("/readyz").await.json()["channels"],
        json!([
            {"name": "feishu", "kind": "feishu", "state": "connected", "reason": null, "figures": {"calls_this_month": 1841}},
            {"name": "ops", "kind": "slack", "state": "connected", "reason": null},
        ])
    );
}
