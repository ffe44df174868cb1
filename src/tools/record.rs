//! What is written about a call: its row before it runs, its result in full, its end, and the audit line of every call, also of
//! one that never ran.

use uuid::Uuid;

use super::{CallState, Class, Found, Invoker, ToolContext, headline::shorten, redact};
use crate::{
    model::ToolCall,
    store::{AuditRow, NewArtifact, NewCall, StoreError},
};

const LONGEST_ARGUMENTS: usize = 4000;
const LONGEST_SUMMARY: usize = 2000;

/// The call as it is known so far.
#[derive(Debug)]
pub(super) struct Record<'a> {
    pub(super) invoker: &'a Invoker,
    pub(super) call: &'a ToolCall,
    pub(super) context: &'a ToolContext,
    /// The tool's real name, also if it was called by an alias.
    pub(super) tool: String,
    /// Absent until the arguments are understood.
    pub(super) class: Option<Class>,
    pub(super) headline: String,
    pub(super) started_at: i64,
    pub(super) row: Option<String>,
}

/// How it ended, for the books.
#[derive(Debug)]
pub(super) struct Ending<'a> {
    pub(super) state: CallState,
    pub(super) found: Option<Found>,
    pub(super) artifact: Option<&'a str>,
    pub(super) evidence: Option<&'a str>,
    pub(super) text: &'a str,
    pub(super) ended_at: i64,
}

impl Record<'_> {
    fn arguments(&self) -> String {
        shorten(&redact(&self.call.arguments), LONGEST_ARGUMENTS)
    }

    pub(super) async fn start(&mut self) -> Result<(), StoreError> {
        let id = Uuid::now_v7().to_string();
        let new = NewCall {
            id: id.clone(),
            session_id: self.context.session_id.clone(),
            turn_id: self.context.turn_id.clone(),
            call_id: self.context.call_id.clone(),
            tool: self.tool.clone(),
            class: self.class.map(Class::word).unwrap_or_default().to_owned(),
            arguments: self.arguments(),
            headline: self.headline.clone(),
            started_at: self.started_at,
        };
        self.invoker.store.calls().start(&[new]).await?;
        self.row = Some(id);
        Ok(())
    }

    /// The id of the stored text, or nothing if it could not be stored: then it can't be cited either.
    pub(super) async fn keep(&self, text: &str, evidence: Option<&str>, now_ms: i64) -> Option<String> {
        let id = Uuid::now_v7().to_string();
        let new = NewArtifact {
            id: id.clone(),
            session_id: self.context.evidence_of.clone(),
            turn_id: self.context.turn_id.clone(),
            call_id: self.context.call_id.clone(),
            tool: self.tool.clone(),
            evidence: evidence.map(str::to_owned),
            content: text.to_owned(),
            created_at: now_ms,
        };
        match self.invoker.store.artifacts().put(&new).await {
            Ok(()) => Some(id),
            Err(error) => {
                self.complain("a result could not be stored", &error);
                None
            }
        }
    }

    pub(super) async fn end(&self, ending: &Ending<'_>) {
        if let Some(row) = &self.row {
            let found = ending.found.map(Found::word);
            let done = self.invoker.store.calls();
            if let Err(error) = done.finish(row, ending.state.word(), found, ending.evidence, ending.ended_at).await {
                self.complain("the end of a call could not be written", &error);
            }
        }
        let decision = match ending.state {
            CallState::Refused => "refused",
            // It never came to a decision.
            _ if self.class.is_none() => "none",
            _ => "allowed",
        };
        let summary = ending.text.split_whitespace().take(LONGEST_SUMMARY / 2).collect::<Vec<_>>().join(" ");
        let row = AuditRow {
            id: Uuid::now_v7().to_string(),
            at: self.started_at,
            session_id: self.context.session_id.clone(),
            turn_id: self.context.turn_id.clone(),
            call_id: self.context.call_id.clone(),
            asker: self.invoker.asker.clone(),
            persona: self.invoker.persona.clone(),
            tool: self.tool.clone(),
            class: self.class.map(Class::word).unwrap_or_default().to_owned(),
            arguments: self.arguments(),
            headline: self.headline.clone(),
            decision: decision.to_owned(),
            outcome: ending.found.map_or(ending.state.word(), Found::word).to_owned(),
            result_summary: shorten(&summary, LONGEST_SUMMARY),
            artifact_id: ending.artifact.map(str::to_owned),
            evidence: ending.evidence.map(str::to_owned),
            duration_ms: ending.ended_at - self.started_at,
        };
        if let Err(error) = self.invoker.store.audit().write(&row).await {
            self.complain("the audit line of a call could not be written", &error);
        }
    }

    pub(super) fn complain(&self, what: &str, error: &StoreError) {
        tracing::error!(
            tool.name = self.tool,
            session.id = self.context.session_id,
            call.id = self.context.call_id,
            %error,
            "{what}"
        );
    }
}
