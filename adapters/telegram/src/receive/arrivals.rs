//! What both ways in do with an update: it is written down before Telegram hears that we have it, and what can't be handled
//! is set aside so that the rest goes on. Polls and requests are left to `poll` and `webhook`.

use std::{
    collections::HashSet,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::FutureExt;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, info, warn};
use watchfloor_channel::{Author, Inbound, InboundKind, Inbox, MessageId, Note, NotesError, Verdict, text};

use super::{
    gather::{Piece, Whole},
    messages,
    rooms::Rooms,
    text_in::Own,
    threads::{self, Threads},
    updates::{self, Membership, Message, Press, Update},
};
use crate::{TelegramConfig, api::Api, thread::Thread};

/// The inbox may wait for its store, but not for ever.
const DELIVERY: Duration = Duration::from_secs(60);
/// Kinds of updates remembered for "logged once".
const KINDS: usize = 256;
/// Characters of an update that are kept when it is set aside.
const KEPT: usize = 20_000;
/// Answers to clicks that are under way at the same time.
const FOLLOW_UPS: usize = 16;

/// What one channel needs to take something in, whichever way it came.
pub(crate) struct Shared {
    pub(crate) config: Arc<TelegramConfig>,
    pub(crate) api: Arc<Api>,
    pub(crate) rooms: Arc<Rooms>,
    pub(crate) threads: Arc<Threads>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) inbox: Inbox,
    pub(crate) own: Own,
    /// Privacy mode is off.
    pub(crate) reads_all: bool,
    pub(crate) stop: CancellationToken,
    /// Work that outlives the poll or the request that brought it.
    pub(crate) deliveries: TaskTracker,
    pub(crate) give_up: CancellationToken,
    pub(crate) follow_ups: Arc<Semaphore>,
    kinds: Mutex<HashSet<String>>,
}

/// Since the start; for health.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Updates that were set aside.
    pub(crate) quarantined: AtomicU64,
    /// Requests that weren't Telegram's, or weren't readable.
    pub(crate) refused: AtomicU64,
}

/// What an update is to us.
pub(crate) enum Read {
    Message(Box<Piece<()>>),
    Edit(Box<Piece<()>>),
    Press(Box<Press>),
    Nothing,
}

/// Named by what to do next.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// Not now; later it works.
    #[error("{0}")]
    Store(String),
    /// Never: set it aside.
    #[error("{0}")]
    Hopeless(&'static str),
}

impl From<NotesError> for Fault {
    fn from(error: NotesError) -> Self {
        Self::Store(error.to_string())
    }
}

impl Shared {
    pub(crate) fn new(
        config: Arc<TelegramConfig>,
        api: Arc<Api>,
        rooms: Arc<Rooms>,
        threads: Arc<Threads>,
        counts: Arc<Counts>,
        inbox: Inbox,
        stop: CancellationToken,
        (own, reads_all): (Own, bool),
    ) -> Self {
        Self {
            config,
            api,
            rooms,
            threads,
            counts,
            inbox,
            own,
            reads_all,
            stop,
            deliveries: TaskTracker::new(),
            give_up: CancellationToken::new(),
            follow_ups: Arc::new(Semaphore::new(FOLLOW_UPS)),
            kinds: Mutex::default(),
        }
    }

    /// A panic is a fault of the one update that met it.
    pub(crate) async fn guarded<T>(&self, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        AssertUnwindSafe(work).catch_unwind().await.unwrap_or(Err(Fault::Hopeless("handling it failed")))
    }

    pub(crate) async fn read(&self, update: &Value) -> Result<Read, Fault> {
        let Ok(parsed) = Update::deserialize(update) else { return Err(Fault::Hopeless("it is no update")) };
        match parsed {
            Update { message: Some(message), .. } => self.message(*message, InboundKind::Message).await,
            Update { edited_message: Some(message), .. } => self.message(*message, InboundKind::Edit).await,
            Update { callback_query: Some(press), .. } => Ok(Read::Press(press)),
            Update { my_chat_member: Some(membership), .. } => {
                self.joined(&membership);
                Ok(Read::Nothing)
            }
            _ => {
                let kind = updates::kind_of(update);
                if updates::KINDS.contains(&kind.as_str()) {
                    return Err(Fault::Hopeless("what it tells is not readable"));
                }
                self.once(&kind, "a kind of update we don't use; passed over");
                Ok(Read::Nothing)
            }
        }
    }

    async fn message(&self, message: Message, kind: InboundKind) -> Result<Read, Fault> {
        let chat = message.chat.id;
        if chat == 0 || message.message_id == 0 {
            return Err(Fault::Hopeless("its message has no name"));
        }
        if let Some(to) = message.migrate_to_chat_id {
            self.rooms.moved(chat, to).await?;
            return Ok(Read::Nothing);
        }
        if let Some(from) = message.migrate_from_chat_id {
            self.rooms.moved(from, chat).await?;
            return Ok(Read::Nothing);
        }
        let place = self.threads.place(&message).await?;
        let Some(mut piece) = messages::inbound(&self.config.id, &message, kind, &self.own, &place) else {
            self.once("message", "a message without words and files; passed over");
            return Ok(Read::Nothing);
        };
        if self.config.notes.read(&piece_key(&piece.inbound.message)).await?.is_some() {
            debug!(channel.id = %self.config.id, message.key = %piece.inbound.message_key, "a piece of what was taken before");
            return Ok(Read::Nothing);
        }
        self.threads.keep(&message, &place).await?;
        self.threads.follow(&mut piece.inbound).await?;
        let Author { id, name, .. } = &piece.inbound.author;
        self.api.names.learn(id, name.as_deref().unwrap_or_default());
        Ok(match kind {
            InboundKind::Message => Read::Message(Box::new(piece)),
            // An edit that leaves no words says nothing.
            _ if message.said().0.is_empty() => Read::Nothing,
            _ => Read::Edit(Box::new(piece)),
        })
    }

    pub(crate) async fn deliver<T>(&self, whole: &Whole<T>) -> Result<(), Fault> {
        let verdict = self.hand_over(whole.inbound.clone()).await?;
        if verdict == Verdict::Ignored || whole.rest.is_empty() {
            return Ok(());
        }
        // After the delivery: before it, a crash would leave the first piece alone.
        let at = &whole.inbound.conversation;
        let in_chain = matches!(Thread::parse(&at.thread), Some(Thread::Chain { .. }));
        let mut notes = Vec::new();
        for piece in &whole.rest {
            notes.push(Note::a_while(piece_key(piece), &whole.inbound.message.id));
            notes.extend(in_chain.then(|| threads::note(&piece.room, &piece.id, &at.thread)));
        }
        Ok(self.config.notes.write(&notes).await?)
    }

    /// Returns when the verdict is durable.
    pub(crate) async fn hand_over(&self, inbound: Inbound) -> Result<Verdict, Fault> {
        let key = inbound.message_key.clone();
        match timeout(DELIVERY, self.inbox.deliver(inbound)).await {
            Ok(Ok(verdict)) => {
                debug!(channel.id = %self.config.id, message.key = %key, ?verdict, "update delivered");
                Ok(verdict)
            }
            Ok(Err(error)) => Err(Fault::Store(error.to_string())),
            Err(_) => Err(Fault::Store("the store took too long".to_owned())),
        }
    }

    /// The update will never be understood: it is kept with the reason, and the stream goes on.
    pub(crate) async fn set_aside(
        &self,
        update_id: Option<i64>,
        update: &(impl Serialize + Sync + ?Sized),
        why: &'static str,
    ) -> Result<(), Fault> {
        let id = update_id.map(|id| id.to_string()).unwrap_or_default();
        let update = serde_json::to_string(update).unwrap_or_default();
        let kept = format!("{why}\n{}", text::shorten(&update, KEPT));
        self.config.notes.write(&[Note::a_while(format!("quarantine/{id}"), kept)]).await?;
        let so_far = self.counts.quarantined.fetch_add(1, Ordering::Relaxed) + 1;
        warn!(channel.id = %self.config.id, update.id = id, why, so_far, "an update was set aside");
        Ok(())
    }

    fn joined(&self, membership: &Membership) {
        let (chat, status) = (membership.chat.id, membership.new_chat_member.status.as_str());
        let is_in_group = matches!(status, "member" | "restricted") && !membership.chat.is_private();
        if is_in_group && !self.reads_all {
            warn!(channel.id = %self.config.id, chat, "{}", super::doctor::PRIVACY);
        } else {
            info!(channel.id = %self.config.id, chat, status, "what we may do in a chat has changed");
        }
    }

    pub(crate) fn once(&self, kind: &str, what: &'static str) {
        let kind: String = kind.chars().take(100).collect();
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if kinds.len() < KINDS && kinds.insert(kind.clone()) {
            info!(channel.id = %self.config.id, kind, "{what}");
        }
    }
}

fn piece_key(message: &MessageId) -> String {
    format!("piece/{}/{}", message.room, message.id)
}
