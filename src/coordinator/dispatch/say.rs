//! `SendMessage`: tells the asker what is going on, by the placeholder, without ending the turn.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::timeout;

use super::{super::events::Event, Dispatch};
use crate::tools::{Class, Found, Tool, ToolContext, ToolError, ToolOutput};

/// How long the call waits for the platform to show it. What comes next is worth more than certainty.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);

pub(in super::super) struct SendMessage(pub Arc<Dispatch>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Args {
    /// One or two sentences for the person who asked: what you are about to do, and why.
    message: String,
}

impl Tool for SendMessage {
    const NAME: &'static str = "SendMessage";
    const LOWEST: Class = Class::Read;
    const NUMBERED: bool = false;
    type Args = Args;

    fn description(&self) -> String {
        "Shows the asker an interim message at once and goes on. Use it before slow work, so that nobody waits in the \
         dark. It replaces the interim message before it. It does not end your turn: your answer is the text you write \
         without calling a tool."
            .into()
    }

    /// The message itself is what people see.
    fn headline(&self, _: &Args) -> String {
        String::new()
    }

    async fn call(&self, args: Args, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let message = watchfloor_channel::text::for_people(&args.message);
        if message.is_empty() {
            return Err(ToolError::TellModel("The message is empty. Write what the asker should know now.".into()));
        }
        self.0.stage.tell(Event::Message { text: message.clone() });
        let version = self.0.progress.say(&message);
        let mut shown = self.0.shown.clone();
        let seen = timeout(SHOWN_WITHIN, shown.wait_for(|shown| *shown >= version)).await;
        let text = match seen {
            Ok(Ok(_)) => "Shown.",
            // The placeholder shows it with its next edit.
            Ok(Err(_)) | Err(_) => "Will be shown as soon as the platform allows.",
        };
        Ok(ToolOutput { text: text.into(), found: Found::Something })
    }
}
