//! The life of our own messages.

use std::slice::from_ref;

use super::{Bench, on_every_engine, opened, part};
use crate::store::{DeliveryKind, DeliveryRow, DeliveryState, NewDelivery, Store, StoreError};

on_every_engine! {
    a_placeholder_goes_from_intended_to_settled,
    a_final_text_outlives_a_late_post,
    an_intention_repeated_is_one_delivery,
    what_was_given_up_is_not_owed,
    a_delivery_of_no_turn_is_refused,
    an_unknown_delivery_is_named,
}

const PLACEHOLDER: &str = "t1-placeholder";

async fn a_placeholder_goes_from_intended_to_settled(bench: &Bench) {
    let (store, deliveries) = (&bench.store, bench.store.deliveries());
    opened(store, "t1").await;
    let intended = deliveries.of_turn("t1").await.unwrap().remove(0);
    assert_eq!(deliveries.unsettled().await.unwrap(), from_ref(&intended));

    deliveries.sent(PLACEHOLDER, "C1", "100.2", 3_000).await.unwrap();
    let sent = DeliveryRow {
        state: DeliveryState::Sent,
        message_room: Some("C1".into()),
        message_id: Some("100.2".into()),
        updated_at: 3_000,
        ..intended
    };
    assert_eq!(deliveries.unsettled().await.unwrap(), from_ref(&sent));

    deliveries.finalise(PLACEHOLDER, "It was DNS.", 4_000).await.unwrap();
    let finalised = DeliveryRow { state: DeliveryState::Final, text: "It was DNS.".into(), updated_at: 4_000, ..sent };
    assert_eq!(deliveries.unsettled().await.unwrap(), from_ref(&finalised));

    deliveries.settle(PLACEHOLDER, 5_000).await.unwrap();
    let settled = DeliveryRow { state: DeliveryState::Settled, updated_at: 5_000, ..finalised };
    assert_eq!(deliveries.unsettled().await.unwrap(), []);
    assert_eq!(deliveries.of_turn("t1").await.unwrap(), from_ref(&settled));

    deliveries.fail(PLACEHOLDER, "too late", 6_000).await.unwrap();
    assert_eq!(deliveries.of_turn("t1").await.unwrap(), [DeliveryRow { updated_at: 6_000, ..settled }]);
}

async fn a_final_text_outlives_a_late_post(bench: &Bench) {
    let (store, deliveries) = (&bench.store, bench.store.deliveries());
    opened(store, "t1").await;
    deliveries.finalise(PLACEHOLDER, "It was DNS.", 3_000).await.unwrap();
    deliveries.sent(PLACEHOLDER, "C1", "100.2", 4_000).await.unwrap();
    let row = deliveries.of_turn("t1").await.unwrap().remove(0);
    assert_eq!(
        (row.state, row.text.as_str(), row.message_id.as_deref()),
        (DeliveryState::Final, "It was DNS.", Some("100.2"))
    );
}

async fn an_intention_repeated_is_one_delivery(bench: &Bench) {
    let (store, deliveries) = (&bench.store, bench.store.deliveries());
    let session = opened(store, "t1").await.session.id;
    let notice = NewDelivery { kind: DeliveryKind::Notice, ..part("n", &session, 0) };
    for new in [&notice, &part("p2", &session, 2), &part("p1", &session, 1), &part("p1", &session, 7)] {
        deliveries.intend(new).await.unwrap();
    }
    let rows = deliveries.of_turn("t1").await.unwrap();
    let order: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.part)).collect();
    assert_eq!(order, [(PLACEHOLDER, 0), ("p1", 1), ("p2", 2), ("n", 0)]);
}

async fn what_was_given_up_is_not_owed(bench: &Bench) {
    let (store, deliveries) = (&bench.store, bench.store.deliveries());
    opened(store, "t1").await;
    deliveries.fail(PLACEHOLDER, "the room is gone", 3_000).await.unwrap();
    assert_eq!(state_of(store).await, (DeliveryState::Failed, Some("the room is gone".into())));
    assert_eq!(deliveries.unsettled().await.unwrap(), []);
}

async fn a_delivery_of_no_turn_is_refused(bench: &Bench) {
    let intended = bench.store.deliveries().intend(&part("p1", "nowhere", 1)).await;
    assert!(matches!(intended, Err(StoreError::Broken(_))), "{intended:?}");
}

async fn an_unknown_delivery_is_named(bench: &Bench) {
    let settled = bench.store.deliveries().settle("d9", 1).await;
    assert_eq!(settled, Err(StoreError::Broken("there is no delivery d9".into())));
}

async fn state_of(store: &Store) -> (DeliveryState, Option<String>) {
    let row = store.deliveries().of_turn("t1").await.unwrap().remove(0);
    (row.state, row.reason)
}
