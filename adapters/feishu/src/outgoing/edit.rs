//! Edits and removals. A text or post is replaced by PUT, a card by PATCH; what Feishu refuses for good is told as such, but
//! not before it is clear that an earlier try, whose answer nobody got, was not the one that succeeded.

use serde_json::{Value, json};
use watchfloor_channel::{Body, MessageId, RefusalKind, SendError};

use super::{Outgoing, content::Content, shown};
use crate::{
    call::{Call, Request},
    errors::{self, CallError},
    render::Form,
};

/// Of these refusals of a PUT it is the room that is at fault, not this message.
const ROOM_TAKES_NO_EDITS: [&str; 3] = ["230027", "230073", "230074"];
/// The recall came too late, or the message isn't ours: it stays, and no retry helps.
const STAYS: [&str; 2] = ["230009", "230026"];

impl Outgoing {
    pub(crate) async fn edit(&self, message: &MessageId, body: &Body) -> Result<(), SendError> {
        if matches!(body, Body::File(_)) {
            return Err(not_editable("a message can't become a file"));
        }
        let form = self.forms.of_message(&message.id).await;
        if matches!(body, Body::Ask(_)) && form != Form::Card {
            return Err(not_editable("only a card can have buttons"));
        }
        self.edit_in(form, message, body).await
    }

    pub(super) async fn edit_in(&self, form: Form, message: &MessageId, body: &Body) -> Result<(), SendError> {
        let content = Content::of(body, form)?;
        let (call, request) = match form {
            Form::Card => (Call::Patch, json!({"content": content.text})),
            Form::Post | Form::Text => (Call::Edit, json!({"msg_type": content.kind, "content": content.text})),
        };
        let request = Request::messages([message.id.as_str()]).json(request);
        match self.api.call::<Value>(call, request).await {
            Ok(_) => Ok(()),
            Err(error) => {
                // Feishu counts what it did, not what it could tell us. Perhaps it told an earlier process.
                if call == Call::Edit && error.has_code(&["230072"]) {
                    match self.shows(message, &content).await {
                        Ok(true) => return Ok(()),
                        Ok(false) | Err(CallError::Refused(_)) => {}
                        Err(error) => return Err(error.of_read()),
                    }
                }
                if call == Call::Edit && error.has_code(&ROOM_TAKES_NO_EDITS) {
                    self.forms.turn_to_cards(&message.room).await;
                }
                Err(error.of_write())
            }
        }
    }

    async fn shows(&self, message: &MessageId, content: &Content) -> Result<bool, CallError> {
        let answer: Value = self.api.call(Call::Message, Request::messages([message.id.as_str()])).await?;
        let standing = answer.pointer("/items/0/body/content").and_then(Value::as_str).unwrap_or_default();
        Ok(shown::is_same(standing, &content.text))
    }

    /// What is gone already, or has to stay, is done.
    pub(crate) async fn delete(&self, message: &MessageId) -> Result<(), SendError> {
        match self.api.call::<Value>(Call::Recall, Request::messages([message.id.as_str()])).await {
            Err(error) if error.has_code(&STAYS) => {
                tracing::warn!(message.id, %error, "a message stays that can't be recalled any more");
                Ok(())
            }
            Err(error) if error.kind() != Some(RefusalKind::MessageGone) => Err(error.of_write()),
            _ => Ok(()),
        }
    }
}

fn not_editable(why: &str) -> SendError {
    SendError::Refused(errors::refused(RefusalKind::NotEditable, "form", why))
}
