//! A drill's scenario: who says what, what the model and the telemetry were recorded to answer, and what must come of it.
//! `docs/drills.md` describes the file; a mistake in one is told with file, line and column.

use std::{collections::HashSet, path::Path, time::Duration};

use anyhow::{Context, bail};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use watchfloor_sim::{ModelScript, TelemetryScript};

use super::shipped;

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
        let scenario: Scenario = serde_yaml::from_str(&self.text)?;
        scenario.check()?;
        Ok(scenario)
    }
}

impl Scenario {
    fn check(&self) -> anyhow::Result<()> {
        let mut threads = HashSet::new();
        for (index, said) in self.say.iter().enumerate() {
            let place = format!("say[{index}]");
            if !self.rooms.iter().any(|room| room.name == said.room) {
                bail!("{place}.room: no room is named {:?}", said.room);
            }
            match (&said.person, &said.alert) {
                (Some(person), _) if !self.people.iter().any(|known| known.name == *person) => {
                    bail!("{place}.person: nobody is named {person:?}")
                }
                (None, None) => bail!("{place}: expected person, or alert for a message of an alert bot"),
                _ => {}
            }
            if let Some(thread) = &said.thread
                && !threads.contains(thread)
            {
                bail!("{place}.thread: no earlier message has the id {thread:?}");
            }
            threads.extend(said.alert.clone());
        }
        if self.mentions() == 0 {
            bail!("say: nobody mentions {BOT}, so nothing would happen");
        }
        for (index, change) in self.changes.iter().enumerate() {
            change.before().with_context(|| format!("changes[{index}].time"))?;
        }
        Ok(())
    }

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
        for (name, text) in SHIPPED {
            assert_eq!(Scenario::parse(text).unwrap().name, name);
        }
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        let (_, text) = SHIPPED[0];
        let cases = [
            (text.replace("person: Jon", "person: Jonn"), "say[1].person: nobody is named \"Jonn\""),
            (text.replace("thread: page", "thread: pager"), "say[1].thread: no earlier message has the id \"pager\""),
            (text.replace("-16m", "16m"), "changes[1].time"),
            (text.replace("  placeholder: true", "  place_holder: true"), "place_holder"),
            (text.replace(BOT, "you"), "say: nobody mentions @watchfloor, so nothing would happen"),
        ];
        for (text, expected) in cases {
            let error = format!("{:#}", Scenario::parse(&text).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
