//! `AgentTool`: a worker, which is one run of a persona with its own transcript, tools and limits. It sees nothing of the
//! thread but the prompt it is given; its last message is its report, handed over unchanged.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        Services,
        run::{Activity, End, Failure, Run},
        steer::user_row,
        view::LineState,
    },
    Dispatch, Worker,
};
use crate::{
    persona::{self, Persona},
    store::{NewWorker, SessionStatus},
    tools::{Class, Found, Tool, ToolContext, ToolError, ToolOutput},
    wording::Limit,
};

/// What the call has on top: the worker's last answer without tools.
const GRACE: Duration = Duration::from_secs(180);

pub(in super::super) struct AgentTool(pub Arc<Dispatch>);

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Args {
    /// Three to six words for people: what is being looked at.
    description: String,
    /// The persona's name, from the list of specialists.
    subagent_type: String,
    /// Everything the specialist needs, since it sees nothing of this thread: the asker's words, ids, values with their
    /// times, what is known, what you want back.
    prompt: String,
}

/// A worker's end, as the runtime knows it.
struct Report {
    status: &'static str,
    reason: Option<&'static str>,
    text: String,
}

impl Tool for AgentTool {
    const NAME: &'static str = "AgentTool";
    const LOWEST: Class = Class::Read;
    const NUMBERED: bool = false;
    type Args = Args;

    fn description(&self) -> String {
        "Sends a specialist and waits for its report. Don't use it for what one or two calls of your own tools answer: \
         it is for five or more focused calls, for tools you don't have, or for several strands at once (call it several \
         times in one step). The prompt must be self-contained: the specialist sees nothing of this thread."
            .into()
    }

    fn headline(&self, args: &Args) -> String {
        format!("{}: {}", args.subagent_type, args.description)
    }

    fn timeout(&self) -> Duration {
        // As long again for a place among the workers.
        self.0.services.limits.worker_timeout * 2 + GRACE
    }

    async fn call(&self, args: Args, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let dispatch = &self.0;
        let personas = &dispatch.personas;
        let Some(persona) = personas.spawnable(&args.subagent_type).cloned() else {
            return Err(ToolError::TellModel(format!(
                "There is no specialist {:?}. Specialists: {}.",
                args.subagent_type,
                personas.names().join(", ")
            )));
        };
        if args.prompt.trim().is_empty() {
            return Err(ToolError::TellModel("The prompt is empty. The specialist sees nothing else.".into()));
        }
        // The task belongs to the conversation; this call only waits for it. A call that ends early ends its worker, and
        // a worker that is stopped still lets its call return.
        let cancel = context.cancel.child_token();
        let _worker = cancel.clone().drop_guard();
        let task = dispatch.tasks.spawn(work(dispatch.clone(), persona, args, context.call_id.clone(), cancel));
        task.await.map_err(|error| ToolError::Broken(format!("the specialist broke: {error}")))?
    }
}

async fn work(
    dispatch: Arc<Dispatch>,
    persona: Arc<Persona>,
    args: Args,
    call_id: String,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let services = dispatch.services.clone();
    let stopped = || ToolError::TellModel("Stopped before it began.".into());
    let slots = async { (dispatch.slots.acquire().await, services.slots.workers.acquire().await) };
    let _slots = tokio::select! {
        slots = slots => slots,
        () = cancel.cancelled() => return Err(stopped()),
    };
    let (provider, model) = match (&persona.model, dispatch.model.get()) {
        (None, Some(own)) => own.clone(),
        (wanted, _) => services
            .models
            .resolve(wanted.as_deref().unwrap_or_default())
            .map_err(|error| ToolError::TellModel(error.to_string()))?,
    };
    let (opening, left_out) = opening(&persona, &args.prompt, &dispatch.asker);
    let task_id = uuid::Uuid::now_v7().to_string();
    let started = services.now();
    let broken = |error: crate::store::StoreError| ToolError::Broken(error.to_string());
    services
        .store
        .sessions()
        .create_worker(&NewWorker {
            id: task_id.clone(),
            parent_session_id: dispatch.session_id.clone(),
            turn_id: dispatch.turn_id.clone(),
            persona: persona.name.clone(),
            title: args.description.clone(),
            model: Some(model.to_string()),
            first_messages: vec![user_row(None, opening)],
            now_ms: started,
        })
        .await
        .map_err(broken)?;
    dispatch
        .workers()
        .insert(task_id.clone(), Worker { persona: persona.name.clone(), cancel: cancel.clone(), running: true });
    let run = Run {
        services: services.clone(),
        session_id: task_id.clone(),
        epoch: None,
        turn_id: dispatch.turn_id.clone(),
        evidence_of: dispatch.session_id.clone(),
        persona: persona.clone(),
        provider,
        model,
        toolbox: Services::toolbox(&persona, &services.tools),
        invoker: services.invoker(&persona, &dispatch.asker),
        max_turns: persona.max_turns_or(services.limits.default_max_turns),
        time_limit: services.limits.worker_timeout,
        catalog: None,
        activity: Activity::Worker {
            progress: dispatch.progress.clone(),
            key: call_id.clone(),
            persona: persona.name.clone(),
        },
        stage: dispatch.stage.of_task(&task_id),
        steering: None,
        files: None,
        vision: false,
        cancel,
    };
    // The loop that calls this tool runs this loop: without the box the two futures would contain each other.
    let (end, totals) = Box::pin(run.go()).await;
    if let Some(worker) = dispatch.workers().get_mut(&task_id) {
        worker.running = false;
    }
    {
        let mut spent = dispatch.spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *spent += totals;
    }
    let report = report(end);
    let status = match report.status {
        "completed" => SessionStatus::Completed,
        "killed" => SessionStatus::Killed,
        _ => SessionStatus::Failed,
    };
    services.store.sessions().set_status(&task_id, status, services.now()).await.map_err(broken)?;
    let failed = report.status != "completed";
    dispatch.progress.end(&call_id, if failed { LineState::Failed } else { LineState::Done });
    let seconds = (services.now() - started) / 1000;
    let mut text = wrap(&report, &persona.name, &task_id, seconds);
    if let Some(why) = left_out {
        text.push_str(&format!("\nThe persona's initial_prompt was left out: {why}."));
    }
    Ok(ToolOutput { text, found: Found::Something })
}

/// The worker's first message: the persona's own opening, then what the coordinator wrote. An opening that can't be filled
/// is left out as a whole; the second value says why.
fn opening(persona: &Persona, prompt: &str, asker: &str) -> (String, Option<String>) {
    let Some(template) = &persona.initial_prompt else { return (prompt.to_owned(), None) };
    let known = [("question", prompt), ("asker", asker)];
    let context = known.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    match persona::render(template, &context) {
        Ok(opening) => (format!("{}\n\n{prompt}", opening.trim_end()), None),
        Err(error) => {
            tracing::warn!(persona = %persona.name, %error, "an initial_prompt is left out");
            (prompt.to_owned(), Some(error.to_string()))
        }
    }
}

fn report(end: End) -> Report {
    let failed = |reason, text| Report { status: "failed", reason: Some(reason), text };
    match end {
        End::Answered { text, limit: None | Some(Limit::Length | Limit::Filtered) } => {
            Report { status: "completed", reason: None, text }
        }
        End::Answered { text, limit: Some(Limit::ModelCalls(_)) } => failed("max_turns", text),
        End::Answered { text, limit: Some(Limit::Time(_)) } => failed("timeout", text),
        End::Stopped => Report { status: "killed", reason: Some("stopped"), text: String::new() },
        End::Failed(Failure::Model(error)) => failed("model", error.to_string()),
        End::Failed(Failure::Empty) => failed("empty", "The specialist gave no report, twice.".into()),
        End::Failed(Failure::NoModel(what)) => failed("no_model", what),
        End::Failed(Failure::Store(error)) => failed("store", error.to_string()),
        End::Failed(Failure::Interrupted(_)) => failed("interrupted", String::new()),
    }
}

/// The report stays as it was written; round it stands what the runtime knows.
fn wrap(report: &Report, persona: &str, task_id: &str, seconds: i64) -> String {
    let reason = report.reason.map(|reason| format!(" reason=\"{reason}\"")).unwrap_or_default();
    format!(
        "<report persona=\"{persona}\" task_id=\"{task_id}\" status=\"{}\"{reason} seconds=\"{seconds}\">\n{}\n</report>",
        report.status,
        super::super::prompt::defuse(report.text.trim_end()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_opening(template: &str) -> Persona {
        let file = format!(
            "---\nname: disk\ndescription: Looks at disks.\nwhen_to_use: When a disk is full or slow.\n\
             initial_prompt: {template}\n---\nLook."
        );
        persona::parse(persona::Source::Builtin("disk.md"), file.as_bytes()).unwrap().persona
    }

    #[test]
    fn a_personas_opening_stands_before_the_prompt_and_holds_values_as_data() {
        let persona = with_opening("\"{{.asker}} wants to know: {{ question }}\"");
        let (text, left_out) = opening(&persona, "is {{ disk }} full?", "U0ALICE");
        assert_eq!(text, "U0ALICE wants to know: is {{ disk }} full?\n\nis {{ disk }} full?");
        assert_eq!(left_out, None);
    }

    #[test]
    fn an_opening_that_cannot_be_filled_is_left_out_as_a_whole_and_said_to_be() {
        let persona = with_opening("\"Incident {{.incident_id}}.\"");
        let (text, left_out) = opening(&persona, "is it full?", "U0ALICE");
        assert_eq!(text, "is it full?");
        assert!(left_out.is_some_and(|why| why.contains("incident_id")));
    }
}
