//! Adapters' notes, kept in the store.

use async_trait::async_trait;
use watchfloor_channel::{ChannelId, Keep, Note, Notes, NotesError};

use crate::{
    clock::SharedClock,
    store::{KeepNote, NewNote, Store},
};

/// The notes of one channel.
#[derive(Clone, Debug)]
pub struct StoreNotes {
    pub store: Store,
    pub channel: ChannelId,
    pub clock: SharedClock,
}

#[async_trait]
impl Notes for StoreNotes {
    async fn read(&self, key: &str) -> Result<Option<String>, NotesError> {
        let read = self.store.notes().read(self.channel.as_str(), key).await;
        read.map_err(|error| NotesError(error.to_string()))
    }

    async fn write(&self, notes: &[Note]) -> Result<(), NotesError> {
        let row = |note: &Note| NewNote {
            key: note.key.clone(),
            value: note.value.clone(),
            keep: match note.keep {
                Keep::Always => KeepNote::Always,
                Keep::AWhile => KeepNote::AWhile,
            },
        };
        let rows: Vec<_> = notes.iter().map(row).collect();
        let written = self.store.notes().write(self.channel.as_str(), &rows, self.clock.now_ms()).await;
        written.map_err(|error| NotesError(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::FixedClock;

    #[tokio::test]
    async fn what_an_adapter_notes_is_kept_as_long_as_it_says() {
        let store = Store::open("sqlite::memory:").await.unwrap();
        store.migrate().await.unwrap();
        let clock = FixedClock::at(1_000);
        let notes = StoreNotes { store: store.clone(), channel: ChannelId::new("ops"), clock };
        notes.write(&[Note::always("offset", "7"), Note::a_while("card/m1", "c1")]).await.unwrap();
        assert_eq!(notes.read("offset").await.unwrap().as_deref(), Some("7"));
        let other = StoreNotes { channel: ChannelId::new("lab"), ..notes.clone() };
        assert_eq!(other.read("offset").await.unwrap(), None);
        store.notes().purge(1_001).await.unwrap();
        let left = (notes.read("offset").await.unwrap(), notes.read("card/m1").await.unwrap());
        assert_eq!(left, (Some("7".to_owned()), None));
        store.close().await;
        assert!(notes.read("offset").await.is_err() && notes.write(&[Note::always("offset", "8")]).await.is_err());
    }
}
