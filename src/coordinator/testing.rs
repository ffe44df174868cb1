//! What the tests of this module share: a platform in memory that answers as it is told, and services without tools or
//! models around it.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    sync::{Semaphore, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{
    Addressed, Author, Body, Budget, ChannelAdapter, ChannelId, ChannelState, ConversationId, Counted, DeliveryKey,
    Features, Gaps, Inbound, InboundKind, Inbox, MessageId, Operation, Outbound, Overheard, Quota, ReceiveError,
    Refusal, RefusalKind, Repeats, Scope, SendError, Sign, TextUnit, Urgency, text,
};

use super::{
    Channel, Events, Limits, Services, Slots,
    access::{Access, DmPolicy, IdList, ThreadFollow},
    late::Late,
};
use crate::{
    clock::SharedClock,
    model::Models,
    persona::{Personas, Registry},
    store::Store,
};

/// Each call that reached the platform, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Post { room: String, text: String },
    Edit { id: String, text: String },
    Delete { id: String },
    Find { key: String },
    Typing { room: String },
}

pub(super) fn post(text: &str) -> Call {
    Call::Post { room: "C1".into(), text: text.into() }
}

pub(super) fn edit(id: &str, text: &str) -> Call {
    Call::Edit { id: id.into(), text: text.into() }
}

/// How the platform answers a call that would have gone well.
#[derive(Debug)]
pub(super) enum Answer {
    Error(SendError),
    /// It happens, but nobody learns of it.
    Lost,
    /// It happens when the test says so.
    Hang(Arc<Semaphore>),
}

impl Answer {
    pub(super) fn refused(kind: RefusalKind) -> Self {
        Self::Error(SendError::Refused(refusal(kind)))
    }

    pub(super) fn limited(seconds: u64) -> Self {
        Self::Error(SendError::RateLimited(Duration::from_secs(seconds)))
    }

    /// With what lets it go on.
    pub(super) fn hang() -> (Self, Arc<Semaphore>) {
        let until = Arc::new(Semaphore::new(0));
        (Self::Hang(until.clone()), until)
    }

    pub(super) fn away() -> Self {
        Self::Error(SendError::Unavailable("away".into()))
    }

    /// It did not happen, but nobody knows.
    pub(super) fn uncertain() -> Self {
        Self::Error(SendError::Uncertain("no answer".into()))
    }
}

pub(super) fn refusal(kind: RefusalKind) -> Refusal {
    Refusal { kind, code: format!("{kind:?}"), remedy: "mend it".into() }
}

#[derive(Debug, Default)]
struct Script {
    sends: VecDeque<Answer>,
    finds: VecDeque<SendError>,
    typings: VecDeque<SendError>,
    typing_hangs: bool,
    /// Longest text that is taken; 0 = any.
    takes: usize,
}

/// A platform in memory. Message ids count from `m1`.
#[derive(Debug)]
pub(super) struct FakePlatform {
    id: ChannelId,
    features: Features,
    state: watch::Sender<ChannelState>,
    script: Mutex<Script>,
    calls: watch::Sender<Vec<(Instant, Call)>>,
    posted: Mutex<Vec<(DeliveryKey, MessageId)>>,
    /// What each message shows now.
    shows: Mutex<Vec<(String, Body)>>,
}

impl FakePlatform {
    pub(super) fn with(change: impl FnOnce(&mut Features)) -> Arc<Self> {
        let mut features = features();
        change(&mut features);
        Arc::new(Self {
            id: ChannelId::new("fake"),
            features,
            state: watch::Sender::new(ChannelState::Connected),
            script: Mutex::default(),
            calls: watch::Sender::default(),
            posted: Mutex::default(),
            shows: Mutex::default(),
        })
    }

    /// The next sends are answered like this; those after them go well.
    pub(super) fn answers(&self, answers: impl IntoIterator<Item = Answer>) {
        self.script.lock().unwrap().sends.extend(answers);
    }

    pub(super) fn finds(&self, errors: impl IntoIterator<Item = SendError>) {
        self.script.lock().unwrap().finds.extend(errors);
    }

    pub(super) fn typings(&self, errors: impl IntoIterator<Item = SendError>) {
        self.script.lock().unwrap().typings.extend(errors);
    }

    pub(super) fn typing_hangs(&self) {
        self.script.lock().unwrap().typing_hangs = true;
    }

    /// Refuses longer text, whatever `Features` say.
    pub(super) fn takes_at_most(&self, characters: usize) {
        self.script.lock().unwrap().takes = characters;
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.calls.borrow().iter().map(|(_, call)| call.clone()).collect()
    }

    pub(super) fn forget_calls(&self) {
        self.calls.send_replace(Vec::new());
    }

    /// Calls with the seconds since `start`.
    pub(super) fn timeline(&self, start: Instant) -> Vec<(f64, Call)> {
        let calls = self.calls.borrow();
        calls.iter().map(|(at, call)| ((*at - start).as_secs_f64(), call.clone())).collect()
    }

    /// Seconds of each call since `start`.
    pub(super) fn times(&self, start: Instant) -> Vec<f64> {
        self.timeline(start).into_iter().map(|(at, _)| at).collect()
    }

    /// Waits until this many calls arrived.
    pub(super) async fn reached(&self, count: usize) -> Vec<Call> {
        let mut calls = self.calls.subscribe();
        let arrived = calls.wait_for(|calls| calls.len() >= count);
        tokio::time::timeout(Duration::from_secs(20), arrived)
            .await
            .unwrap_or_else(|_| panic!("not {count} calls: {:?}", self.calls()))
            .unwrap();
        self.calls()
    }

    /// All messages as they stand now, in the order of their posting.
    pub(super) fn shows(&self) -> Vec<(String, Body)> {
        self.shows.lock().unwrap().clone()
    }

    fn apply(&self, message: &Outbound) -> Result<MessageId, SendError> {
        let text = message.body.text();
        let takes = self.script.lock().unwrap().takes;
        if takes > 0 && text.chars().count() > takes {
            return Err(SendError::Refused(refusal(RefusalKind::TooLong)));
        }
        let mut shows = self.shows.lock().unwrap();
        match &message.operation {
            Operation::Post(key) => {
                let mut posted = self.posted.lock().unwrap();
                // The same key is the same message, with the content that came first.
                if matches!(self.features.repeats, Repeats::Merged(_))
                    && let Some((_, named)) = posted.iter().find(|(known, _)| known == key)
                {
                    return Ok(named.clone());
                }
                let id = format!("m{}", posted.len() + 1);
                let named = MessageId { room: message.conversation.room.clone(), id: id.clone() };
                posted.push((key.clone(), named.clone()));
                shows.push((id, message.body.clone()));
                Ok(named)
            }
            Operation::Edit(named) => match shows.iter_mut().find(|(id, _)| *id == named.id) {
                Some((_, body)) => {
                    *body = message.body.clone();
                    Ok(named.clone())
                }
                None => Err(SendError::Refused(refusal(RefusalKind::MessageGone))),
            },
            Operation::Delete(named) => {
                shows.retain(|(id, _)| *id != named.id);
                Ok(named.clone())
            }
        }
    }

    fn record(&self, call: Call) {
        self.calls.send_modify(|calls| calls.push((Instant::now(), call)));
    }
}

#[async_trait]
impl ChannelAdapter for FakePlatform {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn features(&self) -> &Features {
        &self.features
    }

    fn state(&self) -> watch::Receiver<ChannelState> {
        self.state.subscribe()
    }

    async fn receive(&self, _: Inbox, stop: CancellationToken) -> Result<(), ReceiveError> {
        stop.cancelled().await;
        Ok(())
    }

    async fn send(&self, message: &Outbound) -> Result<MessageId, SendError> {
        let text = message.body.text().to_owned();
        let answer = self.script.lock().unwrap().sends.pop_front();
        self.record(match &message.operation {
            Operation::Post(_) => Call::Post { room: message.conversation.room.clone(), text },
            Operation::Edit(named) => Call::Edit { id: named.id.clone(), text },
            Operation::Delete(named) => Call::Delete { id: named.id.clone() },
        });
        match answer {
            None => self.apply(message),
            Some(Answer::Error(error)) => Err(error),
            Some(Answer::Lost) => {
                self.apply(message)?;
                Err(SendError::Uncertain("the answer was lost".into()))
            }
            Some(Answer::Hang(until)) => {
                until.acquire().await.unwrap().forget();
                self.apply(message)
            }
        }
    }

    async fn find(&self, _: &ConversationId, delivery: &DeliveryKey) -> Result<Option<MessageId>, SendError> {
        self.record(Call::Find { key: delivery.0.clone() });
        if let Some(error) = self.script.lock().unwrap().finds.pop_front() {
            return Err(error);
        }
        let posted = self.posted.lock().unwrap();
        Ok(posted.iter().find(|(key, _)| key == delivery).map(|(_, id)| id.clone()))
    }

    async fn typing(&self, conversation: &ConversationId) -> Result<(), SendError> {
        self.record(Call::Typing { room: conversation.room.clone() });
        if self.script.lock().unwrap().typing_hangs {
            std::future::pending::<()>().await;
        }
        match self.script.lock().unwrap().typings.pop_front() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn is_private(&self, room: &str) -> bool {
        room.starts_with('D')
    }

    async fn thread(&self, _: &ConversationId, _: usize) -> Result<Vec<Overheard>, SendError> {
        Ok(Vec::new())
    }

    async fn react(&self, _: &MessageId, _: Sign) -> Result<(), SendError> {
        Ok(())
    }

    fn mention(&self, person: &str) -> String {
        format!("<@{person}>")
    }
}

/// Generous where a test doesn't say otherwise.
fn features() -> Features {
    let plenty = Quota { count: 1000, per: Duration::from_secs(1), burst: 1000 };
    Features {
        limits: text::Limits::of_text(TextUnit::Chars.length(4_000)),
        edits: true,
        edit_budget: None,
        edit_gaps: Gaps::constant(Duration::ZERO),
        budgets: budgets(plenty, plenty),
        threads: true,
        buttons: false,
        files: false,
        reactions: true,
        typing: None,
        repeats: Repeats::LookedUp,
    }
}

/// New messages count for their room, edits for the account.
pub(super) fn budgets(posts: Quota, edits: Quota) -> Vec<Budget> {
    vec![
        Budget { counts: Counted::Posts, scope: Scope::Room, quota: posts },
        Budget { counts: Counted::Edits, scope: Scope::Account, quota: edits },
    ]
}

pub(super) fn quota(count: u32, seconds: u64, burst: u32) -> Quota {
    Quota { count, per: Duration::from_secs(seconds), burst }
}

pub(super) fn thread_in(room: &str) -> ConversationId {
    ConversationId { channel: ChannelId::new("fake"), room: room.into(), thread: "100.1".into() }
}

/// A mention in `C1`, said at this time.
pub(super) fn said_at(sent_at: i64) -> Inbound {
    Inbound {
        conversation: thread_in("C1"),
        message_key: "m1".into(),
        event_id: None,
        message: MessageId { room: "C1".into(), id: "m1".into() },
        kind: InboundKind::Message,
        author: Author { id: "U1".into(), name: None, is_bot: false, is_self: false, is_outsider: false },
        text: "why?".into(),
        addressed: Addressed::Mention,
        opens_with_other: false,
        private: false,
        starts_thread: false,
        command: None,
        room_now: None,
        files: Vec::new(),
        sent_at,
    }
}

pub(super) fn outbound(operation: Operation, text: &str, urgency: Urgency) -> Outbound {
    Outbound { conversation: thread_in("C1"), question: None, operation, body: Body::Markdown(text.into()), urgency }
}

/// Ids as a configuration lists them, separated by spaces.
pub(super) fn ids(list: &str) -> IdList {
    IdList::new(list.split_whitespace().map(str::to_owned))
}

pub(super) fn access() -> Access {
    Access {
        allow_rooms: ids("*"),
        allow_from: ids(""),
        dm_policy: DmPolicy::Open,
        require_mention: true,
        thread_follow: ThreadFollow::Asker,
        late: Late::default(),
        admins: Vec::new(),
        operators: Vec::new(),
    }
}

/// Everything a conversation needs, around one platform, with an empty store in memory and no model.
pub(super) async fn services(platform: Arc<FakePlatform>, access: Access, clock: SharedClock) -> Arc<Services> {
    let store = Store::open("sqlite::memory:").await.unwrap();
    store.migrate().await.unwrap();
    let id = platform.id.clone();
    let limits = Limits {
        turns: 4,
        turn_timeout: Duration::from_secs(60),
        worker_timeout: Duration::from_secs(60),
        workers_per_session: 2,
        workers: 2,
        history_limit: 50,
        notify_after: Duration::ZERO,
        default_max_turns: 5,
    };
    Arc::new(Services {
        store,
        clock,
        models: Models::new("", "", Default::default()),
        personas: Personas::new(Registry::builtin()),
        tools: Vec::new(),
        redirects: Vec::new(),
        slots: Slots::new(&limits),
        limits,
        channels: HashMap::from([(id, Channel::new(platform, access))]),
        events: Events::off(),
        owner: "test".into(),
    })
}
