//! What we ask a platform to show.

use std::fmt;

use bytes::Bytes;

use crate::{ConversationId, DeliveryKey, MessageId};

/// One call to a platform. The adapter makes one attempt; repeating and pacing are the outlet's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outbound {
    pub conversation: ConversationId,
    /// The message that this answers, where the platform can show that.
    pub question: Option<MessageId>,
    pub operation: Operation,
    pub body: Body,
    pub urgency: Urgency,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new message in the conversation, marked with our key where the platform keeps one.
    Post(DeliveryKey),
    /// Replaces the whole content of a message of ours.
    Edit(MessageId),
    /// Removes a message of ours. Already gone is success. The body is not looked at.
    Delete(MessageId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// CommonMark, as a model writes it. Fits [`crate::Features::limits`] after rendering; longer text was split before.
    Markdown(String),
    /// The same behind a mention of the person it is for, who is told of it: `to` is a token of
    /// [`crate::ChannelAdapter::mention`].
    Addressed { to: String, text: String },
    /// Shown as it is: our own sentences and errors, which must never fail to parse.
    Plain(String),
    /// A question of ours with a button for each choice. An edit keeps or replaces them; any other body removes them.
    Ask(Ask),
    /// A file of ours, only where [`crate::Features::files`] and only as a post.
    File(File),
}

impl Body {
    pub fn text(&self) -> &str {
        match self {
            Self::Markdown(text) | Self::Addressed { text, .. } | Self::Plain(text) => text,
            Self::Ask(ask) => &ask.text,
            Self::File(file) => &file.comment,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// CommonMark.
    pub text: String,
    pub choices: Vec<Choice>,
}

/// A click comes back as [`crate::Act::Click`] with `action` and `value`: at most 60 bytes together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub label: String,
    pub action: String,
    pub value: String,
    pub tone: Tone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Positive,
    Danger,
}

#[derive(Clone, PartialEq, Eq)]
pub struct File {
    /// As people see it, with its ending.
    pub name: String,
    pub media_type: String,
    pub content: Bytes,
    /// A sentence of ours that stands above it, shown as it is.
    pub comment: String,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("name", &self.name).field("bytes", &self.content.len()).finish_non_exhaustive()
    }
}

/// What the outlet may do when the platform's budget is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// A newer view will follow: may be dropped, never waits long.
    Interim,
    /// The placeholder, the answer, a notice: waits and is repeated until the platform took it or refused for good.
    Final,
}
