//! The coordinator's own tools: sending a specialist, telling somebody something, stopping a specialist. They are ordinary
//! tools on the ordinary path; what they reach is bound to one turn when they are built. Workers are the crew's: they may
//! outlive the turn.

mod agent;
mod report;
mod say;
mod stop;
mod wait;
mod worker;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::watch;
use watchfloor_channel::ConversationId;

use super::{Router, Services, events::Stage, steer::Detach, view::Progress};
use crate::{
    model::{ModelChoice, ModelProvider},
    persona::Registry,
    store::{StoreError, Totals},
    tools::{SharedTool, Tool, ToolError},
};

use agent::AgentTool;
pub(super) use report::Report;
use say::SendMessage;
use stop::TaskStop;
use worker::Asker;

/// Names of the tools that only a coordinator has.
pub const CONTROL_TOOLS: [&str; 3] = [AgentTool::NAME, SendMessage::NAME, TaskStop::NAME];

/// The one that sends a specialist.
pub(super) const SENDS: &str = AgentTool::NAME;

/// Those whose calls may wait for a specialist.
pub(super) const WAITING_TOOLS: [&str; 2] = [AgentTool::NAME, SendMessage::NAME];

/// What the control tools of one turn share.
pub(super) struct Dispatch {
    parts: Parts,
    /// The coordinator's own model, for personas that name none.
    model: OnceLock<Chosen>,
    /// What finished workers used.
    spent: Mutex<Totals>,
    /// Models in place of those that personas name.
    stand_ins: Mutex<Vec<StandIn>>,
}

/// A model that answered in place of the one that a persona names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StandIn {
    pub persona: String,
    pub wanted: String,
    pub ran: String,
}

/// What [`Dispatch::new`] is made from.
pub(super) struct Parts {
    pub router: Router,
    pub services: Arc<Services>,
    pub conversation: ConversationId,
    pub session_id: String,
    pub turn_id: String,
    pub asker_id: String,
    pub asker_name: Option<String>,
    /// What was asked, for personas whose opening names it.
    pub question: String,
    pub locale: String,
    /// Of the turn's start: a reload changes nothing under a running turn.
    pub personas: Registry,
    pub progress: Progress,
    pub stage: Stage,
    /// The newest version of the view that the platform shows; `None` where nothing is shown before the answer.
    pub shown: Option<watch::Receiver<u64>>,
    pub detach: Arc<Detach>,
}

/// A model, and how it was named.
#[derive(Clone)]
pub(super) struct Chosen {
    pub provider: Arc<dyn ModelProvider>,
    pub model: Arc<str>,
    /// `provider/model`
    pub reference: String,
}

impl std::ops::Deref for Dispatch {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

impl Dispatch {
    pub(super) fn new(parts: Parts) -> Arc<Self> {
        Arc::new(Self { parts, model: OnceLock::new(), spent: Mutex::default(), stand_ins: Mutex::default() })
    }

    pub(super) fn inherit(&self, chosen: Chosen) {
        self.model.get_or_init(|| chosen);
    }

    /// For the answer's footer.
    pub(super) fn note_stand_in(&self, persona: &str, choice: &ModelChoice) {
        let Some(wanted) = choice.instead_of.clone() else { return };
        let stand_in = StandIn { persona: persona.to_owned(), wanted, ran: choice.reference.clone() };
        let mut known = self.stand_ins.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&stand_in) {
            known.push(stand_in);
        }
    }

    pub(super) fn stand_ins(&self) -> Vec<StandIn> {
        self.stand_ins.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn tools(self: &Arc<Self>) -> Vec<SharedTool> {
        vec![Arc::new(AgentTool(self.clone())), Arc::new(SendMessage(self.clone())), Arc::new(TaskStop(self.clone()))]
    }

    pub(super) fn spent(&self) -> Totals {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spend(&self, totals: Totals) {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner) += totals;
    }

    fn asker(&self) -> Asker {
        Asker { id: self.asker_id.clone(), name: self.asker_name.clone() }
    }

    /// What a model is told that named a task which isn't there.
    async fn no_such_task(&self, task_id: &str) -> ToolError {
        let known = match self.services.store.sessions().workers(&self.session_id).await {
            Ok(workers) => workers,
            Err(error) => return broken(error),
        };
        let known: Vec<_> = known
            .iter()
            .rev()
            .take(10)
            .map(|worker| format!("{} ({}, {})", worker.id, worker.agent_id, worker.status.as_str()))
            .collect();
        let known = if known.is_empty() { "none yet".to_owned() } else { known.join(", ") };
        ToolError::TellModel(format!("No task {task_id:?} in this conversation. Tasks: {known}."))
    }
}

fn broken(error: StoreError) -> ToolError {
    ToolError::Broken(error.to_string())
}
