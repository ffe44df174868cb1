//! Transcripts, workers and evidence numbers.

use std::collections::BTreeSet;

use tokio::task::JoinSet;

use super::{Bench, message, on_every_engine, on_every_lasting_engine, opened};
use crate::store::{
    MessageRow, NewMessage, NewWorker, SessionKind, SessionRow, SessionStatus, Store, StoreError, Totals, TurnStatus,
};

on_every_engine! {
    a_transcript_comes_back_as_it_was_written,
    four_writers_lose_no_message,
    a_transcript_takes_more_than_one_statement_can_carry,
    a_process_that_lost_the_lease_appends_nothing,
    a_conversation_begun_anew_keeps_the_old_row,
    a_worker_lives_where_its_parent_does,
    a_worker_without_a_parent_is_refused,
    evidence_numbers_are_given_once,
}
on_every_lasting_engine! {
    two_processes_lose_no_message,
}

async fn a_transcript_comes_back_as_it_was_written(bench: &Bench) {
    let store = &bench.store;
    let session = opened(store, "t1").await.session;
    // Order of keys, spaces and escapes belong to what a model was shown.
    let body = r#"{ "z":1, "a":"\u0000 é 日本 🚨", "z":2 }"#;
    let marker = NewMessage { kind: "prune".into(), author: None, body: "{}".into() };
    let first = store.messages().append(&session.id, "t1", None, vec![message(body), marker], 4_000).await.unwrap();
    assert_eq!(first, 1);
    assert_eq!(store.messages().append(&session.id, "t1", Some(1), vec![message("2")], 5_000).await.unwrap(), 3);
    let rows = store.messages().transcript(&session.id).await.unwrap();
    let row = |number: usize, kind: &str, author: Option<&str>, body: &str, created_at| MessageRow {
        id: rows[number].id.clone(),
        session_id: session.id.clone(),
        seq: i64::try_from(number).unwrap() + 1,
        turn_id: "t1".into(),
        kind: kind.into(),
        author: author.map(Into::into),
        body: body.into(),
        created_at,
    };
    let expected = [
        row(0, "message", Some("U1"), body, 4_000),
        row(1, "prune", None, "{}", 4_000),
        row(2, "message", Some("U1"), "2", 5_000),
    ];
    assert_eq!(rows, expected);
}

async fn four_writers_lose_no_message(bench: &Bench) {
    let stores = [(); 4].map(|()| bench.store.clone());
    write_by_all(stores).await;
}

async fn two_processes_lose_no_message(bench: &Bench) {
    let other = bench.again().await;
    write_by_all([bench.store.clone(), other.clone(), bench.store.clone(), other.clone()]).await;
    other.close().await;
}

async fn write_by_all(stores: [Store; 4]) {
    let session = opened(&stores[0], "t1").await.session;
    let mut tasks = JoinSet::new();
    for (writer, store) in stores.clone().into_iter().enumerate() {
        let session = session.id.clone();
        tasks.spawn(async move {
            for number in 0..100 {
                let messages = vec![message(&format!("{writer}/{number}"))];
                store.messages().append(&session, "t1", Some(1), messages, 4_000).await.unwrap();
            }
        });
    }
    assert_eq!(tasks.join_all().await.len(), 4);
    let rows = stores[0].messages().transcript(&session.id).await.unwrap();
    let seqs: Vec<_> = rows.iter().map(|row| row.seq).collect();
    assert_eq!(seqs, (1..=400).collect::<Vec<_>>());
    let bodies: BTreeSet<_> = rows.into_iter().map(|row| row.body).collect();
    assert_eq!(bodies.len(), 400);
}

async fn a_transcript_takes_more_than_one_statement_can_carry(bench: &Bench) {
    let session = opened(&bench.store, "t1").await.session;
    let messages = (1..=1_200).map(|number| message(&number.to_string())).collect();
    bench.store.messages().append(&session.id, "t1", None, messages, 4_000).await.unwrap();
    let rows = bench.store.messages().transcript(&session.id).await.unwrap();
    let in_order = rows.iter().all(|row| row.body == row.seq.to_string());
    assert_eq!((rows.len(), in_order), (1_200, true));
}

async fn a_process_that_lost_the_lease_appends_nothing(bench: &Bench) {
    let messages = bench.store.messages();
    let session = opened(&bench.store, "t1").await.session;
    bench.store.turns().resume("t1", "second", 3_000).await.unwrap();
    let stale = messages.append(&session.id, "t1", Some(1), vec![message("x")], 4_000).await;
    assert_eq!(stale, Err(StoreError::LostLease));
    assert_eq!(messages.transcript(&session.id).await.unwrap(), []);
    let unknown = messages.append("nowhere", "t1", None, vec![message("x")], 4_000).await;
    assert_eq!(unknown, Err(StoreError::Broken("there is no session nowhere".into())));
}

async fn a_conversation_begun_anew_keeps_the_old_row(bench: &Bench) {
    let (store, sessions) = (&bench.store, bench.store.sessions());
    let old = opened(store, "t1").await.session;
    store.messages().append(&old.id, "t1", None, vec![message("1")], 2_500).await.unwrap();
    let new = sessions.start_over(&old.id, 3_000).await.unwrap();
    let expected = SessionRow {
        id: new.id.clone(),
        generation: 2,
        title: String::new(),
        status: SessionStatus::Idle,
        created_at: 3_000,
        updated_at: 3_000,
        ..old.clone()
    };
    assert_eq!(new, expected);
    assert_eq!(sessions.start_over(&old.id, 4_000).await.unwrap(), new);
    assert_eq!(sessions.find("slack", "C1", "100.1", "").await.unwrap(), Some(new.clone()));
    assert_eq!(opened(store, "t2").await.session.id, new.id);
    assert_eq!(store.messages().transcript(&old.id).await.unwrap().len(), 1);
    assert_eq!(store.messages().transcript(&new.id).await.unwrap(), []);
    let unknown = sessions.start_over("nowhere", 4_000).await;
    assert_eq!(unknown, Err(StoreError::Broken("there is no session nowhere".into())));
}

async fn a_worker_lives_where_its_parent_does(bench: &Bench) {
    let sessions = bench.store.sessions();
    let parent = opened(&bench.store, "t1").await.session;
    let created = sessions.create_worker(&worker("w1", &parent.id)).await.unwrap();
    let expected = SessionRow {
        id: "w1".into(),
        agent_id: "metrics".into(),
        parent_session_id: Some(parent.id.clone()),
        turn_id: Some("t1".into()),
        kind: SessionKind::Worker,
        title: "look at the error rate".into(),
        model: Some("anthropic/claude".into()),
        status: SessionStatus::Pending,
        next_seq: 3,
        lease_owner: None,
        lease_epoch: 0,
        created_at: 3_000,
        updated_at: 3_000,
        ..parent.clone()
    };
    assert_eq!(created, expected);
    assert_eq!(bench.store.messages().append("w1", "t1", None, vec![message("3")], 3_100).await.unwrap(), 3);
    let bodies: Vec<_> =
        bench.store.messages().transcript("w1").await.unwrap().into_iter().map(|row| (row.seq, row.body)).collect();
    assert_eq!(bodies, [(1, "task".to_owned()), (2, "context".to_owned()), (3, "3".to_owned())]);

    sessions.create_worker(&NewWorker { now_ms: 3_500, ..worker("w2", &parent.id) }).await.unwrap();
    assert_eq!(running(&bench.store, &parent.id).await, ["w1", "w2"]);
    sessions.set_status("w1", SessionStatus::Completed, 4_000).await.unwrap();
    assert_eq!(running(&bench.store, &parent.id).await, ["w2"]);
    let unknown = sessions.set_status("w9", SessionStatus::Failed, 4_000).await;
    assert_eq!(unknown, Err(StoreError::Broken("there is no session w9".into())));

    // A worker is never taken for the conversation.
    let found = sessions.find("slack", "C1", "100.1", "").await.unwrap();
    assert_eq!(found.map(|session| session.id), Some(parent.id));
    bench.store.turns().close("t1", TurnStatus::Stopped, None, Totals::default(), 5_000).await.unwrap();
}

async fn a_worker_without_a_parent_is_refused(bench: &Bench) {
    let created = bench.store.sessions().create_worker(&worker("w1", "nowhere")).await;
    assert_eq!(created, Err(StoreError::Broken("there is no session nowhere".into())));
    assert_eq!(bench.store.messages().transcript("w1").await.unwrap(), []);
}

async fn evidence_numbers_are_given_once(bench: &Bench) {
    let session = opened(&bench.store, "t1").await.session.id;
    assert_eq!(bench.store.sessions().reserve_evidence(&session, 3).await.unwrap(), 1);
    let mut tasks = JoinSet::new();
    for _ in 0..20 {
        let (store, session) = (bench.store.clone(), session.clone());
        tasks.spawn(async move { store.sessions().reserve_evidence(&session, 2).await.unwrap() });
    }
    let firsts: BTreeSet<_> = tasks.join_all().await.into_iter().collect();
    assert_eq!(firsts, (0..20).map(|number| 4 + 2 * number).collect());
    let unknown = bench.store.sessions().reserve_evidence("nowhere", 1).await;
    assert_eq!(unknown, Err(StoreError::Broken("there is no session nowhere".into())));
}

fn worker(id: &str, parent: &str) -> NewWorker {
    NewWorker {
        id: id.into(),
        parent_session_id: parent.into(),
        turn_id: "t1".into(),
        persona: "metrics".into(),
        title: "look at the error rate".into(),
        model: Some("anthropic/claude".into()),
        background: false,
        first_messages: vec![message("task"), message("context")],
        now_ms: 3_000,
    }
}

async fn running(store: &Store, parent: &str) -> Vec<String> {
    store.sessions().running_workers(parent).await.unwrap().into_iter().map(|row| row.id).collect()
}
