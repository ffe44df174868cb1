//! One placeholder per turn: posted, kept current, and at last edited into the answer. One task writes the message at a time,
//! and the answer is written only after that task has ended, so that a late interim edit can't overwrite it.
//!
//! Each thing we post has a row before it is posted. After a crash the row tells what is there already; where it can't, the
//! platform is asked before anything is posted again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use watchfloor_channel::{
    Body, ConversationId, DeliveryKey, MessageId, Operation, Outbound, RefusalKind, Urgency,
    text::{for_people, split},
};

use super::{
    Services,
    control::{Control, Why},
    outlet::{Outlet, Undelivered},
    view::View,
};
use crate::store::{DeliveryKind, DeliveryRow, DeliveryState, NewDelivery, StoreError};

/// What we owe the conversation: its row's id, and the message it became.
#[derive(Clone, Debug)]
pub(super) struct Owed {
    id: String,
    message: Option<MessageId>,
}

impl From<&DeliveryRow> for Owed {
    fn from(row: &DeliveryRow) -> Self {
        let message = row.message_room.clone().zip(row.message_id.clone());
        Self { id: row.id.clone(), message: message.map(|(room, id)| MessageId { room, id }) }
    }
}

/// An answer is split with some room to spare, then smaller if a platform still finds a part too long.
const SHRINK: [usize; 3] = [100, 75, 50];

#[derive(Debug, thiserror::Error)]
pub(super) enum ReplyError {
    #[error(transparent)]
    Undelivered(#[from] Undelivered),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Where a turn's messages go.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub services: Arc<Services>,
    pub outlet: Outlet,
    pub conversation: ConversationId,
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
    enough: CancellationToken,
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
        Self { route, keeper, enough, shown: shown_reader }
    }

    /// The newest version of the view that the platform shows.
    pub(super) fn shown(&self) -> watch::Receiver<u64> {
        self.shown.clone()
    }

    /// Ends the interim edits; returns when none is in flight.
    pub(super) async fn quiet(self) -> Route {
        self.enough.cancel();
        if let Err(error) = self.keeper.await {
            tracing::error!(turn.id = %self.route.turn_id, %error, "keeping the placeholder current failed");
        }
        self.route
    }
}

struct Keeper {
    route: Route,
    views: watch::Receiver<View>,
    shown: watch::Sender<u64>,
    enough: CancellationToken,
    control: Control,
}

impl Keeper {
    async fn run(mut self, placeholder: Owed) {
        let view = self.views.borrow_and_update().clone();
        let first = view.render();
        let body = Body::Markdown(first.clone());
        let placed = tokio::select! {
            placed = self.route.place(&placeholder, &body) => placed,
            () = self.patience() => {
                // The answer looks for it before it posts.
                self.route.unsure.store(true, Ordering::Relaxed);
                return;
            }
        };
        let id = match placed {
            Ok(placed) => placed.id,
            Err(ReplyError::Undelivered(Undelivered::Refused(refusal))) => {
                let at = &self.route.conversation;
                tracing::error!(conversation.id = %at, code = %refusal.code, "nothing can be posted here: {}", refusal.remedy);
                return self.control.stop(Why::CantPost(refusal));
            }
            Err(error) => {
                // The answer tries again; until then there is nothing to keep current.
                tracing::warn!(conversation.id = %self.route.conversation, %error, "no placeholder yet");
                return;
            }
        };
        self.shown.send_replace(view.version);
        self.keep_current(&id, first, view.urgent).await;
    }

    /// The answer is there: a post in flight may still arrive, a platform that makes us wait may not hold it up.
    async fn patience(&self) {
        self.enough.cancelled().await;
        tokio::time::sleep(PLACEHOLDER_GRACE).await;
    }

    async fn keep_current(&mut self, id: &MessageId, mut last_text: String, mut last_urgent: u64) {
        let _viewer = self.route.outlet.viewer();
        let mut last_edit = Instant::now();
        let features = self.route.outlet.features();
        if !features.edits {
            return self.enough.cancelled().await;
        }
        let mut edits_left = features.edit_budget.map_or(u32::MAX, |budget| budget.saturating_sub(3));
        while edits_left > 0 {
            tokio::select! {
                changed = self.views.changed() => if changed.is_err() { break },
                () = self.enough.cancelled() => return,
            }
            // Wait out the gap, unless something urgent is or becomes part of the view.
            let due = last_edit + self.route.outlet.edit_gap();
            loop {
                if self.views.borrow().urgent > last_urgent {
                    break;
                }
                tokio::select! {
                    () = sleep_until(due) => break,
                    changed = self.views.changed() => if changed.is_err() { break },
                    () = self.enough.cancelled() => return,
                }
            }
            let view = self.views.borrow_and_update().clone();
            let text = view.render();
            if text != last_text {
                let edit =
                    self.route.message(Operation::Edit(id.clone()), Body::Markdown(text.clone()), Urgency::Interim);
                match self.route.outlet.send(&edit).await {
                    Ok(_) => {
                        last_edit = Instant::now();
                        last_text = text;
                        edits_left -= 1;
                    }
                    Err(Undelivered::Dropped | Undelivered::Late(_)) => {
                        // The picture is still owed: look again after a gap, also if nothing changes until then.
                        last_edit = Instant::now();
                        self.views.mark_changed();
                        tokio::select! {
                            () = sleep_until(last_edit + RETRY) => {}
                            () = self.enough.cancelled() => return,
                        }
                        continue;
                    }
                    Err(Undelivered::Refused(refusal)) => {
                        tracing::warn!(turn.id = %self.route.turn_id, %refusal, "the placeholder can't be edited");
                        if matches!(refusal.kind, RefusalKind::Credentials | RefusalKind::Room) {
                            return self.control.stop(Why::CantPost(refusal));
                        }
                        return;
                    }
                }
            }
            last_urgent = view.urgent;
            self.shown.send_replace(view.version);
        }
        self.enough.cancelled().await;
    }
}

/// How long the answer waits for a placeholder that is still being posted.
const PLACEHOLDER_GRACE: Duration = Duration::from_secs(10);
/// After an interim edit for which there was no room.
const RETRY: Duration = Duration::from_secs(1);

impl Route {
    fn message(&self, operation: Operation, body: Body, urgency: Urgency) -> Outbound {
        Outbound { conversation: self.conversation.clone(), operation, body, urgency }
    }

    /// Puts a delivery where its row says, unless it is there already.
    async fn place(&self, owed: &Owed, body: &Body) -> Result<Placed, ReplyError> {
        if let Some(id) = &owed.message {
            return Ok(Placed { id: id.clone(), fresh: false });
        }
        let placed = self.post(owed, body.clone()).await?;
        self.services.store.deliveries().sent(&owed.id, &placed.id.room, &placed.id.id, self.services.now()).await?;
        Ok(placed)
    }

    async fn post(&self, owed: &Owed, body: Body) -> Result<Placed, Undelivered> {
        let post = self.message(Operation::Post(DeliveryKey(owed.id.clone())), body, Urgency::Final);
        if self.unsure.load(Ordering::Relaxed)
            && let Some(id) = self.outlet.posted(&post).await.flatten()
        {
            return Ok(Placed { id, fresh: false });
        }
        let sent = self.outlet.send(&post).await;
        if matches!(sent, Err(Undelivered::Late(_))) {
            self.unsure.store(true, Ordering::Relaxed);
        }
        Ok(Placed { id: sent?, fresh: true })
    }

    /// Shows the answer: the placeholder becomes its first part, what doesn't fit follows as replies. May be repeated from
    /// the start after a crash: what is settled stays as it is.
    pub(super) async fn finish(&self, answer: &Body) -> Result<(), ReplyError> {
        let features = self.outlet.features();
        let adapter = self.outlet.adapter();
        let mut last = None;
        for percent in SHRINK {
            let limit = features.max_text * percent / 100;
            let parts: Vec<_> = match answer {
                Body::Markdown(text) => {
                    let measure = |part: &str| adapter.measure(&Body::Markdown(part.to_owned()));
                    split(&for_people(text), limit, measure).into_iter().map(Body::Markdown).collect()
                }
                Body::Plain(text) => vec![Body::Plain(text.clone())],
            };
            match self.show(&parts).await {
                Err(ReplyError::Undelivered(Undelivered::Refused(refusal))) if refusal.kind == RefusalKind::TooLong => {
                    last = Some(Undelivered::Refused(refusal).into());
                }
                other => return other,
            }
        }
        last.map_or(Ok(()), Err)
    }

    async fn show(&self, parts: &[Body]) -> Result<(), ReplyError> {
        let store = self.services.store.deliveries();
        let rows = store.of_turn(&self.turn_id).await?;
        for (number, part) in parts.iter().enumerate() {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            let placeholder = rows.iter().find(|row| number == 0 && row.kind == DeliveryKind::Placeholder);
            if let Some(row) = placeholder {
                if row.state == DeliveryState::Settled {
                    continue;
                }
                if row.state != DeliveryState::Failed && self.turn_into_answer(row, part).await? {
                    continue;
                }
            }
            let owed = match rows.iter().find(|row| row.kind == DeliveryKind::Part && row.part == number) {
                Some(row) if row.state == DeliveryState::Settled => continue,
                Some(row) => row.into(),
                None => self.intend(DeliveryKind::Part, number, part.text()).await?,
            };
            self.place(&owed, part).await?;
            store.settle(&owed.id, self.services.now()).await?;
        }
        Ok(())
    }

    /// Edits the placeholder into the first part. False: it is gone for good and the part has to be posted.
    async fn turn_into_answer(&self, row: &DeliveryRow, part: &Body) -> Result<bool, ReplyError> {
        let store = self.services.store.deliveries();
        store.finalise(&row.id, part.text(), self.services.now()).await?;
        let Placed { id, fresh } = self.place(&row.into(), part).await?;
        if !fresh {
            let edit = self.message(Operation::Edit(id), part.clone(), Urgency::Final);
            match self.outlet.send(&edit).await {
                Ok(_) => {}
                Err(Undelivered::Refused(refusal))
                    if matches!(refusal.kind, RefusalKind::MessageGone | RefusalKind::Content | RefusalKind::Other) =>
                {
                    tracing::warn!(turn.id = %self.turn_id, %refusal, "the placeholder can't become the answer; posting it");
                    store.fail(&row.id, &refusal.to_string(), self.services.now()).await?;
                    return Ok(false);
                }
                Err(error) => return Err(error.into()),
            }
        }
        store.settle(&row.id, self.services.now()).await?;
        Ok(true)
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
        self.post(&owed, Body::Plain(text)).await?;
        store.settle(&owed.id, self.services.now()).await?;
        Ok(())
    }

    async fn intend(&self, kind: DeliveryKind, part: i64, text: &str) -> Result<Owed, StoreError> {
        let at = &self.conversation;
        let new = NewDelivery {
            id: uuid::Uuid::now_v7().to_string(),
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
        Ok(Owed { id: new.id, message: None })
    }
}
