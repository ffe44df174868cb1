//! `watchfloor drill`: an incident rehearsed end to end on loopback platforms, with a recorded model and recorded
//! telemetry. The demo, the bench and the proof that a build does its main job.

mod judge;
mod live;
mod play;
mod report;
mod scenario;
mod shipped;
mod show;
mod stage;

use std::{process::ExitCode, time::Duration};

use tokio_util::sync::CancellationToken;

use self::{
    play::{Performed, Play},
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
    let scenario = source.read()?;
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
    let sims = stage.close(DRAIN).await;
    let played = performed.collect(&scenario, &sims);
    sims.stop().await;

    let verdicts = judge::verdicts(&scenario.expect, &played);
    let held = verdicts.iter().filter(|verdict| verdict.held()).count();
    let passed = if args.live {
        live::answered(&played) && held >= args.min_score.unwrap_or(0)
    } else {
        judge::failures(&verdicts, &played).is_empty()
    };
    let report = Report { scenario: &scenario, played: &played, verdicts: &verdicts, live: args.live, passed };
    if args.json {
        super::say(report.json());
    } else {
        report.lines().into_iter().for_each(super::say);
    }
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
