//! The tenant: people, chats, messages, and what was asked of the open API. Rules of the calls live elsewhere.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    ALICE, BOB, BOT_OPEN_ID, EXTERNAL, FOREIGN_TENANT, FeishuConfig, GROUP, GUEST, TENANT_KEY, TOPICS, ThreadIds,
    faults::Fault,
    files::Files,
    message::{Author, Edit, Message},
    rates::Rates,
};
use crate::time;

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) people: BTreeMap<String, Person>,
    pub(crate) chats: BTreeMap<String, Chat>,
    pub(crate) messages: Vec<Message>,
    pub(crate) calls: Vec<Call>,
    pub(crate) faults: HashMap<String, VecDeque<Fault>>,
    pub(crate) files: Files,
    pub(crate) rates: Rates,
    /// Names of calls that wait at the door.
    pub(crate) held: HashSet<String>,
    pub(crate) tokens: Vec<Token>,
    pub(crate) token_life: Duration,
    pub(crate) stale_status: u16,
    pub(crate) scopes: BTreeSet<String>,
    /// Which message a `uuid` made, and when.
    pub(crate) uuids: HashMap<String, (String, Instant)>,
    /// Counted calls of the month.
    pub(crate) counted: u64,
    pub(crate) monthly_calls: Option<u64>,
    pub(crate) thread_ids: ThreadIds,
    /// Threads that somebody deleted.
    pub(crate) gone_topics: HashSet<String>,
    /// The administrator's window for edits is over.
    pub(crate) edits_closed: bool,
    /// Things the platform lets pass, but that hint at a mistake of the caller.
    pub(crate) complaints: Vec<String>,
    pub(crate) started: Instant,
    /// Every event that was sent, so that it can be sent again.
    pub(crate) sent: Vec<Value>,
    born: u64,
    last_millis: u64,
    last_id: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub name: String,
    pub tenant: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    pub name: String,
    pub kind: ChatKind,
    /// With members of another company.
    pub external: bool,
    pub bot_is_in: bool,
    pub dissolved: bool,
    /// The bot may not speak.
    pub muted: bool,
    /// Refuses `reply_in_thread`.
    pub no_threads: bool,
    /// As some connected groups do.
    pub no_cards: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatKind {
    P2p,
    Group,
    /// `chat_mode` is `topic`.
    Topics,
    /// An ordinary group in thread form: `group_message_type` is `thread`.
    Threads,
}

impl ChatKind {
    /// Every message is in a thread.
    pub(crate) fn threaded(self) -> bool {
        matches!(self, Self::Topics | Self::Threads)
    }

    /// `chat_type` of message events.
    pub(crate) fn in_event(self) -> &'static str {
        if self == Self::P2p { "p2p" } else { "group" }
    }
}

impl Chat {
    pub fn new(name: &str, kind: ChatKind) -> Self {
        let (name, external, bot_is_in) = (name.to_owned(), false, true);
        let (dissolved, muted, no_threads, no_cards) = (false, false, false, false);
        Self { name, kind, external, bot_is_in, dissolved, muted, no_threads, no_cards }
    }
}

/// One call of the open API.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its short name, or method and path if it is none of those known here.
    pub name: String,
    /// The message, chat or file it is about.
    pub about: Vec<String>,
    pub query: Value,
    /// Null if it has none or another than JSON.
    pub body: Value,
    /// Since the simulator started.
    pub at: Duration,
    /// Absent while the answer is awaited, and for ever if a fault swallowed it.
    pub answer: Option<Value>,
    pub http: Option<u16>,
}

impl Call {
    /// The code it was answered with; 0 is success.
    pub fn code(&self) -> Option<i64> {
        self.answer.as_ref()?.get("code")?.as_i64()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) value: String,
    pub(crate) ends: Instant,
    pub(crate) revoked: bool,
}

impl World {
    pub(crate) fn new(config: &FeishuConfig) -> Self {
        let person = |name: &str, tenant: &str| Person { name: name.to_owned(), tenant: tenant.to_owned() };
        let people = [(ALICE, "Alice", TENANT_KEY), (BOB, "Bob", TENANT_KEY), (GUEST, "Guest", FOREIGN_TENANT)];
        let people: BTreeMap<_, _> =
            people.into_iter().map(|(id, name, tenant)| (id.to_owned(), person(name, tenant))).collect();
        let mut chats: BTreeMap<_, _> = [
            (GROUP, Chat::new("ops", ChatKind::Group)),
            (TOPICS, Chat::new("incidents", ChatKind::Topics)),
            (EXTERNAL, Chat { external: true, ..Chat::new("with a partner", ChatKind::Group) }),
        ]
        .into_iter()
        .map(|(id, chat)| (id.to_owned(), chat))
        .collect();
        chats.extend(people.iter().map(|(id, person)| (p2p(id), Chat::new(&person.name, ChatKind::P2p))));
        Self {
            people,
            chats,
            messages: Vec::new(),
            calls: Vec::new(),
            faults: HashMap::new(),
            files: Files::default(),
            rates: Rates::new(config.enforce_rates),
            held: HashSet::new(),
            tokens: Vec::new(),
            token_life: config.token_life,
            stale_status: config.stale_status,
            scopes: config.scopes.clone(),
            uuids: HashMap::new(),
            counted: 0,
            monthly_calls: config.monthly_calls,
            thread_ids: config.thread_ids,
            gone_topics: HashSet::new(),
            edits_closed: false,
            complaints: Vec::new(),
            started: Instant::now(),
            sent: Vec::new(),
            // Ids differ from those of an earlier simulator, which a bot may remember.
            born: time::now().as_micros() as u64,
            last_millis: 0,
            last_id: 0,
        }
    }

    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// An id nobody has seen before, such as `om_…`.
    pub(crate) fn fresh(&mut self, prefix: &str) -> String {
        let id = self.next_id();
        format!("{prefix}_{:x}{id:05}", self.born)
    }

    /// Milliseconds now, later than every other time given.
    pub(crate) fn stamp(&mut self) -> u64 {
        self.last_millis = (time::now().as_millis() as u64).max(self.last_millis + 1);
        self.last_millis
    }

    /// A fresh message, not yet in the tenant.
    pub(crate) fn draft(&mut self, chat: &str, author: Author, kind: &str, content: &str) -> Message {
        let created = self.stamp();
        let at = self.started.elapsed();
        Message {
            id: self.fresh("om"),
            chat: chat.to_owned(),
            author,
            thread: None,
            root: None,
            parent: None,
            edits: vec![Edit { kind: kind.to_owned(), content: content.to_owned(), at }],
            mentions: Vec::new(),
            reactions: Vec::new(),
            recalled: false,
            forwarded: Vec::new(),
            uuid: None,
            puts: 0,
            created,
            updated: created,
            looked_at: false,
        }
    }

    pub(crate) fn message(&self, id: &str) -> Option<&Message> {
        self.messages.iter().find(|message| message.id == id)
    }

    pub(crate) fn message_mut(&mut self, id: &str) -> Option<&mut Message> {
        self.messages.iter_mut().find(|message| message.id == id)
    }

    /// Puts `message` under `parent`: in its thread if there is one, else as a quote.
    pub(crate) fn put_under(&mut self, message: &mut Message, parent: &str, in_thread: bool) {
        let Some(parent) = self.message(parent).cloned() else { return };
        let thread = parent.thread.clone().or_else(|| in_thread.then(|| self.fresh("omt")));
        let root = parent.root.clone().unwrap_or_else(|| parent.id.clone());
        message.parent = Some(if thread.is_some() { root.clone() } else { parent.id.clone() });
        message.root = Some(root);
        message.thread.clone_from(&thread);
        // The first message of a new thread is its root.
        if let Some(first) = self.message_mut(&parent.id).filter(|first| first.thread.is_none()) {
            first.thread = thread;
        }
    }

    pub(crate) fn tenant_of(&self, person: &str) -> String {
        self.people.get(person).map_or(TENANT_KEY, |person| &person.tenant).to_owned()
    }

    /// Whether an open_id can be mentioned.
    pub(crate) fn knows(&self, open_id: &str) -> bool {
        open_id == BOT_OPEN_ID || self.people.contains_key(open_id)
    }

    /// What a failed wait shows.
    pub(crate) fn summary(&self) -> String {
        let mut lines = Vec::new();
        for message in &self.messages {
            let gone = if message.recalled { " (recalled)" } else { "" };
            let thread = message.thread.as_deref().or(message.root.as_deref()).unwrap_or("-");
            let text: String = message.text().chars().take(200).collect();
            let (chat, id, author, kind) = (&message.chat, &message.id, &message.author, message.kind());
            lines.push(format!("  {chat} {id} under {thread} {author:?} {kind}{gone}: {text}"));
        }
        for call in self.calls.iter().rev().take(10).rev() {
            let outcome = match (&call.answer, call.code()) {
                (None, _) => "no answer".to_owned(),
                (Some(_), Some(code)) => format!("code {code}"),
                (Some(_), None) => format!("HTTP {:?}", call.http),
            };
            lines.push(format!("  call {}: {outcome}", call.name));
        }
        if lines.is_empty() { "  nothing at all".to_owned() } else { lines.join("\n") }
    }
}

/// The chat between a person and the bot.
pub(crate) fn p2p(person: &str) -> String {
    format!("oc_p2p_{}", person.trim_start_matches("ou_"))
}
