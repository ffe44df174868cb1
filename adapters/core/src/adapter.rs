//! The seam each platform implements.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    Body, ChannelId, ConversationId, DeliveryKey, Features, FileRef, Inbox, MessageId, Outbound, Overheard, text::Size,
};

/// One account on one platform.
///
/// Contract: no method panics on what a platform sends; secrets never enter an error or a log line; every call returns
/// within a bounded time; `send` makes exactly one attempt.
#[async_trait]
pub trait ChannelAdapter: Send + Sync + 'static {
    fn id(&self) -> &ChannelId;

    fn features(&self) -> &Features;

    /// What health shows; changes are pushed.
    fn state(&self) -> watch::Receiver<ChannelState>;

    /// Receives until `stop`, reconnecting by itself. Acknowledges an event only after its verdict. Returns early only
    /// for what a retry can't mend.
    async fn receive(&self, inbox: Inbox, stop: CancellationToken) -> Result<(), ReceiveError>;

    /// One attempt; where the platform refuses the form, the same content may follow in a plainer one. For a post, the id the platform gave it; for edit and delete, the id that was named.
    async fn send(&self, message: &Outbound) -> Result<MessageId, SendError>;

    /// An inbound HTTP request of this channel (`/channels/{name}/events`).
    async fn webhook(&self, request: Request<Bytes>, inbox: &Inbox) -> Response<Bytes> {
        let _ = (request, inbox);
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = http::StatusCode::NOT_FOUND;
        response
    }

    /// Was this delivery posted in that conversation? `Ok(None)`: certainly not. Only where
    /// [`crate::Repeats::LookedUp`].
    async fn find(
        &self,
        conversation: &ConversationId,
        delivery: &DeliveryKey,
    ) -> Result<Option<MessageId>, SendError> {
        let _ = (conversation, delivery);
        Err(SendError::Refused(Refusal::unsupported("posts can't be looked up on this channel")))
    }

    /// Earlier messages of a thread, oldest first, at most `limit` of the newest.
    async fn thread(&self, of: &ConversationId, limit: usize) -> Result<Vec<Overheard>, SendError>;

    /// The bytes of a file that was attached in that conversation; a longer one is refused as `TooLong`. One attempt.
    async fn fetch(&self, conversation: &ConversationId, file: &FileRef, limit: usize) -> Result<Bytes, SendError> {
        let _ = (conversation, file, limit);
        Err(SendError::Refused(Refusal::unsupported("files can't be fetched on this channel")))
    }

    /// Puts a sign on a message. Already there is success.
    async fn react(&self, to: &MessageId, sign: Sign) -> Result<(), SendError>;

    /// Shows for some seconds that somebody is at work. Nice to have: tried once.
    async fn typing(&self, conversation: &ConversationId) -> Result<(), SendError> {
        let _ = conversation;
        Ok(())
    }

    /// Is this room a chat with one person? Only asked where a budget distinguishes them.
    fn is_private(&self, room: &str) -> bool {
        let _ = room;
        false
    }

    /// Numbers worth watching, by a name such as `calls_this_month`; for health.
    fn figures(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// What would really be sent, as the platform counts it against [`Features::limits`]: markup and escapes are larger than
    /// the text.
    fn measure(&self, body: &Body) -> Size {
        let text = body.text();
        Size { text: self.features().limits.measure(text), bytes: text.len(), marks: 0 }
    }

    /// Where a person can be told something that nobody else reads. May have to be opened first.
    async fn private_chat(&self, person: &str) -> Result<ConversationId, SendError> {
        let _ = person;
        Err(SendError::Refused(Refusal::unsupported("this channel opens no private chats")))
    }

    /// Writes a person's id so that the platform notifies her.
    fn mention(&self, person: &str) -> String;

    /// Tokens, scopes, subscriptions, and whether the bot can work in `rooms`: what is wrong and how to mend it.
    async fn doctor(&self, rooms: &[String]) -> Vec<Finding> {
        let _ = rooms;
        Vec::new()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The message was taken into the running turn or waits for the next.
    Taken,
    Done,
}

/// Named by what to do next.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// Wait at least this long, then try again.
    #[error("the platform asks to wait {} ms", .0.as_millis())]
    RateLimited(Duration),
    /// It certainly did not happen; try again soon.
    #[error("the platform could not be reached: {0}")]
    Unavailable(String),
    /// It may have happened. An edit is repeated, a post is looked up first.
    #[error("no certain answer from the platform: {0}")]
    Uncertain(String),
    /// Never, in this form.
    #[error("{0}")]
    Refused(Refusal),
}

/// A platform's "no", with what a person can do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub kind: RefusalKind,
    /// The platform's own code.
    pub code: String,
    /// For operators: what is wrong and how to mend it.
    pub remedy: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalKind {
    /// Token missing, wrong or revoked: the whole account is out.
    Credentials,
    /// A scope or permission is missing.
    Permission,
    /// We can't write in this room.
    Room,
    /// The message to edit is gone: a new one may be posted.
    MessageGone,
    /// The message stands there and can't be edited, now and later: a new one may be posted in its place.
    NotEditable,
    /// The thread's root was deleted; what was posted in its stead has been removed again.
    ThreadGone,
    /// Too long: split and send again.
    TooLong,
    /// The platform can't take this content.
    Content,
    Unsupported,
    Other,
}

impl Refusal {
    pub fn unsupported(what: &str) -> Self {
        Self { kind: RefusalKind::Unsupported, code: "unsupported".into(), remedy: what.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the platform refused ({}): {}", self.code, self.remedy)
    }
}

/// Why receiving ended although nobody asked for it.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    #[error("{0}")]
    Refused(Refusal),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelState {
    Connecting,
    Connected,
    /// Works, but something needs a look (another process takes part of our events, …).
    Degraded(String),
    /// Out of reach; being retried.
    Disconnected(String),
    /// Given up or switched off; a person must act.
    Off(String),
}

/// One thing `doctor` found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub ok: bool,
    pub what: String,
    /// Beside what is fine: how to have more.
    pub remedy: Option<String>,
}

impl Finding {
    pub fn fine(what: impl Into<String>) -> Self {
        Self { ok: true, what: what.into(), remedy: None }
    }

    /// Works as it is; `remedy` is how to have more.
    pub fn could_be_better(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { ok: true, what: what.into(), remedy: Some(remedy.into()) }
    }

    pub fn wrong(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { ok: false, what: what.into(), remedy: Some(remedy.into()) }
    }
}
