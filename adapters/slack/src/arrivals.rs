//! What both transports do with an event: it is written down before Slack hears that we have it, and a kind we don't know
//! is logged once. Frames and requests are left to `link` and `webhook`.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::{
    sync::{Mutex, Notify, Semaphore},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, info, warn};
use watchfloor_channel::{Addressed, Inbound, Inbox};

use crate::{
    SlackConfig,
    accounts::{Account, Accounts, Owner},
    api::Api,
    events,
    identity::Identity,
    interact::Allowance,
};

/// Deliveries that talk to the store at the same time.
pub(crate) const AT_ONCE: usize = 32;
/// Deliveries that may wait for their turn. Beyond that events go unacknowledged and Slack brings them again.
const WAITING: usize = 1_000;
/// The inbox may wait for its store, but not for ever.
const DELIVERY: Duration = Duration::from_secs(60);
/// After a word of Slack's that our token is void.
const SECOND_LOOK: Duration = Duration::from_secs(5);
/// Kinds of events remembered for "logged once".
const KINDS: usize = 256;

/// What one channel needs to take something in, whichever way it came.
pub(crate) struct Shared {
    pub(crate) api: Arc<Api>,
    pub(crate) config: Arc<SlackConfig>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) inbox: Inbox,
    pub(crate) stop: CancellationToken,
    /// Deliveries outlive the socket or the request that brought them: what is half written down must not be dropped
    /// because a cable was pulled.
    pub(crate) deliveries: TaskTracker,
    pub(crate) give_up: CancellationToken,
    pub(crate) follow_ups: Allowance,
    /// Slack holds events back because there are too many.
    pub(crate) held_back: Notify,
    room: Semaphore,
    kinds: Mutex<HashSet<String>>,
    /// More events wait for the store than may.
    crowded: AtomicBool,
}

/// What to do with an event.
pub(crate) enum Arrival {
    /// To be written down before it is acknowledged.
    Message(Box<Arrived>),
    /// Nothing a conversation could use: acknowledged at once.
    Nothing,
    /// Left for Slack to bring again.
    Later,
}

/// A message, and the workspace that it is from.
pub(crate) struct Arrived {
    inbound: Inbound,
    account: Arc<Account>,
    own: Identity,
}

impl Shared {
    pub(crate) fn new(
        api: Arc<Api>,
        config: Arc<SlackConfig>,
        accounts: Arc<Accounts>,
        inbox: Inbox,
        stop: CancellationToken,
    ) -> Self {
        Self {
            api,
            config,
            accounts,
            inbox,
            stop,
            deliveries: TaskTracker::new(),
            give_up: CancellationToken::new(),
            follow_ups: Allowance::default(),
            held_back: Notify::new(),
            room: Semaphore::new(AT_ONCE),
            kinds: Mutex::new(HashSet::new()),
            crowded: AtomicBool::new(false),
        }
    }

    /// `retry` is for the log alone: a retry may be the first copy that reaches us.
    pub(crate) async fn event(self: &Arc<Self>, payload: &Value, retry: u32) -> Arrival {
        if payload.get("type").and_then(Value::as_str) == Some("app_rate_limited") {
            warn!(channel.id = %self.config.id, "Slack holds events back: there are more than it delivers in an hour");
            self.held_back.notify_one();
            return Arrival::Nothing;
        }
        let (account, own) = match self.accounts.of_event(payload) {
            Owner::Ours(account, own) => (account.clone(), own.clone()),
            Owner::Unknown => return Arrival::Later,
            Owner::Nobodys => return Arrival::Nothing,
        };
        if events::signs_out(payload) {
            self.check_token(&account);
            return Arrival::Nothing;
        }
        let Some(mut inbound) = events::inbound(&self.config.id, payload, &own) else {
            self.once(&events::name(payload), "a kind of event we don't use; acknowledged").await;
            return Arrival::Nothing;
        };
        if self.deliveries.len() < WAITING / 2 {
            self.crowded.store(false, Ordering::Relaxed);
        } else if self.deliveries.len() >= WAITING {
            // One line for each crowd, not for each event.
            if !self.crowded.swap(true, Ordering::Relaxed) {
                warn!(channel.id = %self.config.id, "too many events wait for the store: further ones are left for Slack to bring again");
            }
            return Arrival::Later;
        }
        debug!(channel.id = %self.config.id, message.key = %inbound.message_key, retry, "event received");
        let unknown = account.names.name(&mut inbound.author, &own);
        // Not for everybody who talks where we happen to be.
        if unknown && inbound.addressed != Addressed::Overheard && !inbound.author.is_outsider {
            let (shared, account, person) = (self.clone(), account.clone(), inbound.author.id.clone());
            self.deliveries.spawn(async move {
                shared.give_up.run_until_cancelled(account.names.ask(&person)).await;
            });
        }
        Arrival::Message(Box::new(Arrived { inbound, account, own }))
    }

    /// So that health says so before the next question does. Slack's word may come a little before it is true.
    fn check_token(&self, account: &Arc<Account>) {
        warn!(channel.id = %self.config.id, "Slack says that the app was removed from a workspace, or its token revoked");
        account.api.doubt();
        let (account, stop) = (account.clone(), self.stop.clone());
        self.deliveries.spawn(async move {
            if stop.run_until_cancelled(sleep(SECOND_LOOK)).await.is_some() {
                account.api.doubt();
            }
        });
    }

    /// True: written down, or known not to matter. To be run on `deliveries`.
    pub(crate) async fn write_down(&self, arrived: Box<Arrived>) -> bool {
        let Arrived { mut inbound, account, own } = *arrived;
        let written = async {
            // Taken for an outsider's it would be passed over; Slack brings it again.
            if !account.names.vouch(&mut inbound.author, &own).await {
                let (channel, key) = (&self.config.id, &inbound.message_key);
                warn!(channel.id = %channel, message.key = %key, "event not acknowledged: can't tell now whose its author is");
                return false;
            }
            self.deliver(inbound).await
        };
        self.give_up.run_until_cancelled(written).await == Some(true)
    }

    async fn deliver(&self, inbound: Inbound) -> bool {
        // Never closed.
        let Ok(_place) = self.room.acquire().await else { return false };
        let key = inbound.message_key.clone();
        match timeout(DELIVERY, self.inbox.deliver(inbound)).await {
            Ok(Ok(verdict)) => {
                debug!(channel.id = %self.config.id, message.key = %key, ?verdict, "event delivered");
                true
            }
            Ok(Err(error)) => {
                warn!(channel.id = %self.config.id, message.key = %key, %error, "event not acknowledged");
                false
            }
            Err(_) => {
                warn!(channel.id = %self.config.id, message.key = %key, "event not acknowledged: the store took too long");
                false
            }
        }
    }

    pub(crate) async fn once(&self, kind: &str, what: &'static str) {
        let kind: String = kind.chars().take(100).collect();
        let mut kinds = self.kinds.lock().await;
        if kinds.len() < KINDS && kinds.insert(kind.clone()) {
            info!(channel.id = %self.config.id, kind, "{what}");
        }
    }
}
