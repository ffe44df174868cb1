//! The little that lets one function body speak to both engines: macros that expand it once for each typed pool, rows
//! read by column name, and what every statement needs. The statements themselves live beside the tables they are about.

use std::borrow::Cow;

use uuid::{NoContext, Timestamp, Uuid};

/// Expands to the awaited query with `$pool` as the read pool of either engine.
macro_rules! read {
    ($store:expr, |$pool:ident| $query:expr) => {
        match &$store.engine {
            $crate::store::Engine::Sqlite { read: $pool, .. } => $query.await?,
            $crate::store::Engine::Postgres($pool) => $query.await?,
        }
    };
}

/// One writing statement, its own transaction. Only for statements without `RETURNING`: the SQLite driver stops at the
/// first row it wanted, and a commit that fails after that would go unnoticed.
macro_rules! write {
    ($store:expr, |$pool:ident| $query:expr) => {
        match &$store.engine {
            $crate::store::Engine::Sqlite { write: $pool, .. } => $query.await?.rows_affected(),
            $crate::store::Engine::Postgres($pool) => $query.await?.rows_affected(),
        }
    };
}

/// Several statements, all or nothing. The body leaves with `?` or `return Err(…)`, which rolls back. `IMMEDIATE`
/// matters on SQLite: a deferred transaction that reads first fails at once when another writer was faster.
macro_rules! transaction {
    ($store:expr, |$tx:ident| $body:block) => {
        match &$store.engine {
            $crate::store::Engine::Sqlite { write, .. } => {
                #[allow(dead_code, reason = "not every body builds statements")]
                type Db = sqlx::Sqlite;
                let mut $tx = write.begin_with("BEGIN IMMEDIATE").await?;
                let value = $body;
                $tx.commit().await?;
                value
            }
            $crate::store::Engine::Postgres(pool) => {
                #[allow(dead_code, reason = "not every body builds statements")]
                type Db = sqlx::Postgres;
                let mut $tx = pool.begin().await?;
                let value = $body;
                $tx.commit().await?;
                value
            }
        }
    };
}

/// A row struct whose fields are its columns, and a macro with the list of them for the statements. Statements name
/// their columns: with `*` a plan that PostgreSQL has cached breaks when another replica migrates.
macro_rules! row {
    ($(#[$meta:meta])* pub struct $name:ident, $columns:ident {
        $(#[$first_meta:meta])* pub $first:ident: $first_type:ty,
        $($(#[$field_meta:meta])* pub $field:ident: $type:ty,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(#[$first_meta])* pub $first: $first_type,
            $($(#[$field_meta])* pub $field: $type,)*
        }

        row!(@read $name, sqlx::sqlite::SqliteRow, $first, $($field,)*);
        row!(@read $name, sqlx::postgres::PgRow, $first, $($field,)*);

        #[allow(unused_macros, reason = "rows of one engine's statement may be listed by hand")]
        macro_rules! $columns {
            () => { concat!(stringify!($first) $(, ", ", stringify!($field))*) };
        }
        #[allow(unused_imports, reason = "most tables are read by their own file alone")]
        pub(in $crate::store) use $columns;
    };
    (@read $name:ident, $row:ty, $($field:ident,)*) => {
        impl sqlx::FromRow<'_, $row> for $name {
            fn from_row(row: &$row) -> Result<Self, sqlx::Error> {
                Ok(Self { $($field: sqlx::Row::try_get(row, stringify!($field))?,)* })
            }
        }
    };
}

/// An enum that is stored as a word.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_meta])* $variant,)+ }

        impl $name {
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl<DB: sqlx::Database> sqlx::Type<DB> for $name where str: sqlx::Type<DB> {
            fn type_info() -> DB::TypeInfo {
                <str as sqlx::Type<DB>>::type_info()
            }

            fn compatible(info: &DB::TypeInfo) -> bool {
                <str as sqlx::Type<DB>>::compatible(info)
            }
        }

        impl<'r, DB: sqlx::Database> sqlx::Decode<'r, DB> for $name where &'r str: sqlx::Decode<'r, DB> {
            fn decode(value: DB::ValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
                match <&'r str as sqlx::Decode<'r, DB>>::decode(value)? {
                    $($word => Ok(Self::$variant),)+
                    other => Err(format!("unknown {} {other:?}", stringify!($name)).into()),
                }
            }
        }
    };
}

pub(super) use {read, row, transaction, words, write};

/// A new id that sorts by the time it was given.
pub(super) fn new_id(now_ms: i64) -> String {
    let ms = u64::try_from(now_ms).unwrap_or_default();
    let nanos = u32::try_from(ms % 1000).unwrap_or_default() * 1_000_000;
    Uuid::new_v7(Timestamp::from_unix(NoContext, ms / 1000, nanos)).to_string()
}

/// PostgreSQL refuses a NUL in a text, and logs and chats do contain some. Both engines store U+FFFD in its place.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

pub(super) fn clean_option(text: Option<&String>) -> Option<Cow<'_, str>> {
    text.map(|text| clean(text))
}

/// A list of ids as one parameter, read by `json_each` or `jsonb_array_elements_text`.
pub(super) fn id_list(ids: &[String]) -> String {
    serde_json::Value::from(ids).to_string()
}
