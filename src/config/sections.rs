//! The small sections: store, limits, agents, workspace, sources of telemetry, hooks.

use std::{path::PathBuf, time::Duration};

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::{read::Section, store_url};

#[derive(Clone, Debug)]
pub struct Store {
    /// A secret, since it may hold a password.
    pub url: SecretString,
}

impl Store {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        let written = section.secret("url");
        let url = written.as_ref().map_or("sqlite://data/watchfloor.db", |url| url.expose_secret());
        let resolved = store_url::resolve(section.reading, url);
        if resolved.is_none() {
            section.wrong("url", "expected an address that begins with sqlite:// or postgres://, got another text");
        }
        Self { url: resolved.unwrap_or_default().into() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Turns running at once.
    pub turns: usize,
    pub turn_timeout: Duration,
    pub worker_timeout: Duration,
    pub workers_per_session: usize,
    pub workers: usize,
    /// Longest silence of a model in mid-stream.
    pub model_idle: Duration,
    /// Messages waiting for one conversation.
    pub mailbox: usize,
    /// Overheard messages kept per thread.
    pub history_limit: usize,
    /// A longer turn ends with one short reply that mentions the asker; `None` = never.
    pub notify_after: Option<Duration>,
}

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 3600);

impl Limits {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        // A default never quarrels with what is written: it gives way.
        let worker_timeout_written = section.is_written("worker_timeout");
        let per_session_written = section.is_written("workers_per_session");
        let mut limits = Self {
            turns: section.count("turns", 16, 1..=1000),
            turn_timeout: section.duration("turn_timeout", 1800 * SECOND, SECOND..=2 * DAY),
            worker_timeout: section.duration("worker_timeout", 900 * SECOND, SECOND..=2 * DAY),
            workers_per_session: section.count("workers_per_session", 4, 1..=100),
            workers: section.count("workers", 8, 1..=1000),
            model_idle: section.duration("model_idle", 120 * SECOND, SECOND..=DAY),
            mailbox: section.count("mailbox", 20, 1..=10_000),
            history_limit: section.count("history_limit", 50, 0..=10_000),
            notify_after: Some(section.duration("notify_after", 60 * SECOND, Duration::ZERO..=DAY))
                .filter(|after| !after.is_zero()),
        };
        if !worker_timeout_written {
            limits.worker_timeout = limits.worker_timeout.min(limits.turn_timeout);
        } else if limits.worker_timeout > limits.turn_timeout {
            section.wrong("worker_timeout", "expected no more than turn_timeout: a worker ends with its turn");
        }
        if !per_session_written {
            limits.workers_per_session = limits.workers_per_session.min(limits.workers);
        } else if limits.workers_per_session > limits.workers {
            section.wrong("workers_per_session", "expected no more than workers, which counts all sessions together");
        }
        limits
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agents {
    /// Need not exist.
    pub dir: PathBuf,
    pub external_dirs: Vec<PathBuf>,
    pub default_max_turns: usize,
    pub watch: bool,
    /// Beside those that are shipped, or in place of one.
    pub redirects: Vec<Redirect>,
}

/// A tool that models ask for, and the persona that stands in for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    pub name: String,
    pub target: String,
    pub reason: String,
    /// Stands in the list of tools.
    pub offered: bool,
}

/// Stubs in one list of tools.
const MOST_OFFERED: usize = 12;

impl Redirect {
    fn read(mut section: Section<'_>) -> Option<Self> {
        let written: Vec<_> = ["name", "target"].into_iter().filter(|key| section.is_written(key)).collect();
        let name = section.parsed("name", "a tool's name of letters, digits, _ and -", |text| {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
            ((1..=64).contains(&text.len()) && text.bytes().all(plain)).then(|| text.to_owned())
        });
        let target = section.text("target");
        for (key, got) in [("name", &name), ("target", &target)] {
            if got.is_none() && !written.contains(&key) {
                section.wrong(key, "expected a name, got none");
            }
        }
        let reason = section.text("reason").unwrap_or_default();
        let offered = section.flag("offered", false);
        section.close();
        Some(Self { name: name?, target: target?, reason, offered })
    }
}

impl Agents {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        let redirects = section.sections("redirects", Redirect::read).unwrap_or_default();
        if redirects.iter().filter(|redirect| redirect.offered).count() > MOST_OFFERED {
            section.wrong("redirects", format!("expected at most {MOST_OFFERED} that are offered"));
        }
        Self {
            redirects,
            dir: section.path("dir").unwrap_or_else(|| section.reading.resolve("agents")),
            external_dirs: section.paths("external_dirs").unwrap_or_default(),
            default_max_turns: section.count("default_max_turns", 15, 1..=1000),
            watch: section.flag("watch", true),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    pub dir: PathBuf,
    pub skip_bootstrap: bool,
}

impl Workspace {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        Self {
            dir: section.path("dir").unwrap_or_else(|| section.reading.resolve("workspace")),
            skip_bootstrap: section.flag("skip_bootstrap", false),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    pub prometheus: Source,
    pub loki: Source,
    pub tempo: Source,
    pub alertmanager: Source,
}

/// One telemetry server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// `None` = there is none.
    pub url: Option<Url>,
}

impl Sources {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        Self {
            prometheus: section.section("prometheus", Source::read),
            loki: section.section("loki", Source::read),
            tempo: section.section("tempo", Source::read),
            alertmanager: section.section("alertmanager", Source::read),
        }
    }
}

impl Source {
    fn read(section: &mut Section<'_>) -> Self {
        Self { url: section.url("url") }
    }
}

/// What the intakes of alerts and changes ask for; `None` = that intake is closed.
#[derive(Clone, Debug)]
pub struct Hooks {
    pub alertmanager_token: Option<SecretString>,
    pub pagerduty_secret: Option<SecretString>,
    pub changes_token: Option<SecretString>,
}

impl Hooks {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        Self {
            alertmanager_token: section.secret("alertmanager_token"),
            pagerduty_secret: section.secret("pagerduty_secret"),
            changes_token: section.secret("changes_token"),
        }
    }
}
