//! Waiting for a worker's report, and leaving it to its work when the asker has something to say.

use std::sync::Arc;

use tokio_util::sync::DropGuard;

use super::{
    super::crew::{Ended, Member},
    Dispatch, broken,
    report::Envelope,
};
use crate::tools::{Found, ToolError, ToolOutput};

const LEFT_ALONE: &str = "The asker has said something; it stands below. The specialist goes on, and its report will be \
    brought to you. Read what she said, then go on, or stop it (TaskStop), or tell it (SendMessage with `to`).";
const IN_BACKGROUND: &str =
    "It works in the background. Its report will be brought to you in this thread; don't wait for it.";

/// Who ends the worker if this call ends early.
pub(super) enum Bond {
    /// It works for this call alone.
    Mine(DropGuard),
    /// Another call sent it.
    Shared,
}

impl Dispatch {
    /// The report, or, when the asker has something to say meanwhile, that the worker goes on.
    pub(super) async fn report_of(&self, member: &Arc<Member>, bond: Bond) -> Result<ToolOutput, ToolError> {
        let detach = self.detach.signal();
        let sessions = self.services.store.sessions();
        let ended = tokio::select! {
            biased;
            ended = member.ended() => ended,
            () = detach.cancelled() => {
                if sessions.set_background(&member.task_id, true).await.map_err(broken)? {
                    if let Bond::Mine(guard) = bond {
                        guard.disarm();
                    }
                    return Ok(running(member, LEFT_ALONE));
                }
                // It ended at the same moment.
                member.ended().await
            }
        };
        if let Bond::Mine(guard) = bond {
            guard.disarm();
            self.spend(ended.totals);
        }
        Ok(told(member, &ended, None))
    }
}

pub(super) fn in_background(member: &Member) -> ToolOutput {
    running(member, IN_BACKGROUND)
}

/// The answer to a call whose worker goes on.
pub(super) fn running(member: &Member, note: &str) -> ToolOutput {
    let answer = serde_json::json!({
        "task_id": member.task_id,
        "persona": member.persona,
        "status": "running",
        "note": note,
    });
    ToolOutput { text: answer.to_string(), found: Found::Something }
}

pub(super) fn told(member: &Member, ended: &Ended, note: Option<&str>) -> ToolOutput {
    let mut text = ended.report.wrap(Envelope::Result, &member.persona, &member.task_id);
    if let Some(note) = note {
        text = format!("{note}\n{text}");
    }
    ToolOutput { text, found: Found::Something }
}
