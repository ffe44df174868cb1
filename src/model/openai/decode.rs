//! From the bytes of an answer to its chunks: a stream of events, or one JSON document from a server that ignores `stream`.

use std::{collections::VecDeque, sync::Arc};

use serde_json::Value;

use super::assemble::Assembler;
use crate::model::{Completion, ModelError, ModelEvent, SseError, SseEvent, SseParser, refusal, scrub::Scrub};

const MAX_EVENT_BYTES: usize = 8 << 20;

#[derive(Debug)]
pub(super) struct Decoder {
    form: Form,
    /// Empty once the completion was taken out.
    assembler: Assembler,
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

impl Decoder {
    pub(super) fn new(model: Arc<str>, scrub: Scrub) -> Self {
        Self { form: Form::Unknown, assembler: Assembler::new(model), over: false, scrub }
    }

    /// The server said its last word.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// The answer is complete; token counts may still follow.
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
                    self.take_chunk(&document, out)?;
                    self.assembler.assume_answered();
                }
            }
        }
        self.assembler.complete()
    }

    fn take_event(&mut self, event: &SseEvent, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if self.over || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            self.over = true;
            return Ok(());
        }
        match serde_json::from_str::<Value>(data) {
            Ok(told) if event.name == "error" => Err(refusal::in_stream(&told, &self.scrub)),
            Ok(chunk) => self.take_chunk(&chunk, out),
            Err(_) if event.name == "error" => Err(refusal::in_stream(&Value::from(data), &self.scrub)),
            // A lost piece would be a hole in the answer.
            Err(_) if matches!(&*event.name, "" | "message") => {
                Err(ModelError::Unavailable("the stream holds a piece that is not JSON".to_owned()))
            }
            Err(_) => Ok(()),
        }
    }

    fn take_chunk(&mut self, chunk: &Value, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let error = chunk.get("error").or_else(|| chunk.get(0)?.get("error")).is_some_and(|error| !error.is_null());
        if error || chunk["object"] == "error" || chunk["type"] == "error" {
            return Err(refusal::in_stream(chunk, &self.scrub));
        }
        self.assembler.take(chunk, out);
        Ok(())
    }
}

fn too_large(error: &SseError) -> ModelError {
    ModelError::Rejected(error.to_string())
}
