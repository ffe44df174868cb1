//! How a running turn is told to end, and why.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use watchfloor_channel::Refusal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Somebody said stop: her id, and how she is shown in this chat.
    Said { id: String, by: String },
    /// The question was removed from the chat.
    Retracted,
    /// Nothing can be shown in this conversation.
    CantPost(Refusal),
    /// The process ends. The turn stays open and goes on after the next start.
    Shutdown,
}

/// The first reason wins. Children of `cancel` reach every call and worker of the turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    cancel: CancellationToken,
    why: Arc<Mutex<Option<Why>>>,
    /// How often the asker said something to the running turn.
    news: Arc<watch::Sender<u64>>,
}

impl Control {
    pub(super) fn stop(&self, why: Why) {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.cancel.cancel();
    }

    pub(super) fn why(&self) -> Option<Why> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The asker has said something that the turn has not taken yet.
    pub(super) fn has_news(&self) {
        self.news.send_modify(|news| *news += 1);
    }

    pub(super) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    pub(super) fn token(&self) -> &CancellationToken {
        &self.cancel
    }
}
