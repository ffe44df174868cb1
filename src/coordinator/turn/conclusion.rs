//! From how a run ended to what the asker reads and what the turn's row says.

use std::time::Duration;

use watchfloor_channel::{Body, RefusalKind, text::for_people};

use super::super::{
    control::Why,
    run::{End, Failure},
};
use crate::{
    model::ModelError,
    store::{TurnRow, TurnStatus},
    wording,
};

const STOPPED: &str = "stopped";
const RETRACTED: &str = "retracted";
const MAX_TURNS: &str = "max_turns";
const TIMEOUT: &str = "timeout";
const LENGTH: &str = "length";
const FILTERED: &str = "filtered";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conclusion {
    pub text: String,
    pub status: TurnStatus,
    pub complete: bool,
    pub reason: Option<String>,
    /// False where nothing can be shown.
    pub shown: bool,
}

impl Conclusion {
    /// An answer is the model's; everything else is a sentence of ours, which must not be able to go wrong.
    /// Above the answer to a late message stands how late it is.
    pub(super) fn body(&self, late: Option<Duration>) -> Body {
        match (self.status, late) {
            (TurnStatus::Answered, Some(by)) => Body::Markdown(format!("{}\n\n{}", wording::late(by), self.text)),
            (TurnStatus::Answered, None) => Body::Markdown(self.text.clone()),
            _ => Body::Plain(self.text.clone()),
        }
    }

    pub(super) fn of(end: End, why: Option<Why>) -> Self {
        match (why, end) {
            (Some(Why::Said { by, .. }), _) => {
                Self::without_answer(TurnStatus::Stopped, STOPPED, wording::stopped(&by))
            }
            (Some(Why::Retracted), _) => {
                Self { shown: false, ..Self::without_answer(TurnStatus::Stopped, RETRACTED, String::new()) }
            }
            (Some(Why::CantPost(refusal)), _) => {
                // Whoever deleted the thread wants no answer; everything else is a fault that somebody has to mend.
                let status = match refusal.kind {
                    RefusalKind::ThreadGone => TurnStatus::Stopped,
                    _ => TurnStatus::Failed,
                };
                // A later process may find the room open again, and then this is what it shows.
                Self { shown: false, ..Self::without_answer(status, &refusal.code, wording::internal_error()) }
            }
            // What the model let slip goes now: an open tag at the end would take along what we add beneath.
            (_, End::Answered { text, limit: None }) => Self {
                text: for_people(&text),
                status: TurnStatus::Answered,
                complete: true,
                reason: None,
                shown: true,
            },
            (_, End::Answered { text, limit: Some(limit) }) => Self {
                text: format!("{}\n\n{}", for_people(&text), wording::incomplete(&limit)),
                status: TurnStatus::Answered,
                complete: false,
                reason: Some(
                    match limit {
                        wording::Limit::ModelCalls(_) => MAX_TURNS,
                        wording::Limit::Time(_) => TIMEOUT,
                        wording::Limit::Length => LENGTH,
                        wording::Limit::Filtered => FILTERED,
                    }
                    .into(),
                ),
                shown: true,
            },
            // Told to end, but by nobody who left a reason: the process is going.
            (None | Some(Why::Shutdown), End::Stopped) => {
                Self::without_answer(TurnStatus::Failed, "interrupted", wording::internal_error())
            }
            (_, End::Failed(failure)) => Self::failed(&failure),
        }
    }

    /// What an earlier process had concluded and perhaps not shown.
    pub(super) fn stored(turn: &TurnRow) -> Option<Self> {
        let text = turn.answer.clone()?;
        let complete = turn.answer_complete.unwrap_or(false);
        let status = match turn.reason.as_deref() {
            Some(STOPPED | RETRACTED) => TurnStatus::Stopped,
            Some(MAX_TURNS | TIMEOUT | LENGTH | FILTERED) => TurnStatus::Answered,
            _ if complete => TurnStatus::Answered,
            _ => TurnStatus::Failed,
        };
        let shown = turn.reason.as_deref() != Some(RETRACTED);
        Some(Self { text, status, complete, reason: turn.reason.clone(), shown })
    }

    /// The question is gone, and its placeholder goes too.
    pub(super) fn was_retracted(&self) -> bool {
        self.reason.as_deref() == Some(RETRACTED)
    }

    fn failed(failure: &Failure) -> Self {
        let (reason, text) = match failure {
            Failure::Empty => ("empty", wording::no_answer()),
            Failure::Store(_) => ("store", wording::internal_error()),
            Failure::Interrupted(times) => ("interrupted", wording::interrupted_too_often(*times)),
            Failure::NoModel(what) => ("no_model", wording::model_not_configured(what)),
            Failure::Model(error) => match error {
                ModelError::RateLimited { .. } => ("rate_limited", wording::model_rate_limited()),
                ModelError::Overloaded { .. } => ("overloaded", wording::model_overloaded()),
                ModelError::Unavailable(_) => ("model_unavailable", wording::model_unavailable()),
                ModelError::TooLong(_) => ("too_long", wording::too_long()),
                ModelError::Auth(_) => ("model_auth", wording::model_refused_key()),
                ModelError::Rejected(_) => ("model_rejected", wording::model_rejected()),
            },
        };
        tracing::error!(reason, ?failure, "a turn failed");
        Self::without_answer(TurnStatus::Failed, reason, text)
    }

    fn without_answer(status: TurnStatus, reason: &str, text: String) -> Self {
        Self { text, status, complete: false, reason: Some(reason.to_owned()), shown: true }
    }
}
