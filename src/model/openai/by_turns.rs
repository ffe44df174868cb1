//! The same conversation for a model whose template wants user and assistant by turns: what follows a message of the user, or
//! a result, becomes part of it.

use crate::model::{Message, ModelRequest};

pub(super) fn fold(request: &ModelRequest) -> ModelRequest {
    let mut folded = ModelRequest { messages: Vec::new(), reminder: None, ..request.clone() };
    for message in request.messages.iter().cloned().chain(request.reminder.clone().map(Message::user)) {
        match (folded.messages.last_mut(), message) {
            (Some(Message::User { text, images }), Message::User { text: more, images: shown }) => {
                append(text, &more);
                images.extend(shown);
            }
            // A result can't hold pictures.
            (Some(Message::Tool { text, .. }), Message::User { text: more, images }) if images.is_empty() => {
                append(text, &more);
            }
            (_, message) => folded.messages.push(message),
        }
    }
    folded
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}
