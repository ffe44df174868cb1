//! What both transports do with an event: it is written down before Feishu hears that we have it, and a kind we don't know
//! is logged once. Frames and requests are left to `link` and `webhook`.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use moka::sync::Cache;
use serde_json::{Value, json};
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, info, warn};
use watchfloor_channel::{
    Act, Addressed, Aside, Author, ConversationId, Inbound, InboundKind, Inbox, MessageId, NotesError,
};

use super::{
    Receiver,
    events::{self, Heard},
    frames::Answer,
    mentions, quotes,
    threads::Threads,
};
use crate::{FeishuConfig, api::Api, identity::Identity, names::Names};

/// Deliveries that talk to the store at the same time.
pub(super) const AT_ONCE: usize = 32;
/// Deliveries that may wait for their turn. Beyond that events are refused and Feishu brings them again.
const WAITING: usize = 1_000;
/// The inbox may wait for its store, but not for ever.
const DELIVERY: Duration = Duration::from_secs(60);
/// The coordinator answers within a moment; a person waits, and Feishu gives it three seconds in all.
const SENTENCE: Duration = Duration::from_secs(2);
/// A message that could not be written down at once is brought again for seven hours.
const REDELIVERED_FOR: Duration = Duration::from_secs(8 * 3600);
const RECALLS: u64 = 10_000;
/// Kinds of events remembered for "logged once".
const KINDS: usize = 256;

/// What came in over the adapter's life, for health.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Requests that weren't believed.
    pub(super) refused: AtomicU64,
    /// Frames, bodies and events that weren't readable.
    pub(super) malformed: AtomicU64,
    /// When the last event came, in milliseconds since 1970; 0: never.
    pub(super) last_event: AtomicI64,
}

/// What one channel needs to take something in, whichever way it came.
pub(super) struct Shared {
    pub(super) api: Arc<Api>,
    pub(super) config: Arc<FeishuConfig>,
    pub(super) threads: Arc<Threads>,
    names: Arc<Names>,
    pub(super) counters: Arc<Counters>,
    pub(super) inbox: Inbox,
    pub(super) stop: CancellationToken,
    /// Deliveries outlive the connection or the request that brought them: what is half written down must not be dropped
    /// because a cable was pulled.
    pub(super) deliveries: TaskTracker,
    pub(super) give_up: CancellationToken,
    room: Semaphore,
    /// Messages whose recall may overtake them: while one of them is still being looked at, or before it is brought again.
    recalls: Cache<String, ()>,
    kinds: Mutex<HashSet<String>>,
    /// More events wait for the store than may.
    crowded: AtomicBool,
}

/// What to do with an event.
pub(super) enum Arrival {
    /// To be done before it is acknowledged.
    Work(Box<Work>),
    /// Nothing we act on: acknowledged at once.
    Nothing,
    /// Left for Feishu to bring again.
    Later,
}

pub(super) enum Work {
    Message(Heard),
    Recalled { message_id: String, room: String, event_id: Option<String> },
    Click(Aside),
}

impl Shared {
    pub(super) fn new(receiver: &Receiver, inbox: Inbox, stop: CancellationToken) -> Self {
        Self {
            api: receiver.api.clone(),
            config: receiver.config.clone(),
            threads: receiver.threads.clone(),
            names: receiver.names.clone(),
            counters: receiver.counters.clone(),
            inbox,
            stop,
            deliveries: TaskTracker::new(),
            give_up: CancellationToken::new(),
            room: Semaphore::new(AT_ONCE),
            recalls: Cache::builder().max_capacity(RECALLS).time_to_live(REDELIVERED_FOR).build(),
            kinds: Mutex::new(HashSet::new()),
            crowded: AtomicBool::new(false),
        }
    }

    pub(super) fn event(&self, payload: &Value) -> Arrival {
        self.counters.last_event.store(self.config.now.millis(), Ordering::Relaxed);
        if !events::is_for(payload, &self.config.app_id) {
            self.once("of another app", "an event of another app; acknowledged");
            return Arrival::Nothing;
        }
        let kind = events::name(payload);
        let work = match kind {
            events::MESSAGE => Heard::of(payload).map(Work::Message),
            events::RECALLED => events::recalled(payload).map(|(message_id, room)| {
                let event_id = super::wire::some(payload, "/header/event_id");
                Work::Recalled { message_id, room, event_id }
            }),
            events::CLICK => events::click(&self.config.id, payload).map(Work::Click),
            _ => None,
        };
        let Some(work) = work else {
            match events::farewell(kind) {
                None if events::is_damaged(payload, kind) => self.malformed("an event without its parts"),
                Some(what) => {
                    let room = super::wire::text(payload, "/event/chat_id");
                    info!(channel.id = %self.config.id, room, "{what}");
                }
                None => self.once(kind, "a kind of event we don't use; acknowledged"),
            }
            return Arrival::Nothing;
        };
        if self.deliveries.len() < WAITING / 2 {
            self.crowded.store(false, Ordering::Relaxed);
        } else if self.deliveries.len() >= WAITING {
            // One line for each crowd, not for each event.
            if !self.crowded.swap(true, Ordering::Relaxed) {
                warn!(channel.id = %self.config.id, "too many events wait for the store: further ones are left for Feishu to bring again");
            }
            return Arrival::Later;
        }
        Arrival::Work(Box::new(work))
    }

    /// What Feishu is to be told. To be run on `deliveries`.
    pub(super) async fn work(&self, work: Box<Work>) -> Answer {
        let done = async {
            match *work {
                Work::Click(aside) => Answer::Result(self.clicked(aside).await),
                Work::Message(heard) => {
                    let key = heard.message_id.clone();
                    let inbound = self.inbound(heard).await;
                    if self.recalls.contains_key(&key) {
                        debug!(channel.id = %self.config.id, message.key = key, "recalled before it was taken");
                        return Answer::Taken;
                    }
                    self.taken(&key, inbound).await
                }
                Work::Recalled { message_id, room, event_id } => {
                    self.recalls.insert(message_id.clone(), ());
                    let inbound = self.recalled(&message_id, room, event_id).await;
                    self.taken(&message_id, inbound.map(Some)).await
                }
            }
        };
        self.give_up.run_until_cancelled(done).await.unwrap_or(Answer::NotStored)
    }

    /// `None`: not known yet who we are, and so not whether it is for us.
    async fn inbound(&self, mut heard: Heard) -> Result<Option<Inbound>, NotesError> {
        let Some(own) = self.api.known_identity() else { return Ok(None) };
        self.threads.settled(&heard.room, heard.private).await;
        let is_self = self.wrote(&heard.author.id, own) || self.threads.is_ours(&heard.message_id).await?;
        let answers_us = self.threads.is_ours(&heard.parent_id).await?;
        let addressed = match () {
            () if heard.private => Addressed::Direct,
            () if heard.mentions.name(&own.open_id) => Addressed::Mention,
            () if answers_us => Addressed::Reply,
            () => Addressed::Overheard,
        };
        let matters = addressed != Addressed::Overheard && !is_self;
        let thread = self.threads.name(heard.place(), matters).await?;
        let mut text = mentions::write(&heard.said.pieces, &own.open_id);
        if matters {
            let quoted = heard.quotes().filter(|_| !answers_us);
            let more = quotes::fetch(&self.api, &heard.kind, &heard.message_id, quoted, own).await;
            for part in more.texts {
                let gap = if text.is_empty() { "" } else { "\n\n" };
                text = format!("{text}{gap}{part}");
            }
            heard.said.files.extend(more.files);
        }
        if matters {
            self.name(&mut heard.author);
        }
        let conversation = ConversationId { channel: self.config.id.clone(), room: heard.room.clone(), thread };
        Ok(Some(Inbound {
            conversation,
            event_id: heard.event_id,
            message: MessageId { room: heard.room, id: heard.message_id.clone() },
            message_key: heard.message_id,
            kind: InboundKind::Message,
            author: Author { is_self, ..heard.author },
            opens_with_other: mentions::opens_with_other(&heard.said.pieces, &own.open_id),
            text,
            addressed,
            private: heard.private,
            starts_thread: heard.root_id.is_empty() && heard.parent_id.is_empty(),
            files: heard.said.files,
            command: None,
            room_now: None,
            sent_at: heard.sent_at.unwrap_or_else(|| self.config.now.millis()),
        }))
    }

    /// Nobody waits for a name: who is new here has one from her next message on.
    fn name(&self, author: &mut Author) {
        author.name = self.names.name(&author.id);
        if author.name.is_some() || author.is_bot || author.is_outsider {
            return;
        }
        let (names, api, give_up) = (self.names.clone(), self.api.clone(), self.give_up.clone());
        let mut unknown = author.clone();
        self.deliveries.spawn(async move {
            give_up.run_until_cancelled(names.name_all(&api, std::iter::once(&mut unknown))).await;
        });
    }

    fn wrote(&self, author: &str, own: &Identity) -> bool {
        !author.is_empty() && (author == own.open_id || author == own.app_id)
    }

    /// The event tells the message and its room alone.
    async fn recalled(&self, message_id: &str, room: String, event_id: Option<String>) -> Result<Inbound, NotesError> {
        let is_self = self.threads.is_ours(message_id).await?;
        let thread = self.threads.of_message(message_id).await?;
        let private = thread.as_deref() == Some("");
        let thread = thread.unwrap_or_else(|| message_id.to_owned());
        Ok(Inbound {
            conversation: ConversationId { channel: self.config.id.clone(), room: room.clone(), thread },
            message_key: message_id.to_owned(),
            event_id,
            message: MessageId { room, id: message_id.to_owned() },
            kind: InboundKind::Deleted,
            author: Author { id: String::new(), name: None, is_bot: false, is_self, is_outsider: false },
            text: String::new(),
            addressed: Addressed::Overheard,
            opens_with_other: false,
            private,
            starts_thread: false,
            files: Vec::new(),
            command: None,
            room_now: None,
            sent_at: self.config.now.millis(),
        })
    }

    async fn clicked(&self, mut aside: Aside) -> Value {
        if let Act::Click { message, .. } = &aside.act {
            // The sentence is for her; it comes also where the conversation can't be found now.
            let thread = self.threads.of_message(&message.id).await.ok().flatten();
            aside.conversation.thread = thread.unwrap_or_default();
        }
        match timeout(SENTENCE, self.inbox.aside(aside)).await {
            Ok(sentence) if sentence.is_empty() => json!({}),
            Ok(sentence) => json!({"toast": {"type": "info", "content": sentence}}),
            Err(_) => {
                warn!(channel.id = %self.config.id, "a click found no answer in time");
                json!({})
            }
        }
    }

    async fn taken(&self, key: &str, inbound: Result<Option<Inbound>, NotesError>) -> Answer {
        let inbound = match inbound {
            Ok(Some(inbound)) => inbound,
            Ok(None) => {
                warn!(channel.id = %self.config.id, message.key = key, "event not acknowledged: not known yet who the bot is");
                return Answer::NotStored;
            }
            Err(error) => {
                warn!(channel.id = %self.config.id, message.key = key, %error, "event not acknowledged");
                return Answer::NotStored;
            }
        };
        // Never closed.
        let Ok(_place) = self.room.acquire().await else { return Answer::NotStored };
        match timeout(DELIVERY, self.inbox.deliver(inbound)).await {
            Ok(Ok(verdict)) => {
                debug!(channel.id = %self.config.id, message.key = key, ?verdict, "event delivered");
                Answer::Taken
            }
            Ok(Err(error)) => {
                warn!(channel.id = %self.config.id, message.key = key, %error, "event not acknowledged");
                Answer::NotStored
            }
            Err(_) => {
                warn!(channel.id = %self.config.id, message.key = key, "event not acknowledged: the store took too long");
                Answer::NotStored
            }
        }
    }

    /// Counted each time, logged the first time.
    pub(super) fn malformed(&self, what: &'static str) {
        self.counters.malformed.fetch_add(1, Ordering::Relaxed);
        self.once(what, "not readable; dropped");
    }

    pub(super) fn once(&self, kind: &str, what: &'static str) {
        let kind: String = kind.chars().take(100).collect();
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if kinds.len() < KINDS && kinds.insert(kind.clone()) {
            info!(channel.id = %self.config.id, kind, "{what}");
        }
    }
}
