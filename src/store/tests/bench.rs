//! A migrated store with a database of its own, and its end.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tempfile::TempDir;

use crate::store::Store;

const POSTGRES: &str = "WATCHFLOOR_TEST_POSTGRES_URL";

pub(super) struct Bench {
    pub(super) store: Store,
    url: String,
    place: Place,
}

enum Place {
    Memory,
    Folder(#[expect(dead_code, reason = "dropping it removes the folder")] TempDir),
    Schema(String),
}

impl Bench {
    pub(super) async fn memory() -> Self {
        Self::at("sqlite::memory:".to_owned(), Place::Memory).await
    }

    pub(super) async fn file() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made/on/the/way/watchfloor.db");
        Self::at(format!("sqlite://{}", path.display()), Place::Folder(folder)).await
    }

    pub(super) async fn postgres() -> Self {
        let schema = format!("t_{}", uuid::Uuid::new_v4().simple());
        on_server(format!("CREATE SCHEMA {schema}")).await;
        let server = server();
        let separator = if server.contains('?') { '&' } else { '?' };
        Self::at(format!("{server}{separator}options[search_path]={schema}"), Place::Schema(schema)).await
    }

    async fn at(url: String, place: Place) -> Self {
        let store = Store::open(&url).await.unwrap();
        store.migrate().await.unwrap();
        Self { store, url, place }
    }

    pub(super) async fn run(self, test: impl AsyncFnOnce(&Self)) {
        test(&self).await;
        self.store.close().await;
        if let Place::Schema(schema) = &self.place {
            on_server(format!("DROP SCHEMA {schema} CASCADE")).await;
        }
    }

    /// The same database, opened once more, as another process would.
    pub(super) async fn again(&self) -> Store {
        assert!(!matches!(self.place, Place::Memory), "a database in memory can't be opened twice");
        Store::open(&self.url).await.unwrap()
    }
}

fn server() -> String {
    std::env::var(POSTGRES).unwrap_or_else(|_| panic!("set {POSTGRES} (scripts/test does)"))
}

async fn on_server(sql: String) {
    let mut connection = PgConnection::connect(&server()).await.unwrap();
    connection.execute(AssertSqlSafe(sql)).await.unwrap();
    connection.close().await.unwrap();
}
