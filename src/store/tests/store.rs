//! Opening, migrating, probing, closing.

use super::{Bench, on_every_engine, on_every_lasting_engine, opened, said};
use crate::store::{Claim, Engine, Store, StoreError};

on_every_engine! {
    migrating_twice_changes_nothing,
    a_store_that_works_says_it_can_be_written,
    a_closed_store_answers_unavailable,
}
on_every_lasting_engine! {
    processes_that_start_together_migrate_once,
}

async fn migrating_twice_changes_nothing(bench: &Bench) {
    let session = opened(&bench.store, "t1").await.session;
    bench.store.migrate().await.unwrap();
    assert_eq!(bench.store.sessions().get(&session.id).await.unwrap(), Some(session));
}

async fn a_store_that_works_says_it_can_be_written(bench: &Bench) {
    bench.store.check_writable().await.unwrap();
    bench.store.check_writable().await.unwrap();
}

async fn a_closed_store_answers_unavailable(bench: &Bench) {
    bench.store.close().await;
    let claim: Result<Claim, _> = bench.store.inbox().claim(&said("m1")).await;
    assert!(matches!(claim, Err(StoreError::Unavailable(_))), "{claim:?}");
    let check = bench.store.check_writable().await;
    assert!(matches!(check, Err(StoreError::Unavailable(_))), "{check:?}");
}

async fn processes_that_start_together_migrate_once(bench: &Bench) {
    let (first, second) = (bench.again().await, bench.again().await);
    let (one, two) = tokio::join!(first.migrate(), second.migrate());
    assert_eq!((one, two), (Ok(()), Ok(())));
    first.close().await;
    second.close().await;
}

#[tokio::test]
async fn a_database_on_disk_waits_for_the_disk_and_readers_cannot_write() {
    let bench = Bench::file().await;
    let Engine::Sqlite { write, read } = &bench.store.engine else { panic!("not SQLite") };
    for (pragma, value) in [("PRAGMA synchronous", 2), ("PRAGMA foreign_keys", 1), ("PRAGMA busy_timeout", 5_000)] {
        assert_eq!(sqlx::query_scalar::<_, i64>(pragma).fetch_one(write).await.unwrap(), value, "{pragma}");
    }
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(write).await.unwrap();
    assert_eq!(mode, "wal");
    let written = sqlx::query("DELETE FROM inbox").execute(read).await.unwrap_err().to_string();
    assert!(written.contains("readonly"), "{written}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_unavailable() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let opened = Store::open(&format!("sqlite://{}/below/watchfloor.db", file.path().display())).await;
    assert!(matches!(opened, Err(StoreError::Unavailable(_))), "{opened:?}");
}

#[tokio::test]
async fn no_error_repeats_the_password() {
    let urls = [
        "mysql://u:hunter2@127.0.0.1/x",
        "hunter2",
        // A socket that isn't there.
        "postgres://u:hunter2@%2Fnowhere/x",
        "postgres://u:hunter2@127.0.0.1:1/x?sslmode=hunter2",
        "postgres://u:hunter2@127.0.0.1:hunter2/x",
        "sqlite://x.db?mode=hunter2",
    ];
    for url in urls {
        let error = Store::open(url).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}
