//! Finds or opens the conversation of a message and wakes it. The work itself lies in the `inbox` table: a bell that rings
//! twice, or for nothing, does no harm.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use watchfloor_channel::{ChannelId, ConversationId};

use super::{Services, conversation, crew::Crew};
use crate::store::StoreError;

#[derive(Clone, Debug)]
pub struct Router(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    services: Arc<Services>,
    crew: Crew,
    open: Mutex<HashMap<ConversationId, Arc<Bell>>>,
    tracker: TaskTracker,
    /// No new turns.
    closing: CancellationToken,
    /// Running turns are told to end.
    ending: CancellationToken,
}

/// Says that there may be work.
#[derive(Debug, Default)]
pub(super) struct Bell {
    rung: AtomicBool,
    notify: Notify,
}

impl Bell {
    fn ring(&self) {
        self.rung.store(true, Ordering::SeqCst);
        self.notify.notify_one();
    }

    /// Call before looking for work: what comes later rings again.
    pub(super) fn clear(&self) {
        self.rung.store(false, Ordering::SeqCst);
    }

    pub(super) async fn heard(&self) {
        while !self.rung.load(Ordering::SeqCst) {
            self.notify.notified().await;
        }
    }
}

/// A conversation's place among the open ones, given up however its actor ends: a thread whose bell nobody hears would be
/// deaf until the next start.
struct Seat {
    router: Router,
    conversation: ConversationId,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.router.abandon(&self.conversation);
        }
    }
}

impl Router {
    pub fn new(services: Arc<Services>) -> Self {
        Self(Arc::new(Inner {
            services,
            crew: Crew::default(),
            open: Mutex::default(),
            tracker: TaskTracker::new(),
            closing: CancellationToken::new(),
            ending: CancellationToken::new(),
        }))
    }

    pub(super) fn crew(&self) -> &Crew {
        &self.0.crew
    }

    pub(super) fn services(&self) -> &Arc<Services> {
        &self.0.services
    }

    /// Says that there is work for a conversation.
    pub fn wake(&self, conversation: &ConversationId) {
        let mut open = self.lock();
        match open.get(conversation) {
            Some(bell) => bell.ring(),
            None => self.seat(conversation, &mut open),
        }
    }

    /// There may be work. A conversation that is open looks by itself before it closes.
    pub(super) fn open(&self, conversation: &ConversationId) {
        let mut open = self.lock();
        if !open.contains_key(conversation) {
            self.seat(conversation, &mut open);
        }
    }

    fn seat(&self, conversation: &ConversationId, open: &mut HashMap<ConversationId, Arc<Bell>>) {
        if self.0.closing.is_cancelled() {
            return;
        }
        let bell = Arc::new(Bell::default());
        bell.ring();
        open.insert(conversation.clone(), bell.clone());
        let actor = conversation::Actor {
            router: self.clone(),
            services: self.0.services.clone(),
            conversation: conversation.clone(),
            bell,
            closing: self.0.closing.clone(),
            ending: self.0.ending.clone(),
        };
        let seat = Seat { router: self.clone(), conversation: conversation.clone() };
        self.0.tracker.spawn(async move {
            let _seat = seat;
            actor.run().await;
        });
    }

    /// Goes on with what an earlier process left: open turns and messages nobody has taken. Conversations of a channel that
    /// is off now wait for the start at which it is on again. Before anything new is received.
    pub async fn recover(&self) -> Result<usize, StoreError> {
        let workers = self.recover_workers().await?;
        let store = &self.0.services.store;
        let turns = store.turns().running().await?.into_iter().map(|(_, session)| {
            let id = |channel: &str| ChannelId::new(channel);
            ConversationId { channel: id(&session.channel), room: session.room, thread: session.thread }
        });
        let waiting = store
            .inbox()
            .conversations_with_pending()
            .await?
            .into_iter()
            .map(|(channel, room, thread)| ConversationId { channel: ChannelId::new(channel), room, thread });
        let mut left: HashSet<_> = turns.chain(waiting).collect();
        left.retain(|conversation| self.0.services.channels.contains_key(&conversation.channel));
        left.iter().for_each(|conversation| self.wake(conversation));
        Ok(left.len().max(workers))
    }

    /// No new turns; waits for the running ones.
    pub async fn drain(&self) {
        self.0.closing.cancel();
        self.0.tracker.close();
        self.0.tracker.wait().await;
        self.0.crew.end().await;
    }

    /// Running turns end now. They stay open in the store and go on after the next start.
    pub async fn end(&self) {
        self.0.closing.cancel();
        self.0.ending.cancel();
        self.0.tracker.close();
        self.0.tracker.wait().await;
        self.0.crew.end().await;
    }

    /// Conversations with work at this moment.
    pub fn open_conversations(&self) -> usize {
        self.lock().len()
    }

    /// A small task beside the conversations; it is waited for like them.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.tracker.spawn(task);
    }

    /// Closes a conversation that found no work, unless its bell rang meanwhile.
    pub(super) fn retire(&self, conversation: &ConversationId, bell: &Bell) -> bool {
        let mut open = self.lock();
        if bell.rung.load(Ordering::SeqCst) {
            return false;
        }
        open.remove(conversation);
        true
    }

    /// Closes a conversation whatever its bell says.
    pub(super) fn abandon(&self, conversation: &ConversationId) {
        self.lock().remove(conversation);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ConversationId, Arc<Bell>>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
