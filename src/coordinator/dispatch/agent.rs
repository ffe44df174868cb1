//! `AgentTool`: sends a worker, which is one run of a persona with its own transcript, tools and limits. It sees nothing of
//! the thread but the prompt it is given; its last message is its report, handed over unchanged.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    super::{
        crew::{Errand, Hired, Member},
        steer::user_row,
    },
    Chosen, Dispatch, Report, broken,
    wait::{self, Bond},
    worker::{Line, Worker},
};
use crate::{
    model::ModelChoice,
    persona::{self, Persona},
    store::{NewWorker, Totals},
    tools::{Class, Tool, ToolContext, ToolError, ToolOutput},
};

/// What the call has on top: the worker's last answer without tools.
pub(super) const GRACE: Duration = Duration::from_secs(180);

const UNDER_WAY: &str = "The same task was under way already and was waited for; nothing was done twice.";
const JUST_DONE: &str = "The same task was done a moment ago; this is its report. Nothing was done again.";

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
    /// True: don't wait. The report comes back to this thread by itself. Absent: as the persona says.
    #[serde(default)]
    background: Option<bool>,
    /// Values for the persona's opening, such as `incident_id`.
    #[serde(default)]
    context: Option<Map<String, Value>>,
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
        let Some(persona) = dispatch.personas.spawnable(&args.subagent_type).cloned() else {
            return Err(ToolError::TellModel(format!(
                "There is no specialist {:?}. Specialists: {}.",
                args.subagent_type,
                dispatch.personas.names().join(", ")
            )));
        };
        if args.prompt.trim().is_empty() {
            return Err(ToolError::TellModel("The prompt is empty. The specialist sees nothing else.".into()));
        }
        let background = args.background.unwrap_or(persona.background);
        let chosen = dispatch.choose(&persona)?;
        let errand = Errand::new(&dispatch.session_id, &persona.name, &args.prompt);
        let member = Arc::new(Member::new(uuid::Uuid::now_v7().to_string(), persona.name.clone(), errand));
        if let Hired::Same(same) = dispatch.router.crew().hire(&member, dispatch.services.now()) {
            return dispatch.share(&same, background).await;
        }
        let sent = dispatch.send(&member, persona, chosen, &args, background, &context.call_id).await;
        if let Err(error) = sent {
            // Nobody may wait for a worker that never began.
            let report = Report::failed("store", &error.to_string());
            member.end(super::super::crew::Ended { report, totals: Totals::default(), at: dispatch.services.now() });
            return Err(error);
        }
        if background {
            return Ok(wait::in_background(&member));
        }
        // A call that ends early ends its worker, and a worker that is stopped still lets its call return.
        dispatch.report_of(&member, Bond::Mine(member.kill.clone().drop_guard())).await
    }
}

impl Dispatch {
    /// The persona's model, or the coordinator's where it names none.
    fn choose(&self, persona: &Persona) -> Result<Chosen, ToolError> {
        if let (None, Some(own)) = (&persona.model, self.model.get()) {
            return Ok(own.clone());
        }
        let wanted = persona.model.as_deref().unwrap_or_default();
        let choice = self.services.models.choose(wanted).map_err(|error| ToolError::TellModel(error.to_string()))?;
        self.note_stand_in(&persona.name, &choice);
        let ModelChoice { provider, model, reference, .. } = choice;
        Ok(Chosen { provider, model, reference })
    }

    /// The same errand once more: its report as it is, or as it will be.
    async fn share(&self, same: &Arc<Member>, background: bool) -> Result<ToolOutput, ToolError> {
        if let Some(ended) = same.has_ended() {
            return Ok(wait::told(same, &ended, Some(JUST_DONE)));
        }
        if background {
            return Ok(wait::running(same, UNDER_WAY));
        }
        // Whoever waits gets the report; it must not come by the queue as well.
        let sessions = self.services.store.sessions();
        sessions.set_background(&same.task_id, false).await.map_err(broken)?;
        let output = self.report_of(same, Bond::Shared).await?;
        Ok(ToolOutput { text: format!("{UNDER_WAY}\n{}", output.text), ..output })
    }

    /// Writes the worker down and sets it to work.
    async fn send(
        &self,
        member: &Arc<Member>,
        persona: Arc<Persona>,
        chosen: Chosen,
        args: &Args,
        background: bool,
        call_id: &str,
    ) -> Result<(), ToolError> {
        let (opening, left_out) = self.opening(&persona, args);
        let new = NewWorker {
            id: member.task_id.clone(),
            parent_session_id: self.session_id.clone(),
            turn_id: self.turn_id.clone(),
            persona: persona.name.clone(),
            title: args.description.clone(),
            model: Some(chosen.reference.clone()),
            background,
            first_messages: vec![user_row(None, opening)],
            now_ms: self.services.now(),
        };
        self.services.store.sessions().create_worker(&new).await.map_err(broken)?;
        let notes = left_out.map(|why| format!("The persona's initial_prompt was left out: {why}."));
        self.set_to_work(member, persona, chosen, args.description.clone(), call_id, notes.into_iter().collect());
        Ok(())
    }

    /// Its row and what it is to read are written.
    pub(super) fn set_to_work(
        &self,
        member: &Arc<Member>,
        persona: Arc<Persona>,
        Chosen { provider, model, .. }: Chosen,
        title: String,
        call_id: &str,
        notes: Vec<String>,
    ) {
        self.progress.hand_over(call_id);
        let worker = Worker {
            router: self.router.clone(),
            services: self.services.clone(),
            member: member.clone(),
            persona,
            provider,
            model,
            conversation: self.conversation.clone(),
            session_id: self.session_id.clone(),
            turn_id: self.turn_id.clone(),
            asker: self.asker(),
            title,
            locale: self.locale.clone(),
            line: Line { progress: self.progress.clone(), key: call_id.to_owned() },
            stage: self.stage.of_task(&member.task_id),
            notes,
        };
        self.router.crew().spawn(worker.work());
    }

    fn opening(&self, persona: &Persona, args: &Args) -> (String, Option<String>) {
        let mut context: Map<String, Value> = Map::new();
        let always = [
            ("question", self.question.as_str()),
            ("asker", &self.asker_id),
            ("channel", self.conversation.channel.as_str()),
            ("locale", &self.locale),
        ];
        context.extend(always.into_iter().map(|(name, value)| (name.to_owned(), value.into())));
        context.extend(args.context.clone().unwrap_or_default());
        opening(persona, &args.prompt, &context)
    }
}

/// The worker's first message: the persona's own opening, then what the coordinator wrote. An opening that can't be filled
/// is left out as a whole; the second value says why.
fn opening(persona: &Persona, prompt: &str, context: &Map<String, Value>) -> (String, Option<String>) {
    let Some(template) = &persona.initial_prompt else { return (prompt.to_owned(), None) };
    match persona::render(template, context) {
        Ok(opening) => (format!("{}\n\n{prompt}", opening.trim_end()), None),
        Err(error) => {
            tracing::warn!(persona = %persona.name, %error, "an initial_prompt is left out");
            (prompt.to_owned(), Some(error.to_string()))
        }
    }
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

    fn known() -> Map<String, Value> {
        [("asker", "U0ALICE"), ("question", "is {{ disk }} full?")]
            .map(|(name, value)| (name.to_owned(), value.into()))
            .into_iter()
            .collect()
    }

    #[test]
    fn a_personas_opening_stands_before_the_prompt_and_holds_values_as_data() {
        let persona = with_opening("\"{{.asker}} wants to know: {{ question }}\"");
        let (text, left_out) = opening(&persona, "is {{ disk }} full?", &known());
        assert_eq!(text, "U0ALICE wants to know: is {{ disk }} full?\n\nis {{ disk }} full?");
        assert_eq!(left_out, None);
    }

    #[test]
    fn an_opening_that_cannot_be_filled_is_left_out_as_a_whole_and_said_to_be() {
        let persona = with_opening("\"Incident {{.incident_id}}.\"");
        let (text, left_out) = opening(&persona, "is it full?", &known());
        assert_eq!(text, "is it full?");
        assert!(left_out.is_some_and(|why| why.contains("incident_id")));
    }
}
