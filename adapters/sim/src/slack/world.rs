//! The workspace: people, channels, messages, and what was asked of the Web API. Rules of the methods live elsewhere.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    time::{Duration, Instant},
};

use serde_json::{Map, Value};

use super::{
    Mentions,
    faults::Fault,
    files::Files,
    interact::ResponseUrls,
    message::{Author, Edit, Message},
    rates::Rates,
    teams::{Home, Team},
};
use crate::time;

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) people: BTreeMap<String, String>,
    /// Of those who are not of the first workspace.
    pub(crate) homes: BTreeMap<String, Home>,
    pub(crate) hides_teams: bool,
    pub(crate) teams: Vec<Team>,
    /// Whose token made the call that is being answered.
    pub(crate) caller: Team,
    pub(crate) channels: BTreeMap<String, Channel>,
    pub(crate) messages: Vec<Message>,
    pub(crate) calls: Vec<Call>,
    pub(crate) faults: HashMap<String, VecDeque<Fault>>,
    pub(crate) files: Files,
    pub(crate) rates: Rates,
    /// Things a real workspace would let pass, but that hint at a mistake of the caller.
    pub(crate) oddities: Vec<String>,
    pub(crate) revoked: HashSet<String>,
    pub(crate) mentions: Mentions,
    pub(crate) started: Instant,
    /// Every event that was sent, so that it can be sent again.
    pub(crate) sent: Vec<SentEvent>,
    pub(crate) response_urls: ResponseUrls,
    /// Makes event ids differ from those of an earlier simulator, which a bot may remember.
    born: u64,
    last_micros: u128,
    last_id: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Channel {
    pub(crate) name: String,
    pub(crate) kind: ChannelKind,
    pub(crate) archived: bool,
    pub(crate) bot_is_in: bool,
    pub(crate) teams: Vec<Team>,
    pub(crate) ext_shared: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelKind {
    Public,
    Private,
    Direct,
}

impl ChannelKind {
    /// `channel_type` of message events.
    pub(crate) fn wire(self) -> &'static str {
        match self {
            Self::Public => "channel",
            Self::Private => "group",
            Self::Direct => "im",
        }
    }
}

/// One call of a Web API method.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub method: String,
    /// Without the token.
    pub args: Value,
    /// Since the simulator started.
    pub at: Duration,
    /// Absent while the answer is awaited, and for ever if a fault swallowed it.
    pub answer: Option<Value>,
}

impl Call {
    /// The error code it was answered with.
    pub fn error(&self) -> Option<&str> {
        self.answer.as_ref()?.get("error")?.as_str()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SentEvent {
    pub(crate) event_id: String,
    pub(crate) event: Value,
    pub(crate) team: Team,
}

impl World {
    pub(crate) fn new(rates: Rates, mentions: Mentions, further: &[Team]) -> Self {
        Self {
            people: BTreeMap::new(),
            homes: BTreeMap::new(),
            hides_teams: false,
            teams: [Team::default()].into_iter().chain(further.iter().cloned()).collect(),
            caller: Team::default(),
            channels: BTreeMap::new(),
            messages: Vec::new(),
            calls: Vec::new(),
            faults: HashMap::new(),
            files: Files::default(),
            rates,
            oddities: Vec::new(),
            revoked: HashSet::new(),
            mentions,
            started: Instant::now(),
            sent: Vec::new(),
            response_urls: ResponseUrls::default(),
            born: time::now().as_secs(),
            last_micros: 0,
            last_id: 0,
        }
    }

    /// A new `ts`: the time now, and later than every other.
    pub(crate) fn stamp(&mut self) -> String {
        self.last_micros = time::now().as_micros().max(self.last_micros + 1);
        format!("{}.{:06}", self.last_micros / 1_000_000, self.last_micros % 1_000_000)
    }

    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn next_event_id(&mut self) -> String {
        let id = self.next_id();
        format!("Ev{:X}{id:04}", self.born)
    }

    pub(crate) fn open_dm(&mut self, person: &str) -> String {
        let id = format!("D0{person}");
        let home = self.home(person).team;
        let team = self.teams.iter().find(|team| team.id == home).cloned().unwrap_or_default();
        let direct = || Channel {
            name: person.to_owned(),
            kind: ChannelKind::Direct,
            archived: false,
            bot_is_in: true,
            teams: vec![team],
            ext_shared: false,
        };
        self.channels.entry(id.clone()).or_insert_with(direct);
        id
    }

    /// A fresh message, not yet in the workspace.
    pub(crate) fn draft(&mut self, channel: &str, author: Author, text: &str) -> Message {
        let at = self.started.elapsed();
        Message {
            channel: channel.to_owned(),
            ts: self.stamp(),
            thread_ts: None,
            author,
            edits: vec![Edit { text: text.to_owned(), blocks: None, at }],
            blocks: None,
            attachments: None,
            metadata: None,
            reactions: Vec::new(),
            deleted: false,
            ephemeral_to: None,
            extra: Map::new(),
            marked_edited: None,
            looked_at: false,
        }
    }

    /// A message that people can still see in `channel`.
    pub(crate) fn visible(&self, channel: &str, ts: &str) -> Option<&Message> {
        self.messages.iter().find(|m| m.ts == ts && m.channel == channel && !m.deleted && m.ephemeral_to.is_none())
    }

    pub(crate) fn visible_mut(&mut self, channel: &str, ts: &str) -> Option<&mut Message> {
        self.messages.iter_mut().find(|m| m.ts == ts && m.channel == channel && !m.deleted && m.ephemeral_to.is_none())
    }

    /// The replies under `parent` that people can still see, oldest first.
    pub(crate) fn replies(&self, channel: &str, parent: &str) -> Vec<&Message> {
        let under = |m: &&Message| {
            m.channel == channel
                && m.thread_ts.as_deref() == Some(parent)
                && m.ts != parent
                && !m.deleted
                && m.ephemeral_to.is_none()
        };
        let mut replies: Vec<_> = self.messages.iter().filter(under).collect();
        replies.sort_by(|a, b| a.ts.cmp(&b.ts));
        replies
    }

    /// What a failed wait shows.
    pub(crate) fn summary(&self) -> String {
        let mut lines = Vec::new();
        for message in &self.messages {
            let gone = if message.deleted { " (deleted)" } else { "" };
            let thread = message.thread_ts.as_deref().unwrap_or("-");
            let text: String = message.text().chars().take(200).collect();
            let (channel, ts, author) = (&message.channel, &message.ts, &message.author);
            lines.push(format!("  {channel} {ts} thread {thread} {author:?}{gone}: {text}"));
        }
        for call in self.calls.iter().rev().take(10).rev() {
            let outcome = match (&call.answer, call.error()) {
                (None, _) => "no answer",
                (Some(_), None) => "ok",
                (Some(_), Some(error)) => error,
            };
            lines.push(format!("  call {}: {outcome}", call.method));
        }
        if lines.is_empty() { "  nothing at all".to_owned() } else { lines.join("\n") }
    }
}
