//! A drill's scenario: who says what, what the model and the telemetry were recorded to answer, and what must come of it.
//! `docs/drills.md` describes the file; what is wrong with one is `check`'s business.

use std::{path::Path, time::Duration};

use anyhow::{Context, anyhow, bail};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use watchfloor_sim::{ModelScript, TelemetryScript};

use super::{check, platform::Kind, shipped};

/// How the bot is addressed in a scenario's texts.
pub(super) const BOT: &str = "@watchfloor";

/// A scenario as it is written.
pub(super) struct Source {
    /// A shipped one's name, or a file's.
    pub name: String,
    pub text: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub name: String,
    /// One line for people.
    pub about: String,
    /// Where it is played, at once. What is expected of the bot's messages is expected on each.
    #[serde(default = "on_slack")]
    pub platforms: Vec<Kind>,
    pub people: Vec<Named>,
    pub rooms: Vec<Named>,
    #[serde(default)]
    pub changes: Vec<Change>,
    pub say: Vec<Said>,
    pub model: ModelScript,
    #[serde(default)]
    pub telemetry: TelemetryScript,
    pub expect: Expect,
    /// Longer than this it can't take.
    #[serde(default = "minute", deserialize_with = "span")]
    pub timeout: Duration,
}

/// A person or a room, with the platform's id.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    pub id: String,
    pub name: String,
}

/// As `POST /api/v1/hooks/changes` takes it, but for the time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    /// Before the start of the drill, such as `-16m`.
    pub time: String,
    pub kind: String,
    pub title: String,
    pub service: Option<String>,
    pub author: Option<String>,
    pub url: Option<String>,
    pub details: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Said {
    pub room: String,
    /// A name for this message, for others to answer in its thread.
    #[serde(default, alias = "id")]
    pub alert: Option<String>,
    pub title: Option<String>,
    /// Who says it; an alert has nobody.
    pub person: Option<String>,
    /// The message in whose thread it is said.
    pub thread: Option<String>,
    pub text: String,
    /// Pause before it.
    #[serde(default, deserialize_with = "span")]
    pub after: Duration,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    /// The first message of the bot is a placeholder that later changes.
    #[serde(default)]
    pub placeholder: bool,
    /// Each was shown at some time before the answer.
    #[serde(default)]
    pub interim: Vec<String>,
    /// Personas that worked, in this order.
    #[serde(default)]
    pub workers: Vec<String>,
    /// Tools that were called, each at least once.
    #[serde(default)]
    pub tools: Vec<String>,
    #[serde(default)]
    pub final_contains: Vec<String>,
    /// Messages of the bot in all.
    pub messages: Option<usize>,
}

impl Source {
    /// A shipped one by its name, else a file.
    pub(super) fn find(which: &str) -> anyhow::Result<Self> {
        if let Some((name, text)) = shipped::ALL.iter().find(|(name, _)| *name == which) {
            return Ok(Self { name: (*name).to_owned(), text: (*text).to_owned() });
        }
        let path = Path::new(which);
        if !path.exists() {
            let names: Vec<_> = shipped::ALL.iter().map(|(name, _)| *name).collect();
            bail!("there is no scenario {which:?}: name a file or one of: {}", names.join(", "));
        }
        let text = std::fs::read_to_string(path).with_context(|| format!("{which} can't be read"))?;
        Ok(Self { name: which.to_owned(), text })
    }

    pub(super) fn read(&self) -> anyhow::Result<Scenario> {
        check::check(&self.name, &self.text)?;
        serde_yaml::from_str(&self.text).map_err(|error| anyhow!(check::unreadable(&self.name, &error)))
    }
}

impl Scenario {
    /// How often the bot is asked.
    pub(super) fn mentions(&self) -> usize {
        self.say.iter().filter(|said| said.text.contains(BOT)).count()
    }
}

impl Change {
    pub(super) fn before(&self) -> anyhow::Result<Duration> {
        let span = self.time.strip_prefix('-').and_then(|span| humantime::parse_duration(span).ok());
        span.with_context(|| format!("expected a time before the start such as -16m, got {:?}", self.time))
    }
}

fn on_slack() -> Vec<Kind> {
    vec![Kind::Slack]
}

fn minute() -> Duration {
    Duration::from_secs(60)
}

fn span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_scenarios_are_well_formed_and_named_after_their_file() {
        for (name, _) in shipped::ALL {
            assert_eq!(Source::find(name).unwrap().read().unwrap().name, name);
        }
    }
}
