//! The actor of one conversation: the only writer of its transcript, at most one running turn. It lives while there is work
//! and keeps nothing in memory that the store doesn't hold.

use std::{collections::HashSet, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{ConversationId, Inbound, Sign, backoff::Backoff};

use super::{
    Router, Services,
    control::{Control, Why},
    prompt,
    router::{Bell, Unfinished},
    steer::{inbound, user_row},
    turn::{Closed, Origin, Turn},
};
use crate::store::{
    DeliveryKind, InboxKind, InboxRow, OpenTurn, OpenedTurn, SessionRow, SessionStatus, StoreError, Totals, TurnStatus,
};

pub(super) struct Actor {
    pub router: Router,
    pub services: Arc<Services>,
    pub conversation: ConversationId,
    pub bell: Arc<Bell>,
    pub closing: CancellationToken,
    pub ending: CancellationToken,
}

/// What a look at the inbox led to.
enum Work {
    Done,
    Nothing,
    /// A turn is still open in the store.
    Left(Box<Unfinished>),
}

impl Actor {
    pub(super) async fn run(self, mut unfinished: Option<Unfinished>) {
        let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(30));
        loop {
            self.bell.clear();
            let worked = match &unfinished {
                Some(left) => self.resume(left).await,
                None if self.closing.is_cancelled() => return,
                None => self.next().await,
            };
            match worked {
                Ok(Work::Done) => {
                    unfinished = None;
                    backoff.reset();
                    continue;
                }
                Ok(Work::Nothing) => {
                    if self.router.retire(&self.conversation, &self.bell) {
                        return;
                    }
                    continue;
                }
                Ok(Work::Left(left)) => unfinished = Some(*left),
                Err(error) => {
                    tracing::error!(conversation.id = %self.conversation, %error, "a conversation waits for the store");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(backoff.next(&mut rand::rng())) => {}
                () = self.closing.cancelled() => return,
            }
        }
    }

    /// Takes what lies in front: a stop with nothing to stop, or all messages up to the next stop as one turn.
    async fn next(&self) -> Result<Work, StoreError> {
        let pending = self.pending().await?;
        let Some(first) = pending.first() else { return Ok(Work::Nothing) };
        if first.kind == InboxKind::Stop {
            self.services.store.inbox().finish(std::slice::from_ref(&first.id)).await?;
            self.react(first, Sign::Done);
            return Ok(Work::Done);
        }
        let mut rows = Vec::new();
        let mut said = Vec::new();
        for row in pending.iter().take_while(|row| row.kind != InboxKind::Stop) {
            match inbound(row) {
                Some(inbound) => said.push((row, inbound)),
                // It can't be read, now or later; it was logged.
                None => rows.push(row.id.clone()),
            }
        }
        let Some((opener, first_said)) = said.first() else {
            self.services.store.inbox().finish(&rows).await?;
            return Ok(Work::Done);
        };
        let OpenedTurn { session, turn, placeholder, is_first } = self.open(opener, &said).await?;
        let origin = if is_first && !first_said.starts_thread && !self.conversation.thread.is_empty() {
            Origin::FirstInThread { opened_by: said.iter().map(|(_, inbound)| inbound.message_key.clone()).collect() }
        } else {
            Origin::Message
        };
        let turn = Turn {
            services: self.services.clone(),
            conversation: self.conversation.clone(),
            session,
            turn,
            placeholder,
            control: Control::default(),
            origin,
        };
        self.attend(turn).await
    }

    /// One transaction: session, turn, transcript rows, taken inbox rows and the intended placeholder.
    async fn open(&self, opener: &InboxRow, said: &[(&InboxRow, Inbound)]) -> Result<OpenedTurn, StoreError> {
        let at = &self.conversation;
        let store = &self.services.store;
        let overheard = store.inbox().overheard(at.channel.as_str(), &at.room, &at.thread).await?;
        let context: Vec<_> = overheard.iter().filter_map(inbound).collect();
        let mut messages: Vec<_> = prompt::overheard(&context).map(|text| user_row(None, text)).into_iter().collect();
        for (row, inbound) in said {
            messages.push(user_row(Some(&row.author_id), prompt::message(inbound)));
        }
        store
            .turns()
            .open(&OpenTurn {
                turn_id: uuid::Uuid::now_v7().to_string(),
                channel: at.channel.as_str().to_owned(),
                room: at.room.clone(),
                thread: at.thread.clone(),
                scope_user: String::new(),
                locale: String::new(),
                asker_id: opener.author_id.clone(),
                asker_name: opener.author_name.clone(),
                owner: self.services.owner.clone(),
                now_ms: self.services.now(),
                title: watchfloor_channel::text::one_line(&opener.text, 80),
                messages,
                inbox_ids: said.iter().map(|(row, _)| row.id.clone()).collect(),
                overheard_ids: overheard.iter().map(|row| row.id.clone()).collect(),
                delivery_id: uuid::Uuid::now_v7().to_string(),
            })
            .await
    }

    /// Goes on with a turn that an earlier process left open: in the same placeholder, from the same transcript.
    async fn resume(&self, (turn, session): &Unfinished) -> Result<Work, StoreError> {
        let store = &self.services.store;
        let now = self.services.now();
        let resumed = store.turns().resume(&turn.id, &self.services.owner, now).await?;
        let Some(turn) = store.turns().get(&turn.id).await? else { return Ok(Work::Done) };
        let session = SessionRow { lease_epoch: resumed.epoch, ..session.clone() };
        // What an earlier process had under way will not come back; the transcript shows it as interrupted.
        let mut sessions = vec![session.id.clone()];
        for worker in store.sessions().running_workers(&session.id).await? {
            store.sessions().set_status(&worker.id, SessionStatus::Failed, now).await?;
            sessions.push(worker.id);
        }
        for session in &sessions {
            for call in store.calls().unfinished(session).await? {
                store.calls().finish(&call.id, "interrupted", None, None, now).await?;
            }
        }
        let deliveries = store.deliveries().of_turn(&turn.id).await?;
        let Some(placeholder) = deliveries.into_iter().find(|row| row.kind == DeliveryKind::Placeholder) else {
            tracing::error!(turn.id = %turn.id, "an open turn has no placeholder and is closed");
            let reason = Some("no placeholder".to_owned());
            store.turns().close(&turn.id, TurnStatus::Failed, reason, Totals::default(), now).await?;
            return Ok(Work::Done);
        };
        tracing::info!(turn.id = %turn.id, attempts = resumed.attempts, "going on with a turn after a restart");
        let turn = Turn {
            services: self.services.clone(),
            conversation: self.conversation.clone(),
            session,
            origin: Origin::Restart { attempts: resumed.attempts },
            turn,
            placeholder,
            control: Control::default(),
        };
        self.attend(turn).await
    }

    /// Runs a turn and listens meanwhile.
    async fn attend(&self, turn: Turn) -> Result<Work, StoreError> {
        let control = turn.control.clone();
        let left = (turn.turn.clone(), turn.session.clone());
        let mut seen = HashSet::new();
        let mut stops = Vec::new();
        self.listen(&control, &mut seen, &mut stops).await;
        // A panic in one turn must not take the conversation with it.
        let mut running = std::pin::pin!(AssertUnwindSafe(turn.run()).catch_unwind());
        let ended = loop {
            tokio::select! {
                ended = &mut running => break ended,
                () = self.bell.heard() => {
                    self.bell.clear();
                    self.listen(&control, &mut seen, &mut stops).await;
                }
                () = self.ending.cancelled(), if control.why().is_none() => control.stop(Why::Shutdown),
            }
        };
        if !stops.is_empty() {
            self.services.store.inbox().finish(&stops).await?;
        }
        match ended {
            Ok(Closed::Yes) => Ok(Work::Done),
            Ok(Closed::Left) => Ok(Work::Left(Box::new(left))),
            Err(_) => {
                tracing::error!(turn.id = %left.0.id, "a turn panicked and is taken up again");
                Ok(Work::Left(Box::new(left)))
            }
        }
    }

    /// Who says stop is heard at once; everybody else sees that her message was taken.
    async fn listen(&self, control: &Control, seen: &mut HashSet<String>, stops: &mut Vec<String>) {
        let pending = match self.pending().await {
            Ok(pending) => pending,
            Err(error) => {
                tracing::error!(conversation.id = %self.conversation, %error, "new messages can't be read now");
                return;
            }
        };
        for row in pending {
            if !seen.insert(row.id.clone()) {
                continue;
            }
            match row.kind {
                InboxKind::Stop => {
                    let by = row.author_name.clone().unwrap_or_else(|| self.mention(&row.author_id));
                    control.stop(Why::Said { by });
                    stops.push(row.id);
                }
                _ => self.react(&row, Sign::Taken),
            }
        }
    }

    async fn pending(&self) -> Result<Vec<InboxRow>, StoreError> {
        let at = &self.conversation;
        self.services.store.inbox().pending(at.channel.as_str(), &at.room, &at.thread).await
    }

    fn mention(&self, person: &str) -> String {
        let channel = self.services.channels.get(&self.conversation.channel);
        channel.map_or_else(|| person.to_owned(), |channel| channel.outlet.adapter().mention(person))
    }

    /// A sign on somebody's message. Nice to have: tried once.
    fn react(&self, row: &InboxRow, sign: Sign) {
        let (Some(inbound), Some(channel)) = (inbound(row), self.services.channels.get(&self.conversation.channel))
        else {
            return;
        };
        let outlet = channel.outlet.clone();
        self.router.spawn(async move {
            if let Err(error) = outlet.adapter().react(&inbound.message, sign).await {
                tracing::warn!(channel.id = %inbound.conversation.channel, %error, "a sign could not be set");
            }
        });
    }
}
