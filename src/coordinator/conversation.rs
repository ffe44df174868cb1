//! The actor of one conversation: the only writer of its transcript, at most one running turn. It lives while there is work
//! and believes the store, not its memory: each round begins with what is written there.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{ConversationId, Inbound, Sign, backoff::Backoff};

use super::{
    Router, Services,
    control::{Control, Why},
    prompt,
    router::Bell,
    steer::{self, inbound, user_row},
    turn::{Closed, Turn},
};
use crate::store::{
    DeliveryKind, DeliveryRow, InboxKind, InboxRow, OpenTurn, OpenedTurn, SessionRow, SessionStatus, StoreError,
    Totals, TurnRow, TurnStatus,
};

/// Reports that come within this time are one turn.
const TOGETHER: Duration = Duration::from_secs(2);
/// After an inbox that could not be read: nothing else would ring for what lies in it.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

pub(super) struct Actor {
    pub router: Router,
    pub services: Arc<Services>,
    pub conversation: ConversationId,
    pub bell: Arc<Bell>,
    /// No new turns.
    pub closing: CancellationToken,
    /// Running turns are told to end.
    pub ending: CancellationToken,
}

/// What was heard while a turn runs.
struct Ear {
    control: Control,
    turn_id: String,
    session_id: String,
    asker_id: String,
    /// When the newest message that the turn answers was said.
    asked_at: i64,
    seen: HashSet<String>,
    /// Rows that are done with the turn.
    stops: Vec<String>,
}

/// What one round led to.
enum Work {
    Done,
    Nothing,
    /// There will be something in a moment.
    Soon(Duration),
    /// The turn is still open in the store: taken up again after a pause, or by the next process.
    Left,
    /// Another process works on this conversation now.
    Lost,
}

impl Actor {
    pub(super) async fn run(self) {
        let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(30));
        while !self.closing.is_cancelled() {
            self.bell.clear();
            match self.round().await {
                Ok(Work::Done) => {
                    backoff.reset();
                    continue;
                }
                Ok(Work::Nothing) => {
                    if self.router.retire(&self.conversation, &self.bell) {
                        return;
                    }
                    continue;
                }
                Ok(Work::Soon(wait)) => {
                    tokio::select! {
                        () = tokio::time::sleep(wait) => {}
                        () = self.bell.heard() => {}
                        () = self.closing.cancelled() => return,
                    }
                    continue;
                }
                Ok(Work::Lost) | Err(StoreError::LostLease) => {
                    tracing::warn!(conversation.id = %self.conversation, "another process has taken over this conversation");
                    return self.router.abandon(&self.conversation);
                }
                Ok(Work::Left) => {}
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

    /// An open turn comes first, then a stop with nothing to stop, then all messages up to the next stop as one turn.
    async fn round(&self) -> Result<Work, StoreError> {
        let at = &self.conversation;
        let store = &self.services.store;
        let (channel, room, thread) = (at.channel.as_str(), &at.room, &at.thread);
        let (turns, inbox) = (store.turns(), store.inbox());
        if let Some((turn, session)) = turns.open_in(channel, room, thread).await? {
            return self.resume(turn, session).await;
        }
        let (overheard, pending): (Vec<_>, Vec<_>) =
            inbox.waiting(channel, room, thread).await?.into_iter().partition(|row| row.kind == InboxKind::Overheard);
        let Some(first) = pending.first() else { return Ok(Work::Nothing) };
        let retracted = steer::retracted(&pending);
        if !retracted.is_empty() {
            // Before anything is opened: what was taken back while it waited is not answered.
            inbox.finish(&retracted).await?;
            return Ok(Work::Done);
        }
        if first.kind == InboxKind::Stop {
            if let Some(session) = store.sessions().find(channel, room, thread, "").await? {
                self.router.crew().stop(&session.id);
            }
            store.inbox().finish(std::slice::from_ref(&first.id)).await?;
            self.react(first, Sign::Done);
            return Ok(Work::Done);
        }
        let mut unreadable = Vec::new();
        let mut said = Vec::new();
        let mut reports = Vec::new();
        for row in pending.iter().take_while(|row| row.kind != InboxKind::Stop) {
            if row.kind == InboxKind::TaskNotification {
                reports.push(row);
                continue;
            }
            match inbound(row) {
                Some(inbound) => said.push((row, inbound)),
                // Not now and not later; it was logged.
                None => unreadable.push(row.id.clone()),
            }
        }
        // Redeliveries after a pause come in any order.
        said.sort_by_key(|(_, inbound)| inbound.sent_at);
        if !unreadable.is_empty() {
            store.inbox().finish(&unreadable).await?;
        }
        let opener = match (said.first(), reports.first()) {
            (Some((opener, _)), _) => opener,
            (None, Some(report)) => {
                let age = u64::try_from(self.services.now().saturating_sub(report.received_at)).unwrap_or(u64::MAX);
                match TOGETHER.checked_sub(Duration::from_millis(age)) {
                    Some(wait) if !wait.is_zero() => return Ok(Work::Soon(wait)),
                    _ => report,
                }
            }
            (None, None) => return Ok(Work::Done),
        };
        // What comes from now on rings the bell.
        let more = pending.len() > said.len() + reports.len() + unreadable.len();
        let OpenedTurn { session, turn, placeholder } = self.open(opener, &said, &reports, &overheard).await?;
        let late = said.iter().filter_map(|(row, inbound)| self.services.late_by(row, inbound)).max();
        let said = said.into_iter().map(|(_, inbound)| inbound).collect();
        self.attend(self.turn(session, turn, placeholder, said).late(late), more).await
    }

    /// One transaction: session, turn, transcript rows, taken inbox rows and the intended placeholder.
    async fn open(
        &self,
        opener: &InboxRow,
        said: &[(&InboxRow, Inbound)],
        reports: &[&InboxRow],
        overheard: &[InboxRow],
    ) -> Result<OpenedTurn, StoreError> {
        let at = &self.conversation;
        let store = &self.services.store;
        let context: Vec<_> = overheard.iter().filter_map(inbound).collect();
        let mut messages: Vec<_> = prompt::overheard(&context).map(|text| user_row(None, text)).into_iter().collect();
        messages.extend(reports.iter().map(|row| user_row(None, row.text.clone())));
        for (row, inbound) in said {
            let late = self.services.late_by(row, inbound);
            messages.push(user_row(Some(&row.author_id), prompt::message(inbound, late)));
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
                inbox_ids: said
                    .iter()
                    .map(|(row, _)| *row)
                    .chain(reports.iter().copied())
                    .map(|row| row.id.clone())
                    .collect(),
                follow_up: said.is_empty(),
                overheard_ids: overheard.iter().map(|row| row.id.clone()).collect(),
                delivery_id: uuid::Uuid::now_v7().to_string(),
            })
            .await
    }

    /// Goes on with a turn that was left open: in the same placeholder, from the same transcript.
    async fn resume(&self, turn: TurnRow, session: SessionRow) -> Result<Work, StoreError> {
        let store = &self.services.store;
        let now = self.services.now();
        let resumed = store.turns().resume(&turn.id, &self.services.owner, now).await?;
        let turn = TurnRow { attempts: resumed.attempts, ..turn };
        let session = SessionRow { lease_epoch: resumed.epoch, ..session };
        // What was under way will not come back; the transcript shows it as interrupted.
        let mut sessions = vec![session.id.clone()];
        for worker in store.sessions().running_workers(&session.id).await? {
            if self.router.crew().find(&session.id, &worker.id).is_some_and(|member| member.has_ended().is_none()) {
                continue;
            }
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
        tracing::info!(turn.id = %turn.id, attempts = turn.attempts, "going on with a turn that was left open");
        let rows = store.inbox().of_turn(&turn.id).await?;
        let said = rows.iter().filter(|row| row.kind != InboxKind::TaskNotification);
        let said: Vec<_> = said.filter_map(|row| Some((row, inbound(row)?))).collect();
        let late = said.iter().filter_map(|(row, inbound)| self.services.late_by(row, inbound)).max();
        let said = said.into_iter().map(|(_, inbound)| inbound).collect();
        self.attend(self.turn(session, turn, placeholder, said).late(late).resumed(), true).await
    }

    fn turn(&self, session: SessionRow, turn: TurnRow, placeholder: DeliveryRow, said: Vec<Inbound>) -> Turn {
        Turn::new(self.router.clone(), self.conversation.clone(), session, turn, placeholder, said)
    }

    /// Runs a turn and listens meanwhile. The turn is a task of its own: reading the inbox never holds it up, and a panic
    /// in it does not take the conversation with it.
    async fn attend(&self, turn: Turn, look_now: bool) -> Result<Work, StoreError> {
        let (control, turn_id, asked_at) = (turn.control(), turn.id().to_owned(), turn.asked_at());
        let (session_id, asker_id) = (turn.session_id().to_owned(), turn.asker_id().to_owned());
        let mut running = JoinSet::new();
        running.spawn(turn.run(self.ending.clone()));
        let (seen, stops) = (HashSet::new(), Vec::new());
        let mut ear =
            Ear { control: control.clone(), turn_id: turn_id.clone(), session_id, asker_id, asked_at, seen, stops };
        let mut heard = !look_now || self.listen(&mut ear).await;
        let ended = loop {
            tokio::select! {
                ended = running.join_next() => break ended,
                () = self.bell.heard() => {
                    self.bell.clear();
                    heard = self.listen(&mut ear).await;
                }
                () = tokio::time::sleep(LISTEN_AGAIN), if !heard => {
                    heard = self.listen(&mut ear).await;
                }
                () = self.ending.cancelled(), if control.why().is_none() => control.stop(Why::Shutdown),
            }
        };
        let closed = match ended {
            Some(Ok(closed)) => closed,
            Some(Err(error)) => {
                tracing::error!(turn.id = %turn_id, %error, "a turn broke and is taken up again");
                Closed::Left
            }
            None => Closed::Left,
        };
        Ok(match closed {
            Closed::Yes => {
                if !ear.stops.is_empty() {
                    self.services.store.inbox().finish(&ear.stops).await?;
                }
                Work::Done
            }
            Closed::Left => Work::Left,
            Closed::Lost => Work::Lost,
        })
    }

    /// Who says stop is heard at once; everybody else sees that her message was taken. False: the inbox can't be read now.
    async fn listen(&self, ear: &mut Ear) -> bool {
        let (pending, taken_back) = match self.hear(&ear.turn_id).await {
            Ok(heard) => heard,
            Err(error) => {
                tracing::error!(conversation.id = %self.conversation, %error, "new messages can't be read now");
                return false;
            }
        };
        for row in pending {
            if !ear.seen.insert(row.id.clone()) {
                continue;
            }
            match row.kind {
                // It came late, and meant what was under way then. What was said after it must not wait for this turn's end.
                InboxKind::Stop if row.sent_at < ear.asked_at => {
                    tracing::info!(conversation.id = %self.conversation, "a stop that is older than the question stops nothing");
                    if self.services.store.inbox().finish(std::slice::from_ref(&row.id)).await.is_err() {
                        ear.stops.push(row.id);
                    }
                }
                InboxKind::Stop => {
                    let by = self.mention(&row.author_id);
                    ear.control.stop(Why::Said { id: row.author_id.clone(), by });
                    self.router.crew().stop(&ear.session_id);
                    self.react(&row, Sign::Done);
                    ear.stops.push(row.id);
                }
                // All that wait are done with when the turn is over.
                InboxKind::Retraction | InboxKind::TaskNotification => {}
                _ => {
                    if row.kind == InboxKind::Message && row.author_id == ear.asker_id {
                        ear.control.has_news();
                    }
                    self.react(&row, Sign::Taken);
                }
            }
        }
        if taken_back {
            ear.control.stop(Why::Retracted);
        }
        true
    }

    /// What waits, and whether everything that the turn was asked is gone from the chat. As long as one message stands,
    /// somebody waits for an answer.
    async fn hear(&self, turn_id: &str) -> Result<(Vec<InboxRow>, bool), StoreError> {
        let at = &self.conversation;
        let inbox = self.services.store.inbox();
        let pending = inbox.pending(at.channel.as_str(), &at.room, &at.thread).await?;
        let gone = steer::removed(&pending);
        if gone.is_empty() {
            return Ok((pending, false));
        }
        let asked = inbox.of_turn(turn_id).await?;
        let taken_back = !asked.is_empty() && asked.iter().all(|row| gone.contains(&row.message_key));
        Ok((pending, taken_back))
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
