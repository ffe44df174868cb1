//! What a platform tells us, and the one way to hand it on.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{ConversationId, MessageId};

/// One message from a platform, already in our words.
///
/// `text` is the person's text with the platform's markup resolved: entities unescaped, links written out, other people's
/// mentions kept as `@name (id)`, our own mention removed. It holds what attachments and blocks of alert bots say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbound {
    pub conversation: ConversationId,
    /// Identity of the message itself (for Slack channel and `ts`), equal for every event that tells of it: a
    /// mention and its twin, a redelivery, an edit.
    pub message_key: String,
    /// The platform's name for this delivery; redeliveries repeat it.
    pub event_id: Option<String>,
    /// The message as later calls name it (reactions, quotes).
    pub message: MessageId,
    pub kind: InboundKind,
    pub author: Author,
    pub text: String,
    pub addressed: Addressed,
    /// The text begins by mentioning somebody who isn't us.
    pub opens_with_other: bool,
    /// A private chat with us: nobody else reads it.
    pub private: bool,
    /// The message started its thread (its text is the root): there is no earlier context to read.
    pub starts_thread: bool,
    pub files: Vec<FileRef>,
    /// The message is one of the platform's own commands: its name, small, without slash and address.
    #[serde(default)]
    pub command: Option<String>,
    /// What the platform calls the room today, where it has changed its name since the conversation began.
    #[serde(default)]
    pub room_now: Option<String>,
    /// Milliseconds since 1970.
    pub sent_at: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InboundKind {
    Message,
    /// A person changed a message. Ignored if we took the message before; new if the edit is what addresses us.
    Edit,
    /// A person removed the message: whoever is at work on it can stop.
    Deleted,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The platform's id, the only thing that access lists compare.
    pub id: String,
    /// What people call the author, where the event says it.
    pub name: Option<String>,
    pub is_bot: bool,
    /// The author is this very account. Decided by the adapter, since only it knows the account's ids.
    pub is_self: bool,
    /// The author belongs to another organisation that shares the room with ours, or could not be shown to belong to ours.
    #[serde(default)]
    pub is_outsider: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addressed {
    /// Said in a private chat.
    Direct,
    /// Our account is mentioned.
    Mention,
    /// An answer to a message of ours, by the platform's own reply.
    Reply,
    Overheard,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    pub id: String,
    pub name: String,
    pub media_type: String,
    pub bytes: u64,
    pub url: Option<String>,
}

/// An earlier message of a thread, read as context for a first mention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overheard {
    pub message_key: String,
    pub author: Author,
    pub text: String,
    #[serde(default)]
    pub files: Vec<FileRef>,
    pub sent_at: i64,
}

/// Something a person did that is no message: it is answered at once with one sentence for her alone. Nothing is written
/// down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aside {
    /// Where she did it; the thread is empty where the platform doesn't tell it.
    pub conversation: ConversationId,
    pub author: Author,
    pub act: Act,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A button under a message of ours.
    Click { message: MessageId, action: String, value: String },
    /// A command that the platform offers outside of threads, such as Slack's `/watchfloor`.
    /// `us` is our own id there, for [`crate::ChannelAdapter::mention`].
    Command { name: String, text: String, us: String },
}

/// A platform is acknowledged only after the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Written down; it will be answered.
    Taken,
    /// Written down before.
    Duplicate,
    /// Nothing we act on.
    Ignored,
}

/// The store refused. The adapter must not acknowledge: the platform then delivers again.
#[derive(Debug, thiserror::Error)]
#[error("the message could not be written down: {0}")]
pub struct InboxError(pub String);

/// The receiving side of [`Inbox`].
#[async_trait]
pub trait Deliver: Send + Sync + 'static {
    async fn deliver(&self, inbound: Inbound) -> Result<Verdict, InboxError>;

    /// The sentence to show to this person alone. Returns within a moment: the platform waits for it.
    async fn aside(&self, aside: Aside) -> String;
}

/// Where adapters put what they receive.
#[derive(Clone)]
pub struct Inbox(Arc<dyn Deliver>);

impl Inbox {
    pub fn new(to: Arc<dyn Deliver>) -> Self {
        Self(to)
    }

    /// Returns when the verdict is durable. May wait for the store, never for a turn.
    pub async fn deliver(&self, inbound: Inbound) -> Result<Verdict, InboxError> {
        self.0.deliver(inbound).await
    }

    pub async fn aside(&self, aside: Aside) -> String {
        self.0.aside(aside).await
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inbox")
    }
}
