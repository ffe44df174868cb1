//! Groups that have changed their id: a conversation keeps the room's first name, calls need today's.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use tokio::sync::Mutex;
use tracing::{info, warn};
use watchfloor_channel::{Note, Notes, NotesError};

const KEY: &str = "rooms_moved";
/// A group moves once in its life.
const KEPT: usize = 10_000;

type Moves = HashMap<i64, i64>;

pub(crate) struct Rooms {
    notes: Arc<dyn Notes>,
    /// Where a chat went.
    moves: RwLock<Moves>,
    /// Whether the notes were read. Held while they are written.
    read: Mutex<bool>,
}

impl Rooms {
    pub(crate) fn new(notes: Arc<dyn Notes>) -> Self {
        Self { notes, moves: RwLock::default(), read: Mutex::new(false) }
    }

    /// Reads the notes, if that wasn't done yet. Before it, [`Self::room_of`] knows no moves.
    pub(crate) async fn load(&self) -> Result<(), NotesError> {
        self.known(&mut *self.read.lock().await).await
    }

    async fn known(&self, read: &mut bool) -> Result<(), NotesError> {
        if *read {
            return Ok(());
        }
        if let Some(written) = self.notes.read(KEY).await? {
            match serde_json::from_str::<Moves>(&written) {
                Ok(known) => *self.moves.write().unwrap_or_else(PoisonError::into_inner) = known,
                Err(_) => warn!("the notes about moved groups can't be read: they are begun anew"),
            }
        }
        *read = true;
        Ok(())
    }

    /// The chat's id today, by the name conversations have for it.
    pub(crate) async fn chat_of(&self, room: &str) -> Result<i64, NotesError> {
        self.load().await?;
        let mut chat = room.parse().map_err(|_| NotesError(format!("{room:?} names no chat")))?;
        let moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..moves.len() {
            let Some(next) = moves.get(&chat) else { break };
            chat = *next;
        }
        Ok(chat)
    }

    /// The group has another id from now on. Durable when it returns; said twice it is one move.
    pub(crate) async fn moved(&self, from: i64, to: i64) -> Result<(), NotesError> {
        let mut read = self.read.lock().await;
        self.known(&mut read).await?;
        let mut moves = self.moves.read().unwrap_or_else(PoisonError::into_inner).clone();
        if from == to || moves.get(&from) == Some(&to) {
            return Ok(());
        }
        if moves.len() >= KEPT {
            return Err(NotesError("too many groups have moved".to_owned()));
        }
        moves.insert(from, to);
        let written = serde_json::to_string(&moves).map_err(|error| NotesError(error.to_string()))?;
        self.notes.write(&[Note::always(KEY, written)]).await?;
        *self.moves.write().unwrap_or_else(PoisonError::into_inner) = moves;
        info!(from, to, "a group has moved; its conversations move along");
        Ok(())
    }

    /// The name conversations have for a chat.
    pub(crate) fn room_of(&self, chat: i64) -> String {
        let moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let mut first = chat;
        for _ in 0..moves.len() {
            let before = moves.iter().filter(|(_, to)| **to == first).map(|(from, _)| *from).min();
            let Some(before) = before else { break };
            first = before;
        }
        first.to_string()
    }
}

#[cfg(test)]
mod tests {
    use watchfloor_channel::ShortMemory;

    use super::*;

    #[tokio::test]
    async fn a_room_keeps_its_first_name_also_after_a_restart() {
        let notes = Arc::new(ShortMemory::default());
        let rooms = Rooms::new(notes.clone());
        assert_eq!((rooms.room_of(-4001), rooms.chat_of("-4001").await.unwrap()), ("-4001".to_owned(), -4001));
        for _ in 0..2 {
            rooms.moved(-4001, -1009).await.unwrap();
        }
        let again = Rooms::new(notes);
        again.load().await.unwrap();
        for rooms in [rooms, again] {
            assert_eq!(rooms.room_of(-1009), "-4001");
            assert_eq!(rooms.room_of(-4001), "-4001");
            assert_eq!(rooms.room_of(-4002), "-4002");
            assert_eq!(rooms.chat_of("-4001").await.unwrap(), -1009);
            assert_eq!(rooms.chat_of("-1009").await.unwrap(), -1009);
            assert!(rooms.chat_of("ops").await.is_err());
        }
    }

    #[tokio::test]
    async fn moves_in_a_circle_end() {
        let rooms = Rooms::new(Arc::new(ShortMemory::default()));
        rooms.moved(-1, -2).await.unwrap();
        rooms.moved(-2, -1).await.unwrap();
        rooms.room_of(-1);
        rooms.chat_of("-1").await.unwrap();
    }
}
