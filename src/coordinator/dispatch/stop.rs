//! `TaskStop`: ends a specialist's work. Stopping twice, or what has ended, is no error.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::timeout;

use super::{Dispatch, broken};
use crate::{
    store::SessionKind,
    tools::{Class, Found, Tool, ToolContext, ToolError, ToolOutput},
};

/// How long the call waits to see it end.
const SEEN_WITHIN: Duration = Duration::from_secs(1);

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
        "Stops a specialist that is at work, also one in the background. A call that waits for it returns at once with \
         what is known by then; from the background nothing more comes."
            .into()
    }

    fn headline(&self, args: &Args) -> String {
        format!("stops task {}", args.task_id)
    }

    async fn call(&self, args: Args, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let dispatch = &self.0;
        let said = |text: &str| Ok(ToolOutput { text: text.into(), found: Found::Something });
        if let Some(member) = dispatch.router.crew().find(&dispatch.session_id, &args.task_id)
            && member.has_ended().is_none()
        {
            member.kill.cancel();
            return match timeout(SEEN_WITHIN, member.ended()).await {
                Ok(_) => said("Stopped."),
                Err(_) => said("Stopping: it ends with the call it is in."),
            };
        }
        let row = dispatch.services.store.sessions().get(&args.task_id).await.map_err(broken)?;
        let ours = |session: &crate::store::SessionRow| {
            session.kind == SessionKind::Worker && session.parent_session_id.as_ref() == Some(&dispatch.session_id)
        };
        match row.filter(ours) {
            Some(row) => said(&format!("It had already ended: {}.", row.status.as_str())),
            None => Err(dispatch.no_such_task(&args.task_id).await),
        }
    }
}
