//! One placeholder per turn: posted, kept current, and at last edited into the answer. One task writes the message at a time,
//! and the answer is written only after that task has ended, so that a late interim edit can't overwrite it.
//!
//! Each thing we post has a row before it is posted. After a crash the row tells what is there already; where it can't, the
//! platform is asked before anything is posted again.

mod answer;
mod attach;
mod keeper;
mod replace;
mod spacing;
#[cfg(test)]
mod tests;
mod typing;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, task::JoinHandle, time::timeout};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use watchfloor_channel::{
    Body, ConversationId, DeliveryKey, MessageId, Operation, Outbound, Refusal, RefusalKind, Repeats, Urgency,
};

use super::{
    Services,
    control::Control,
    outlet::{Outlet, Trace, Undelivered},
    view::View,
};
use crate::store::{DeliveryKind, DeliveryRow, DeliveryState, NewDelivery, StoreError};

use keeper::Keeper;

/// How long a message that nobody needs any more may keep us.
const CLEARING: Duration = Duration::from_secs(10);

/// What we owe the conversation: its row's id, and the message it became.
#[derive(Clone, Debug)]
pub(super) struct Owed {
    id: String,
    message: Option<MessageId>,
    /// When the row was written. `None`: just now, so it was certainly not posted before.
    since: Option<i64>,
}

impl From<&DeliveryRow> for Owed {
    fn from(row: &DeliveryRow) -> Self {
        let message = row.message_room.clone().zip(row.message_id.clone());
        let message = message.map(|(room, id)| MessageId { room, id });
        Self { id: row.id.clone(), message, since: Some(row.created_at) }
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ReplyError {
    #[error(transparent)]
    Undelivered(#[from] Undelivered),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReplyError {
    fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Undelivered(Undelivered::Refused(refusal)) => Some(refusal),
            _ => None,
        }
    }
}

/// Where a turn's messages go.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub services: Arc<Services>,
    pub outlet: Outlet,
    pub conversation: ConversationId,
    /// The message that opened the turn.
    pub question: Option<MessageId>,
    /// Whom the answer mentions: nobody waits for it, and no placeholder told her.
    pub to: Option<String>,
    pub session_id: String,
    pub turn_id: String,
    /// A post of this turn may have arrived without our knowing (an earlier process, an answer that never came): look
    /// before posting again.
    pub unsure: Arc<AtomicBool>,
}

/// A delivery in its place.
struct Placed {
    id: MessageId,
    /// Posted just now, with the text that was asked for; else it may still show an older one.
    fresh: bool,
}

/// The running end of a turn's placeholder.
#[derive(Debug)]
pub(super) struct Reply {
    route: Route,
    keeper: JoinHandle<()>,
    /// Dropped with a turn that breaks: the keeper ends with it.
    enough: DropGuard,
    shown: watch::Receiver<u64>,
}

impl Reply {
    /// Posts the placeholder (or finds the one of an earlier process) and keeps it current from then on.
    pub(super) fn start(
        route: Route,
        placeholder: Owed,
        views: watch::Receiver<View>,
        control: Control,
        tasks: &TaskTracker,
    ) -> Self {
        let enough = CancellationToken::new();
        let (shown, shown_reader) = watch::channel(0);
        let keeper = Keeper { route: route.clone(), views, shown, enough: enough.clone(), control };
        let keeper = tasks.spawn(keeper.run(placeholder));
        Self { route, keeper, enough: enough.drop_guard(), shown: shown_reader }
    }

    /// The newest version of the view that the platform shows.
    pub(super) fn shown(&self) -> watch::Receiver<u64> {
        self.shown.clone()
    }

    /// Ends the interim edits; returns when none is in flight.
    pub(super) async fn quiet(self) -> Route {
        self.enough.disarm().cancel();
        if let Err(error) = self.keeper.await {
            tracing::error!(turn.id = %self.route.turn_id, %error, "keeping the placeholder current failed");
        }
        self.route
    }
}

impl Route {
    fn message(&self, operation: Operation, body: Body, urgency: Urgency) -> Outbound {
        Outbound { conversation: self.conversation.clone(), question: self.question.clone(), operation, body, urgency }
    }

    /// Nothing more can be shown here: what is owed is written off, with the reason.
    pub(super) async fn give_up(&self, reason: &str) -> Result<(), StoreError> {
        let store = self.services.store.deliveries();
        for row in store.of_turn(&self.turn_id).await? {
            if row.state != DeliveryState::Settled {
                store.fail(&row.id, reason, self.services.now()).await?;
            }
        }
        Ok(())
    }

    /// Removes what stands in the chat of a turn that nobody waits for any more. As far as the platform lets us.
    pub(super) async fn take_away(&self) {
        let rows = match self.services.store.deliveries().of_turn(&self.turn_id).await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(turn.id = %self.turn_id, %error, "what was posted for a retracted question stays");
                return;
            }
        };
        let is_gone = |row: &DeliveryRow| row.kind == DeliveryKind::Replaced && row.state == DeliveryState::Settled;
        for row in rows.into_iter().filter(|row| !is_gone(row)) {
            let owed = Owed::from(&row);
            let Some(id) = self.stands_as(&owed).await else { continue };
            let gone = self.message(Operation::Delete(id), Body::Plain(String::new()), Urgency::Final);
            if let Err(error) = self.outlet.send(&gone).await {
                tracing::warn!(turn.id = %self.turn_id, %error, "what was posted for a retracted question stays");
            }
        }
    }

    async fn stands_as(&self, owed: &Owed) -> Option<MessageId> {
        if owed.message.is_some() || !self.unsure.load(Ordering::Relaxed) {
            return owed.message.clone();
        }
        let post =
            self.message(Operation::Post(DeliveryKey(owed.id.clone())), Body::Plain(String::new()), Urgency::Final);
        match self.outlet.look_up(&post).await {
            Ok(Trace::Posted(id)) => Some(id),
            _ => None,
        }
    }

    /// Puts a delivery where its row says, unless it is there already.
    async fn place(&self, owed: &Owed, body: &Body) -> Result<Placed, ReplyError> {
        if let Some(id) = &owed.message {
            return Ok(Placed { id: id.clone(), fresh: false });
        }
        let placed = self.post(owed, body).await?;
        self.place_is(owed, &placed).await?;
        Ok(placed)
    }

    /// Writes down what a delivery became.
    async fn place_is(&self, owed: &Owed, placed: &Placed) -> Result<(), StoreError> {
        let store = self.services.store.deliveries();
        let written = store.sent(&owed.id, &placed.id.room, &placed.id.id, self.services.now()).await;
        if written.is_err() {
            // It stands there, but no row says where.
            self.unsure.store(true, Ordering::Relaxed);
        }
        written
    }

    async fn post(&self, owed: &Owed, body: &Body) -> Result<Placed, Undelivered> {
        self.post_as(DeliveryKey(owed.id.clone()), owed.since, body).await
    }

    /// `since`: when this may have been posted first.
    async fn post_as(&self, key: DeliveryKey, since: Option<i64>, body: &Body) -> Result<Placed, Undelivered> {
        let operation = Operation::Post(key);
        let mut fresh = true;
        if self.unsure.load(Ordering::Relaxed)
            && let Some(since) = since
        {
            let post = self.message(operation.clone(), body.clone(), Urgency::Final);
            match self.outlet.look_up(&post).await? {
                Trace::Posted(id) => return Ok(Placed { id, fresh: false }),
                Trace::Absent => {}
                Trace::Unknown => {
                    let merged = matches!(self.outlet.features().repeats, Repeats::Merged(_));
                    let age = u64::try_from(self.services.now().saturating_sub(since)).unwrap_or_default();
                    self.outlet.about_to_repeat(&post, Duration::from_millis(age));
                    // The same message once more, perhaps, and then with its older text.
                    fresh = !merged;
                }
            }
        }
        let sent = self.insist(operation, body).await;
        if matches!(sent, Err(Undelivered::Late(_))) {
            self.unsure.store(true, Ordering::Relaxed);
        }
        Ok(Placed { id: sent?, fresh })
    }

    /// What can't be edited would say for ever that an answer is to come. If it can't be removed, it stays.
    async fn clear_away(&self, id: MessageId) -> bool {
        let gone = self.message(Operation::Delete(id), Body::Plain(String::new()), Urgency::Final);
        match timeout(CLEARING, self.outlet.send(&gone)).await {
            Ok(Ok(_)) => return true,
            Ok(Err(error)) => {
                tracing::warn!(turn.id = %self.turn_id, %error, "a placeholder that can't be edited stays");
            }
            Err(_) => {
                tracing::warn!(turn.id = %self.turn_id, "a placeholder that can't be edited could not be removed in time");
            }
        }
        false
    }

    /// What must be shown is shown without its markup rather than not at all.
    async fn insist(&self, operation: Operation, body: &Body) -> Result<MessageId, Undelivered> {
        let first = self.message(operation.clone(), body.clone(), Urgency::Final);
        match (self.outlet.send(&first).await, body) {
            (Err(Undelivered::Refused(refusal)), Body::Markdown(_) | Body::Addressed { .. })
                if refusal.kind == RefusalKind::Content =>
            {
                tracing::warn!(turn.id = %self.turn_id, %refusal, "shown without markup");
                let plain = match body {
                    Body::Addressed { to, text } => format!("{to} {text}"),
                    _ => body.text().to_owned(),
                };
                self.outlet.send(&self.message(operation, Body::Plain(plain), Urgency::Final)).await
            }
            (sent, _) => sent,
        }
    }

    /// One short reply that mentions the asker: edits are silent.
    pub(super) async fn notify(&self, text: String) -> Result<(), ReplyError> {
        let store = self.services.store.deliveries();
        let rows = store.of_turn(&self.turn_id).await?;
        let owed = match rows.iter().find(|row| row.kind == DeliveryKind::Notice) {
            Some(row) if row.state == DeliveryState::Settled => return Ok(()),
            Some(row) => row.into(),
            None => self.intend(DeliveryKind::Notice, 0, &text).await?,
        };
        self.post(&owed, &Body::Plain(text)).await?;
        store.settle(&owed.id, self.services.now()).await?;
        Ok(())
    }

    async fn intend(&self, kind: DeliveryKind, part: i64, text: &str) -> Result<Owed, StoreError> {
        self.intend_as(uuid::Uuid::now_v7().to_string(), kind, part, text).await
    }

    async fn intend_as(&self, id: String, kind: DeliveryKind, part: i64, text: &str) -> Result<Owed, StoreError> {
        let at = &self.conversation;
        let new = NewDelivery {
            id,
            turn_id: self.turn_id.clone(),
            session_id: self.session_id.clone(),
            channel: at.channel.as_str().to_owned(),
            room: at.room.clone(),
            thread: at.thread.clone(),
            kind,
            part,
            text: text.to_owned(),
            now_ms: self.services.now(),
        };
        self.services.store.deliveries().intend(&new).await?;
        Ok(Owed { id: new.id, message: None, since: None })
    }
}
