//! Which form a room's messages get and which form a message of ours has, over restarts.

use std::sync::Arc;

use moka::sync::Cache;
use watchfloor_channel::{Note, Notes};

use super::content::form_of;
use crate::{ReplyMode, render::Form};

const REMEMBERED: u64 = 10_000;

pub(crate) struct Forms {
    mode: ReplyMode,
    notes: Arc<dyn Notes>,
    messages: Cache<String, Form>,
    /// Rooms in which texts can't be edited.
    rooms: Cache<String, bool>,
}

impl Forms {
    pub(crate) fn new(mode: ReplyMode, notes: Arc<dyn Notes>) -> Self {
        let (messages, rooms) = (Cache::new(REMEMBERED), Cache::new(REMEMBERED));
        Self { mode, notes, messages, rooms }
    }

    /// What messages are where nothing else is known.
    pub(crate) fn usual(&self) -> Form {
        match self.mode {
            ReplyMode::Auto | ReplyMode::Text => Form::Post,
            ReplyMode::Card => Form::Card,
        }
    }

    pub(crate) async fn of_room(&self, room: &str) -> Form {
        if self.mode != ReplyMode::Auto {
            return self.usual();
        }
        let takes_cards = match self.rooms.get(room) {
            Some(known) => known,
            None => {
                let noted = self.read(&room_key(room)).await;
                // Notes that can't be read now are asked again.
                let Ok(noted) = noted else { return self.usual() };
                self.rooms.insert(room.to_owned(), noted.is_some());
                noted.is_some()
            }
        };
        if takes_cards { Form::Card } else { self.usual() }
    }

    pub(crate) async fn of_message(&self, message: &str) -> Form {
        if let Some(known) = self.messages.get(message) {
            return known;
        }
        let Ok(noted) = self.read(&message_key(message)).await else { return self.usual() };
        let form = noted.and_then(|word| form_of(&word)).unwrap_or(self.usual());
        self.messages.insert(message.to_owned(), form);
        form
    }

    /// Texts can't be edited in this room, now and later.
    pub(crate) async fn turn_to_cards(&self, room: &str) {
        if self.mode == ReplyMode::Auto && self.rooms.get(room) != Some(true) {
            self.rooms.insert(room.to_owned(), true);
            tracing::info!(room, "texts can't be edited here; answers become cards");
            self.write(Note::a_while(room_key(room), "card")).await;
        }
    }

    pub(crate) async fn remember(&self, message: &str, form: Form) {
        self.messages.insert(message.to_owned(), form);
        if form != self.usual() {
            self.write(Note::a_while(message_key(message), form.message_type())).await;
        }
    }

    async fn read(&self, key: &str) -> Result<Option<String>, ()> {
        self.notes.read(key).await.map_err(|error| tracing::warn!(%error, key, "a message's form can't be read"))
    }

    async fn write(&self, note: Note) {
        if let Err(error) = self.notes.write(&[note]).await {
            tracing::warn!(%error, "a message's form can't be written down");
        }
    }
}

fn room_key(room: &str) -> String {
    format!("card/{room}")
}

fn message_key(message: &str) -> String {
    format!("form/{message}")
}
