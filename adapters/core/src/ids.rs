//! Names of things on a platform. Platform ids stay opaque strings: nobody parses, compares or orders them.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// One configured account of a platform, by the name the configuration gives it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChannelId(Arc<str>);

impl ChannelId {
    pub fn new(name: impl AsRef<str>) -> Self {
        Self(Arc::from(name.as_ref()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChannelId({})", self.0)
    }
}

/// Where a conversation takes place. `thread` is empty where the room itself is the conversation (the top level of a
/// private chat).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ConversationId {
    pub channel: ChannelId,
    pub room: String,
    pub thread: String,
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.channel, self.room, self.thread)
    }
}

/// A posted message, as the platform names it in its answer to the post.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MessageId {
    pub room: String,
    pub id: String,
}

/// Our own name for one thing we post. Made and stored before the first attempt and sent along where the platform keeps
/// such a mark, so that a post whose answer was lost can be found again ([`crate::ChannelAdapter::find`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeliveryKey(pub String);
