//! What those see who watch a session beside its chat: the console and the API. Telling them never holds a turn up; what is
//! kept of it, and for whom, is decided where it arrives.

use serde::Serialize;
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::store::Totals;

/// One thing that happened, by the names of its fields on the wire.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Event {
    /// A piece of what the model writes. It may become the answer or stay narration beside a call.
    Text {
        delta: String,
    },
    /// What the asker is told on the way.
    Message {
        text: String,
    },
    /// A worker at a step of its life.
    AgentTile {
        task_id: String,
        persona: String,
        description: String,
        state: &'static str,
        child_session_id: String,
    },
    /// A worker's end.
    TaskNotification {
        task_id: String,
        persona: String,
        status: &'static str,
        summary: String,
        duration_ms: i64,
        tokens: i64,
    },
    ToolStart {
        call_id: String,
        tool: String,
        headline: String,
    },
    ToolEnd {
        call_id: String,
        /// `something`, `nothing`, `out_of_scope` or `source_down`; absent if there is no result.
        #[serde(skip_serializing_if = "Option::is_none")]
        found: Option<&'static str>,
        duration_ms: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        evidence: Option<String>,
    },
    /// The turn's end, with its answer.
    Done {
        message_id: String,
        text: String,
        evidence: Vec<String>,
        usage: Usage,
    },
    /// The turn's end, without one.
    Error {
        code: String,
        message: String,
    },
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Text { .. } => "text",
            Self::Message { .. } => "message",
            Self::AgentTile { .. } => "agent_tile",
            Self::TaskNotification { .. } => "task_notification",
            Self::ToolStart { .. } => "tool_start",
            Self::ToolEnd { .. } => "tool_end",
            Self::Done { .. } => "done",
            Self::Error { .. } => "error",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Usage {
    pub model_calls: i64,
    pub tool_calls: i64,
    pub input_tokens: i64,
    pub cached_tokens: i64,
    pub output_tokens: i64,
}

impl From<Totals> for Usage {
    fn from(totals: Totals) -> Self {
        let Totals { model_calls, tool_calls, input_tokens, cached_tokens, output_tokens } = totals;
        Self { model_calls, tool_calls, input_tokens, cached_tokens, output_tokens }
    }
}

/// An event in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The coordinator's, also for what a worker does.
    pub session_id: String,
    pub turn_id: String,
    /// The worker that did it.
    pub parent_task_id: Option<String>,
    pub event: Event,
}

/// The sending end; a clone is the same.
#[derive(Clone, Debug)]
pub struct Events(Option<mpsc::Sender<Told>>);

impl Events {
    pub fn new(to: mpsc::Sender<Told>) -> Self {
        Self(Some(to))
    }

    /// Nobody watches.
    pub fn off() -> Self {
        Self(None)
    }

    fn tell(&self, told: Told) {
        let Some(to) = &self.0 else { return };
        if let Err(TrySendError::Full(told)) = to.try_send(told) {
            tracing::warn!(session.id = %told.session_id, event = told.event.name(), "an event is not shown to those who watch: too many wait");
        }
    }
}

/// Events of one turn, or of one worker in it.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub events: Events,
    pub session_id: String,
    pub turn_id: String,
    pub task_id: Option<String>,
}

impl Stage {
    pub(super) fn tell(&self, event: Event) {
        self.events.tell(Told {
            session_id: self.session_id.clone(),
            turn_id: self.turn_id.clone(),
            parent_task_id: self.task_id.clone(),
            event,
        });
    }

    /// The turn itself.
    pub(super) fn of_turn(&self) -> Self {
        Self { task_id: None, ..self.clone() }
    }

    /// The same turn, seen from one of its workers.
    pub(super) fn of_task(&self, task_id: &str) -> Self {
        Self { task_id: Some(task_id.to_owned()), ..self.clone() }
    }
}
