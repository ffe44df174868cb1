//! One `[[channels]]` entry: which account of which platform, who may talk to it, and how it behaves in a room.

use std::time::Duration;

use jiff::tz::TimeZone;

use super::{
    ids::Of,
    platform::{ChannelKind, Platform},
    read::{Choice, Section},
};

const LATE_AFTER: Duration = Duration::from_secs(5 * 60);
const LATEST: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone, Debug)]
pub struct ChannelConfig {
    pub name: String,
    pub platform: Platform,
    pub access: Access,
    pub behaviour: Behaviour,
}

/// Who may talk to the bot, and where. Ids alone; `"*"` only in the two `allow` lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// `"*"` = every room the bot is in, empty = none.
    pub allow_rooms: Vec<String>,
    /// Empty = everybody in allowed rooms, in private chats only paired people.
    pub allow_from: Vec<String>,
    pub admins: Vec<String>,
    pub operators: Vec<String>,
    pub approvers: Vec<String>,
    pub dm_policy: DmPolicy,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Behaviour {
    pub require_mention: bool,
    pub thread_follow: ThreadFollow,
    pub session_scope: SessionScope,
    pub queue_mode: QueueMode,
    /// `None` = no message is late.
    pub late_after: Option<Duration>,
    pub late: Late,
    /// `None` = the language of the message.
    pub default_locale: Option<String>,
    pub timezone: TimeZone,
    pub streaming: Streaming,
}

/// Private chats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DmPolicy {
    /// Strangers get a code that an operator can accept.
    Pairing,
    Allowlist,
    Open,
    Disabled,
}

/// Who is addressing us without a mention, in a thread where we were mentioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadFollow {
    /// Whoever has mentioned us there.
    Asker,
    All,
    Mention,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionScope {
    Thread,
    UserThread,
}

/// What becomes of a message that arrives while a turn is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueMode {
    /// Joins the running turn before its next model call.
    Steer,
    /// A turn of its own, afterwards.
    Followup,
    /// One turn for all that came meanwhile.
    Collect,
    /// Ends the running turn.
    Interrupt,
}

/// What becomes of a message that reaches us long after it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// Answered, and the answer says so.
    Note,
    Skip,
}

/// Answers in several messages while they are written (`block_streaming…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streaming {
    pub on: bool,
    pub break_at: BreakAt,
    pub chunk: Chunk,
    pub coalesce: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakAt {
    TextEnd,
    MessageEnd,
}

/// Characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub min: usize,
    pub max: usize,
}

impl DmPolicy {
    pub fn as_str(self) -> &'static str {
        self.word()
    }
}

impl Choice for DmPolicy {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("pairing", Self::Pairing),
        ("allowlist", Self::Allowlist),
        ("open", Self::Open),
        ("disabled", Self::Disabled),
    ];
}

impl Choice for ThreadFollow {
    const WORDS: &'static [(&'static str, Self)] =
        &[("asker", Self::Asker), ("all", Self::All), ("mention", Self::Mention)];
}

impl Choice for SessionScope {
    const WORDS: &'static [(&'static str, Self)] = &[("thread", Self::Thread), ("user_thread", Self::UserThread)];
}

impl Choice for QueueMode {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("steer", Self::Steer),
        ("followup", Self::Followup),
        ("collect", Self::Collect),
        ("interrupt", Self::Interrupt),
    ];
}

impl Choice for Late {
    const WORDS: &'static [(&'static str, Self)] = &[("note", Self::Note), ("skip", Self::Skip)];
}

impl Choice for BreakAt {
    const WORDS: &'static [(&'static str, Self)] = &[("text_end", Self::TextEnd), ("message_end", Self::MessageEnd)];
}

impl ChannelConfig {
    pub fn kind(&self) -> ChannelKind {
        self.platform.kind()
    }

    /// Tokens that are needed and not set; a channel that lacks one is off.
    pub fn missing(&self) -> Vec<&'static str> {
        self.platform.needs().into_iter().filter(|(_, set)| !set).map(|(key, _)| key).collect()
    }

    /// Somebody has begun to set it up: at least one of its tokens is there.
    pub fn is_begun(&self) -> bool {
        self.platform.needs().iter().any(|(_, set)| *set)
    }

    pub(super) fn read(mut section: Section<'_>) -> Option<Self> {
        let Some(kind_node) = section.take("kind") else {
            section.wrong("kind", "expected \"slack\", \"telegram\" or \"feishu\", got none");
            section.abandon();
            return None;
        };
        let Some(kind) = ChannelKind::of(&kind_node) else {
            section.not_a_choice::<ChannelKind>("kind", &kind_node);
            section.abandon();
            return None;
        };
        let name = section
            .parsed("name", "a name of small letters, digits, single _ and -, other than \"api\"", |text| {
                is_name(text).then(|| text.to_owned())
            })
            .unwrap_or_else(|| kind.as_str().to_owned());
        let platform = Platform::read(kind, &mut section);
        let access = Access::read(kind, &mut section);
        let behaviour = Behaviour::read(&mut section);
        section.close();
        Some(Self { name, platform: platform?, access, behaviour })
    }
}

/// It stands in web addresses and in names of variables, and `api` is the channel of the API itself.
fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    text != "api"
        && !text.is_empty()
        && text.bytes().all(plain)
        && !text.contains("__")
        && !text.starts_with(['_', '-'])
}

impl Access {
    fn read(kind: ChannelKind, section: &mut Section<'_>) -> Self {
        Self {
            allow_rooms: section.ids("allow_rooms", kind, Of::Rooms, true),
            allow_from: section.ids("allow_from", kind, Of::People, true),
            admins: section.ids("admins", kind, Of::People, false),
            operators: section.ids("operators", kind, Of::People, false),
            approvers: section.ids("approvers", kind, Of::People, false),
            dm_policy: section.choice("dm_policy", DmPolicy::Pairing),
        }
    }
}

impl Behaviour {
    fn read(section: &mut Section<'_>) -> Self {
        Self {
            require_mention: section.flag("require_mention", true),
            thread_follow: section.choice("thread_follow", ThreadFollow::Asker),
            session_scope: section.choice("session_scope", SessionScope::Thread),
            queue_mode: section.choice("queue_mode", QueueMode::Steer),
            late_after: Some(section.duration("late_after", LATE_AFTER, Duration::ZERO..=LATEST))
                .filter(|after| !after.is_zero()),
            late: section.choice("late", Late::Note),
            default_locale: section.parsed("default_locale", "a language such as \"en\" or \"zh-CN\"", |text| {
                let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
                (plain && text.starts_with(|c: char| c.is_ascii_alphabetic())).then(|| text.to_owned())
            }),
            timezone: section
                .parsed("timezone", "a time zone such as \"UTC\" or \"Europe/Berlin\"", |text| TimeZone::get(text).ok())
                .unwrap_or(TimeZone::UTC),
            streaming: Streaming::read(section),
        }
    }
}

impl Streaming {
    fn read(section: &mut Section<'_>) -> Self {
        let on = section.flag("block_streaming", false);
        let break_at = section.choice("block_streaming_break", BreakAt::TextEnd);
        let chunk = section.section("block_streaming_chunk", |section| {
            let (min, max) = (section.count("min", 800, 1..=100_000), section.count("max", 1200, 1..=100_000));
            if min > max {
                section.wrong("min", format!("expected no more than max, which is {max}, got {min}"));
            }
            Chunk { min, max }
        });
        let coalesce = section.count("block_streaming_coalesce_ms", 1000, 0..=60_000);
        Self { on, break_at, chunk, coalesce: Duration::from_millis(coalesce as u64) }
    }
}
