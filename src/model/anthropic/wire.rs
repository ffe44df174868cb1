//! Writes a request as messages JSON. The same request always gives the same bytes, and a longer history only ever adds
//! blocks: the cache compares blocks, and the marks that say where to keep it are not part of them.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    Lessons, ids,
    thoughts::{self, Place},
};
use crate::model::{Image, Message, ModelRequest, ToolCall, ToolChoice, ToolSpec, names};

/// A conversation begins with its user.
const NO_BEGINNING: &str = "(The beginning of this conversation is missing.)";

pub(super) fn body(request: &ModelRequest, lessons: &Lessons) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&Body::of(request, lessons))
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Marked<Tool<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Marked<Block<'a>>>,
    messages: Vec<Turn<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Choice {
    None,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: Role,
    content: Vec<Marked<Block<'a>>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

/// Everything up to a mark is kept in the cache.
#[derive(Serialize)]
struct Marked<T> {
    #[serde(flatten)]
    what: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Mark>,
}

impl<T> From<T> for Marked<T> {
    fn from(what: T) -> Self {
        Self { what, cache_control: None }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Mark {
    Ephemeral,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: Source<'a>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Map<String, Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a str>,
    },
    /// As the provider sent it.
    #[serde(untagged)]
    Thought(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
}

impl<'a> Body<'a> {
    fn of(request: &'a ModelRequest, lessons: &Lessons) -> Self {
        let mut tools: Vec<_> = request.tools.iter().map(|spec| Marked::from(Tool::of(spec))).collect();
        let mut system: Vec<_> = text(&request.system).map(Marked::from).into_iter().collect();
        let mut history = History::default();
        for message in &request.messages {
            history.add(message, &request.model, lessons);
        }
        if !lessons.without_marks {
            let last = tools.last_mut().map(|tool| &mut tool.cache_control);
            let last = last.into_iter().chain(system.last_mut().map(|block| &mut block.cache_control));
            for mark in last {
                *mark = Some(Mark::Ephemeral);
            }
            history.mark();
        }
        // Behind the last mark: it is another one each time.
        history.push(Role::User, request.reminder.as_deref().and_then(text));
        let forbids = request.tool_choice == ToolChoice::None && !request.tools.is_empty();
        Self {
            model: &request.model,
            max_tokens: lessons.asked(),
            stream: true,
            tools,
            tool_choice: (forbids && !lessons.without_choice).then_some(Choice::None),
            system,
            messages: history.turns,
        }
    }
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        Self { name: &spec.name, description: &spec.description, input_schema: &spec.parameters }
    }
}

/// User and assistant by turns: what one of them said in several messages becomes one.
#[derive(Default)]
struct History<'a> {
    turns: Vec<Turn<'a>>,
    /// The end of what the newest answer answers, as turn and block.
    answered: Option<(usize, usize)>,
}

impl<'a> History<'a> {
    fn add(&mut self, message: &'a Message, model: &str, lessons: &Lessons) {
        match message {
            Message::User { text: said, images } => {
                self.push(Role::User, images.iter().map(Block::picture).chain(text(said)));
            }
            Message::Assistant { text, reasoning, calls } => {
                let kept = thoughts::of(reasoning, model).filter(|_| !lessons.without_thoughts);
                let blocks = said(kept, text, calls);
                if blocks.is_empty() {
                    return;
                }
                self.answered = self.end();
                if blocks.iter().any(|block| matches!(block, Block::Thought(_))) {
                    self.push(Role::User, thoughts::reminder(reasoning, model).and_then(self::text));
                }
                self.push(Role::Assistant, blocks);
            }
            Message::Tool { call_id, name: _, text: result } => {
                let content = Some(&**result).filter(|result| !result.trim().is_empty());
                self.push(Role::User, [Block::ToolResult { tool_use_id: ids::id(call_id), content }]);
            }
        }
    }

    fn push(&mut self, role: Role, blocks: impl IntoIterator<Item = Block<'a>>) {
        for block in blocks {
            if self.turns.is_empty() && role == Role::Assistant {
                self.turns.push(Turn {
                    role: Role::User,
                    content: text(NO_BEGINNING).map(Marked::from).into_iter().collect(),
                });
            }
            if self.turns.last().is_none_or(|turn| turn.role != role) {
                self.turns.push(Turn { role, content: Vec::new() });
            }
            let Some(turn) = self.turns.last_mut() else { continue };
            let is_result = |block: &Block<'_>| matches!(block, Block::ToolResult { .. });
            let at = if is_result(&block) {
                turn.content.iter().take_while(|other| is_result(&other.what)).count()
            } else {
                turn.content.len()
            };
            turn.content.insert(at, block.into());
        }
    }

    /// The last block; an answer never ends with a thought.
    fn end(&self) -> Option<(usize, usize)> {
        let turn = self.turns.last()?;
        Some((self.turns.len() - 1, turn.content.len().checked_sub(1)?))
    }

    /// The end, for the next request, and the end of the request before this one: a step of many calls has more blocks than
    /// the cache is searched backwards for.
    fn mark(&mut self) {
        for (turn, block) in self.answered.into_iter().chain(self.end()) {
            if let Some(block) = self.turns.get_mut(turn).and_then(|turn| turn.content.get_mut(block)) {
                block.cache_control = Some(Mark::Ephemeral);
            }
        }
    }
}

/// Blank text is refused.
fn text(text: &str) -> Option<Block<'_>> {
    (!text.trim().is_empty()).then_some(Block::Text { text })
}

fn said<'a>(kept: Option<&'a [Value]>, words: &'a str, calls: &'a [ToolCall]) -> Vec<Block<'a>> {
    let places = kept.and_then(|kept| thoughts::lay_out(kept, words, calls));
    let places = places
        .unwrap_or_else(|| [Place::Text(words)].into_iter().chain(calls.iter().map(Place::Call)).collect::<Vec<_>>());
    let block = |place| match place {
        Place::Thought(block) => Some(Block::Thought(block)),
        Place::Text(words) => text(words),
        Place::Call(call) => Some(Block::call(call)),
    };
    places.into_iter().filter_map(block).collect()
}

impl<'a> Block<'a> {
    fn picture(image: &'a Image) -> Self {
        Self::Image { source: Source::Base64 { media_type: &image.media_type, data: &image.data } }
    }

    fn call(call: &'a ToolCall) -> Self {
        Self::ToolUse { id: ids::id(&call.id), name: names::fit(&call.name), input: input(&call.arguments) }
    }
}

/// The format has no place for arguments that are no object. The model shall see what it wrote; what was wrong with it
/// stands in the result.
fn input(arguments: &str) -> Map<String, Value> {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(input)) => input,
        _ if arguments.trim().is_empty() => Map::new(),
        _ => Map::from_iter([("invalid_json".to_owned(), arguments.into())]),
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
