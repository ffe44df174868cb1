//! `TaskStop`: ends a specialist's work. Stopping twice, or what has ended, is no error.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Dispatch;
use crate::tools::{Class, Found, Tool, ToolContext, ToolError, ToolOutput};

pub(in super::super) struct TaskStop(pub Arc<Dispatch>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Args {
    /// The task's id.
    task_id: String,
}

impl Tool for TaskStop {
    const NAME: &'static str = "TaskStop";
    const LOWEST: Class = Class::Read;
    const NUMBERED: bool = false;
    type Args = Args;

    fn description(&self) -> String {
        "Stops a specialist that is at work. Its call returns at once with what is known by then.".into()
    }

    fn headline(&self, args: &Args) -> String {
        format!("stops task {}", args.task_id)
    }

    async fn call(&self, args: Args, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let workers = self.0.workers();
        let Some(worker) = workers.get(&args.task_id) else {
            let known: Vec<_> = workers.iter().map(|(id, worker)| format!("{id} ({})", worker.persona)).collect();
            let known = if known.is_empty() { "none yet".to_owned() } else { known.join(", ") };
            return Err(ToolError::TellModel(format!("No task {:?} in this turn. Tasks: {known}.", args.task_id)));
        };
        worker.cancel.cancel();
        let text = if worker.running { "Stopping." } else { "It had already ended." };
        Ok(ToolOutput { text: text.into(), found: Found::Something })
    }
}
