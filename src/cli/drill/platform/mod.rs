//! The platforms a drill is played on, each as its people know it. A scenario names people, rooms and threads; what these are
//! on a platform is that platform's file.

mod feishu;
mod markdown;
pub(super) mod mrkdwn;
mod slack;
mod telegram;

use std::{fmt, time::Duration};

use anyhow::Context;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    scenario::{Named, Said, Scenario},
    show::Pane,
};

/// Wide enough to tell threads apart, short enough for a pane's frame.
const TITLE_CHARS: usize = 28;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Slack,
    Telegram,
    Feishu,
}

/// A message of the bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// The thread it stands in.
    pub thread: String,
    /// Oldest first; the first is what was posted.
    pub versions: Vec<Version>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    /// On the platform's own scale, see [`Platform::elapsed`].
    pub at: Duration,
    pub text: String,
}

impl Message {
    /// As it reads now.
    pub(super) fn text(&self) -> &str {
        self.versions.last().map_or("", |version| &version.text)
    }
}

#[async_trait]
pub(super) trait Platform: Send + Sync {
    fn kind(&self) -> Kind;

    /// The `[[channels]]` entry that reaches it.
    fn configuration(&self) -> String;

    /// Since it was started.
    fn elapsed(&self) -> Duration;

    /// `thread` is that of an earlier message; without one the message begins its own.
    async fn say(&self, words: Words<'_>, thread: Option<&str>) -> Spoken;

    /// What was said and the bot has not taken yet.
    fn unheard(&self) -> usize;

    /// The bot's messages, oldest first.
    fn ours(&self, scenario: &Scenario) -> Vec<Message>;

    /// Counts as looking at every message.
    fn panes(&self, scenario: &Scenario) -> Vec<Pane>;

    /// Broken rules of the platform, and messages that nobody looked at.
    fn complaints(&self) -> Vec<String>;

    /// Where and as whom its API is asked.
    fn api(&self) -> String;

    async fn stop(self: Box<Self>);
}

/// A message of somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spoken {
    pub id: String,
    /// Where an answer to it belongs.
    pub thread: String,
}

/// Something that is said, with the bot called [`super::scenario::BOT`].
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub scenario: &'a Scenario,
    pub room: &'a Named,
    /// Nobody: an alert bot, with this title.
    pub person: Option<&'a Named>,
    pub title: Option<&'a str>,
    pub text: &'a str,
}

impl<'a> Words<'a> {
    pub(super) fn of(scenario: &'a Scenario, said: &'a Said) -> Option<Self> {
        let find = |all: &'a [Named], name: &str| all.iter().find(|named| named.name == name);
        Some(Self {
            scenario,
            room: find(&scenario.rooms, &said.room)?,
            person: said.person.as_deref().and_then(|name| find(&scenario.people, name)),
            title: said.title.as_deref(),
            text: &said.text,
        })
    }
}

fn short(text: &str, chars: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(chars).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

pub(super) async fn start(kind: Kind, scenario: &Scenario) -> anyhow::Result<Box<dyn Platform>> {
    let platform: Box<dyn Platform> = match kind {
        Kind::Slack => Box::new(slack::Slack::start(scenario).await.context("the simulated Slack can't start")?),
        Kind::Telegram => {
            Box::new(telegram::Telegram::start(scenario).await.context("the simulated Telegram can't start")?)
        }
        Kind::Feishu => Box::new(feishu::Feishu::start(scenario).await.context("the simulated Feishu can't start")?),
    };
    Ok(platform)
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Slack => "slack",
            Self::Telegram => "telegram",
            Self::Feishu => "feishu",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slack => "Slack",
            Self::Telegram => "Telegram",
            Self::Feishu => "Feishu",
        })
    }
}
