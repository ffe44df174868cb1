//! `SendMessage`: tells the asker what is going on, by the placeholder, without ending the turn; or tells a specialist
//! something, at work or after it.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::timeout;

use super::{
    super::{
        crew::{Errand, Member},
        events::Event,
        prompt,
        steer::user_row,
        transcript::LETTER,
    },
    Chosen, Dispatch,
    agent::GRACE,
    broken,
    wait::Bond,
};
use crate::{
    store::{NewMessage, SessionKind, SessionRow},
    tools::{Class, Found, Tool, ToolContext, ToolError, ToolOutput},
};

/// How long the call waits for the platform to show it. What comes next is worth more than certainty.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);

pub(in super::super) struct SendMessage(pub Arc<Dispatch>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Args {
    /// One or two sentences. For the person who asked: what you are about to do, and why. For a specialist: what it should
    /// know or do now.
    message: String,
    /// A task's id: the message goes to that specialist and not to the asker.
    #[serde(default)]
    to: Option<String>,
}

impl Tool for SendMessage {
    const NAME: &'static str = "SendMessage";
    const LOWEST: Class = Class::Read;
    const NUMBERED: bool = false;
    type Args = Args;

    fn description(&self) -> String {
        "Shows the asker an interim message at once and goes on. Use it before slow work, so that nobody waits in the \
         dark. It replaces the interim message before it. It does not end your turn: your answer is the text you write \
         without calling a tool. With `to`, a specialist at work reads the message before its next step; one that has \
         ended goes on with it, and you get its new report."
            .into()
    }

    /// What the asker is told she sees anyway.
    fn headline(&self, args: &Args) -> String {
        args.to.as_ref().map(|to| format!("tells task {to}")).unwrap_or_default()
    }

    fn timeout(&self) -> Duration {
        self.0.services.limits.worker_timeout * 2 + GRACE
    }

    async fn call(&self, args: Args, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        match args.to {
            Some(to) => self.0.tell(&to, args.message.trim(), &context.call_id).await,
            None => self.0.show(&args.message).await,
        }
    }
}

impl Dispatch {
    async fn show(&self, message: &str) -> Result<ToolOutput, ToolError> {
        let message = watchfloor_channel::text::for_people(message);
        if message.is_empty() {
            return Err(ToolError::TellModel("The message is empty. Write what the asker should know now.".into()));
        }
        self.stage.tell(Event::Message { text: message.clone() });
        let version = self.progress.say(&message);
        let text = match self.shown.clone() {
            None => "Not shown: nobody is waiting at this turn. Your answer is posted as a message when it is ready.",
            Some(mut shown) => match timeout(SHOWN_WITHIN, shown.wait_for(|shown| *shown >= version)).await {
                Ok(Ok(_)) => "Shown.",
                // The placeholder shows it with its next edit.
                Ok(Err(_)) | Err(_) => "Will be shown as soon as the platform allows.",
            },
        };
        Ok(ToolOutput { text: text.into(), found: Found::Something })
    }

    async fn tell(&self, task_id: &str, message: &str, call_id: &str) -> Result<ToolOutput, ToolError> {
        if message.is_empty() {
            return Err(ToolError::TellModel("The message is empty. Write what the specialist should know.".into()));
        }
        let sessions = self.services.store.sessions();
        let ours = |session: &SessionRow| {
            session.kind == SessionKind::Worker && session.parent_session_id.as_ref() == Some(&self.session_id)
        };
        let Some(row) = sessions.get(task_id).await.map_err(broken)?.filter(ours) else {
            return Err(self.no_such_task(task_id).await);
        };
        // Written before anybody reads it: a restart loses no word.
        let letter = user_row(None, prompt::from_coordinator(message));
        let letter = vec![NewMessage { kind: LETTER.to_owned(), ..letter }];
        let messages = self.services.store.messages();
        messages.append(task_id, &self.turn_id, None, letter, self.services.now()).await.map_err(broken)?;
        let at_work = self.router.crew().find(&self.session_id, task_id).filter(|member| member.letters.ring());
        if at_work.is_some() {
            let text = "Delivered: the specialist reads it before its next step.";
            return Ok(ToolOutput { text: text.into(), found: Found::Something });
        }
        self.go_on(row, message, call_id).await
    }

    /// A worker that had ended works again, and its new report is waited for.
    async fn go_on(&self, row: SessionRow, message: &str, call_id: &str) -> Result<ToolOutput, ToolError> {
        let Some(persona) = self.personas.spawnable(&row.agent_id).cloned() else {
            return Err(ToolError::TellModel(format!(
                "The persona {} is gone. Send another specialist.",
                row.agent_id
            )));
        };
        let reference = row.model.clone().unwrap_or_default();
        let resolved = self.services.models.resolve(&reference);
        let (provider, model) = resolved.map_err(|error| ToolError::TellModel(error.to_string()))?;
        let errand = Errand::new(&self.session_id, &persona.name, message);
        let member = Arc::new(Member::new(row.id.clone(), persona.name.clone(), errand));
        if let Some(at_work) = self.router.crew().rehire(&member) {
            return self.report_of(&at_work, Bond::Shared).await;
        }
        let sessions = self.services.store.sessions();
        let reopened = sessions.reopen_worker(&row.id, false, self.services.now()).await;
        if let Err(error) = reopened {
            let report = super::Report::failed("store", &error.to_string());
            let totals = crate::store::Totals::default();
            member.end(super::super::crew::Ended { report, totals, at: self.services.now() });
            return Err(broken(error));
        }
        let chosen = Chosen { provider, model, reference };
        self.set_to_work(&member, persona, chosen, row.title, call_id, Vec::new());
        self.report_of(&member, Bond::Mine(member.kill.clone().drop_guard())).await
    }
}
