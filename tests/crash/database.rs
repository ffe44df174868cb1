//! The store as the test sees it: looked at, locked, or put into a state that a crash would leave.

use sqlx::{AssertSqlSafe, Connection, Row, SqliteConnection, sqlite::SqliteConnectOptions};
use std::{path::Path, time::Duration};

/// Everything that is still to be done, by name. A store at rest has none of it.
const OWED: [(&str, &str); 5] = [
    ("waiting messages", "SELECT COUNT(*) FROM inbox WHERE state <> 'done' AND kind <> 'overheard'"),
    ("open turns", "SELECT COUNT(*) FROM turns WHERE status = 'running'"),
    ("unsettled deliveries", "SELECT COUNT(*) FROM deliveries WHERE state IN ('intended', 'sent', 'final')"),
    ("unfinished calls", "SELECT COUNT(*) FROM chat_tool_calls WHERE ended_at IS NULL"),
    ("running workers", "SELECT COUNT(*) FROM chat_sessions WHERE kind = 'worker' AND status = 'running'"),
];

#[derive(Debug)]
pub(crate) enum Database {
    /// Before the program has made one.
    None,
    Sqlite(SqliteConnection),
    Postgres(sqlx::PgConnection),
}

impl Database {
    pub(crate) async fn sqlite(path: &Path) -> Self {
        let options = SqliteConnectOptions::new().filename(path).busy_timeout(Duration::from_secs(5));
        Self::Sqlite(SqliteConnection::connect_with(&options).await.unwrap())
    }

    pub(crate) async fn count(&mut self, sql: &str) -> i64 {
        let sql = AssertSqlSafe(sql.to_owned());
        match self {
            Self::None => panic!("no database yet"),
            Self::Sqlite(connection) => sqlx::query(sql).fetch_one(connection).await.unwrap().get(0),
            Self::Postgres(connection) => sqlx::query(sql).fetch_one(connection).await.unwrap().get(0),
        }
    }

    pub(crate) async fn run(&mut self, sql: &str) {
        let sql = AssertSqlSafe(sql.to_owned());
        match self {
            Self::None => panic!("no database yet"),
            Self::Sqlite(connection) => _ = sqlx::raw_sql(sql).execute(connection).await.unwrap(),
            Self::Postgres(connection) => _ = sqlx::raw_sql(sql).execute(connection).await.unwrap(),
        }
    }

    /// Nobody else can write until [`Database::unlock`]: whatever the program writes next, it doesn't get to.
    pub(crate) async fn lock(&mut self) {
        self.run("BEGIN IMMEDIATE").await;
    }

    pub(crate) async fn unlock(&mut self) {
        self.run("ROLLBACK").await;
    }

    /// From now on this write fails and all others pass; on SQLite.
    pub(crate) async fn refuse(&mut self, write: &str) {
        self.run(&format!("CREATE TRIGGER refused BEFORE {write} BEGIN SELECT RAISE(ABORT, 'refused'); END")).await;
    }

    pub(crate) async fn refuse_nothing(&mut self) {
        self.run("DROP TRIGGER refused").await;
    }

    pub(crate) async fn owed(&mut self) -> Vec<String> {
        let mut owed = Vec::new();
        for (name, sql) in OWED {
            let count = self.count(sql).await;
            if count > 0 {
                owed.push(format!("{count} {name}"));
            }
        }
        owed
    }

    /// Messages that people said to the bot, as far as they were written down.
    pub(crate) async fn messages(&mut self) -> i64 {
        self.count("SELECT COUNT(*) FROM inbox WHERE kind = 'message'").await
    }
}
