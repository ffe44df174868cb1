//! The coordinator's own tools: sending a specialist, telling the asker something, stopping a specialist. They are ordinary
//! tools on the ordinary path; what they reach is bound to one turn when they are built.

mod agent;
mod say;
mod stop;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use tokio::sync::{Semaphore, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Services, events::Stage, view::Progress};
use crate::{
    model::ModelProvider,
    persona::Registry,
    store::Totals,
    tools::{SharedTool, Tool},
};

pub(super) use agent::AgentTool;
use say::SendMessage;
use stop::TaskStop;

/// Names of the tools that only a coordinator has.
pub const CONTROL_TOOLS: [&str; 3] = [AgentTool::NAME, SendMessage::NAME, TaskStop::NAME];

/// What the control tools of one turn share.
pub(super) struct Dispatch {
    pub services: Arc<Services>,
    pub session_id: String,
    pub turn_id: String,
    pub asker: String,
    /// Of the turn's start: a reload changes nothing under a running turn.
    pub personas: Registry,
    pub progress: Progress,
    pub stage: Stage,
    pub shown: watch::Receiver<u64>,
    /// Workers are tasks of the conversation: it waits for them at the turn's end.
    pub tasks: TaskTracker,
    pub slots: Semaphore,
    /// The coordinator's own model, for personas that name none.
    model: OnceLock<(Arc<dyn ModelProvider>, Arc<str>)>,
    workers: Mutex<BTreeMap<String, Worker>>,
    /// What finished workers used.
    spent: Mutex<Totals>,
}

struct Worker {
    persona: String,
    cancel: CancellationToken,
    running: bool,
}

/// What [`Dispatch::new`] is made from.
pub(super) struct Parts {
    pub services: Arc<Services>,
    pub session_id: String,
    pub turn_id: String,
    pub asker: String,
    pub personas: Registry,
    pub progress: Progress,
    pub stage: Stage,
    pub shown: watch::Receiver<u64>,
    pub tasks: TaskTracker,
}

impl Dispatch {
    pub(super) fn new(parts: Parts) -> Arc<Self> {
        let Parts { services, session_id, turn_id, asker, personas, progress, stage, shown, tasks } = parts;
        Arc::new(Self {
            slots: Semaphore::new(services.limits.workers_per_session),
            services,
            session_id,
            turn_id,
            asker,
            personas,
            progress,
            stage,
            shown,
            tasks,
            model: OnceLock::new(),
            workers: Mutex::default(),
            spent: Mutex::default(),
        })
    }

    pub(super) fn inherit(&self, provider: &Arc<dyn ModelProvider>, model: &Arc<str>) {
        self.model.get_or_init(|| (provider.clone(), model.clone()));
    }

    pub(super) fn tools(self: &Arc<Self>) -> Vec<SharedTool> {
        vec![Arc::new(AgentTool(self.clone())), Arc::new(SendMessage(self.clone())), Arc::new(TaskStop(self.clone()))]
    }

    pub(super) fn spent(&self) -> Totals {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn workers(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Worker>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
