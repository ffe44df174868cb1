//! The one place where posts and edits of a channel are paced and repeated. Adapters make single attempts and publish
//! their quotas; nobody else waits for a platform.

mod pace;

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout};
use watchfloor_channel::{
    ChannelAdapter, Features, MessageId, Operation, Outbound, Refusal, RefusalKind, SendError, Urgency,
    backoff::Backoff,
};

use pace::Pace;

/// How long a final message is tried before it is left to the next start. The delivery's row keeps it.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
/// Adapters promise bounded calls; this guards the promise.
const ATTEMPT: Duration = Duration::from_secs(60);
/// Without a look-up an uncertain post is repeated once: rather twice than not at all.
const BLIND_REPEATS: u32 = 1;

#[derive(Debug, thiserror::Error)]
pub(super) enum Undelivered {
    /// An interim message for which there was no room now. A newer one will follow.
    #[error("dropped: the platform's budget is spent")]
    Dropped,
    #[error("{0}")]
    Refused(Refusal),
    /// Still not through when patience ran out.
    #[error("not delivered in time: {0}")]
    Late(String),
}

/// One channel's way out. Cheap to share.
#[derive(Clone)]
pub(super) struct Outlet {
    adapter: Arc<dyn ChannelAdapter>,
    pace: Arc<Pace>,
}

impl std::fmt::Debug for Outlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Outlet({})", self.adapter.id())
    }
}

impl Outlet {
    pub(super) fn new(adapter: Arc<dyn ChannelAdapter>) -> Self {
        let pace = Arc::new(Pace::new(adapter.features()));
        Self { adapter, pace }
    }

    pub(super) fn adapter(&self) -> &dyn ChannelAdapter {
        &*self.adapter
    }

    pub(super) fn features(&self) -> &Features {
        self.adapter.features()
    }

    /// Shows that one more message is being kept current; edits of all of them share the account's budget.
    pub(super) fn viewer(&self) -> pace::Viewer {
        self.pace.viewer()
    }

    /// Time to leave between two interim edits of one message, given how many are kept current now.
    pub(super) fn edit_gap(&self) -> Duration {
        self.pace.edit_gap()
    }

    /// Sends, as often as its urgency asks for.
    pub(super) async fn send(&self, message: &Outbound) -> Result<MessageId, Undelivered> {
        let started = Instant::now();
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
        let mut blind = 0;
        loop {
            match message.urgency {
                Urgency::Interim if !self.pace.try_take(message) => return Err(Undelivered::Dropped),
                Urgency::Interim => {}
                Urgency::Final => self.pace.take(message).await,
            }
            let attempt = timeout(ATTEMPT, self.adapter.send(message)).await;
            let error = match attempt {
                Ok(Ok(id)) => return Ok(id),
                Ok(Err(SendError::Refused(refusal))) => return Err(Undelivered::Refused(refusal)),
                Ok(Err(error)) => error,
                Err(_) => SendError::Uncertain("the platform call did not return".into()),
            };
            let wait = match &error {
                SendError::RateLimited(after) => {
                    self.pace.hold(message, *after);
                    *after
                }
                _ => backoff.next(&mut rand::rng()),
            };
            if message.urgency == Urgency::Interim {
                tracing::debug!(channel.id = %self.adapter.id(), %error, "interim edit dropped");
                return Err(Undelivered::Dropped);
            }
            if started.elapsed() + wait > PATIENCE {
                return Err(Undelivered::Late(error.to_string()));
            }
            tracing::warn!(channel.id = %self.adapter.id(), %error, wait_ms = wait.as_millis(), "message delayed");
            tokio::time::sleep(wait).await;
            if let (SendError::Uncertain(_), Operation::Post(_)) = (&error, &message.operation) {
                match self.posted(message).await {
                    Some(Some(id)) => return Ok(id),
                    Some(None) => {}
                    None if blind < BLIND_REPEATS => blind += 1,
                    None => return Err(Undelivered::Late(error.to_string())),
                }
            }
        }
    }

    /// Whether a post of which we have no answer arrived. `None`: it can't be told.
    pub(super) async fn posted(&self, message: &Outbound) -> Option<Option<MessageId>> {
        let Operation::Post(key) = &message.operation else { return None };
        if !self.features().finds_posts {
            return None;
        }
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
        for _ in 0..6 {
            let wait = match timeout(ATTEMPT, self.adapter.find(&message.conversation, key)).await {
                Ok(Ok(found)) => return Some(found),
                Ok(Err(SendError::Refused(refusal))) => {
                    // The thread is gone, and what we posted in it with it; or we may not read here.
                    tracing::warn!(channel.id = %self.adapter.id(), %refusal, "a post can't be looked up");
                    return (refusal.kind == RefusalKind::ThreadGone).then_some(None);
                }
                Ok(Err(SendError::RateLimited(after))) => after,
                Ok(Err(_)) | Err(_) => backoff.next(&mut rand::rng()),
            };
            tokio::time::sleep(wait).await;
        }
        None
    }
}

#[cfg(test)]
mod tests;
