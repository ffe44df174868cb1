//! Personas that were written over the API.

use super::{Bench, on_every_engine, on_every_lasting_engine};
use crate::store::{AgentRow, Store, StoreError};

on_every_engine! {
    a_persona_is_kept_as_it_was_last_written,
    a_deleted_persona_is_gone_and_deleting_it_again_says_so,
    a_persona_that_cannot_be_written_is_an_error,
}
on_every_lasting_engine! {
    personas_outlive_the_process,
}

async fn a_persona_is_kept_as_it_was_last_written(bench: &Bench) {
    let store = &bench.store;
    assert_eq!(all(store).await, []);
    store.agents().put("disk", r#"{"name":"Disk","body":"ü\u0000"}"#, 1_000).await.unwrap();
    store.agents().put("cpu", "{}", 2_000).await.unwrap();
    store.agents().put("disk", r#"{"name":"disk"}"#, 3_000).await.unwrap();
    assert_eq!(all(store).await, [row("cpu", "{}", 2_000, 2_000), row("disk", r#"{"name":"disk"}"#, 1_000, 3_000)]);
}

async fn a_deleted_persona_is_gone_and_deleting_it_again_says_so(bench: &Bench) {
    let agents = bench.store.agents();
    agents.put("disk", "{}", 1_000).await.unwrap();
    agents.put("cpu", "{}", 1_000).await.unwrap();
    assert!(agents.delete("disk").await.unwrap());
    assert!(!agents.delete("disk").await.unwrap());
    assert_eq!(all(&bench.store).await, [row("cpu", "{}", 1_000, 1_000)]);
}

async fn a_persona_that_cannot_be_written_is_an_error(bench: &Bench) {
    bench.store.close().await;
    let written = bench.store.agents().put("disk", "{}", 1_000).await;
    assert!(matches!(written, Err(StoreError::Unavailable(_))), "{written:?}");
}

async fn personas_outlive_the_process(bench: &Bench) {
    bench.store.agents().put("disk", "{}", 1_000).await.unwrap();
    let again = bench.again().await;
    assert_eq!(all(&again).await, [row("disk", "{}", 1_000, 1_000)]);
    again.close().await;
}

fn row(name: &str, definition: &str, created_at: i64, updated_at: i64) -> AgentRow {
    AgentRow { name: name.into(), definition: definition.into(), created_at, updated_at }
}

async fn all(store: &Store) -> Vec<AgentRow> {
    store.agents().all().await.unwrap()
}
