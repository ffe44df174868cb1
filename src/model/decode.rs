//! From the bytes of an answer to its pieces: a stream of events, or one JSON document from a server that ignores `stream`.
//! What a piece says is the wire format's business, which puts the answer together.

use std::{collections::VecDeque, fmt};

use serde_json::Value;

use super::{Completion, ModelError, ModelEvent, SseError, SseEvent, SseParser, ToolCall, refusal, scrub::Scrub};

const MAX_EVENT_BYTES: usize = 8 << 20;

/// Builds one completion from the pieces of an answer. Lenient about what servers leave out or add, strict about one thing:
/// what the provider didn't call complete isn't.
pub(super) trait Assemble: fmt::Debug {
    /// Whether events of this name carry pieces of the answer, so that a garbled one would be a hole in it.
    fn is_piece(name: &str) -> bool;
    fn take(&mut self, name: &str, piece: &Value, out: &mut VecDeque<ModelEvent>);
    /// The whole answer at once.
    fn take_document(&mut self, document: &Value, out: &mut VecDeque<ModelEvent>);
    /// The answer is complete; token counts may still follow.
    fn is_answered(&self) -> bool;
    /// The server said its last word.
    fn is_over(&self) -> bool;
    fn complete(self) -> Result<Completion, ModelError>;
}

pub(super) fn broke_off() -> ModelError {
    ModelError::Unavailable("the stream broke off before the answer was complete".to_owned())
}

/// At the output limit the last call may have come without its arguments: it must not run as one that needs none.
pub(super) fn leave_open(calls: &mut [ToolCall]) {
    if let Some(call) = calls.last_mut().filter(|call| call.arguments == "{}") {
        call.arguments = "{".to_owned();
    }
}

#[derive(Debug)]
pub(super) struct Decoder<A> {
    form: Form,
    assembler: A,
    over: bool,
    scrub: Scrub,
}

#[derive(Debug)]
enum Form {
    /// Nothing but white space so far.
    Unknown,
    Events(SseParser),
    Document(Vec<u8>),
}

impl<A: Assemble> Decoder<A> {
    pub(super) fn new(assembler: A, scrub: Scrub) -> Self {
        Self { form: Form::Unknown, assembler, over: false, scrub }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over || self.assembler.is_over()
    }

    pub(super) fn is_answered(&self) -> bool {
        self.assembler.is_answered()
    }

    pub(super) fn push(&mut self, bytes: &[u8], out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let mut bytes = bytes;
        if matches!(self.form, Form::Unknown) {
            bytes = bytes.trim_ascii_start();
            // No event begins with a brace.
            self.form = match bytes.first() {
                None => return Ok(()),
                Some(b'{' | b'[') => Form::Document(Vec::new()),
                Some(_) => Form::Events(SseParser::new(MAX_EVENT_BYTES)),
            };
        }
        match &mut self.form {
            Form::Unknown => Ok(()),
            Form::Document(whole) if whole.len() + bytes.len() > MAX_EVENT_BYTES => {
                Err(too_large(&SseError::TooLarge { limit: MAX_EVENT_BYTES }))
            }
            Form::Document(whole) => {
                whole.extend_from_slice(bytes);
                Ok(())
            }
            Form::Events(parser) => {
                for event in parser.push(bytes).map_err(|e| too_large(&e))? {
                    self.take_event(&event, out)?;
                }
                Ok(())
            }
        }
    }

    /// No more bytes will come.
    pub(super) fn end(mut self, out: &mut VecDeque<ModelEvent>) -> Result<Completion, ModelError> {
        match std::mem::replace(&mut self.form, Form::Unknown) {
            Form::Unknown => {}
            Form::Events(mut parser) => {
                // The last event may be cut; then it doesn't parse, and is not missed if the answer was complete.
                let last = parser.finish().map_err(|e| too_large(&e))?;
                if let Some(last) = last.filter(|last| serde_json::from_str::<Value>(&last.data).is_ok()) {
                    self.take_event(&last, out)?;
                }
            }
            Form::Document(whole) => {
                if let Ok(document) = serde_json::from_slice(&whole) {
                    self.fail_on_error(&document)?;
                    self.assembler.take_document(&document, out);
                }
            }
        }
        self.assembler.complete()
    }

    fn take_event(&mut self, event: &SseEvent, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if self.is_over() || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            self.over = true;
            return Ok(());
        }
        match serde_json::from_str::<Value>(data) {
            Ok(told) if event.name == "error" => Err(refusal::in_stream(&told, &self.scrub)),
            Ok(piece) => {
                self.fail_on_error(&piece)?;
                self.assembler.take(&event.name, &piece, out);
                Ok(())
            }
            Err(_) if event.name == "error" => Err(refusal::in_stream(&Value::from(data), &self.scrub)),
            // A lost piece would be a hole in the answer.
            Err(_) if A::is_piece(&event.name) => {
                Err(ModelError::Unavailable("the stream holds a piece that is not JSON".to_owned()))
            }
            Err(_) => Ok(()),
        }
    }

    fn fail_on_error(&self, piece: &Value) -> Result<(), ModelError> {
        let error = piece.get("error").or_else(|| piece.get(0)?.get("error")).is_some_and(|error| !error.is_null());
        if error || piece["object"] == "error" || piece["type"] == "error" {
            return Err(refusal::in_stream(piece, &self.scrub));
        }
        Ok(())
    }
}

fn too_large(error: &SseError) -> ModelError {
    ModelError::Rejected(error.to_string())
}
