//! Writes a request as chat-completions JSON. The same request always gives the same bytes, and a longer history only ever
//! adds to the messages: providers cache by prefix.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Lessons, by_turns, reasoning};
use crate::model::{Image, Message, ModelRequest, ToolCall, ToolChoice, ToolSpec, names};

pub(super) fn body(request: &ModelRequest, lessons: &Lessons) -> Result<Vec<u8>, serde_json::Error> {
    if lessons.by_turns {
        return serde_json::to_vec(&Body::of(&by_turns::fold(request), lessons));
    }
    serde_json::to_vec(&Body::of(request, lessons))
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    messages: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", content = "function", rename_all = "lowercase")]
enum Tool<'a> {
    Function(&'a ToolSpec),
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Entry<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        /// Null beside calls, but never null alone.
        content: Option<&'a str>,
        #[serde(flatten)]
        reasoning: Map<String, Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

/// Servers without pictures know only text, and get it as they always did.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: Address },
}

#[derive(Serialize)]
struct Address {
    url: String,
}

impl<'a> Content<'a> {
    fn of(text: &'a str, images: &[Image]) -> Self {
        if images.is_empty() {
            return Self::Text(text);
        }
        let images = images.iter().map(|image| Part::ImageUrl {
            image_url: Address { url: format!("data:{};base64,{}", image.media_type, image.data) },
        });
        Self::Parts(std::iter::once(Part::Text { text }).chain(images).collect())
    }
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    arguments: &'a str,
}

impl<'a> Body<'a> {
    fn of(request: &'a ModelRequest, lessons: &Lessons) -> Self {
        let system = Some(&*request.system).filter(|text| !text.is_empty()).map(|content| Entry::System { content });
        let thinker = if lessons.without_reasoning { "" } else { &*request.model };
        let history = request.messages.iter().map(|message| Entry::of(message, thinker));
        let forbids = request.tool_choice == ToolChoice::None && !request.tools.is_empty();
        let tools = request.tools.iter().filter(|_| !(forbids && lessons.without_choice));
        let reminder = request.reminder.as_deref().map(|text| Entry::User { content: Content::Text(text) });
        Self {
            model: &request.model,
            stream: true,
            stream_options: (!lessons.without_usage).then_some(StreamOptions { include_usage: true }),
            tools: tools.map(Tool::Function).collect(),
            tool_choice: (forbids && !lessons.without_choice).then_some("none"),
            messages: system.into_iter().chain(history).chain(reminder).collect(),
        }
    }
}

impl<'a> Entry<'a> {
    fn of(message: &'a Message, model: &str) -> Self {
        match message {
            Message::User { text, images } => Self::User { content: Content::of(text, images) },
            Message::Assistant { text, reasoning, calls } => Self::Assistant {
                content: (calls.is_empty() || !text.is_empty()).then_some(text),
                reasoning: reasoning::fields(reasoning, model),
                tool_calls: calls.iter().map(|call| Call::of(call, reasoning, model)).collect(),
            },
            Message::Tool { call_id, name: _, text } => Self::Tool { tool_call_id: call_id, content: text },
        }
    }
}

impl<'a> Call<'a> {
    fn of(call: &'a ToolCall, reasoning: &'a [Value], model: &str) -> Self {
        // Servers that read the arguments of earlier calls refuse the whole conversation for a broken one. What was wrong
        // with it stands in its result.
        let is_object = call.arguments.trim_start().starts_with('{')
            && serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments).is_ok();
        let arguments = if is_object { &call.arguments } else { "{}" };
        Self {
            id: &call.id,
            kind: "function",
            function: Function { name: names::fit(&call.name), arguments },
            extra_content: reasoning::extra(reasoning, model, &call.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn call(id: &str, arguments: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "query".into(), arguments: arguments.into() }
    }

    fn request(messages: Vec<Message>) -> ModelRequest {
        ModelRequest {
            model: "m".into(),
            system: "Be brief.".into(),
            tools: vec![ToolSpec {
                name: "query".into(),
                description: "Asks.".into(),
                parameters: json!({"type": "object", "properties": {"q": {"type": "string"}}}),
            }]
            .into(),
            messages,
            reminder: None,
            tool_choice: ToolChoice::Auto,
        }
    }

    fn user(text: &str) -> Message {
        Message::user(text)
    }

    fn written(request: &ModelRequest) -> Value {
        serde_json::from_slice(&body(request, &Lessons::default()).unwrap()).unwrap()
    }

    #[test]
    fn a_request_is_written_whole() {
        let mut request = request(vec![
            user("why?"),
            Message::Assistant {
                text: String::new(),
                reasoning: vec![
                    json!({"model": "m", "reasoning_content": "hmm"}),
                    json!({"model": "m", "extra_content": {"c1": {"sign": "s"}}}),
                ],
                calls: vec![call("c1", r#"{"q":"up"}"#), call("c2", "")],
            },
            Message::Tool { call_id: "c1".into(), name: "query".into(), text: "1".into() },
            Message::Tool { call_id: "c2".into(), name: "query".into(), text: "2".into() },
        ]);
        request.reminder = Some("2 steps left".into());
        request.tool_choice = ToolChoice::None;
        let expected = json!({
            "model": "m",
            "stream": true,
            "stream_options": {"include_usage": true},
            "tools": [{"type": "function", "function": {
                "name": "query",
                "description": "Asks.",
                "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
            }}],
            "tool_choice": "none",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "why?"},
                {"role": "assistant", "content": null, "reasoning_content": "hmm", "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "query", "arguments": "{\"q\":\"up\"}"}, "extra_content": {"sign": "s"}},
                    {"id": "c2", "type": "function", "function": {"name": "query", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "c1", "content": "1"},
                {"role": "tool", "tool_call_id": "c2", "content": "2"},
                {"role": "user", "content": "2 steps left"},
            ],
        });
        assert_eq!(written(&request), expected);
    }

    #[test]
    fn pictures_follow_their_text_as_parts() {
        let image = |data: &str| Image { media_type: "image/png".into(), data: data.into() };
        let seen = Message::User { text: "this".into(), images: vec![image("aGk="), image("aG8=")] };
        assert_eq!(
            serde_json::to_value(Entry::of(&seen, "m")).unwrap(),
            json!({"role": "user", "content": [
                {"type": "text", "text": "this"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aG8="}},
            ]})
        );
    }

    #[test]
    fn without_tools_neither_tools_nor_a_choice_are_written() {
        let mut request = request(vec![user("hi")]);
        request.tools = Vec::new().into();
        request.tool_choice = ToolChoice::None;
        request.system = "".into();
        let expected = json!({
            "model": "m",
            "stream": true,
            "stream_options": {"include_usage": true},
            "messages": [{"role": "user", "content": "hi"}],
        });
        assert_eq!(written(&request), expected);
    }

    #[test]
    fn what_a_server_does_not_take_is_left_out() {
        let mut request = request(vec![user("hi")]);
        request.tool_choice = ToolChoice::None;
        let lessons = Lessons { without_usage: true, without_choice: true, without_reasoning: true, by_turns: false };
        let whole = written(&request);
        let less: Value = serde_json::from_slice(&body(&request, &lessons).unwrap()).unwrap();
        let keys = |body: &Value| body.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let mut left: Vec<_> = keys(&whole);
        left.retain(|key| !matches!(&**key, "stream_options" | "tool_choice" | "tools"));
        assert_eq!(keys(&less), left);
    }

    #[test]
    fn an_assistant_without_calls_keeps_its_text_even_when_empty() {
        let silent = Message::Assistant { text: String::new(), reasoning: vec![], calls: vec![] };
        let entry = serde_json::to_value(Entry::of(&silent, "m")).unwrap();
        assert_eq!(entry, json!({"role": "assistant", "content": ""}));
    }

    #[test]
    fn another_models_reasoning_stays_at_home() {
        let reasoning = vec![
            json!({"model": "other", "reasoning_content": "hmm"}),
            json!({"type": "thinking", "thinking": "hmm", "signature": "x"}),
            json!("odd"),
        ];
        let said = Message::Assistant { text: "a".into(), reasoning, calls: vec![] };
        let entry = serde_json::to_value(Entry::of(&said, "m")).unwrap();
        assert_eq!(entry, json!({"role": "assistant", "content": "a"}));
    }

    fn any_message() -> impl Strategy<Value = Message> {
        prop_oneof![
            ".{0,8}".prop_map(Message::user),
            (".{0,8}", prop::collection::vec(".{0,8}", 0..3)).prop_map(|(text, arguments)| Message::Assistant {
                text,
                reasoning: vec![json!({"model": "m", "reasoning": "r"})],
                calls: arguments.iter().map(|a| call("c", a)).collect(),
            }),
            ".{0,8}".prop_map(|text| Message::Tool { call_id: "c".into(), name: "query".into(), text }),
        ]
    }

    proptest! {
        #[test]
        fn a_longer_history_only_adds_bytes(messages in prop::collection::vec(any_message(), 1..6), cut in 0usize..6) {
            let body = |messages: &[Message]| body(&request(messages.to_vec()), &Lessons::default()).unwrap();
            let whole = body(&messages);
            let part = body(&messages[..cut.min(messages.len())]);
            let open = part.strip_suffix(b"]}").expect("messages come last");
            prop_assert!(whole.starts_with(open));
            prop_assert_eq!(&whole, &body(&messages));
        }
    }
}
