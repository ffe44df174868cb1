//! One worker's work, from its place among the others to its report. It belongs to the crew: the call that sent it only waits,
//! and may stop waiting.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use watchfloor_channel::{ChannelId, ConversationId, backoff::Backoff};

use super::{
    super::{
        Router, Services,
        crew::{Ended, Member},
        events::{Event, Stage},
        run::{Activity, End, Failure, Run},
        view::{LineState, Progress},
    },
    report::{Envelope, Report},
};
use crate::{
    model::ModelProvider,
    persona::Persona,
    store::{InboxKind, NewInbox, SessionRow, SessionStatus, StoreError, Totals, WorkerEnd},
};

/// A worker that was begun this often is given up.
const ATTEMPTS: i64 = 3;
const SUMMARY_CHARS: usize = 400;

/// Everything one worker needs. Its row and its first message are written.
pub(super) struct Worker {
    pub router: Router,
    pub services: Arc<Services>,
    pub member: Arc<Member>,
    pub persona: Arc<Persona>,
    pub provider: Arc<dyn ModelProvider>,
    pub model: Arc<str>,
    pub conversation: ConversationId,
    /// The coordinator's.
    pub session_id: String,
    /// The turn that sent it.
    pub turn_id: String,
    pub asker: Asker,
    /// Three to six words for people.
    pub title: String,
    /// Of the conversation, when it was sent.
    pub locale: String,
    /// Its line in a turn's view, if it was sent by one that runs.
    pub line: Line,
    /// Seen from the worker.
    pub stage: Stage,
    /// Said beneath its report.
    pub notes: Vec<String>,
}

/// On whose behalf.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    pub id: String,
    pub name: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Line {
    pub progress: Progress,
    pub key: String,
}

impl Line {
    /// Nobody looks.
    pub(super) fn unseen() -> Self {
        Self { progress: Progress::new(String::new()), key: String::new() }
    }
}

impl Worker {
    /// Never fails, only ends: whoever waits is told.
    pub(super) async fn work(self) {
        let started = self.services.now();
        self.tile("pending");
        let (end, totals) = Box::pin(self.run()).await;
        if matches!(end, End::Stopped) && !self.member.kill.is_cancelled() {
            return self.leave().await;
        }
        let seconds = (self.services.now() - started) / 1000;
        let report = Report { seconds, notes: self.notes.clone(), ..Report::of(end) };
        self.end(report, totals, started).await;
    }

    async fn run(&self) -> (End, Totals) {
        let (services, member, crew) = (&self.services, &self.member, self.router.crew());
        let cancel = member.kill.child_token();
        let ending = crew.ending().clone();
        let _ended = cancel.clone().drop_guard();
        let places = crew.places(&self.session_id, services.limits.workers_per_session);
        let places = async { (places.acquire().await, services.slots.workers.acquire().await) };
        let _places = tokio::select! {
            places = places => places,
            () = cancel.cancelled() => return (End::Stopped, Totals::default()),
            () = ending.cancelled() => return (End::Stopped, Totals::default()),
        };
        match services.store.sessions().begin_worker(&member.task_id, services.now()).await {
            Ok(attempts) if attempts > ATTEMPTS => {
                return (End::Failed(Failure::Interrupted(attempts - 1)), Totals::default());
            }
            Ok(_) => {}
            Err(error) => return (error.into(), Totals::default()),
        }
        self.tile("running");
        let role = services.role(&self.conversation.channel, &self.asker.id);
        let run = Run {
            services: services.clone(),
            session_id: member.task_id.clone(),
            epoch: None,
            turn_id: self.turn_id.clone(),
            evidence_of: self.session_id.clone(),
            persona: self.persona.clone(),
            provider: self.provider.clone(),
            model: self.model.clone(),
            toolbox: services.workers_toolbox(&self.persona, role),
            invoker: services.invoker(&self.persona, &self.asker.id),
            max_turns: self.persona.max_turns_or(services.limits.default_max_turns),
            time_limit: services.limits.worker_timeout,
            personas: None,
            locale: self.locale.clone(),
            activity: Activity::Worker {
                progress: self.line.progress.clone(),
                key: self.line.key.clone(),
                persona: self.persona.name.clone(),
            },
            stage: self.stage.clone(),
            steering: None,
            detach: None,
            letters: Some(member.clone()),
            files: None,
            vision: false,
            cancel: cancel.clone(),
        };
        tokio::select! {
            ended = run.go() => ended,
            () = cut_short(&ending, &cancel) => unreachable!("it only cancels"),
        }
    }

    /// The process ends. Whoever waits ends with it; what nobody waits for goes on after the next start.
    async fn leave(&self) {
        if let Err(error) = self.services.store.sessions().forgive_worker(&self.member.task_id).await {
            tracing::warn!(task.id = %self.member.task_id, %error, "an attempt that was cut short counts");
        }
        let report = Report { reason: Some("shutdown"), ..Report::plain("killed", "") };
        self.member.end(Ended { report, totals: Totals::default(), at: self.services.now() });
    }

    async fn end(&self, report: Report, totals: Totals, started: i64) {
        let (services, member) = (&self.services, &self.member);
        let report = match report.clone().with_calls(&services.store, &member.task_id).await {
            Ok(whole) => whole,
            Err(error) => {
                tracing::warn!(task.id = %member.task_id, %error, "a report goes without the list of its evidence");
                report
            }
        };
        let now = services.now();
        let status = match report.status {
            "completed" => SessionStatus::Completed,
            "killed" => SessionStatus::Killed,
            _ => SessionStatus::Failed,
        };
        let notification = (status != SessionStatus::Killed).then(|| self.notification(&report, now));
        let end = WorkerEnd { id: member.task_id.clone(), status, totals, report: notification, now_ms: now };
        self.write_down(&end).await;
        let state = if report.is_completed() { LineState::Done } else { LineState::Failed };
        self.line.progress.end_after(&self.line.key, report.seconds, state);
        self.tile(report.status);
        self.stage.of_turn().tell(Event::TaskNotification {
            task_id: member.task_id.clone(),
            persona: self.persona.name.clone(),
            status: report.status,
            summary: watchfloor_channel::text::one_line(&report.text, SUMMARY_CHARS),
            duration_ms: now - started,
            tokens: totals.input_tokens + totals.output_tokens,
        });
        member.end(Ended { report, totals, at: now });
    }

    /// Somebody waits for what it found, so a store that is away is waited for. If the process ends before, the row says that
    /// the worker runs, and the next one goes on with it.
    async fn write_down(&self, end: &WorkerEnd) {
        let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(30));
        loop {
            match self.services.store.sessions().end_worker(end).await {
                Ok(true) => return self.router.wake(&self.conversation),
                Ok(false) => return,
                Err(error) => {
                    tracing::error!(task.id = %end.id, %error, "a worker's end can't be written down now");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(backoff.next(&mut rand::rng())) => {}
                () = self.router.crew().ending().cancelled() => return,
            }
        }
    }

    fn notification(&self, report: &Report, now: i64) -> NewInbox {
        let at = &self.conversation;
        NewInbox {
            channel: at.channel.as_str().to_owned(),
            message_key: format!("task/{}/{}", self.member.task_id, uuid::Uuid::now_v7()),
            event_id: None,
            kind: InboxKind::TaskNotification,
            room: at.room.clone(),
            thread: at.thread.clone(),
            author_id: self.asker.id.clone(),
            author_name: self.asker.name.clone(),
            text: report.wrap(Envelope::Notification, &self.persona.name, &self.member.task_id),
            payload: "{}".to_owned(),
            sent_at: now,
            received_at: now,
        }
    }

    fn tile(&self, state: &'static str) {
        self.stage.of_turn().tell(Event::AgentTile {
            task_id: self.member.task_id.clone(),
            persona: self.persona.name.clone(),
            description: self.title.clone(),
            state,
            child_session_id: self.member.task_id.clone(),
        });
    }
}

/// Hands the process's end on, and never ends itself.
async fn cut_short(ending: &CancellationToken, cancel: &CancellationToken) {
    ending.cancelled().await;
    cancel.cancel();
    std::future::pending::<()>().await;
}

impl Router {
    /// Goes on with the workers that nobody waited for when an earlier process ended. Those of a channel that is off now wait
    /// for the start at which it is on again.
    pub(in super::super) async fn recover_workers(&self) -> Result<usize, StoreError> {
        let mut begun = 0;
        for row in self.services().store.sessions().background_workers().await? {
            let channel = ChannelId::new(&row.channel);
            if !self.services().channels.contains_key(&channel) {
                continue;
            }
            begun += 1;
            self.go_on_with(row, channel).await?;
        }
        Ok(begun)
    }

    async fn go_on_with(&self, row: SessionRow, channel: ChannelId) -> Result<(), StoreError> {
        let services = self.services();
        let (store, now) = (&services.store, services.now());
        let session_id = row.parent_session_id.clone().unwrap_or_default();
        let turn_id = row.turn_id.clone().unwrap_or_default();
        for call in store.calls().unfinished(&row.id).await? {
            store.calls().finish(&call.id, "interrupted", None, None, now).await?;
        }
        let turn = store.turns().get(&turn_id).await?;
        let asker = match turn {
            Some(turn) => Asker { id: turn.asker_id, name: turn.asker_name },
            None => Asker { id: row.user_id.clone(), name: None },
        };
        let conversation = ConversationId { channel, room: row.room.clone(), thread: row.thread.clone() };
        let personas = services.personas.now();
        let errand = super::super::crew::Errand::new(&session_id, &row.agent_id, &row.id);
        let member = Arc::new(Member::new(row.id.clone(), row.agent_id.clone(), errand));
        if self.crew().rehire(&member).is_some() {
            return Ok(());
        }
        let events = services.events.clone();
        let stage = Stage { events, session_id: session_id.clone(), turn_id: turn_id.clone(), task_id: None };
        let stage = stage.of_task(&row.id);
        let persona = personas.get(&row.agent_id).cloned();
        let model = services.models.resolve(row.model.as_deref().unwrap_or_default());
        let gone = match (&persona, &model) {
            (None, _) => Some(format!("The persona {} is gone.", row.agent_id)),
            (_, Err(lookup)) => Some(lookup.to_string()),
            _ => None,
        };
        // Without its persona or its model it can only say so, in the name of the coordinator's.
        let persona = persona.unwrap_or_else(|| personas.coordinator().clone());
        let Some((provider, model)) = model.ok().or_else(|| services.models.resolve("").ok()) else {
            tracing::error!(task.id = %row.id, "no model is configured: a worker waits for the next start");
            return Ok(());
        };
        let worker = Worker {
            router: self.clone(),
            services: services.clone(),
            member,
            persona,
            provider,
            model,
            conversation,
            session_id,
            turn_id,
            asker,
            title: row.title.clone(),
            locale: row.locale.clone(),
            line: Line::unseen(),
            stage,
            notes: Vec::new(),
        };
        self.crew().spawn(async move {
            match gone {
                Some(why) => worker.end(Report::failed("no_persona", &why), Totals::default(), now).await,
                None => worker.work().await,
            }
        });
        Ok(())
    }
}
