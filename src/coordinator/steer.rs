//! What people say during a turn: the asker's words go into the running turn at its next step, everybody else's open one
//! later turn together. All of it lies in the `inbox` table; nothing is held in memory.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use tokio_util::sync::CancellationToken;

use watchfloor_channel::{ConversationId, Inbound};

use super::{Services, control::Control, prompt};
use crate::{
    model::Message,
    store::{InboxKind, InboxRow, NewMessage, StoreError},
};

/// A message as the adapter handed it over.
pub(super) fn inbound(row: &InboxRow) -> Option<Inbound> {
    serde_json::from_str(&row.payload)
        .inspect_err(|error| tracing::error!(inbox.id = %row.id, %error, "an inbox row can't be read and is skipped"))
        .ok()
}

/// Keys of the messages whose removal waits.
pub(super) fn removed(pending: &[InboxRow]) -> Vec<String> {
    let removals = pending.iter().filter(|row| row.kind == InboxKind::Retraction);
    removals.filter_map(inbound).map(|gone| gone.message_key).collect()
}

/// Rows of messages that were removed from the chat while they waited, and of their removal.
pub(super) fn retracted(pending: &[InboxRow]) -> Vec<String> {
    let gone = removed(pending);
    let rows = pending.iter().filter(|row| row.kind == InboxKind::Retraction || gone.contains(&row.message_key));
    rows.map(|row| row.id.clone()).collect()
}

/// What comes behind a stop waits for the turn after it. Events that were sent at once arrive in any order, so it counts when
/// they were said, and their arrival only where the platform's clock doesn't tell.
fn before_a_stop(pending: &[InboxRow]) -> impl Iterator<Item = &InboxRow> {
    let stop = pending.iter().position(|row| row.kind == InboxKind::Stop);
    let behind = move |at: usize, row: &InboxRow| match stop {
        Some(stop) if row.sent_at == pending[stop].sent_at => at > stop,
        Some(stop) => row.sent_at > pending[stop].sent_at,
        None => false,
    };
    pending.iter().enumerate().filter(move |(at, row)| !behind(*at, row)).map(|(_, row)| row)
}

/// A row of the transcript.
pub(super) fn user_row(author: Option<&str>, text: String) -> NewMessage {
    row(&Message::user(text), author)
}

pub(super) fn row(message: &Message, author: Option<&str>) -> NewMessage {
    let kind = match message {
        Message::User { .. } => "user",
        Message::Assistant { .. } => "assistant",
        Message::Tool { .. } => "tool",
    };
    NewMessage {
        kind: kind.to_owned(),
        author: author.map(str::to_owned),
        body: serde_json::to_string(message).unwrap_or_default(),
    }
}

/// The asker's way into a running turn.
#[derive(Debug)]
pub(super) struct Steering {
    pub services: Arc<Services>,
    pub conversation: ConversationId,
    pub session_id: String,
    pub turn_id: String,
    pub epoch: i64,
    pub asker_id: String,
    pub control: Control,
    /// What the asker had said when her words were last taken.
    pub seen: AtomicU64,
}

/// Lets calls that wait for specialists return while those go on, so that the asker is heard.
#[derive(Debug, Default)]
pub(super) struct Detach(Mutex<CancellationToken>);

impl Detach {
    /// A new step: what was said before it was heard.
    pub(super) fn begin(&self) -> CancellationToken {
        let token = CancellationToken::new();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = token.clone();
        token
    }

    /// Of the step that runs.
    pub(super) fn signal(&self) -> CancellationToken {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Steering {
    /// Returns when the asker has said something since her words were last taken.
    pub(super) async fn news(&self) {
        let seen = self.seen.load(Ordering::SeqCst);
        if self.control.news().wait_for(|news| *news > seen).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Takes what the asker said since the last step into the transcript, and what workers in the background report. After
    /// this the rows belong to the turn; what isn't taken here stays pending and becomes the next turn.
    pub(super) async fn take(&self) -> Result<Vec<Message>, StoreError> {
        let at = &self.conversation;
        // Before looking: what comes after this is news again.
        self.seen.store(*self.control.news().borrow(), Ordering::SeqCst);
        let store = &self.services.store;
        let pending = store.inbox().pending(at.channel.as_str(), &at.room, &at.thread).await?;
        let gone = retracted(&pending);
        let mut said: Vec<_> = before_a_stop(&pending)
            .filter(|row| !gone.contains(&row.id))
            .filter(|row| row.kind == InboxKind::Message && row.author_id == self.asker_id)
            .filter_map(|row| Some((row, inbound(row)?)))
            .collect();
        let reports: Vec<_> = pending.iter().filter(|row| row.kind == InboxKind::TaskNotification).collect();
        if said.is_empty() && reports.is_empty() {
            return Ok(Vec::new());
        }
        said.sort_by_key(|(_, inbound)| inbound.sent_at);
        let ids = reports.iter().copied().chain(said.iter().map(|(row, _)| *row)).map(|row| row.id.clone());
        let ids: Vec<_> = ids.collect();
        let message = |row, inbound| Message::user(prompt::message(inbound, self.services.late_by(row, inbound)));
        let reports = reports.iter().map(|row| (Message::user(row.text.clone()), None));
        let said = said.iter().map(|(row, inbound)| (message(row, inbound), Some(self.asker_id.as_str())));
        let taken: Vec<_> = reports.chain(said).collect();
        let rows = taken.iter().map(|(message, author)| row(message, *author)).collect();
        let messages = taken.into_iter().map(|(message, _)| message).collect();
        store.turns().steer(&self.turn_id, &self.session_id, self.epoch, &ids, rows, self.services.now()).await?;
        Ok(messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::InboxState;

    fn said(text: &str, sent_at: i64) -> InboxRow {
        let kind = if text == "stop" { InboxKind::Stop } else { InboxKind::Message };
        InboxRow {
            id: text.to_owned(),
            channel: String::new(),
            message_key: String::new(),
            event_id: None,
            kind,
            state: InboxState::Pending,
            turn_id: None,
            room: String::new(),
            thread: String::new(),
            author_id: String::new(),
            author_name: None,
            text: text.to_owned(),
            payload: String::new(),
            sent_at,
            received_at: 0,
        }
    }

    #[test]
    fn a_stop_covers_what_was_said_before_it_in_whatever_order_it_arrives() {
        let covered = |rows: &[(&str, i64)]| -> Vec<String> {
            let rows: Vec<_> = rows.iter().map(|(text, at)| said(text, *at)).collect();
            before_a_stop(&rows).filter(|row| row.kind == InboxKind::Message).map(|row| row.text.clone()).collect()
        };
        assert_eq!(covered(&[("a", 1), ("b", 2)]), ["a", "b"]);
        assert_eq!(covered(&[("a", 1), ("stop", 2), ("b", 3)]), ["a"]);
        assert_eq!(covered(&[("b", 3), ("stop", 2), ("a", 1)]), ["a"]);
        // A clock of whole seconds.
        assert_eq!(covered(&[("a", 1), ("stop", 1), ("b", 1)]), ["a"]);
    }
}
