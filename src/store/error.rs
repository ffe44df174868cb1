//! What can go wrong with the database, sorted by what the caller does next. The texts come from the drivers' messages
//! alone: never from a URL, a statement's values or a row.

use sqlx::error::DatabaseError;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Try again later: the database is away, full, or busy for longer than we wait.
    #[error("the database can't be used now: {0}")]
    Unavailable(String),
    /// Stand down: somebody else works on this conversation, or has taken these messages.
    #[error("another process works on this conversation")]
    LostLease,
    /// A defect or a damaged database: trying again doesn't help.
    #[error("the database refused: {0}")]
    Broken(String),
    /// The start must fail: the tables are not what this version expects.
    #[error("the database's tables can't be brought up to date: {0}")]
    Migration(String),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error;
        let passing = match &error {
            Error::Io(_) | Error::Tls(_) | Error::PoolTimedOut | Error::PoolClosed | Error::WorkerCrashed => true,
            Error::Database(inner) => passes(inner.as_ref()),
            _ => false,
        };
        let text = match &error {
            Error::Database(inner) => match inner.code() {
                Some(code) => format!("{} ({code})", inner.message()),
                None => inner.message().to_owned(),
            },
            // A setting's value may be a password.
            Error::Configuration(_) => "store.url isn't valid".to_owned(),
            other => other.to_string(),
        };
        if passing { Self::Unavailable(text) } else { Self::Broken(text) }
    }
}

impl From<sqlx::migrate::MigrateError> for StoreError {
    fn from(error: sqlx::migrate::MigrateError) -> Self {
        use sqlx::migrate::MigrateError;
        match error {
            MigrateError::Execute(error) => match Self::from(error) {
                Self::Broken(text) => Self::Migration(text),
                other => other,
            },
            MigrateError::ExecuteMigration(error, version) => match Self::from(error) {
                Self::Broken(text) => Self::Migration(format!("step {version}: {text}")),
                other => other,
            },
            other => Self::Migration(other.to_string()),
        }
    }
}

/// Whether the same statement may work later. PostgreSQL's classes: 08 connection, 40 rolled back, 53 resources,
/// 55 not ready, 57 shutting down. SQLite's primary codes: busy, locked, read-only, I/O, full, can't open.
fn passes(error: &dyn DatabaseError) -> bool {
    let Some(code) = error.code() else { return false };
    if error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() {
        return ["08", "40", "53", "55", "57"].iter().any(|class| code.starts_with(class));
    }
    let primary = code.parse::<u32>().map(|code| code & 0xff);
    matches!(primary, Ok(5 | 6 | 8 | 10 | 13 | 14))
}
