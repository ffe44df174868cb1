//! A chat-completions request as a script's matchers see it.

use serde_json::Value;

pub(crate) const REMINDER: &str = "<system-reminder>";

#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'r> {
    pub(crate) body: &'r Value,
    pub(crate) messages: &'r [Value],
}

impl<'r> Asked<'r> {
    pub(crate) fn new(body: &'r Value) -> Self {
        Self { body, messages: body["messages"].as_array().map_or(&[], Vec::as_slice) }
    }

    pub(crate) fn model(&self) -> &'r str {
        self.body["model"].as_str().unwrap_or_default()
    }

    pub(crate) fn streams(&self) -> bool {
        self.body["stream"] == true
    }

    pub(crate) fn system(&self) -> String {
        let system = self.messages.iter().filter(|message| is_system(message));
        system.map(|message| text(&message["content"])).collect::<Vec<_>>().join("\n")
    }

    /// The last thing a person said: reminders of the runtime don't count.
    pub(crate) fn last_user(&self) -> String {
        let mut said = self.messages.iter().rev().filter(|message| message["role"] == "user" && !is_reminder(message));
        said.next().map(|message| text(&message["content"])).unwrap_or_default()
    }

    /// The results at the end of the request, with the names of their tools. Reminders after them don't count.
    pub(crate) fn last_results(&self) -> Vec<(&'r str, String)> {
        let mut results = Vec::new();
        for message in self.messages.iter().rev().skip_while(|message| is_reminder(message)) {
            if message["role"] != "tool" {
                break;
            }
            let name = self.call_name(&message["tool_call_id"]).unwrap_or_default();
            results.push((name, text(&message["content"])));
        }
        results.reverse();
        results
    }

    fn call_name(&self, id: &Value) -> Option<&'r str> {
        let calls =
            self.messages.iter().rev().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
        calls.clone().find(|call| call["id"] == *id)?["function"]["name"].as_str()
    }

    pub(crate) fn steps(&self) -> usize {
        self.messages.iter().filter(|message| message["role"] == "assistant").count()
    }

    /// `auto`, `none`, `required`, or the name of the one tool that must be called.
    pub(crate) fn tool_choice(&self) -> Option<&'r str> {
        let choice = &self.body["tool_choice"];
        choice.as_str().or_else(|| choice["function"]["name"].as_str())
    }

    /// The last message in short, for complaints.
    pub(crate) fn last_words(&self) -> String {
        let Some(last) = self.messages.last() else { return "no message".to_owned() };
        let text: String = text(&last["content"]).chars().take(300).collect();
        format!("last message, role {}: {text}", last["role"])
    }
}

pub(crate) fn is_system(message: &Value) -> bool {
    message["role"] == "system" || message["role"] == "developer"
}

pub(crate) fn is_reminder(message: &Value) -> bool {
    message["role"] == "user" && text(&message["content"]).starts_with(REMINDER)
}

/// Content is a string or a list of parts.
pub(crate) fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}
