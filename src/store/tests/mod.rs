//! One suite for both engines: each test is a function over a bench and runs on SQLite in memory, on SQLite in a file
//! and on PostgreSQL. Each run has a database of its own.

mod agents;
mod bench;
mod deliveries;
mod inbox;
mod notes;
mod overheard;
mod records;
mod sessions;
mod store;
mod turns;

use super::{DeliveryKind, InboxKind, NewDelivery, NewInbox, NewMessage, OpenTurn, OpenedTurn, Store};
use bench::Bench;

/// One test for each engine and name; a function that isn't listed is dead code and fails the build's lints.
macro_rules! on_every_engine {
    ($($test:ident,)+) => {
        mod memory {
            $(#[tokio::test] async fn $test() { super::Bench::memory().await.run(super::$test).await; })+
        }
        mod file {
            $(#[tokio::test] async fn $test() { super::Bench::file().await.run(super::$test).await; })+
        }
        mod postgres {
            $(#[tokio::test] async fn $test() { super::Bench::postgres().await.run(super::$test).await; })+
        }
    };
}

/// For tests that open the same database again.
macro_rules! on_every_lasting_engine {
    ($($test:ident,)+) => {
        mod lasting_file {
            $(#[tokio::test] async fn $test() { super::Bench::file().await.run(super::$test).await; })+
        }
        mod lasting_postgres {
            $(#[tokio::test] async fn $test() { super::Bench::postgres().await.run(super::$test).await; })+
        }
    };
}

use {on_every_engine, on_every_lasting_engine};

/// A message that Ana wrote in the thread where the tests live.
fn said(key: &str) -> NewInbox {
    NewInbox {
        channel: "slack".into(),
        message_key: key.into(),
        event_id: None,
        kind: InboxKind::Message,
        room: "C1".into(),
        thread: "100.1".into(),
        author_id: "U1".into(),
        author_name: Some("Ana".into()),
        text: format!("text of {key}"),
        payload: r#"{"b":1,"a":"ü"}"#.into(),
        sent_at: 1_000,
        received_at: 1_001,
    }
}

fn message(body: &str) -> NewMessage {
    NewMessage { kind: "message".into(), author: Some("U1".into()), body: body.into() }
}

fn turn(id: &str) -> OpenTurn {
    OpenTurn {
        turn_id: id.into(),
        channel: "slack".into(),
        room: "C1".into(),
        thread: "100.1".into(),
        scope_user: String::new(),
        asker_id: "U1".into(),
        asker_name: Some("Ana".into()),
        locale: "en".into(),
        title: "why?".into(),
        owner: "first".into(),
        now_ms: 2_000,
        messages: vec![],
        inbox_ids: vec![],
        overheard_ids: vec![],
        follow_up: false,
        delivery_id: format!("{id}-placeholder"),
    }
}

async fn opened(store: &Store, id: &str) -> OpenedTurn {
    store.turns().open(&turn(id)).await.unwrap()
}

fn part(id: &str, session_id: &str, part: i64) -> NewDelivery {
    NewDelivery {
        id: id.into(),
        turn_id: "t1".into(),
        session_id: session_id.into(),
        channel: "slack".into(),
        room: "C1".into(),
        thread: "100.1".into(),
        kind: DeliveryKind::Part,
        part,
        text: format!("part {part}"),
        now_ms: 3_000,
    }
}
