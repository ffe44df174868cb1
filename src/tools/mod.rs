//! What a model can call: the seam of a tool. Every call goes through [`invoke`], no other way leads to a tool.

mod alertmanager;
mod cut;
mod erased;
mod fence;
mod get_active_incidents;
mod headline;
mod invoke;
mod labels;
mod metric_names;
mod policy;
mod prometheus;
mod promql_text;
mod query_alert_rules;
mod query_change_events;
mod query_promql;
mod read_result;
mod record;
mod redact;
mod redirect;
mod source;
#[cfg(test)]
mod testing;
pub mod time;
mod toolbox;

pub use alertmanager::Alertmanager;
pub use erased::{DynTool, Prepared, SharedTool};
pub use get_active_incidents::GetActiveIncidents;
pub use invoke::{CallState, Handed, Invoked, Invoker, admit, invoke};
pub use policy::{Policy, Role};
pub use prometheus::Prometheus;
pub use query_alert_rules::QueryAlertRules;
pub use query_change_events::QueryChangeEvents;
pub use query_promql::QueryPromql;
pub use read_result::ReadResult;
pub use redact::redact;
pub use redirect::{Elsewhere, MOST_OFFERED, Redirect, redirects};
pub use source::http_client;
pub use toolbox::{Cut, Toolbox};

use std::{future::Future, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio_util::sync::CancellationToken;

/// What a call can do to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    #[serde(alias = "safe")]
    Read,
    Write,
    Destructive,
}

impl Class {
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }
}

/// What a source answered. "No data" is an answer; "source down" is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    Something,
    Nothing,
    /// The source exists, but not for this question (another tenant, a time before its retention).
    OutOfScope,
    SourceDown,
}

impl Found {
    pub fn word(self) -> &'static str {
        match self {
            Self::Something => "something",
            Self::Nothing => "nothing",
            Self::OutOfScope => "out_of_scope",
            Self::SourceDown => "source_down",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// For the model, whole; `invoke` caps it and keeps the rest as an artifact.
    pub text: String,
    pub found: Found,
}

/// Two kinds of failure: the model can mend the first, nobody in this turn the second.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// Said to the model, with what a right call looks like.
    #[error("{0}")]
    TellModel(String),
    #[error("{0}")]
    Broken(String),
}

/// What a tool may know about its call. Never the coordinator, never a channel.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// Whose transcript the call stands in: the coordinator's or a worker's.
    pub session_id: String,
    /// The coordinator's session, also when a worker calls: evidence is numbered and kept there.
    pub evidence_of: String,
    pub turn_id: String,
    pub call_id: String,
    /// Milliseconds since 1970, fixed when the call starts.
    pub now_ms: i64,
    /// Cancelled by a stop; `invoke` races the call against it, a tool with something to clean up listens itself.
    pub cancel: CancellationToken,
}

/// A tool gets its clients when it is built and a narrow context per call. "Nothing found" is a result, not an error.
pub trait Tool: Send + Sync + 'static {
    const NAME: &'static str;
    /// The least that any call of this tool does: a toolbox offers a tool if this fits the persona's mode.
    const LOWEST: Class;
    /// Results of calls to a source get a number (`E1`, `E2`, …) that an answer can cite.
    const NUMBERED: bool = true;
    type Args: DeserializeOwned + JsonSchema + Send + Sync;

    /// For the model: what it does, when to use it, units and limits.
    fn description(&self) -> String;

    /// Of this very call.
    fn class(&self, args: &Self::Args) -> Class {
        let _ = args;
        Self::LOWEST
    }

    /// One line for people about this call: activity line and audit line.
    fn headline(&self, args: &Self::Args) -> String;

    fn timeout(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn call(
        &self,
        args: Self::Args,
        context: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}
