//! `watchfloor drill`: an incident rehearsed end to end on loopback platforms, with a recorded model and recorded
//! telemetry. The demo, the bench and the proof that a build does its main job.

mod check;
mod judge;
mod keep;
mod live;
mod platform;
mod play;
mod record;
mod report;
mod scenario;
mod shipped;
mod show;
mod stage;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context;
use tokio_util::sync::CancellationToken;

use self::{
    judge::Verdict,
    platform::Kind,
    play::{Performed, Play, Played},
    record::Recording,
    report::Report,
    scenario::{Scenario, Source},
    show::Show,
    stage::Stage,
};
use crate::{clock::SharedClock, config::Config, lifecycle::Signals};

/// What running turns get after a play; after ctrl-c they get nothing.
const DRAIN: Duration = Duration::from_secs(5);

/// As a shell counts a command that was ended by ctrl-c.
const INTERRUPTED: u8 = 130;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A shipped scenario's name, or a file.
    #[arg(default_value = shipped::FIRST)]
    scenario: String,
    /// Lists the shipped scenarios and plays nothing.
    #[arg(long)]
    list: bool,
    /// Prints one JSON object at the end instead of the thread.
    #[arg(long)]
    json: bool,
    /// Lets the configured model answer instead of the recorded one; expectations become a score.
    #[arg(long)]
    live: bool,
    /// With --live: fails if fewer expectations held.
    #[arg(long, value_name = "COUNT", requires = "live")]
    min_score: Option<usize>,
    /// With --live: writes the run as a scenario, which then plays without a model.
    #[arg(long, value_name = "FILE", requires = "live")]
    record: Option<PathBuf>,
    /// Afterwards leaves everything up until ctrl-c, to be talked to.
    #[arg(long, conflicts_with = "json")]
    keep: bool,
    /// The platforms to play it on, instead of the scenario's own.
    #[arg(long, value_name = "PLATFORM", value_delimiter = ',')]
    on: Vec<Kind>,
}

/// Exit code 0 only if every expectation of the scenario held; with a live model, if it ended with an answer.
pub(super) async fn run(
    args: Args,
    clock: SharedClock,
    load: impl FnOnce() -> anyhow::Result<Config>,
) -> anyhow::Result<ExitCode> {
    if args.list {
        shipped::list().into_iter().for_each(super::say);
        return Ok(ExitCode::SUCCESS);
    }
    let source = Source::find(&args.scenario)?;
    let mut scenario = source.read()?;
    if !args.on.is_empty() {
        scenario.platforms = args.on.clone();
    }
    if args.record.is_some() {
        // What is written down is one telling of the story.
        scenario.platforms.truncate(1);
    }
    scenario.platforms.sort_unstable();
    scenario.platforms.dedup();
    let models = if args.live { Some(live::models(&load()?)?) } else { None };
    let within = if args.live { scenario.timeout.max(live::AT_LEAST) } else { scenario.timeout };

    let mut signals = Signals::listen()?;
    let stage = tokio::select! {
        stage = Stage::set(&scenario, models, clock) => stage?,
        () = signals.next() => return Ok(interrupted()),
    };
    let title = format!("{}: {}", scenario.name, scenario.about);
    let mut show = if args.json { Show::nothing() } else { Show::open(title) };
    let performed = perform(&scenario, &stage, &mut show, within, &mut signals).await;
    show.close();
    let Some(performed) = performed.transpose()? else {
        stage.strike(Duration::ZERO).await;
        return Ok(interrupted());
    };
    // What closes with the stage.
    let recording = match &args.record {
        Some(_) => Some(Recording::read(&scenario, &stage.app.store).await?),
        None => None,
    };
    let judged = if args.keep {
        let judged = Judged::new(&args, &scenario, performed.collect(&scenario, &stage.sims));
        judged.tell(&args, &scenario);
        keep::keep(&scenario, &stage, &performed.said, &mut signals).await?;
        stage.strike(DRAIN).await;
        judged
    } else {
        let sims = stage.close(DRAIN).await;
        let judged = Judged::new(&args, &scenario, performed.collect(&scenario, &sims));
        sims.stop().await;
        judged.tell(&args, &scenario);
        judged
    };
    if let (Some(file), Some(recording)) = (&args.record, recording) {
        let name = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy();
        let text = recording.write(&source, &name, &judged.played)?;
        std::fs::write(file, text).with_context(|| format!("{} can't be written", file.display()))?;
    }
    Ok(if judged.passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What came of it, and what that is worth.
struct Judged {
    played: Played,
    verdicts: Vec<Verdict>,
    passed: bool,
}

impl Judged {
    fn new(args: &Args, scenario: &Scenario, played: Played) -> Self {
        let verdicts = judge::verdicts(&scenario.expect, &played);
        let held = verdicts.iter().filter(|verdict| verdict.held()).count();
        let passed = if args.live {
            live::answered(&played) && held >= args.min_score.unwrap_or(0)
        } else {
            judge::failures(&verdicts, &played).is_empty()
        };
        Self { played, verdicts, passed }
    }

    fn tell(&self, args: &Args, scenario: &Scenario) {
        let Self { played, verdicts, passed } = self;
        let report = Report { scenario, played, verdicts, live: args.live, passed: *passed };
        if args.json {
            super::say(report.json());
        } else {
            report.lines().into_iter().for_each(super::say);
        }
    }
}

/// Nothing if somebody ended it before its time.
async fn perform(
    scenario: &Scenario,
    stage: &Stage,
    show: &mut Show,
    within: Duration,
    signals: &mut Signals,
) -> Option<anyhow::Result<Performed>> {
    let enough = CancellationToken::new();
    let (app, sims) = (&stage.app, &stage.sims);
    let play = Play { scenario, app, sims, show, within, enough: enough.clone() };
    tokio::select! {
        performed = play.run() => Some(performed),
        () = enough.cancelled() => None,
        () = signals.next() => None,
    }
}

fn interrupted() -> ExitCode {
    super::say("interrupted");
    ExitCode::from(INTERRUPTED)
}
