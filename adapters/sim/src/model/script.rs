//! What the model will say: rules, tried in order; the first that matches and isn't used up answers.

use std::{fmt, time::Duration};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer, value::SeqAccessDeserializer},
};
use serde_json::Value;

use super::request::Asked;
use crate::{ScriptError, time::span_in_words};

/// A script file: a list of rules, or a mapping with `rules` and `unknown_tools`.
#[derive(Clone, Debug, Default)]
pub struct ModelScript {
    pub rules: Vec<Rule>,
    /// Names that the model makes up on purpose; the referee lets them pass.
    pub unknown_tools: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    #[serde(default)]
    pub when: When,
    /// How often it answers; without it as often as it is asked.
    pub times: Option<u32>,
    /// Before the first byte.
    #[serde(default, deserialize_with = "span_in_words")]
    pub delay: Option<Duration>,
    /// Between the pieces of a stream.
    #[serde(default, deserialize_with = "span_in_words")]
    pub pace: Option<Duration>,
    #[serde(default)]
    pub reply: Reply,
    pub fault: Option<ModelFault>,
}

/// Every matcher that is given must hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The system prompt says `You are the persona NAME.`
    pub persona: Option<String>,
    pub last_user_contains: Option<String>,
    pub system_contains: Option<String>,
    /// One of the results at the end comes from this tool.
    pub last_tool: Option<String>,
    /// One of the results at the end (of `last_tool`, if given) contains this.
    pub tool_result_contains: Option<String>,
    /// The number of assistant messages so far.
    pub step: Option<usize>,
    pub model: Option<String>,
    pub tool_choice: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    pub text: Option<String>,
    /// What it thinks first. Signed where the wire format has signatures; the referee wants it back unchanged.
    pub thinking: Option<String>,
    #[serde(default)]
    pub calls: Vec<ScriptedCall>,
    /// Instead of `stop` or `tool_calls`; each wire format says it in its own words.
    pub finish: Option<String>,
    pub usage: Option<Usage>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    pub tool: String,
    #[serde(default)]
    pub arguments: Option<Value>,
    /// Instead of `arguments`: the text as it is, JSON or not.
    pub raw_arguments: Option<String>,
    /// Instead of a fresh one: some servers count from one in every answer.
    pub id: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cached: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "FaultKeys")]
pub enum ModelFault {
    Status {
        status: u16,
        retry_after: Option<u64>,
    },
    /// The connection breaks in the middle of the reply.
    CutAfterBytes(usize),
    /// With a reply in a stream: silence after its first piece. Otherwise not even a status line.
    Hang,
    /// An error object inside the stream, after the first piece.
    ErrorEvent(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultKeys {
    status: Option<u16>,
    retry_after: Option<u64>,
    cut_after_bytes: Option<usize>,
    #[serde(default)]
    hang: bool,
    error_event: Option<String>,
}

impl TryFrom<FaultKeys> for ModelFault {
    type Error = &'static str;

    fn try_from(keys: FaultKeys) -> Result<Self, Self::Error> {
        match keys {
            FaultKeys { status: Some(status), retry_after, cut_after_bytes: None, hang: false, error_event: None } => {
                Ok(Self::Status { status, retry_after })
            }
            FaultKeys { retry_after: Some(_), .. } => Err("`retry_after` belongs to `status`"),
            FaultKeys { status: None, cut_after_bytes: Some(bytes), hang: false, error_event: None, .. } => {
                Ok(Self::CutAfterBytes(bytes))
            }
            FaultKeys { status: None, cut_after_bytes: None, hang: true, error_event: None, .. } => Ok(Self::Hang),
            FaultKeys { status: None, cut_after_bytes: None, hang: false, error_event: Some(kind), .. } => {
                Ok(Self::ErrorEvent(kind))
            }
            _ => Err("a fault has exactly one of `status`, `cut_after_bytes`, `hang`, `error_event`"),
        }
    }
}

impl ModelScript {
    pub fn parse(yaml: &str) -> Result<Self, ScriptError> {
        Ok(serde_yaml::from_str(yaml)?)
    }
}

impl From<Vec<Rule>> for ModelScript {
    fn from(rules: Vec<Rule>) -> Self {
        Self { rules, unknown_tools: Vec::new() }
    }
}

impl<'de> Deserialize<'de> for ModelScript {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Either)
    }
}

/// An untagged enum would do, but loses the place of a mistake.
struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = ModelScript;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rules, or a mapping with `rules`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, rules: A) -> Result<Self::Value, A::Error> {
        Vec::<Rule>::deserialize(SeqAccessDeserializer::new(rules)).map(ModelScript::from)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Keys {
            rules: Vec<Rule>,
            #[serde(default)]
            unknown_tools: Vec<String>,
        }
        let Keys { rules, unknown_tools } = Keys::deserialize(MapAccessDeserializer::new(map))?;
        Ok(ModelScript { rules, unknown_tools })
    }
}

impl When {
    pub(crate) fn holds(&self, asked: &Asked<'_>) -> bool {
        let contains = |wanted: &Option<String>, text: &dyn Fn() -> String| {
            wanted.as_ref().is_none_or(|wanted| text().contains(wanted.as_str()))
        };
        let persona = self.persona.as_ref().map(|name| format!("You are the persona {name}."));
        let result = |(name, text): &(&str, String)| {
            self.last_tool.as_ref().is_none_or(|wanted| wanted == name)
                && self.tool_result_contains.as_ref().is_none_or(|wanted| text.contains(wanted.as_str()))
        };
        let wants_result = self.last_tool.is_some() || self.tool_result_contains.is_some();
        contains(&persona, &|| asked.system())
            && contains(&self.system_contains, &|| asked.system())
            && contains(&self.last_user_contains, &|| asked.last_user())
            && (!wants_result || asked.last_results().iter().any(result))
            && self.step.is_none_or(|step| step == asked.steps())
            && self.model.as_ref().is_none_or(|model| model == asked.model())
            && self.tool_choice.as_ref().is_none_or(|choice| asked.tool_choice() == Some(choice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_a_list_of_rules_or_a_mapping() {
        let list = "- when: {persona: default, step: 0, tool_choice: none}\n  delay: 300ms\n  times: 1\n  reply:\n    \
                    calls: [{tool: AgentTool, arguments: {prompt: look}}]\n    usage: {input: 1200, output: 80}\n\
                    - fault: {status: 429, retry_after: 1}\n";
        let script = ModelScript::parse(list).unwrap();
        assert_eq!(script.rules[0].delay, Some(Duration::from_millis(300)));
        assert_eq!(script.rules[0].reply.usage, Some(Usage { input: 1200, output: 80, cached: 0 }));
        assert!(matches!(script.rules[1].fault, Some(ModelFault::Status { status: 429, retry_after: Some(1) })));
        let mapping = "unknown_tools: [Shell]\nrules: [{reply: {text: hi}}]";
        let script = ModelScript::parse(mapping).unwrap();
        assert_eq!((script.rules.len(), script.unknown_tools), (1, vec!["Shell".to_owned()]));
    }

    #[test]
    fn a_mistake_is_reported_with_its_place() {
        for (yaml, words) in [
            ("- when: {}\n  replay: {text: hi}\n", "unknown field `replay`"),
            ("- reply: {text: hi}\n  delay: soon\n", "`soon` is no length of time"),
            ("- fault: {hang: true, status: 500}\n", "exactly one of"),
        ] {
            let error = ModelScript::parse(yaml).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("line"), "{error}");
        }
    }
}
