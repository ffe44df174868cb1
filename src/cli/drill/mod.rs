//! `watchfloor drill`: an incident rehearsed end to end on loopback platforms, with a recorded model and recorded
//! telemetry. The demo, the bench and the proof that a build does its main job.

mod judge;
mod play;
mod report;
mod scenario;
mod show;

use std::process::ExitCode;

use crate::clock::SharedClock;
use scenario::Scenario;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A shipped scenario's name, or a file.
    #[arg(default_value = "checkout-502")]
    scenario: String,
    /// Prints one JSON object at the end instead of the thread.
    #[arg(long)]
    json: bool,
}

/// Exit code 0 only if every expectation of the scenario held.
pub(super) async fn run(args: Args, clock: SharedClock) -> anyhow::Result<ExitCode> {
    let scenario = Scenario::find(&args.scenario)?;
    let show = if args.json { show::Show::Nothing } else { show::Show::Thread(show::Thread::default()) };
    let played = play::play(&scenario, clock, show).await?;
    let failures = judge::failures(&scenario.expect, &played);
    if args.json {
        super::say(report::json(&scenario, &played, &failures));
    } else {
        report::lines(&scenario, &played, &failures).into_iter().for_each(super::say);
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
