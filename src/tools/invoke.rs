//! The one path every call takes: look up, understand, judge, run within its time, redact, store, cap, frame, write down. It
//! never fails: each call gets exactly one text, whatever happened.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use futures::FutureExt;

use super::{
    Class, Found, Policy, Prepared, SharedTool, ToolContext, ToolError, ToolOutput, Toolbox,
    cut::{Whole, cut},
    fence,
    headline::{headline, one_line, shorten},
    record::{Ending, Record},
    redact,
};
use crate::{clock::SharedClock, model::ToolCall, store::Store};

/// What one run (a turn or a worker) brings to each of its calls.
#[derive(Clone, Debug)]
pub struct Invoker {
    pub store: Store,
    pub clock: SharedClock,
    /// Characters of one result that enter the model's context; 16,000 suit models with less than 100,000 tokens.
    pub cap: usize,
    pub policy: Policy,
    /// For the audit: whose question it is, and who acts.
    pub asker: String,
    pub persona: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// There is a result, also if it is "nothing" or "source down".
    Answered,
    /// No tool has that name.
    Unknown,
    /// Another persona answers what was wanted.
    Redirected,
    /// The model can mend its arguments.
    Mistaken,
    Refused,
    TimedOut,
    Stopped,
    Broken,
}

impl CallState {
    pub fn word(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Unknown => "unknown",
            Self::Redirected => "redirected",
            Self::Mistaken => "mistaken",
            Self::Refused => "refused",
            Self::TimedOut => "timed_out",
            Self::Stopped => "stopped",
            Self::Broken => "broken",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invoked {
    /// What the model sees.
    pub text: String,
    pub found: Option<Found>,
    pub headline: String,
    /// `E3`, if the result is stored and may be cited.
    pub evidence: Option<String>,
    pub state: CallState,
    pub duration_ms: i64,
}

/// A call's end before it is written down.
struct End {
    state: CallState,
    found: Option<Found>,
    text: String,
}

impl End {
    fn without_result(state: CallState, text: impl Into<String>) -> Self {
        Self { state, found: None, text: text.into() }
    }
}

/// `evidence` is the number reserved for this call; it stays unused if the call has nothing to cite. `on_start` gets the
/// headline when the call begins to run.
pub async fn invoke(
    invoker: &Invoker,
    call: &ToolCall,
    toolbox: &Toolbox,
    context: &ToolContext,
    evidence: Option<u32>,
    on_start: &(dyn Fn(&str) + Sync),
) -> Invoked {
    let mut record = Record {
        invoker,
        call,
        context,
        tool: shorten(&call.name, 64),
        class: None,
        headline: headline(&call.name, ""),
        started_at: invoker.clock.now_ms(),
        row: None,
    };
    let mut numbered = false;
    let end = match look_up(toolbox, &call.name) {
        Err(end) => end,
        Ok(tool) => {
            numbered = tool.numbered();
            tool.name().clone_into(&mut record.tool);
            record.headline = headline(tool.name(), "arguments not understood");
            match understand(&tool, &call.arguments) {
                Err(end) => end,
                Ok(prepared) => {
                    record.class = Some(prepared.class);
                    record.headline = one_line(&redact(&prepared.headline));
                    judge_and_run(&mut record, prepared, numbered, on_start).await
                }
            }
        }
    };
    close(&record, end, evidence.filter(|_| numbered)).await
}

/// Something that a person handed over, such as a file.
#[derive(Clone, Debug)]
pub struct Handed {
    /// In a tool's place.
    pub tool: &'static str,
    /// What it is, as JSON: the audit's arguments.
    pub what: String,
    pub headline: String,
    pub text: String,
}

/// Takes the second half of a call's path: redacted, stored, capped, framed, written down. `evidence` is reserved for it.
pub async fn admit(invoker: &Invoker, context: &ToolContext, handed: Handed, evidence: u32) -> Invoked {
    let Handed { tool, what, headline, text } = handed;
    let call = ToolCall { id: context.call_id.clone(), name: tool.to_owned(), arguments: what };
    let mut record = Record {
        invoker,
        call: &call,
        context,
        tool: tool.to_owned(),
        class: Some(Class::Read),
        headline: one_line(&redact(&headline)),
        started_at: invoker.clock.now_ms(),
        row: None,
    };
    if let Err(error) = record.start().await {
        record.complain("the start of a call could not be written", &error);
    }
    close(&record, End { state: CallState::Answered, found: Some(Found::Something), text }, Some(evidence)).await
}

fn look_up(toolbox: &Toolbox, name: &str) -> Result<SharedTool, End> {
    toolbox.get(name).ok_or_else(|| {
        if let Some(redirect) = toolbox.redirect(name) {
            return End::without_result(CallState::Redirected, redirect.answer());
        }
        let near = toolbox.near(name);
        let all: Vec<&str> = toolbox.names().collect();
        let advice = if all.is_empty() {
            "There are no tools in this run: answer from what you have.".to_owned()
        } else if near.is_empty() {
            format!("Call one of these: {}.", shorten(&all.join(", "), 1500))
        } else {
            format!("Nearest: {}. Call one of these.", near.join(", "))
        };
        let owner = toolbox.owner(name).unwrap_or_default();
        End::without_result(CallState::Unknown, format!("there is no tool {:?}. {advice}{owner}", shorten(name, 64)))
    })
}

fn understand(tool: &SharedTool, arguments: &str) -> Result<Prepared, End> {
    // A tool's own code reads the arguments: a defect there must not take the turn with it.
    catch_unwind(AssertUnwindSafe(|| Arc::clone(tool).prepare(arguments)))
        .unwrap_or_else(|_| Err(ToolError::Broken("it panicked".to_owned())))
        .map_err(|error| failed(tool.name(), error))
}

async fn judge_and_run(
    record: &mut Record<'_>,
    prepared: Prepared,
    numbered: bool,
    on_start: &(dyn Fn(&str) + Sync),
) -> End {
    if let Some(refusal) = record.invoker.policy.refusal(&record.tool, prepared.class) {
        return End::without_result(CallState::Refused, refusal);
    }
    if record.context.cancel.is_cancelled() {
        return End::without_result(CallState::Stopped, "stopped by the user before it began");
    }
    if let Err(error) = record.start().await {
        record.complain("the start of a call could not be written", &error);
        // Reading may go on without a record; nothing may be changed without one.
        if prepared.class != Class::Read {
            let text = "not run: the call could not be recorded, and nothing is changed without a record. Say so.";
            return End::without_result(CallState::Broken, text);
        }
    }
    on_start(&record.headline);
    run(record, prepared, numbered).await
}

async fn run(record: &Record<'_>, prepared: Prepared, numbered: bool) -> End {
    let Prepared { class, timeout: limit, run, .. } = prepared;
    // Dropping a call doesn't undo what it has already done.
    let aftermath = if class == Class::Read {
        ""
    } else {
        " It may have taken effect all the same: check before you say otherwise."
    };
    let context = record.context.clone();
    let guarded = AssertUnwindSafe(async move { run(context).await }).catch_unwind();
    let outcome = tokio::select! {
        biased;
        () = record.context.cancel.cancelled() => {
            return End::without_result(CallState::Stopped, format!("stopped by the user while it ran.{aftermath}"));
        }
        outcome = tokio::time::timeout(limit, guarded) => outcome,
    };
    match outcome {
        Err(_) => timed_out(&record.tool, limit, numbered, aftermath),
        Ok(Err(_)) => {
            tracing::error!(tool.name = record.tool, call.id = record.context.call_id, "a tool panicked");
            failed(&record.tool, ToolError::Broken("it panicked".to_owned()))
        }
        Ok(Ok(Err(error))) => failed(&record.tool, error),
        Ok(Ok(Ok(ToolOutput { text, found }))) => End { state: CallState::Answered, found: Some(found), text },
    }
}

fn timed_out(tool: &str, limit: Duration, numbered: bool, aftermath: &str) -> End {
    let limit = match limit.as_secs() {
        0 => format!("{} ms", limit.as_millis()),
        seconds => format!("{seconds} s"),
    };
    if numbered {
        let text = format!(
            "source down: {tool} gave no answer within {limit}, the limit of a call. That there is no data here proves \
             nothing. A narrower question may work; else say that the source could not be asked.{aftermath}"
        );
        End { state: CallState::TimedOut, found: Some(Found::SourceDown), text }
    } else {
        End::without_result(
            CallState::TimedOut,
            format!("{tool} did not end within {limit}, its limit, and was stopped.{aftermath}"),
        )
    }
}

fn failed(tool: &str, error: ToolError) -> End {
    match error {
        ToolError::TellModel(text) => End::without_result(CallState::Mistaken, text),
        ToolError::Broken(text) => End::without_result(
            CallState::Broken,
            format!(
                "{tool} failed: {text}. The arguments are not to blame; go on without it and say what was not checked."
            ),
        ),
    }
}

/// Redact first, then store, then cap: what is stored is what can be read later, and offsets in both are the same.
async fn close(record: &Record<'_>, end: End, evidence: Option<u32>) -> Invoked {
    let now = record.invoker.clock.now_ms();
    // Databases refuse NUL, and dropping it later would shift the offsets.
    let text = redact(&end.text.replace('\0', ""));
    let cap = record.invoker.cap;
    let mut evidence = evidence.filter(|_| end.found.is_some()).map(|number| format!("E{number}"));
    let mut artifact = None;
    if end.found.is_some() && (evidence.is_some() || text.chars().count() > cap) {
        artifact = record.keep(&text, evidence.as_deref(), now).await;
        if artifact.is_none() {
            evidence = None;
        }
    }
    let whole = evidence.as_deref().or(artifact.as_deref()).map_or(Whole::Lost, Whole::At);
    let shown = cut(&text, cap, whole);
    let framed = match end.found {
        Some(found) => fence::answered(&record.tool, evidence.as_deref(), found, &shown),
        None => fence::unanswered(&record.tool, end.state, &shown),
    };
    let ending = Ending {
        state: end.state,
        found: end.found,
        artifact: artifact.as_deref(),
        evidence: evidence.as_deref(),
        text: &text,
        ended_at: now,
    };
    record.end(&ending).await;
    let duration_ms = now - record.started_at;
    tracing::info!(
        tool.name = record.tool,
        call.id = record.context.call_id,
        state = end.state.word(),
        found = end.found.map(Found::word),
        duration_ms,
        "a call ended"
    );
    Invoked {
        text: framed,
        found: end.found,
        headline: record.headline.clone(),
        evidence,
        state: end.state,
        duration_ms,
    }
}

#[cfg(test)]
#[path = "invoke_tests.rs"]
mod tests;
