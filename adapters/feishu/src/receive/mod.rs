//! Receiving: events of either transport become inbound messages. Which part does what is said here; sending is elsewhere.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{ChannelState, FileRef, Finding, Inbox, Refusal};

use crate::{FeishuConfig, Transport, api::Api, names::Names};

mod arrivals;
mod connection;
mod content;
mod crypto;
mod doctor;
mod endpoint;
mod events;
mod frames;
#[cfg(test)]
mod fuzz;
mod link;
mod mentions;
mod parts;
mod quotes;
mod scopes;
mod threads;
#[cfg(test)]
mod vectors;
mod webhook;
mod wire;

pub(crate) use threads::{Threads, is_person};

use arrivals::{Counters, Shared};
use webhook::Door;

/// How long deliveries may still write down what they hold when receiving ends.
const LAST_DELIVERIES: Duration = Duration::from_millis(150);

pub(crate) struct Receiver {
    config: Arc<FeishuConfig>,
    api: Arc<Api>,
    threads: Arc<Threads>,
    names: Arc<Names>,
    counters: Arc<Counters>,
    door: Door,
}

impl Receiver {
    pub(crate) fn new(config: Arc<FeishuConfig>, api: Arc<Api>, threads: Arc<Threads>, names: Arc<Names>) -> Self {
        let counters = Arc::<Counters>::default();
        let door = Door::new(config.clone(), counters.clone());
        Self { config, api, threads, names, counters, door }
    }

    pub(crate) async fn receive(
        &self,
        inbox: Inbox,
        stop: CancellationToken,
        state: &watch::Sender<ChannelState>,
    ) -> Result<(), Refusal> {
        let shared = Arc::new(Shared::new(self, inbox, stop));
        let _dropped = shared.give_up.clone().drop_guard();
        let received = match &self.config.transport {
            Transport::LongConnection => {
                connection::keep_open(&shared, state).await;
                Ok(())
            }
            Transport::Webhook { .. } => self.door.keep_open(&shared, state).await,
        };
        shared.deliveries.close();
        if tokio::time::timeout(LAST_DELIVERIES, shared.deliveries.wait()).await.is_err() {
            shared.give_up.cancel();
            shared.deliveries.wait().await;
        }
        received
    }

    pub(crate) async fn webhook(&self, request: Request<Bytes>) -> Response<Bytes> {
        self.door.answer(request).await
    }

    pub(crate) async fn doctor(&self, rooms: &[String]) -> Vec<Finding> {
        doctor::look(&self.config, &self.api, rooms).await
    }

    /// For health: what was turned away, and how long ago the last event came.
    pub(crate) fn figures(&self) -> Vec<(&'static str, u64)> {
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let mut figures = vec![
            ("refused_requests", count(&self.counters.refused)),
            ("unreadable_events", count(&self.counters.malformed)),
        ];
        let last = self.counters.last_event.load(Ordering::Relaxed);
        if last > 0 {
            let ago = self.config.now.millis().saturating_sub(last) / 1000;
            figures.push(("seconds_since_last_event", u64::try_from(ago).unwrap_or_default()));
        }
        figures
    }
}

/// What a message that is read again says, and what is attached to it. `own` is our open_id.
pub(crate) fn readable(item: &serde_json::Value, own: &str) -> (String, Vec<FileRef>) {
    let text = |pointer: &str| wire::text(item, pointer);
    let mentions = mentions::Mentions::of(item.get("mentions"));
    let said = content::said(text("/msg_type"), text("/body/content"), &mentions, text("/message_id"));
    (mentions::write(&said.pieces, own), said.files)
}
