//! Groups that have changed their id: a conversation keeps the room's first name, calls need today's.

use std::sync::Arc;

use watchfloor_channel::{Note, Notes, NotesError};

pub(crate) struct Rooms {
    notes: Arc<dyn Notes>,
}

impl Rooms {
    pub(crate) fn new(notes: Arc<dyn Notes>) -> Self {
        Self { notes }
    }

    /// The chat's id today, by the name conversations have for it.
    pub(crate) async fn chat_of(&self, room: &str) -> Result<i64, NotesError> {
        let now = self.notes.read(&format!("moved/{room}")).await?;
        let now = now.as_deref().unwrap_or(room);
        now.parse().map_err(|_| NotesError(format!("{now} names no chat")))
    }

    pub(crate) async fn moved(&self, from: i64, to: i64) -> Result<(), NotesError> {
        self.notes.write(&[Note::always(format!("moved/{from}"), to.to_string())]).await
    }

    /// The name conversations have for a chat.
    pub(crate) fn room_of(&self, chat: i64) -> String {
        chat.to_string()
    }
}
