//! Messages said near us: heard, edited, trimmed, and shown to one turn.

use super::{Bench, on_every_engine, said, turn};
use crate::store::{Claim, InboxKind, InboxRow, InboxState, NewInbox, OpenTurn, Store};

on_every_engine! {
    hearing_a_message_leaves_its_claim_free,
    an_edit_of_an_overheard_message_replaces_its_text,
    only_the_newest_overheard_messages_of_each_conversation_are_kept,
    an_overheard_message_is_shown_to_one_turn,
}

async fn hearing_a_message_leaves_its_claim_free(bench: &Bench) {
    let (store, event_id) = (&bench.store, Some("Ev1".to_owned()));
    hear(store, &NewInbox { event_id: event_id.clone(), ..said("m1") }).await;
    assert!(!store.inbox().seen("slack", "m1").await.unwrap());
    assert_eq!(heard(store).await, [("m1".to_owned(), "text of m1".to_owned())]);

    let claim = store.inbox().claim(&NewInbox { event_id, ..said("m1") }).await.unwrap();
    assert!(matches!(claim, Claim::Taken { .. }), "{claim:?}");
    // The turn that answers it is not shown it twice.
    assert_eq!(heard(store).await, []);
}

async fn an_edit_of_an_overheard_message_replaces_its_text(bench: &Bench) {
    let store = &bench.store;
    hear(store, &said("m1")).await;
    hear(store, &said("m2")).await;
    let edit = NewInbox { text: "edited".into(), payload: r#"{"edit":1}"#.into(), received_at: 9_000, ..said("m1") };
    hear(store, &edit).await;
    let row = rows(store, "100.1").await.remove(0);
    assert_eq!((row.kind, row.state), (InboxKind::Overheard, InboxState::Pending));
    assert_eq!((row.payload.as_str(), row.received_at), (r#"{"edit":1}"#, 1_001));
    let expected = [("m1".to_owned(), "edited".to_owned()), ("m2".to_owned(), "text of m2".to_owned())];
    assert_eq!(heard(store).await, expected);
}

async fn only_the_newest_overheard_messages_of_each_conversation_are_kept(bench: &Bench) {
    let store = &bench.store;
    store.inbox().overhear(&NewInbox { thread: "200.1".into(), ..said("elsewhere") }, 3).await.unwrap();
    for number in 1..=5 {
        store.inbox().overhear(&said(&format!("m{number}")), 3).await.unwrap();
    }
    let keys: Vec<_> = heard(store).await.into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["m3", "m4", "m5"]);
    let elsewhere = rows(store, "200.1").await;
    assert_eq!(elsewhere.len(), 1);
    store.inbox().overhear(&said("m6"), 0).await.unwrap();
    assert_eq!(heard(store).await, []);
}

async fn an_overheard_message_is_shown_to_one_turn(bench: &Bench) {
    let store = &bench.store;
    hear(store, &said("m1")).await;
    hear(store, &said("m2")).await;
    let shown = rows(store, "100.1").await.remove(0).id;
    let open = OpenTurn { overheard_ids: vec![shown], ..turn("t1") };
    store.turns().open(&open).await.unwrap();
    // Nor does it come back with an edit or a redelivery.
    hear(store, &NewInbox { text: "edited".into(), ..said("m1") }).await;
    assert_eq!(heard(store).await, [("m2".to_owned(), "text of m2".to_owned())]);
}

async fn hear(store: &Store, new: &NewInbox) {
    store.inbox().overhear(new, 50).await.unwrap();
}

async fn heard(store: &Store) -> Vec<(String, String)> {
    let rows = rows(store, "100.1").await;
    rows.into_iter().map(|row| (row.message_key, row.text)).collect()
}

async fn rows(store: &Store, thread: &str) -> Vec<InboxRow> {
    let mut rows = store.inbox().waiting("slack", "C1", thread).await.unwrap();
    rows.retain(|row| row.kind == InboxKind::Overheard);
    rows
}
