//! Rules written in Rust, for tests that need no file.

use std::time::Duration;

use serde_json::Value;

use super::script::{ModelFault, Reply, Rule, ScriptedCall, Usage};

impl Rule {
    pub fn reply(text: impl Into<String>) -> Self {
        Self { reply: Reply { text: Some(text.into()), ..Reply::default() }, ..Self::default() }
    }

    pub fn call(tool: impl Into<String>, arguments: Value) -> Self {
        Self::calls([(tool, arguments)])
    }

    pub fn calls<T: Into<String>>(calls: impl IntoIterator<Item = (T, Value)>) -> Self {
        let call = |(tool, arguments): (T, Value)| ScriptedCall {
            tool: tool.into(),
            arguments: Some(arguments),
            raw_arguments: None,
            id: None,
        };
        Self { reply: Reply { calls: calls.into_iter().map(call).collect(), ..Reply::default() }, ..Self::default() }
    }

    /// A call whose arguments are this text, JSON or not.
    pub fn raw_call(tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        let call = ScriptedCall { tool: tool.into(), arguments: None, raw_arguments: Some(arguments.into()), id: None };
        Self { reply: Reply { calls: vec![call], ..Reply::default() }, ..Self::default() }
    }

    pub fn fault(fault: ModelFault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// Text before the calls.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.reply.text = Some(text.into());
        self
    }

    /// What it thinks before it says anything.
    #[must_use]
    pub fn thinking(mut self, thought: impl Into<String>) -> Self {
        self.reply.thinking = Some(thought.into());
        self
    }

    /// All its calls come with this id.
    #[must_use]
    pub fn with_call_id(mut self, id: &str) -> Self {
        for call in &mut self.reply.calls {
            call.id = Some(id.to_owned());
        }
        self
    }

    /// A reply that breaks.
    #[must_use]
    pub fn but(mut self, fault: ModelFault) -> Self {
        self.fault = Some(fault);
        self
    }

    #[must_use]
    pub fn when_persona(mut self, name: impl Into<String>) -> Self {
        self.when.persona = Some(name.into());
        self
    }

    #[must_use]
    pub fn when_last_user_contains(mut self, text: impl Into<String>) -> Self {
        self.when.last_user_contains = Some(text.into());
        self
    }

    #[must_use]
    pub fn when_system_contains(mut self, text: impl Into<String>) -> Self {
        self.when.system_contains = Some(text.into());
        self
    }

    #[must_use]
    pub fn when_last_tool(mut self, name: impl Into<String>) -> Self {
        self.when.last_tool = Some(name.into());
        self
    }

    #[must_use]
    pub fn when_tool_result_contains(mut self, text: impl Into<String>) -> Self {
        self.when.tool_result_contains = Some(text.into());
        self
    }

    #[must_use]
    pub fn when_step(mut self, step: usize) -> Self {
        self.when.step = Some(step);
        self
    }

    #[must_use]
    pub fn when_model(mut self, model: impl Into<String>) -> Self {
        self.when.model = Some(model.into());
        self
    }

    #[must_use]
    pub fn when_tool_choice(mut self, choice: impl Into<String>) -> Self {
        self.when.tool_choice = Some(choice.into());
        self
    }

    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    #[must_use]
    pub fn once(self) -> Self {
        self.times(1)
    }

    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    #[must_use]
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pace = Some(pace);
        self
    }

    #[must_use]
    pub fn finish(mut self, reason: impl Into<String>) -> Self {
        self.reply.finish = Some(reason.into());
        self
    }

    #[must_use]
    pub fn usage(mut self, input: u64, output: u64, cached: u64) -> Self {
        self.reply.usage = Some(Usage { input, output, cached });
        self
    }
}
