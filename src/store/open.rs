//! Opens the database a `store.url` names: SQLite in a file or in memory, or PostgreSQL. Knows the pragmas and the
//! pools; relative paths are made absolute by whoever read the configuration.

use std::{str::FromStr, time::Duration};

use sqlx::{
    ConnectOptions, Executor,
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous},
};

use super::{Engine, StoreError};

const BUSY: Duration = Duration::from_secs(5);
/// How long a caller waits for a connection before it is told that the database can't be used.
const WAIT: Duration = Duration::from_secs(10);
const SQLITE_READERS: u32 = 4;
const POSTGRES_CONNECTIONS: u32 = 10;

pub(super) async fn open(url: &str) -> Result<Engine, StoreError> {
    match url.split_once(':') {
        Some(("sqlite", ":memory:")) => memory().await,
        Some(("sqlite", _)) => file(url).await,
        Some(("postgres" | "postgresql", _)) => postgres(url).await,
        // The URL itself isn't repeated: it may hold a password.
        _ => Err(StoreError::Broken("store.url must begin with sqlite:// or postgres://".to_owned())),
    }
}

async fn memory() -> Result<Engine, StoreError> {
    // A second connection would see a second, empty database, so readers share the writer's.
    let pool = one_connection(pragmas(SqliteConnectOptions::new().filename(":memory:"))).await?;
    Ok(Engine::Sqlite { write: pool.clone(), read: pool })
}

async fn file(url: &str) -> Result<Engine, StoreError> {
    let options = SqliteConnectOptions::from_str(url)?;
    let path = options.get_filename().to_owned();
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        tokio::fs::create_dir_all(parent)
            .await
            .map_err(|error| StoreError::Unavailable(format!("{}: {error}", parent.display())))?;
    }
    let write = one_connection(
        pragmas(options.clone())
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // What was accepted must survive a power cut, not only a crash.
            .synchronous(SqliteSynchronous::Full),
    )
    .await?;
    let read = SqlitePoolOptions::new()
        .max_connections(SQLITE_READERS)
        .acquire_timeout(WAIT)
        .test_before_acquire(false)
        .connect_lazy_with(pragmas(options).read_only(true));
    Ok(Engine::Sqlite { write, read })
}

fn pragmas(options: SqliteConnectOptions) -> SqliteConnectOptions {
    options.busy_timeout(BUSY).foreign_keys(true).disable_statement_logging()
}

/// SQLite has one writer at a time anyway; one connection makes them queue here, in order, instead of in its busy loop.
async fn one_connection(options: SqliteConnectOptions) -> Result<SqlitePool, StoreError> {
    let pool = SqlitePoolOptions::new()
        .min_connections(1)
        .max_connections(1)
        .acquire_timeout(WAIT)
        // Never closed: a database in memory would go with it.
        .idle_timeout(None)
        .max_lifetime(None)
        // The connection is a handle in this process; asking it whether it lives costs a round trip for nothing.
        .test_before_acquire(false);
    Ok(pool.connect_with(options).await?)
}

async fn postgres(url: &str) -> Result<Engine, StoreError> {
    let options = PgConnectOptions::from_str(url)?.application_name("watchfloor").disable_statement_logging();
    let pool = PgPoolOptions::new()
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(WAIT)
        // A statement of its own, not a start parameter: connection poolers refuse those.
        .after_connect(|connection, _| {
            Box::pin(async move {
                connection
                    .execute("SET statement_timeout = '30s'; SET idle_in_transaction_session_timeout = '60s'")
                    .await?;
                Ok(())
            })
        });
    Ok(Engine::Postgres(pool.connect_with(options).await?))
}
