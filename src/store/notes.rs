//! What the adapters of channels must still know after a restart, one value a key. What is in it is theirs to say.

use super::{
    Store, StoreError,
    sql::{clean, read, transaction, words, write},
};

words! {
    pub enum KeepNote {
        Always = "always",
        /// Until it is old and `purge` comes by.
        AWhile = "a_while",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNote {
    pub key: String,
    pub value: String,
    pub keep: KeepNote,
}

#[derive(Clone, Copy, Debug)]
pub struct Notes<'a>(pub(super) &'a Store);

impl Notes<'_> {
    pub async fn read(&self, channel: &str, key: &str) -> Result<Option<String>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_scalar(READ).bind(channel).bind(clean(key)).fetch_optional(pool)))
    }

    /// All or none. Of several with one key the last one stays.
    pub async fn write(&self, channel: &str, notes: &[NewNote], now_ms: i64) -> Result<(), StoreError> {
        // In one order for all: two writers that wait for each other's rows would both be turned away.
        let mut notes: Vec<_> = notes.iter().collect();
        notes.sort_by(|a, b| a.key.cmp(&b.key));
        transaction!(self.0, |tx| {
            for note in &notes {
                sqlx::query(WRITE)
                    .bind(channel)
                    .bind(clean(&note.key))
                    .bind(clean(&note.value))
                    .bind(note.keep.as_str())
                    .bind(now_ms)
                    .execute(&mut *tx)
                    .await?;
            }
        });
        Ok(())
    }

    /// Forgets what was to be kept for a while and was last written before `older_than_ms`.
    pub async fn purge(&self, older_than_ms: i64) -> Result<u64, StoreError> {
        Ok(write!(self.0, |pool| sqlx::query(PURGE).bind(older_than_ms).execute(pool)))
    }
}

const READ: &str = "SELECT value FROM channel_notes WHERE channel = $1 AND key = $2";

const WRITE: &str = "
    INSERT INTO channel_notes (channel, key, value, keep, updated_at) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (channel, key)
    DO UPDATE SET value = excluded.value, keep = excluded.keep, updated_at = excluded.updated_at";

const PURGE: &str = "DELETE FROM channel_notes WHERE keep = 'a_while' AND updated_at < $1";
