//! What was asked before: a conversation may only grow at its end, byte for byte, or a provider's cache is lost.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    raw,
    request::{is_reminder, is_system},
};

/// What was asked before, per conversation.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    conversations: HashMap<(String, String), Vec<Branch>>,
}

/// The longest known state of one conversation. Several may begin alike: two threads can ask the same question.
#[derive(Debug)]
struct Branch {
    messages: Vec<String>,
    tools: String,
}

/// One request, cut into the pieces that a cache compares.
#[derive(Debug)]
pub(crate) struct Seen {
    /// System prompt and first message.
    pub(crate) identity: (String, String),
    pub(crate) pieces: Vec<String>,
    /// How many of the pieces stay; reminders at the end don't.
    pub(crate) kept: usize,
    pub(crate) tools: String,
    /// The model has not said anything yet.
    pub(crate) begins: bool,
}

impl Seen {
    /// `text` is the request as it came, `body` the same parsed.
    pub(crate) fn chat(body: &Value, text: &str) -> Self {
        let members = raw::members(text);
        let member = |name| members.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| *value);
        let parsed = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let pieces: Vec<String> = raw::elements(member("messages")).into_iter().map(str::to_owned).collect();
        let of = |wanted: &dyn Fn(&Value) -> bool| {
            let at = parsed.iter().position(wanted);
            at.and_then(|at| pieces.get(at)).cloned().unwrap_or_default()
        };
        Self {
            identity: (of(&is_system), of(&|message| !is_system(message))),
            kept: parsed.len() - parsed.iter().rev().take_while(|message| is_reminder(message)).count(),
            tools: member("tools").to_owned(),
            begins: !parsed.iter().any(|message| message["role"] == "assistant"),
            pieces,
        }
    }
}

impl Memory {
    /// A later request must begin with every byte of an earlier one, reminders at its end left out, and bring the
    /// same tools.
    pub(crate) fn check(&mut self, seen: Seen) -> Result<(), String> {
        let Seen { identity, pieces: all, kept, tools, begins } = seen;
        let branches = self.conversations.entry(identity).or_default();
        let fresh = Branch { messages: all.iter().take(kept).cloned().collect(), tools: tools.clone() };

        // Two threads may ask the same at the same moment, and then their next requests differ.
        if begins {
            branches.push(fresh);
            return Ok(());
        }
        let extends = |branch: &&mut Branch| all.starts_with(&branch.messages);
        let (same_tools, other_tools): (Vec<_>, Vec<_>) =
            branches.iter_mut().filter(extends).partition(|branch| branch.tools == tools);
        if let Some(longest) = same_tools.into_iter().max_by_key(|branch| branch.messages.len()) {
            *longest = fresh;
            return Ok(());
        }
        if !other_tools.is_empty() {
            return Err("the prefix changed: `tools` differ from the earlier request of this conversation".to_owned());
        }
        if branches.is_empty() {
            branches.push(fresh);
            return Ok(());
        }
        let common = |branch: &Branch| branch.messages.iter().zip(&all).take_while(|(a, b)| a == b).count();
        let at = branches.iter().map(common).max().unwrap_or_default();
        let piece: String = all.get(at).map_or("the end", String::as_str).chars().take(200).collect();
        Err(format!(
            "the prefix changed: messages[{at}] differs from the earlier request of this conversation: {piece}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> Value {
        json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}})
    }

    #[test]
    fn a_conversation_only_grows_at_its_end() {
        let say = |role: &str, text: &str| json!({"role": role, "content": text});
        let (system, user) = (say("system", "You are the persona default."), say("user", "why?"));
        let reminder = say("user", "<system-reminder>steps left: 3</system-reminder>");
        let (answer, again) = (say("assistant", "because"), say("user", "and now?"));
        let tools = json!([tool("look")]);
        let mut memory = Memory::default();
        let mut ask = |messages: Value, tools: &Value| {
            let body = json!({"messages": messages, "tools": tools});
            memory.check(Seen::chat(&body, &body.to_string())).err().unwrap_or_default()
        };
        assert_eq!(ask(json!([system, user, reminder]), &tools), "");
        assert_eq!(ask(json!([system, user, answer, again, reminder]), &tools), "");
        // Another thread begins with the same question.
        assert_eq!(ask(json!([system, user]), &tools), "");
        assert_eq!(ask(json!([system, user, say("assistant", "dunno"), again]), &tools), "");
        assert_eq!(ask(json!([system, user, answer, again, answer, again]), &tools), "");
        // Two begin before either has an answer.
        let other = say("user", "and why that?");
        assert_eq!(ask(json!([system, other]), &tools), "");
        assert_eq!(ask(json!([system, other]), &tools), "");
        assert_eq!(ask(json!([system, other, say("assistant", "one"), again]), &tools), "");
        assert_eq!(ask(json!([system, other, say("assistant", "two"), again]), &tools), "");
        // And these are faults.
        assert!(ask(json!([system, user, say("assistant", "Because"), again]), &tools).contains("messages[2]"));
        let more = json!([system, user, answer, again, answer, again, answer, again]);
        assert!(ask(more, &json!([tool("look"), tool("peek")])).contains("`tools`"));
    }

    #[test]
    fn the_prefix_is_compared_byte_for_byte() {
        let mut memory = Memory::default();
        let first = r#"{"messages":[{"role":"user","content":"hi"}],"tools":[{"a":1,"b":2}]}"#;
        let second = r#"{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}],"tools":[{"b":2,"a":1}]}"#;
        let mut ask = |text: &str| memory.check(Seen::chat(&serde_json::from_str(text).unwrap(), text));
        assert_eq!(ask(first), Ok(()));
        assert!(ask(second).is_err());
    }
}
