//! Personas that were written over the API. What a definition means is not looked at here.

use super::{
    Store, StoreError,
    sql::{read, row, write},
};

row! {
    pub struct AgentRow, agent_columns {
        /// Folded: letters in lower case, `-` for `_`.
        pub name: String,
        /// JSON.
        pub definition: String,
        pub created_at: i64,
        pub updated_at: i64,
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Agents<'a>(pub(super) &'a Store);

impl Agents<'_> {
    /// In the order of their names.
    pub async fn all(&self) -> Result<Vec<AgentRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(ALL).fetch_all(pool)))
    }

    /// Writes it anew or over what is there.
    pub async fn put(&self, name: &str, definition: &str, now_ms: i64) -> Result<(), StoreError> {
        write!(self.0, |pool| sqlx::query(PUT).bind(name).bind(definition).bind(now_ms).execute(pool));
        Ok(())
    }

    /// Whether it was there.
    pub async fn delete(&self, name: &str) -> Result<bool, StoreError> {
        Ok(write!(self.0, |pool| sqlx::query(DELETE).bind(name).execute(pool)) > 0)
    }
}

const ALL: &str = concat!("SELECT ", agent_columns!(), " FROM agents ORDER BY name");

const PUT: &str = "
    INSERT INTO agents (name, definition, created_at, updated_at) VALUES ($1, $2, $3, $3)
    ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, updated_at = excluded.updated_at";

const DELETE: &str = "DELETE FROM agents WHERE name = $1";
