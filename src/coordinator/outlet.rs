//! The one place where posts and edits of a channel are paced and repeated. Adapters make single attempts and publish
//! their quotas; nobody else waits for a platform.

mod pace;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, sleep, timeout, timeout_at};
use watchfloor_channel::{
    ChannelAdapter, ConversationId, Features, MessageId, Operation, Outbound, Refusal, RefusalKind, Repeats, SendError,
    Urgency, backoff::Backoff,
};

use pace::Pace;

/// How long a final message is tried before it is left to the next start. The delivery's row keeps it.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
/// Adapters promise bounded calls; this guards the promise.
const ATTEMPT: Duration = Duration::from_secs(60);
/// A sign of typing is worth no more.
const TYPING: Duration = Duration::from_secs(10);
/// Without a look-up an uncertain post is repeated once: rather twice than not at all.
const BLIND_REPEATS: u32 = 1;

#[derive(Debug, thiserror::Error)]
pub(super) enum Undelivered {
    /// An interim message for which there was no room now. A newer one will follow.
    #[error("dropped: the platform's budget is spent")]
    Dropped,
    #[error("{0}")]
    Refused(Refusal),
    /// Still not through when patience ran out. An interim message has one try.
    #[error("not delivered in time: {0}")]
    Late(String),
    /// An interim message that may have arrived.
    #[error("perhaps delivered: {0}")]
    InDoubt(String),
}

/// What is known of a post whose answer was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trace {
    Posted(MessageId),
    Absent,
    /// The platform can't tell.
    Unknown,
}

/// One channel's way out. Cheap to share.
#[derive(Clone)]
pub(super) struct Outlet {
    adapter: Arc<dyn ChannelAdapter>,
    pace: Arc<Pace>,
    /// Posts that were repeated without knowing whether they stand there already.
    possible_duplicates: Arc<AtomicU64>,
}

impl std::fmt::Debug for Outlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Outlet({})", self.adapter.id())
    }
}

impl Outlet {
    pub(super) fn new(adapter: Arc<dyn ChannelAdapter>) -> Self {
        let pace = Arc::new(Pace::new(adapter.features()));
        Self { adapter, pace, possible_duplicates: Arc::default() }
    }

    pub(super) fn adapter(&self) -> &dyn ChannelAdapter {
        &*self.adapter
    }

    pub(super) fn features(&self) -> &Features {
        self.adapter.features()
    }

    /// Shows that one more message of this room is being kept current; all of them share the platform's budgets.
    pub(super) fn viewer(&self, room: &str) -> pace::Viewer {
        self.pace.viewer(room)
    }

    /// Time to leave before the next interim edit of a message that had so many, given how many are kept current now.
    pub(super) fn edit_gap(&self, room: &str, edits: u32) -> Duration {
        self.pace.edit_gap(room, self.adapter.is_private(room), edits)
    }

    fn is_private(&self, message: &Outbound) -> bool {
        self.adapter.is_private(&message.conversation.room)
    }

    /// Sends, as often as its urgency asks for.
    pub(super) async fn send(&self, message: &Outbound) -> Result<MessageId, Undelivered> {
        match message.urgency {
            Urgency::Interim => self.send_once(message).await,
            Urgency::Final => self.send_until(message, Instant::now() + PATIENCE).await,
        }
    }

    /// A newer message will follow: not worth a wait.
    async fn send_once(&self, message: &Outbound) -> Result<MessageId, Undelivered> {
        if self.pace.try_take(message, self.is_private(message)).is_err() {
            return Err(Undelivered::Dropped);
        }
        self.attempt(message).await.map_err(|error| {
            tracing::debug!(channel.id = %self.adapter.id(), %error, "interim message not delivered");
            match error {
                SendError::Refused(refusal) => Undelivered::Refused(refusal),
                SendError::RateLimited(_) => Undelivered::Dropped,
                SendError::Unavailable(why) => Undelivered::Late(why),
                SendError::Uncertain(why) => Undelivered::InDoubt(why),
            }
        })
    }

    async fn send_until(&self, message: &Outbound, end: Instant) -> Result<MessageId, Undelivered> {
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
        let mut blind = 0;
        loop {
            if timeout_at(end, self.pace.take(message, self.is_private(message))).await.is_err() {
                return Err(Undelivered::Late("the platform lets nothing more through for now".into()));
            }
            let error = match self.attempt(message).await {
                Ok(id) => return Ok(id),
                Err(SendError::Refused(refusal)) => return Err(Undelivered::Refused(refusal)),
                Err(error) => error,
            };
            let wait = match &error {
                SendError::RateLimited(after) => *after,
                _ => backoff.next(&mut rand::rng()),
            };
            if wait > end.saturating_duration_since(Instant::now()) {
                return Err(Undelivered::Late(error.to_string()));
            }
            tracing::warn!(channel.id = %self.adapter.id(), %error, wait_ms = wait.as_millis(), "message delayed");
            sleep(wait).await;
            if let (SendError::Uncertain(_), Operation::Post(_)) = (&error, &message.operation) {
                match self.look_until(message, end).await? {
                    Trace::Posted(id) => return Ok(id),
                    Trace::Absent => {}
                    // The same key is the same message, as long as our patience lasts.
                    Trace::Unknown if matches!(self.features().repeats, Repeats::Merged(_)) => {}
                    Trace::Unknown if blind < BLIND_REPEATS => {
                        blind += 1;
                        self.about_to_repeat(message, Duration::ZERO);
                    }
                    Trace::Unknown => return Err(Undelivered::Late(error.to_string())),
                }
            }
        }
    }

    async fn attempt(&self, message: &Outbound) -> Result<MessageId, SendError> {
        let sent = timeout(ATTEMPT, self.adapter.send(message))
            .await
            .unwrap_or_else(|_| Err(SendError::Uncertain("the platform call did not return".into())));
        if let Err(SendError::RateLimited(after)) = &sent {
            self.pace.hold(message, self.is_private(message), *after);
        }
        sent
    }

    /// A post that may have arrived, so long ago, is about to be posted again: counted where that may make two of it.
    pub(super) fn about_to_repeat(&self, post: &Outbound, age: Duration) {
        if matches!(self.features().repeats, Repeats::Merged(window) if age < window) {
            return;
        }
        let possible_duplicates = self.possible_duplicates.fetch_add(1, Ordering::Relaxed) + 1;
        let (id, at) = (self.adapter.id(), &post.conversation);
        tracing::warn!(channel.id = %id, conversation.id = %at, possible_duplicates, "a post that may have arrived is repeated, since this platform can't tell");
    }

    /// Shows that somebody is at work, unless the platform wants to be left alone.
    pub(super) async fn typing(&self, at: &ConversationId) {
        let private = self.adapter.is_private(&at.room);
        if self.pace.is_held(&at.room, private) {
            return;
        }
        let shown = timeout(TYPING, self.adapter.typing(at))
            .await
            .unwrap_or_else(|_| Err(SendError::Uncertain("the platform call did not return".into())));
        if let Err(error) = shown {
            tracing::debug!(channel.id = %self.adapter.id(), %error, "typing could not be shown");
            if let SendError::RateLimited(after) = error {
                self.pace.hold_edits(&at.room, private, after);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn possible_duplicates(&self) -> u64 {
        self.possible_duplicates.load(Ordering::Relaxed)
    }

    /// Whether a post of which we have no answer arrived.
    pub(super) async fn look_up(&self, message: &Outbound) -> Result<Trace, Undelivered> {
        self.look_until(message, Instant::now() + PATIENCE).await
    }

    /// A platform that can't be asked now is asked again: an answer is worth more than a guess.
    async fn look_until(&self, message: &Outbound, end: Instant) -> Result<Trace, Undelivered> {
        let Operation::Post(key) = &message.operation else { return Ok(Trace::Unknown) };
        if self.features().repeats != Repeats::LookedUp {
            return Ok(Trace::Unknown);
        }
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
        loop {
            let found = timeout(ATTEMPT, self.adapter.find(&message.conversation, key))
                .await
                .unwrap_or_else(|_| Err(SendError::Uncertain("the platform call did not return".into())));
            let error = match found {
                Ok(Some(id)) => return Ok(Trace::Posted(id)),
                Ok(None) => return Ok(Trace::Absent),
                // What we posted went with its thread.
                Err(SendError::Refused(refusal)) if refusal.kind == RefusalKind::ThreadGone => {
                    return Ok(Trace::Absent);
                }
                Err(SendError::Refused(refusal)) => {
                    tracing::warn!(channel.id = %self.adapter.id(), %refusal, "a post can't be looked up");
                    return Ok(Trace::Unknown);
                }
                Err(error) => error,
            };
            let wait = match &error {
                SendError::RateLimited(after) => *after,
                _ => backoff.next(&mut rand::rng()),
            };
            if wait > end.saturating_duration_since(Instant::now()) {
                return Err(Undelivered::Late(error.to_string()));
            }
            sleep(wait).await;
        }
    }
}

#[cfg(test)]
mod tests;
