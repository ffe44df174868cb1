//! `watchfloor doctor`: asks each platform whether what the configuration says works, and says how to mend what doesn't.
//! Nothing is received, nothing is written down.

use std::{process::ExitCode, sync::Arc, time::Duration};

use serde::Serialize;
use tokio::{task::JoinSet, time::timeout};
use watchfloor_channel::{ChannelAdapter, Finding, Notes, ShortMemory};

use super::say;
use crate::{
    app,
    clock::SharedClock,
    config::{ChannelConfig, Config, ConfigErrors, check_built, who},
};

/// For all questions to one platform.
const WITHIN: Duration = Duration::from_secs(60);
/// Each room is a call or two.
const ROOMS: usize = 50;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Prints one JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    channels: Vec<Examined>,
}

#[derive(Debug, Serialize)]
struct Examined {
    name: String,
    kind: &'static str,
    mode: &'static str,
    /// Why it is off, if nobody has begun to set it up.
    off: Option<String>,
    who_may_talk: Option<String>,
    findings: Vec<Found>,
}

#[derive(Debug, Serialize)]
struct Found {
    ok: bool,
    what: String,
    remedy: Option<String>,
}

/// Exit code 1 if anything is wrong.
pub(super) async fn run(args: Args, config: Config, clock: SharedClock) -> anyhow::Result<ExitCode> {
    let (_, errors) = check_built(&config);
    if !errors.is_empty() {
        return Err(ConfigErrors(errors).into());
    }
    let report = examine(&config, &clock).await?;
    if args.json {
        say(serde_json::to_string_pretty(&report)?);
    } else {
        report.lines().into_iter().for_each(say);
    }
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn examine(config: &Config, clock: &SharedClock) -> anyhow::Result<Report> {
    let notes = |_| Arc::new(ShortMemory::default()) as Arc<dyn Notes>;
    let mut asking = JoinSet::new();
    for (channel, adapter) in app::adapters(config, clock, &notes)? {
        let rooms = rooms(&channel);
        asking.spawn(async move { (channel.name, ask(&*adapter, &rooms).await) });
    }
    let mut answers = asking.join_all().await;
    let channels = config.channels.iter().map(|channel| {
        let asked = answers.iter().position(|(name, _)| *name == channel.name);
        examined(channel, asked.map(|at| answers.swap_remove(at).1))
    });
    let channels: Vec<_> = channels.collect();
    let ok = channels.iter().flat_map(|channel| &channel.findings).all(|finding| finding.ok);
    Ok(Report { ok, channels })
}

/// Where everything is allowed, none is named.
fn rooms(channel: &ChannelConfig) -> Vec<String> {
    let allowed = &channel.access.allow_rooms;
    if allowed.iter().any(|room| room == "*") { Vec::new() } else { allowed.clone() }
}

async fn ask(adapter: &dyn ChannelAdapter, rooms: &[String]) -> Vec<Finding> {
    let (asked, left_out) = rooms.split_at(rooms.len().min(ROOMS));
    let mut findings = timeout(WITHIN, adapter.doctor(asked)).await.unwrap_or_else(|_| {
        let remedy =
            format!("nothing within {} s: look at the way out (name service, firewall, proxy)", WITHIN.as_secs());
        vec![Finding::wrong("the platform answers", remedy)]
    });
    if !left_out.is_empty() {
        let left_out = left_out.len();
        findings.push(Finding::fine(format!("not looked at: {left_out} more of allow_rooms, after the first {ROOMS}")));
    }
    findings
}

fn examined(channel: &ChannelConfig, findings: Option<Vec<Finding>>) -> Examined {
    let missing = channel.missing();
    let mut findings: Vec<_> = findings.unwrap_or_default().into_iter().map(Found::from).collect();
    if channel.is_begun() && !missing.is_empty() {
        let remedy = Some(format!("set {}", missing.join(", ")));
        findings.push(Found { ok: false, what: "the channel has what it needs to be on".to_owned(), remedy });
    }
    Examined {
        name: channel.name.clone(),
        kind: channel.kind().as_str(),
        mode: channel.platform.mode(),
        off: (!channel.is_begun()).then(|| format!("{} not set", missing.join(", "))),
        who_may_talk: missing.is_empty().then(|| who(channel)),
        findings,
    }
}

impl From<Finding> for Found {
    fn from(Finding { ok, what, remedy }: Finding) -> Self {
        Self { ok, what, remedy }
    }
}

impl Report {
    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.channels.iter().flat_map(Examined::lines).collect();
        if lines.is_empty() {
            lines.push("channels: none".to_owned());
        }
        lines
    }
}

impl Examined {
    fn lines(&self) -> Vec<String> {
        let head = format!("{} ({}, {})", self.name, self.kind, self.mode);
        let mut lines = vec![match &self.off {
            Some(why) => format!("{head}: off: {why}"),
            None => head,
        }];
        for finding in &self.findings {
            lines.push(format!("  {} {}", if finding.ok { "✓" } else { "✗" }, finding.what));
            lines.extend(finding.remedy.iter().map(|remedy| format!("    {remedy}")));
        }
        lines.extend(self.who_may_talk.iter().map(|who| format!("  who may talk: {who}")));
        lines
    }
}
