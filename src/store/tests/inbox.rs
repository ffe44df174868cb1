//! Claims, the queue's order and what is forgotten.

use tokio::task::JoinSet;

use super::{Bench, message, on_every_engine, on_every_lasting_engine, said, turn};
use crate::store::{Claim, InboxKind, InboxRow, InboxState, NewInbox, OpenTurn, Store, StoreError, Totals, TurnStatus};

on_every_engine! {
    of_fifty_claims_at_once_exactly_one_is_taken,
    two_events_of_one_message_are_one_claim,
    one_event_with_two_keys_is_one_claim,
    the_same_key_in_another_channel_is_another_message,
    an_overheard_message_cannot_be_claimed_as_such,
    waiting_messages_come_in_the_order_they_arrived,
    conversations_wait_in_the_order_they_began_to,
    a_person_has_mentioned_us_only_where_they_did,
    a_message_stays_seen_when_it_is_done,
    purging_forgets_only_what_is_done_and_old,
    a_nul_in_a_message_is_replaced,
    files_that_come_later_go_into_the_row_that_is_there_once,
    a_session_knows_its_messages_with_files_but_for_those_that_were_removed,
    what_was_overheard_and_removed_is_not_heard,
    turns_of_bots_count_until_a_person_says_something,
}
on_every_lasting_engine! {
    a_claim_is_there_for_the_next_process,
    two_processes_claim_a_message_once,
}

async fn of_fifty_claims_at_once_exactly_one_is_taken(bench: &Bench) {
    let taken = race(&[&bench.store], 50).await;
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert_eq!(ids(&waiting(&bench.store).await), taken);
}

async fn two_processes_claim_a_message_once(bench: &Bench) {
    let other = bench.again().await;
    let taken = race(&[&bench.store, &other], 50).await;
    assert_eq!(taken.len(), 1, "{taken:?}");
    other.close().await;
}

async fn race(stores: &[&Store], attempts: usize) -> Vec<String> {
    let mut tasks = JoinSet::new();
    for number in 0..attempts {
        let store = stores[number % stores.len()].clone();
        tasks.spawn(async move { store.inbox().claim(&said("m1")).await.unwrap() });
    }
    let claims = tasks.join_all().await;
    assert_eq!(claims.len(), attempts);
    claims.into_iter().filter_map(|claim| if let Claim::Taken { id } = claim { Some(id) } else { None }).collect()
}

async fn two_events_of_one_message_are_one_claim(bench: &Bench) {
    let inbox = bench.store.inbox();
    claim(&bench.store, &NewInbox { event_id: Some("Ev1".into()), ..said("m1") }).await;
    let second = NewInbox { event_id: Some("Ev2".into()), ..said("m1") };
    assert_eq!(inbox.claim(&second).await.unwrap(), Claim::Duplicate);
}

async fn one_event_with_two_keys_is_one_claim(bench: &Bench) {
    let inbox = bench.store.inbox();
    claim(&bench.store, &NewInbox { event_id: Some("Ev1".into()), ..said("m1") }).await;
    let second = NewInbox { event_id: Some("Ev1".into()), ..said("m2") };
    assert_eq!(inbox.claim(&second).await.unwrap(), Claim::Duplicate);
}

async fn the_same_key_in_another_channel_is_another_message(bench: &Bench) {
    claim(&bench.store, &NewInbox { event_id: Some("Ev1".into()), ..said("m1") }).await;
    claim(&bench.store, &NewInbox { event_id: Some("Ev1".into()), channel: "slack-eu".into(), ..said("m1") }).await;
}

async fn an_overheard_message_cannot_be_claimed_as_such(bench: &Bench) {
    let claim = bench.store.inbox().claim(&NewInbox { kind: InboxKind::Overheard, ..said("m1") }).await;
    assert!(matches!(claim, Err(StoreError::Broken(_))), "{claim:?}");
}

async fn waiting_messages_come_in_the_order_they_arrived(bench: &Bench) {
    let (store, mut expected) = (&bench.store, Vec::new());
    // Neither the id nor the clock tells the order.
    for (number, kind) in [InboxKind::Message, InboxKind::Stop, InboxKind::TaskNotification, InboxKind::ApprovalResult]
        .into_iter()
        .enumerate()
    {
        let new = NewInbox { kind, received_at: 5_000 - i64::try_from(number).unwrap(), ..said(&format!("m{number}")) };
        let id = claim(store, &new).await;
        expected.push(InboxRow {
            id,
            channel: new.channel,
            message_key: new.message_key,
            event_id: None,
            kind,
            state: InboxState::Pending,
            turn_id: None,
            room: new.room,
            thread: new.thread,
            author_id: new.author_id,
            author_name: new.author_name,
            text: new.text,
            payload: new.payload,
            sent_at: new.sent_at,
            received_at: new.received_at,
        });
    }
    claim(store, &NewInbox { thread: "200.1".into(), ..said("elsewhere") }).await;
    store.inbox().overhear(&said("nearby"), 10).await.unwrap();
    assert_eq!(waiting(store).await, expected);
}

async fn conversations_wait_in_the_order_they_began_to(bench: &Bench) {
    let store = &bench.store;
    let first = claim(store, &said("m1")).await;
    claim(store, &NewInbox { thread: "200.1".into(), ..said("m2") }).await;
    claim(store, &said("m3")).await;
    store.inbox().overhear(&NewInbox { thread: "300.1".into(), ..said("nearby") }, 10).await.unwrap();
    let here = ("slack".to_owned(), "C1".to_owned(), "100.1".to_owned());
    let there = ("slack".to_owned(), "C1".to_owned(), "200.1".to_owned());
    assert_eq!(store.inbox().conversations_with_pending().await.unwrap(), [here.clone(), there.clone()]);

    store.inbox().finish(&[first]).await.unwrap();
    store.inbox().finish(&[]).await.unwrap();
    assert_eq!(store.inbox().conversations_with_pending().await.unwrap(), [there, here]);
}

async fn a_person_has_mentioned_us_only_where_they_did(bench: &Bench) {
    let store = &bench.store;
    claim(store, &said("m1")).await;
    claim(store, &NewInbox { kind: InboxKind::Stop, author_id: "U2".into(), ..said("m2") }).await;
    claim(store, &NewInbox { kind: InboxKind::TaskNotification, author_id: "U3".into(), ..said("m3") }).await;
    store.inbox().overhear(&NewInbox { author_id: "U4".into(), ..said("m4") }, 10).await.unwrap();
    let mut answers = Vec::new();
    for (thread, author) in [("100.1", "U1"), ("100.1", "U2"), ("100.1", "U3"), ("100.1", "U4"), ("200.1", "U1")] {
        answers.push(store.inbox().has_mentioned("slack", "C1", thread, author).await.unwrap());
    }
    assert_eq!(answers, [true, true, false, false, false]);
}

async fn a_message_stays_seen_when_it_is_done(bench: &Bench) {
    let inbox = bench.store.inbox();
    assert!(!inbox.seen("slack", "m1").await.unwrap());
    let id = claim(&bench.store, &said("m1")).await;
    inbox.finish(&[id]).await.unwrap();
    assert!(inbox.seen("slack", "m1").await.unwrap());
    assert!(!inbox.seen("slack-eu", "m1").await.unwrap());
    assert_eq!(inbox.claim(&said("m1")).await.unwrap(), Claim::Duplicate);
}

async fn purging_forgets_only_what_is_done_and_old(bench: &Bench) {
    let store = &bench.store;
    let old = claim(store, &NewInbox { received_at: 10, ..said("old") }).await;
    let taken = claim(store, &NewInbox { received_at: 10, ..said("taken") }).await;
    let waits = claim(store, &NewInbox { received_at: 10, ..said("waits") }).await;
    let young = claim(store, &NewInbox { received_at: 100, ..said("young") }).await;
    store.inbox().finish(&[old, young]).await.unwrap();
    store.turns().open(&super::OpenTurn { inbox_ids: vec![taken], ..turn("t1") }).await.unwrap();

    assert_eq!(store.inbox().purge(100).await.unwrap(), 1);
    let mut seen = Vec::new();
    for key in ["old", "taken", "waits", "young"] {
        seen.push(store.inbox().seen("slack", key).await.unwrap());
    }
    assert_eq!(seen, [false, true, true, true]);
    assert_eq!(ids(&waiting(store).await), [waits]);

    store.turns().close("t1", TurnStatus::Answered, None, Totals::default(), 3_000).await.unwrap();
    assert_eq!(store.inbox().purge(101).await.unwrap(), 2);
}

async fn a_nul_in_a_message_is_replaced(bench: &Bench) {
    let store = &bench.store;
    let id = claim(store, &NewInbox { text: "a\0b".into(), author_name: Some("\0".into()), ..said("m1") }).await;
    let rows = waiting(store).await;
    assert_eq!((rows[0].text.as_str(), rows[0].author_name.as_deref()), ("a\u{fffd}b", Some("\u{fffd}")));
    let open = super::OpenTurn { messages: vec![message("\0")], inbox_ids: vec![id], ..turn("t1") };
    let session = store.turns().open(&open).await.unwrap().session;
    assert_eq!(store.messages().transcript(&session.id).await.unwrap()[0].body, "\u{fffd}");
}

async fn a_claim_is_there_for_the_next_process(bench: &Bench) {
    let id = claim(&bench.store, &said("m1")).await;
    // Not closed first: nothing of what was acknowledged may depend on a tidy end.
    let next = bench.again().await;
    assert_eq!(ids(&waiting(&next).await), [id]);
    assert_eq!(next.inbox().claim(&said("m1")).await.unwrap(), Claim::Duplicate);
    next.close().await;
}

async fn claim(store: &Store, new: &NewInbox) -> String {
    match store.inbox().claim(new).await.unwrap() {
        Claim::Taken { id } => id,
        Claim::Duplicate => panic!("{} was claimed before", new.message_key),
    }
}

async fn waiting(store: &Store) -> Vec<InboxRow> {
    store.inbox().pending("slack", "C1", "100.1").await.unwrap()
}

fn ids(rows: &[InboxRow]) -> Vec<String> {
    rows.iter().map(|row| row.id.clone()).collect()
}

async fn files_that_come_later_go_into_the_row_that_is_there_once(bench: &Bench) {
    let inbox = bench.store.inbox();
    let payload = r#"{"text":"\"files\":[] is what it said","files":[],"sent_at":1}"#;
    claim(&bench.store, &NewInbox { payload: payload.into(), ..said("m1") }).await;
    claim(&bench.store, &NewInbox { payload: payload.into(), ..said("m2") }).await;
    for files in [r#"[{"id":"F1"}]"#, r#"[{"id":"F2"}]"#] {
        inbox.add_files("slack", "m1", files).await.unwrap();
    }
    let rows = waiting(&bench.store).await;
    assert_eq!(rows[0].payload, r#"{"text":"\"files\":[] is what it said","files":[{"id":"F1"}],"sent_at":1}"#);
    assert_eq!(rows[1].payload, payload);
}

async fn a_session_knows_its_messages_with_files_but_for_those_that_were_removed(bench: &Bench) {
    let inbox = bench.store.inbox();
    let with = |key: &str| NewInbox { payload: r#"{"files":[{"id":"F1"}]}"#.into(), ..said(key) };
    let without = NewInbox { payload: r#"{"files":[]}"#.into(), ..said("m2") };
    inbox.overhear(&with("m1"), 10).await.unwrap();
    let overheard = inbox.waiting("slack", "C1", "100.1").await.unwrap()[0].id.clone();
    let mut taken = Vec::new();
    for new in [without, with("m3"), with("m4")] {
        taken.push(claim(&bench.store, &new).await);
    }
    claim(&bench.store, &with("not taken yet")).await;
    claim(&bench.store, &NewInbox { kind: InboxKind::Retraction, ..said("m3/deleted") }).await;
    let open = OpenTurn { inbox_ids: taken, overheard_ids: vec![overheard], ..turn("t1") };
    let session = bench.store.turns().open(&open).await.unwrap().session;
    let rows = inbox.with_files(&session.id).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.message_key.as_str()).collect::<Vec<_>>(), ["m1", "m4"]);
}

async fn what_was_overheard_and_removed_is_not_heard(bench: &Bench) {
    let inbox = bench.store.inbox();
    for key in ["m1", "m2"] {
        inbox.overhear(&said(key), 10).await.unwrap();
    }
    inbox.unhear("slack", "m1").await.unwrap();
    let heard = inbox.waiting("slack", "C1", "100.1").await.unwrap();
    assert_eq!(heard.iter().map(|row| row.message_key.as_str()).collect::<Vec<_>>(), ["m2"]);
}

async fn turns_of_bots_count_until_a_person_says_something(bench: &Bench) {
    let inbox = bench.store.inbox();
    let by = |key: &str, is_bot: bool| {
        let payload = format!(r#"{{"author":{{"is_bot":{is_bot}}},"text":"\"is_bot\":{}"}}"#, !is_bot);
        NewInbox { payload, received_at: 1_000, ..said(key) }
    };
    let turns = async |since| inbox.bot_turns_in_a_row("slack", "C1", "100.1", since).await.unwrap();
    assert_eq!(turns(0).await, 0);
    // What waits is one turn, however much it is.
    let first = [claim(&bench.store, &by("b1", true)).await, claim(&bench.store, &by("b2", true)).await];
    assert_eq!(turns(0).await, 1);
    bench.store.turns().open(&OpenTurn { inbox_ids: first.to_vec(), ..turn("t1") }).await.unwrap();
    claim(&bench.store, &NewInbox { room: "C2".into(), ..by("elsewhere", true) }).await;
    claim(&bench.store, &by("b3", true)).await;
    assert_eq!((turns(0).await, turns(1_001).await), (2, 0));
    inbox.overhear(&NewInbox { kind: InboxKind::Overheard, ..by("bot aside", true) }, 50).await.unwrap();
    assert_eq!(turns(0).await, 2);
    inbox.overhear(&NewInbox { kind: InboxKind::Overheard, ..by("person aside", false) }, 50).await.unwrap();
    assert_eq!(turns(0).await, 0);
    claim(&bench.store, &by("b4", true)).await;
    assert_eq!(turns(0).await, 1);
    claim(&bench.store, &by("person", false)).await;
    assert_eq!(turns(0).await, 0);
}
