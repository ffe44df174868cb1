//! What a post or an edit carries: the text, and for a model's answer the same as blocks. Where Slack finds fault with the
//! blocks, the text goes alone at once: the message must say it in one form or the other.

use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::warn;
use watchfloor_channel::{
    Body, RefusalKind, SendError, TextUnit,
    text::{Length, Limits, Size},
};

use crate::{
    api::Api,
    errors::{self, CallError},
    render,
};

/// Slack's own limit for a text that can be edited, after escaping.
const MAX_TEXT: Length = TextUnit::Utf16.length(4_000);
/// Somewhat below it: Slack does not say what it counts.
pub(crate) const LIMITS: Limits = Limits::of_text(TextUnit::Utf16.length(3_900));

pub(crate) fn size(text: &str) -> Size {
    Size { text: LIMITS.measure(text), bytes: text.len(), marks: 0 }
}

/// Every model's text has blocks, in every version of its message; our own sentences are text alone.
pub(crate) struct Content {
    pub(crate) text: String,
    blocks: Option<Value>,
}

impl Content {
    /// A longer post would be cut silently, a longer edit refused.
    pub(crate) fn of(body: &Body) -> Result<Self, SendError> {
        let text = render::body(body);
        if text.trim().is_empty() {
            let refusal = errors::refused(RefusalKind::Content, "no_text", "there is nothing to show");
            return Err(SendError::Refused(refusal));
        }
        if !MAX_TEXT.holds(size(&text).text) {
            let refusal = errors::refused(RefusalKind::TooLong, "msg_too_long", "the text is too long for one message");
            return Err(SendError::Refused(refusal));
        }
        let blocks = match body {
            Body::Markdown(markdown) => render::blocks(markdown),
            Body::Addressed { to, text } => render::addressed(to, text),
            Body::Ask(ask) => Some(render::with_choices(ask)),
            Body::Plain(_) | Body::File(_) => None,
        };
        Ok(Self { text, blocks })
    }

    /// `request` holds the text already. A refusal is a sure no, so that the plainer form can't become a second message.
    pub(crate) async fn call<A: DeserializeOwned + Default>(
        &self,
        api: &Api,
        method: &str,
        request: Value,
    ) -> Result<A, CallError> {
        let Some(blocks) = &self.blocks else { return api.post(method, &request).await };
        let mut with_blocks = request.clone();
        with_blocks["blocks"] = blocks.clone();
        match api.post(method, &with_blocks).await {
            Err(error) if error.is_about_blocks() => {
                warn!(method, %error, "sent again as text alone");
                api.post(method, &request).await
            }
            done => done,
        }
    }
}
