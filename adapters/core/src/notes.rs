//! What an adapter must still know after a restart: how far it has read, which message belongs to which thread. Each channel
//! has its own; where they are kept is the application's.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;

/// One line of an adapter's notes. A later one with the same key replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub key: String,
    pub value: String,
    pub keep: Keep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    Always,
    /// At least 30 days after it was last written. For what grows with every message.
    AWhile,
}

/// The store refused. What depends on the note must not be acknowledged.
#[derive(Debug, thiserror::Error)]
#[error("notes can't be read or written now: {0}")]
pub struct NotesError(pub String);

#[async_trait]
pub trait Notes: Send + Sync + 'static {
    async fn read(&self, key: &str) -> Result<Option<String>, NotesError>;

    /// All or none; durable when it returns.
    async fn write(&self, notes: &[Note]) -> Result<(), NotesError>;
}

impl Note {
    pub fn always(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into(), keep: Keep::Always }
    }

    pub fn a_while(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into(), keep: Keep::AWhile }
    }
}

/// Notes that end with the process: for tests, and for questions asked outside of a running service.
#[derive(Debug, Default)]
pub struct ShortMemory(Mutex<HashMap<String, String>>);

#[async_trait]
impl Notes for ShortMemory {
    async fn read(&self, key: &str) -> Result<Option<String>, NotesError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned())
    }

    async fn write(&self, notes: &[Note]) -> Result<(), NotesError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(notes.iter().map(|note| (note.key.clone(), note.value.clone())));
        Ok(())
    }
}
