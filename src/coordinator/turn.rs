//! One turn of a coordinator: placeholder, thinking, answer. Borrowed by the conversation's actor, which can tell it to
//! stop; whatever happens, it ends with something a person can read.

mod conclusion;
mod footer;

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use watchfloor_channel::{ConversationId, SendError};

use super::{
    Services,
    control::{Control, Why},
    dispatch::{self, Dispatch},
    prompt,
    reply::{Reply, Route},
    run::{Activity, End, Failure, Run},
    steer::{Steering, user_row},
    transcript,
    view::Progress,
};
use crate::{
    persona,
    store::{DeliveryRow, NewMessage, SessionRow, StoreError, Totals, TurnRow, TurnStatus},
    wording,
};

use conclusion::Conclusion;

/// A turn that was begun this often is given up.
const ATTEMPTS: i64 = 3;
/// Reading the thread before the first answer.
const CONTEXT_WITHIN: Duration = Duration::from_secs(10);
/// Earlier messages read for a first mention.
const CONTEXT_MESSAGES: usize = 20;
/// Workers end with their turn; this bounds a tool that doesn't listen.
const WORKERS_END_WITHIN: Duration = Duration::from_secs(5);

pub(super) struct Turn {
    pub services: Arc<Services>,
    pub conversation: ConversationId,
    pub session: SessionRow,
    pub turn: TurnRow,
    pub placeholder: DeliveryRow,
    pub control: Control,
    pub origin: Origin,
}

/// Where a turn comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The first of its conversation, in the middle of a thread: what stands there is read as context, but for the
    /// messages that opened the turn.
    FirstInThread {
        opened_by: Vec<String>,
    },
    Message,
    /// Left open by an earlier process, begun this often by now.
    Restart {
        attempts: i64,
    },
}

/// How the actor goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    Yes,
    /// The turn's row stays open: the next start goes on with it.
    Left,
}

impl Turn {
    pub(super) async fn run(self) -> Closed {
        match self.run_and_close().await {
            Ok(closed) => closed,
            Err(error) => {
                tracing::error!(%error, "a turn could not be written down and is left to the next start");
                Closed::Left
            }
        }
    }

    async fn run_and_close(self) -> Result<Closed, StoreError> {
        let services = &self.services;
        let Some(channel) = services.channels.get(&self.conversation.channel) else { return Ok(Closed::Left) };
        let restarted = matches!(self.origin, Origin::Restart { .. });
        let started = tokio::time::Instant::now();
        let tasks = TaskTracker::new();
        let progress = Progress::new(if restarted { wording::resumed() } else { wording::placeholder() });
        let route = Route {
            services: services.clone(),
            outlet: channel.outlet.clone(),
            conversation: self.conversation.clone(),
            session_id: self.session.id.clone(),
            turn_id: self.turn.id.clone(),
            unsure: Arc::new(AtomicBool::new(restarted)),
        };
        let reply = Reply::start(route, (&self.placeholder).into(), progress.subscribe(), self.control.clone(), &tasks);

        let (conclusion, totals) = match Conclusion::stored(&self.turn) {
            // Thought out before the restart: show it, don't think again.
            Some(conclusion) => (conclusion, Totals::default()),
            None => {
                let (end, totals) = self.think(&progress, &reply, &tasks).await;
                if self.control.why() == Some(Why::Shutdown) {
                    reply.quiet().await;
                    return Ok(Closed::Left);
                }
                let mut conclusion = Conclusion::of(end, self.control.why());
                footer::cite(services, &self.session.id, &mut conclusion.text).await?;
                let store = services.store.turns();
                store.answer(&self.turn.id, &conclusion.text, conclusion.complete, conclusion.reason.clone()).await?;
                (conclusion, totals)
            }
        };

        let route = reply.quiet().await;
        tasks.close();
        if timeout(WORKERS_END_WITHIN, tasks.wait()).await.is_err() {
            tracing::error!(turn.id = %self.turn.id, tasks = tasks.len(), "tasks of a turn did not end in time");
        }
        if conclusion.shown {
            if let Err(error) = route.finish(&conclusion.body()).await {
                tracing::error!(conversation.id = %self.conversation, turn.id = %self.turn.id, %error, "the answer could not be shown");
            }
            let notify_after = services.limits.notify_after;
            if conclusion.status == TurnStatus::Answered && !notify_after.is_zero() && started.elapsed() >= notify_after
            {
                let mention = channel.outlet.adapter().mention(&self.turn.asker_id);
                if let Err(error) = route.notify(wording::finished_notice(&mention)).await {
                    tracing::warn!(conversation.id = %self.conversation, %error, "the asker could not be notified");
                }
            }
        }
        let store = services.store.turns();
        store.close(&self.turn.id, conclusion.status, conclusion.reason, totals, services.now()).await?;
        Ok(Closed::Yes)
    }

    async fn think(&self, progress: &Progress, reply: &Reply, tasks: &TaskTracker) -> (End, Totals) {
        let nothing = Totals::default();
        if let Origin::Restart { attempts } = &self.origin
            && *attempts > ATTEMPTS
        {
            return (End::Failed(Failure::Interrupted(*attempts)), nothing);
        }
        let services = &self.services;
        let cancel = self.control.token().clone();
        let _slot = match services.turn_slots.try_acquire() {
            Ok(slot) => slot,
            Err(_) => {
                progress.say(&wording::waiting_for_slot(services.limits.turns));
                let slot = tokio::select! {
                    slot = services.turn_slots.acquire() => slot,
                    () = cancel.cancelled() => return (End::Stopped, nothing),
                };
                progress.say(&wording::placeholder());
                match slot {
                    Ok(slot) => slot,
                    Err(_) => return (End::Stopped, nothing),
                }
            }
        };
        if let Origin::FirstInThread { opened_by } = &self.origin {
            let read = tokio::select! {
                read = self.read_thread(opened_by) => read,
                () = cancel.cancelled() => return (End::Stopped, nothing),
            };
            if let Err(error) = read {
                return (error.into(), nothing);
            }
        }
        let persona = services.personas.coordinator().clone();
        let (provider, model) = match services.models.resolve(persona.model.as_deref().unwrap_or_default()) {
            Ok(found) => found,
            Err(lookup) => return (End::Failed(Failure::NoModel(lookup.to_string())), nothing),
        };
        let dispatch = Dispatch::new(dispatch::Parts {
            services: services.clone(),
            session_id: self.session.id.clone(),
            turn_id: self.turn.id.clone(),
            asker: self.turn.asker_id.clone(),
            progress: progress.clone(),
            shown: reply.shown(),
            tasks: tasks.clone(),
        });
        let all: Vec<_> = services.tools.iter().cloned().chain(dispatch.tools()).collect();
        let run = Run {
            services: services.clone(),
            session_id: self.session.id.clone(),
            epoch: Some(self.session.lease_epoch),
            turn_id: self.turn.id.clone(),
            evidence_of: self.session.id.clone(),
            toolbox: Services::toolbox(&persona, &all),
            invoker: services.invoker(&persona, &self.turn.asker_id),
            max_turns: persona.max_turns_or(services.limits.default_max_turns),
            persona,
            provider,
            model,
            time_limit: services.limits.turn_timeout,
            catalog: Some(persona::catalog(&services.personas)),
            activity: Activity::Own(progress.clone()),
            steering: Some(Steering {
                services: services.clone(),
                conversation: self.conversation.clone(),
                session_id: self.session.id.clone(),
                turn_id: self.turn.id.clone(),
                epoch: self.session.lease_epoch,
                asker_id: self.turn.asker_id.clone(),
            }),
            cancel,
        };
        let (end, mut totals) = Box::pin(run.go()).await;
        totals += dispatch.spent();
        (end, totals)
    }

    /// What stood in the thread before we were mentioned. If it can't be read, the model is told why.
    async fn read_thread(&self, opened_by: &[String]) -> Result<(), StoreError> {
        let services = &self.services;
        let Some(channel) = services.channels.get(&self.conversation.channel) else { return Ok(()) };
        let adapter = channel.outlet.adapter();
        let limit = CONTEXT_MESSAGES.min(services.limits.history_limit);
        let text = match timeout(CONTEXT_WITHIN, adapter.thread(&self.conversation, limit)).await {
            Ok(Ok(mut messages)) => {
                messages.retain(|message| !message.author.is_self && !opened_by.contains(&message.message_key));
                prompt::thread(&messages)
            }
            Ok(Err(SendError::Refused(refusal))) => {
                tracing::warn!(conversation.id = %self.conversation, code = %refusal.code, "a thread can't be read: {}", refusal.remedy);
                Some(prompt::thread_unreadable(&refusal.remedy))
            }
            Ok(Err(_)) | Err(_) => Some(prompt::thread_unreadable("the platform did not answer in time")),
        };
        if let Some(text) = text {
            let rows = vec![NewMessage { kind: transcript::THREAD.to_owned(), ..user_row(None, text) }];
            let store = services.store.messages();
            store.append(&self.session.id, &self.turn.id, Some(self.session.lease_epoch), rows, services.now()).await?;
        }
        Ok(())
    }
}
