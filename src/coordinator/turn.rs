//! One turn of a coordinator: placeholder, thinking, answer. Borrowed by the conversation's actor, which can tell it to
//! stop; whatever happens, it ends with something a person can read.

mod conclusion;
mod footer;
mod private;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
    time::Duration,
};

use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use watchfloor_channel::{ConversationId, Inbound, Overheard, SendError};

use super::{
    Router, Services,
    control::{Control, Why},
    dispatch::{self, Chosen, Dispatch},
    events::Stage,
    files::{self, Files, Gallery},
    outlet::Undelivered,
    prompt,
    reply::{Reply, ReplyError, Route},
    run::{Activity, End, Failure, Run},
    steer::{Steering, user_row},
    transcript,
    view::Progress,
};
use crate::{
    model::ModelChoice,
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
/// Of their files.
const THREAD_FILES: usize = 5;
/// Workers end with their turn; this bounds a tool that doesn't listen.
const WORKERS_END_WITHIN: Duration = Duration::from_secs(5);

pub(super) struct Turn {
    router: Router,
    services: Arc<Services>,
    conversation: ConversationId,
    session: SessionRow,
    turn: TurnRow,
    placeholder: DeliveryRow,
    control: Control,
    /// The messages it answers.
    said: Vec<Inbound>,
    /// Begun by an earlier process, or earlier by this one.
    resumed: bool,
    /// How long the oldest of the messages took to reach us, if that was long.
    late: Option<Duration>,
}

/// How the actor goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    Yes,
    /// The turn's row stays open: this process or the next goes on with it.
    Left,
    /// Another process has taken the conversation over.
    Lost,
}

impl Turn {
    pub(super) fn new(
        router: Router,
        conversation: ConversationId,
        session: SessionRow,
        turn: TurnRow,
        placeholder: DeliveryRow,
        said: Vec<Inbound>,
    ) -> Self {
        let control = Control::default();
        let services = router.services().clone();
        Self { router, services, conversation, session, turn, placeholder, control, said, resumed: false, late: None }
    }

    pub(super) fn resumed(self) -> Self {
        Self { resumed: true, ..self }
    }

    pub(super) fn late(self, late: Option<Duration>) -> Self {
        Self { late, ..self }
    }

    pub(super) fn id(&self) -> &str {
        &self.turn.id
    }

    pub(super) fn session_id(&self) -> &str {
        &self.session.id
    }

    pub(super) fn asker_id(&self) -> &str {
        &self.turn.asker_id
    }

    pub(super) fn control(&self) -> Control {
        self.control.clone()
    }

    pub(super) fn asked_at(&self) -> i64 {
        self.said.iter().map(|said| said.sent_at).max().unwrap_or(i64::MIN)
    }

    /// `ending`: whatever can go on after the next start waits no longer.
    pub(super) async fn run(self, ending: CancellationToken) -> Closed {
        // However this ends, nothing that it began goes on.
        let _calls = self.control.token().clone().drop_guard();
        match self.run_and_close(&ending).await {
            Ok(closed) => closed,
            Err(StoreError::LostLease) => Closed::Lost,
            Err(error) => {
                tracing::error!(turn.id = %self.turn.id, %error, "a turn could not be written down and is left open");
                Closed::Left
            }
        }
    }

    async fn run_and_close(&self, ending: &CancellationToken) -> Result<Closed, StoreError> {
        let services = &self.services;
        let Some(channel) = services.channels.get(&self.conversation.channel) else { return Ok(Closed::Left) };
        let tasks = TaskTracker::new();
        let note = if self.resumed { wording::resumed() } else { wording::placeholder() };
        let progress = Progress::new(note).under(self.late.map(wording::late));
        let route = Route {
            services: services.clone(),
            outlet: channel.outlet.clone(),
            conversation: self.conversation.clone(),
            question: self.said.first().map(|said| said.message.clone()),
            to: self.turn.follow_up.then(|| channel.outlet.adapter().mention(&self.turn.asker_id)),
            session_id: self.session.id.clone(),
            turn_id: self.turn.id.clone(),
            unsure: Arc::new(AtomicBool::new(self.resumed)),
        };
        // Nobody waits for what a worker brought later: it is posted once, when it is ready.
        let reply = (!self.turn.follow_up).then(|| {
            let (views, control) = (progress.subscribe(), self.control.clone());
            Reply::start(route.clone(), (&self.placeholder).into(), views, control, &tasks)
        });
        let dispatch = Dispatch::new(dispatch::Parts {
            router: self.router.clone(),
            services: services.clone(),
            conversation: self.conversation.clone(),
            session_id: self.session.id.clone(),
            turn_id: self.turn.id.clone(),
            asker_id: self.turn.asker_id.clone(),
            asker_name: self.turn.asker_name.clone(),
            question: self.said.iter().map(|said| said.text.as_str()).collect::<Vec<_>>().join("\n"),
            locale: self.session.locale.clone(),
            personas: services.personas.now(),
            progress: progress.clone(),
            stage: self.stage(),
            shown: reply.as_ref().map(Reply::shown),
            detach: Arc::default(),
        });

        let concluded = self.conclude(&progress, &dispatch).await;
        // Workers end with their turn, and one message has one writer.
        self.control.token().cancel();
        if let Some(reply) = reply {
            reply.quiet().await;
        }
        tasks.close();
        if timeout(WORKERS_END_WITHIN, tasks.wait()).await.is_err() {
            tracing::error!(turn.id = %self.turn.id, tasks = tasks.len(), "tasks of a turn did not end in time");
        }
        let Some((conclusion, mut totals)) = concluded? else { return Ok(Closed::Left) };
        totals += dispatch.spent();

        if !conclusion.shown {
            if conclusion.was_retracted() {
                tokio::select! {
                    () = route.take_away() => {}
                    () = ending.cancelled() => return Ok(Closed::Left),
                }
            }
            if let Some(Why::CantPost(refusal)) = self.control.why() {
                self.tell_in_private(&route, &refusal).await;
            }
            route.give_up(conclusion.reason.as_deref().unwrap_or_default()).await?;
        } else {
            let shown = tokio::select! {
                shown = self.show(&route, &conclusion) => shown,
                () = ending.cancelled() => return Ok(Closed::Left),
            };
            match shown {
                Ok(()) => {}
                Err(ReplyError::Undelivered(Undelivered::Refused(refusal))) => {
                    tracing::error!(conversation.id = %self.conversation, turn.id = %self.turn.id, %refusal, "the answer can't be shown");
                    self.tell_in_private(&route, &refusal).await;
                    route.give_up(&refusal.code).await?;
                }
                Err(error) => {
                    tracing::error!(conversation.id = %self.conversation, turn.id = %self.turn.id, %error, "the answer is not shown yet");
                    return Ok(Closed::Left);
                }
            }
        }
        let store = services.store.turns();
        store.close(&self.turn.id, conclusion.status, conclusion.reason, totals, services.now()).await?;
        Ok(Closed::Yes)
    }

    async fn show(&self, route: &Route, conclusion: &Conclusion) -> Result<(), ReplyError> {
        route.finish(&conclusion.body(self.late)).await?;
        let services = &self.services;
        let notify_after = i64::try_from(services.limits.notify_after.as_millis()).unwrap_or(i64::MAX);
        let took = services.now() - self.turn.opened_at;
        if conclusion.status != TurnStatus::Stopped && !self.turn.follow_up && notify_after > 0 && took >= notify_after
        {
            let mention = route.outlet.adapter().mention(&self.turn.asker_id);
            route.notify(wording::finished_notice(&mention)).await?;
        }
        Ok(())
    }

    /// What is to be shown, written down before it is; nothing where the turn goes on later.
    async fn conclude(
        &self,
        progress: &Progress,
        dispatch: &Arc<Dispatch>,
    ) -> Result<Option<(Conclusion, Totals)>, StoreError> {
        // Thought out before a restart: show it, don't think again.
        if let Some(conclusion) = Conclusion::stored(&self.turn) {
            return Ok(Some((conclusion, Totals::default())));
        }
        let (end, totals) = self.think(progress, dispatch).await;
        let why = self.control.why();
        let store = &self.services.store;
        match (&end, &why) {
            (End::Failed(Failure::Store(error)), _) => return Err(error.clone()),
            (End::Stopped, None) => return Ok(None),
            // Not the turn's fault: it counts as never begun.
            (End::Stopped, Some(Why::Shutdown)) => {
                store.turns().forgive(&self.turn.id).await?;
                return Ok(None);
            }
            (_, Some(Why::Retracted)) => self.note_that_it_was_stopped().await?,
            // What she had added before she said stop needs no answer either.
            (_, Some(Why::Said { id, .. })) => {
                self.steering(id).take().await?;
                self.note_that_it_was_stopped().await?;
            }
            _ => {}
        }
        let mut conclusion = Conclusion::of(end, why);
        if conclusion.status == TurnStatus::Answered {
            footer::cite(&self.services, &self.session.id, &mut conclusion.text).await?;
            footer::name_models(&dispatch.stand_ins(), &mut conclusion.text);
        }
        store.turns().answer(&self.turn.id, &conclusion.text, conclusion.complete, conclusion.reason.clone()).await?;
        Ok(Some((conclusion, totals)))
    }

    /// For the questions that come after it.
    async fn note_that_it_was_stopped(&self) -> Result<(), StoreError> {
        let rows = vec![user_row(None, prompt::stopped())];
        let (epoch, now) = (Some(self.session.lease_epoch), self.services.now());
        self.services.store.messages().append(&self.session.id, &self.turn.id, epoch, rows, now).await?;
        Ok(())
    }

    async fn think(&self, progress: &Progress, dispatch: &Arc<Dispatch>) -> (End, Totals) {
        let nothing = Totals::default();
        if self.turn.attempts > ATTEMPTS {
            return (End::Failed(Failure::Interrupted(self.turn.attempts - 1)), nothing);
        }
        let services = &self.services;
        let cancel = self.control.token().clone();
        let _slot = match services.slots.turns.try_acquire() {
            Ok(slot) => slot,
            Err(_) => {
                progress.say(&wording::waiting_for_slot(services.limits.turns));
                let slot = tokio::select! {
                    slot = services.slots.turns.acquire() => slot,
                    () = cancel.cancelled() => return (End::Stopped, nothing),
                };
                progress.say(&wording::placeholder());
                match slot {
                    Ok(slot) => slot,
                    Err(_) => return (End::Stopped, nothing),
                }
            }
        };
        let persona = dispatch.personas.coordinator().clone();
        let files = Files {
            services: services.clone(),
            conversation: self.conversation.clone(),
            session_id: self.session.id.clone(),
            turn_id: self.turn.id.clone(),
            epoch: self.session.lease_epoch,
            invoker: services.invoker(&persona, &self.turn.asker_id),
        };
        let read = tokio::select! {
            read = self.read_thread(&files) => read,
            () = cancel.cancelled() => return (End::Stopped, nothing),
        };
        if let Err(error) = read {
            return (error.into(), nothing);
        }
        let wanted = persona.model.as_deref().unwrap_or_default();
        let choice = match services.models.choose(wanted) {
            Ok(choice) => choice,
            Err(lookup) => return (End::Failed(Failure::NoModel(lookup.to_string())), nothing),
        };
        dispatch.note_stand_in(&persona.name, &choice);
        let vision = services.models.takes_pictures(&choice.reference);
        let ModelChoice { provider, model, reference, .. } = choice;
        dispatch.inherit(Chosen { provider: provider.clone(), model: model.clone(), reference });
        let role = services.role(&self.conversation.channel, &self.turn.asker_id);
        let run = Run {
            services: services.clone(),
            session_id: self.session.id.clone(),
            epoch: Some(self.session.lease_epoch),
            turn_id: self.turn.id.clone(),
            evidence_of: self.session.id.clone(),
            toolbox: services.coordinators_toolbox(&dispatch.personas, role, dispatch.tools()),
            invoker: services.invoker(&persona, &self.turn.asker_id),
            max_turns: persona.max_turns_or(services.limits.default_max_turns),
            persona,
            provider,
            model,
            time_limit: services.limits.turn_timeout,
            personas: Some(dispatch.personas.clone()),
            locale: self.session.locale.clone(),
            activity: Activity::Own(progress.clone()),
            stage: self.stage(),
            steering: Some(self.steering(&self.turn.asker_id)),
            detach: Some(dispatch.detach.clone()),
            letters: None,
            files: Some(files),
            vision,
            cancel,
        };
        Box::pin(run.go()).await
    }

    fn stage(&self) -> Stage {
        Stage {
            events: self.services.events.clone(),
            session_id: self.session.id.clone(),
            turn_id: self.turn.id.clone(),
            task_id: None,
        }
    }

    fn steering(&self, asker_id: &str) -> Steering {
        Steering {
            services: self.services.clone(),
            conversation: self.conversation.clone(),
            session_id: self.session.id.clone(),
            turn_id: self.turn.id.clone(),
            epoch: self.session.lease_epoch,
            asker_id: asker_id.to_owned(),
            control: self.control.clone(),
            seen: AtomicU64::new(0),
        }
    }

    /// What stood in the thread before we were mentioned, read once, before anything was answered in it. If it can't be
    /// read, the model is told why.
    async fn read_thread(&self, files: &Files) -> Result<(), StoreError> {
        let (services, store) = (&self.services, &self.services.store);
        let Some(channel) = services.channels.get(&self.conversation.channel) else { return Ok(()) };
        let begins_here = self.conversation.thread.is_empty() || self.said.iter().any(|said| said.starts_thread);
        if begins_here || self.is_not_the_first().await? {
            return Ok(());
        }
        let adapter = channel.outlet.adapter();
        let limit = CONTEXT_MESSAGES.min(services.limits.history_limit);
        let mut attached = Vec::new();
        let text = match timeout(CONTEXT_WITHIN, adapter.thread(&self.conversation, limit)).await {
            Ok(Ok(mut messages)) => {
                let ours = |key: &str| self.said.iter().any(|said| said.message_key == key);
                messages.retain(|message| !message.author.is_self && !ours(&message.message_key));
                let text = prompt::thread(&messages);
                for Overheard { author, message_key, files, .. } in messages {
                    attached.extend(files::attached(&author, &message_key, files));
                }
                text
            }
            Ok(Err(SendError::Refused(refusal))) => {
                tracing::warn!(conversation.id = %self.conversation, code = %refusal.code, "a thread can't be read: {}", refusal.remedy);
                Some(prompt::thread_unreadable(&refusal.remedy))
            }
            Ok(Err(_)) | Err(_) => Some(prompt::thread_unreadable("the platform did not answer in time")),
        };
        if let Some(text) = text {
            let mut rows = vec![user_row(None, text)];
            // The newest are nearest to the question.
            let attached = attached.split_off(attached.len().saturating_sub(THREAD_FILES));
            rows.extend(files.read(attached, &Gallery::default()).await?);
            let rows = rows.into_iter().map(|row| NewMessage { kind: transcript::THREAD.to_owned(), ..row }).collect();
            let epoch = Some(self.session.lease_epoch);
            store.messages().append(&self.session.id, &self.turn.id, epoch, rows, services.now()).await?;
        }
        Ok(())
    }

    /// The thread was read, or there was a turn before this one.
    async fn is_not_the_first(&self) -> Result<bool, StoreError> {
        let rows = self.services.store.messages().transcript(&self.session.id).await?;
        Ok(rows.iter().any(|row| row.kind == transcript::THREAD || row.turn_id != self.turn.id))
    }
}
