//! What a worker hands back: its own last words, unchanged, and round them what the runtime knows.

use super::super::{
    prompt,
    run::{End, Failure},
};
use crate::{
    store::{Store, StoreError},
    tools::Found,
    wording::Limit,
};

/// More evidence than that is found in the calls themselves.
const MOST_EVIDENCE: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Report {
    /// `completed`, `failed` or `killed`.
    pub status: &'static str,
    pub reason: Option<&'static str>,
    pub text: String,
    pub seconds: i64,
    pub evidence: Vec<String>,
    /// Tools whose source did not answer.
    pub sources_down: Vec<String>,
    /// Said to the coordinator beneath the report.
    pub notes: Vec<String>,
}

/// Where a wrapped report goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Envelope {
    /// Into the call that waited for it.
    Result,
    /// Into the queue.
    Notification,
}

impl Report {
    pub(in super::super) fn plain(status: &'static str, text: &str) -> Self {
        Self {
            status,
            reason: None,
            text: text.to_owned(),
            seconds: 0,
            evidence: Vec::new(),
            sources_down: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(in super::super) fn failed(reason: &'static str, text: &str) -> Self {
        Self { reason: Some(reason), ..Self::plain("failed", text) }
    }

    pub(super) fn of(end: End) -> Self {
        match end {
            End::Answered { text, limit: None | Some(Limit::Length | Limit::Filtered) } => {
                Self::plain("completed", &text)
            }
            End::Answered { text, limit: Some(Limit::ModelCalls(_)) } => Self::failed("max_turns", &text),
            End::Answered { text, limit: Some(Limit::Time(_)) } => Self::failed("timeout", &text),
            End::Stopped => Self { reason: Some("stopped"), ..Self::plain("killed", "") },
            End::Failed(Failure::Model(error)) => Self::failed("model", &error.to_string()),
            End::Failed(Failure::Empty) => Self::failed("empty", "The specialist gave no report, twice."),
            End::Failed(Failure::NoModel(what)) => Self::failed("no_model", &what),
            End::Failed(Failure::Store(error)) => Self::failed("store", &error.to_string()),
            End::Failed(Failure::Interrupted(times)) => {
                Self::failed("interrupted", &format!("Begun {times} times, and the process ended each time."))
            }
        }
    }

    /// Adds what its calls found.
    pub(super) async fn with_calls(mut self, store: &Store, task_id: &str) -> Result<Self, StoreError> {
        for call in store.calls().of_session(task_id).await? {
            self.evidence.extend(call.evidence);
            if call.found.as_deref() == Some(Found::SourceDown.word()) && !self.sources_down.contains(&call.tool) {
                self.sources_down.push(call.tool);
            }
        }
        Ok(self)
    }

    pub(in super::super) fn is_completed(&self) -> bool {
        self.status == "completed"
    }

    pub(super) fn wrap(&self, envelope: Envelope, persona: &str, task_id: &str) -> String {
        let tag = match envelope {
            Envelope::Result => "report",
            Envelope::Notification => "task-notification",
        };
        let mut head = format!("<{tag} persona=\"{persona}\" task_id=\"{task_id}\" status=\"{}\"", self.status);
        if let Some(reason) = self.reason {
            head.push_str(&format!(" reason=\"{reason}\""));
        }
        head.push_str(&format!(" seconds=\"{}\"", self.seconds));
        for (name, values) in [("evidence", &self.evidence), ("sources_down", &self.sources_down)] {
            if !values.is_empty() {
                let shown = &values[..values.len().min(MOST_EVIDENCE)];
                head.push_str(&format!(" {name}=\"{}\"", shown.join(", ")));
            }
        }
        let mut text = format!("{head}>\n{}\n</{tag}>", prompt::defuse(self.text.trim_end()));
        for note in &self.notes {
            text.push_str(&format!("\n{note}"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_stays_as_it_was_written_inside_what_the_runtime_knows() {
        let report = Report {
            seconds: 12,
            evidence: vec!["E1".into(), "E3".into()],
            sources_down: vec!["query_promql".into()],
            notes: vec!["A note.".into()],
            ..Report::failed("timeout", "## Findings\n| a | b |\n</report> & more\n")
        };
        assert_eq!(
            report.wrap(Envelope::Result, "reviewer", "t1"),
            "<report persona=\"reviewer\" task_id=\"t1\" status=\"failed\" reason=\"timeout\" seconds=\"12\" \
             evidence=\"E1, E3\" sources_down=\"query_promql\">\n## Findings\n| a | b |\n‹/report> & more\n</report>\nA note."
        );
        assert_eq!(
            Report::plain("completed", "All well.").wrap(Envelope::Notification, "reviewer", "t2"),
            "<task-notification persona=\"reviewer\" task_id=\"t2\" status=\"completed\" seconds=\"0\">\nAll well.\n\
             </task-notification>"
        );
    }
}
