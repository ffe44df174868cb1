//! Which messages belong to which conversation, kept in the notes.

use std::sync::Arc;

use watchfloor_channel::{ConversationId, Notes, NotesError};

pub(crate) struct Threads {
    notes: Arc<dyn Notes>,
}

impl Threads {
    pub(crate) fn new(notes: Arc<dyn Notes>) -> Self {
        Self { notes }
    }

    /// A message to reply to so that the reply lands in that conversation. `None`: the room itself.
    pub(crate) async fn anchor(&self, at: &ConversationId) -> Result<Option<String>, NotesError> {
        let _ = &self.notes;
        Ok(Some(&at.thread).filter(|thread| thread.starts_with("om_")).cloned())
    }

    /// What the answer to a post taught us.
    pub(crate) async fn posted(&self, at: &ConversationId, message_id: &str, thread_id: Option<&str>) {
        let _ = (at, message_id, thread_id);
    }
}
