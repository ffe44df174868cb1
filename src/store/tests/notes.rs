//! What adapters remember.

use super::{Bench, on_every_engine, on_every_lasting_engine};
use crate::store::{KeepNote, NewNote, Store, StoreError};

on_every_engine! {
    a_note_is_read_as_it_was_last_written,
    each_channel_has_notes_of_its_own,
    only_what_was_kept_for_a_while_and_is_old_is_forgotten,
    a_note_that_cannot_be_written_is_an_error,
}
on_every_lasting_engine! {
    notes_outlive_the_process,
}

async fn a_note_is_read_as_it_was_last_written(bench: &Bench) {
    let store = &bench.store;
    assert_eq!(read(store, "offset").await, None);
    write(store, &[always("offset", "41"), a_while("thread/7", "m1")], 1_000).await;
    write(store, &[always("offset", "42"), always("offset", "43"), always("", "ü\0\n")], 2_000).await;
    assert_eq!(read(store, "offset").await.as_deref(), Some("43"));
    assert_eq!(read(store, "thread/7").await.as_deref(), Some("m1"));
    assert_eq!(read(store, "").await.as_deref(), Some("ü\u{fffd}\n"));
    write(store, &[], 3_000).await;
}

async fn each_channel_has_notes_of_its_own(bench: &Bench) {
    let notes = bench.store.notes();
    for channel in ["telegram", "lab"] {
        notes.write(channel, &[always("offset", channel)], 1_000).await.unwrap();
    }
    for channel in ["telegram", "lab"] {
        assert_eq!(notes.read(channel, "offset").await.unwrap().as_deref(), Some(channel));
    }
}

async fn only_what_was_kept_for_a_while_and_is_old_is_forgotten(bench: &Bench) {
    let store = &bench.store;
    write(store, &[always("offset", "1"), a_while("old", "1"), a_while("again", "1"), a_while("kept", "1")], 1_000)
        .await;
    write(store, &[a_while("again", "2"), always("kept", "2")], 2_000).await;
    assert_eq!(store.notes().purge(1_000).await.unwrap(), 0);
    assert_eq!(store.notes().purge(2_000).await.unwrap(), 1);
    let mut left = Vec::new();
    for key in ["offset", "old", "again", "kept"] {
        left.push(read(store, key).await);
    }
    let value = |text: &str| Some(text.to_owned());
    assert_eq!(left, [value("1"), None, value("2"), value("2")]);
}

async fn a_note_that_cannot_be_written_is_an_error(bench: &Bench) {
    bench.store.close().await;
    let written = bench.store.notes().write("telegram", &[always("offset", "1")], 1_000).await;
    assert!(matches!(written, Err(StoreError::Unavailable(_))), "{written:?}");
}

async fn notes_outlive_the_process(bench: &Bench) {
    write(&bench.store, &[always("offset", "42")], 1_000).await;
    let again = bench.again().await;
    assert_eq!(read(&again, "offset").await.as_deref(), Some("42"));
    again.close().await;
}

fn always(key: &str, value: &str) -> NewNote {
    NewNote { key: key.into(), value: value.into(), keep: KeepNote::Always }
}

fn a_while(key: &str, value: &str) -> NewNote {
    NewNote { keep: KeepNote::AWhile, ..always(key, value) }
}

async fn read(store: &Store, key: &str) -> Option<String> {
    store.notes().read("telegram", key).await.unwrap()
}

async fn write(store: &Store, notes: &[NewNote], now_ms: i64) {
    store.notes().write("telegram", notes, now_ms).await.unwrap();
}
