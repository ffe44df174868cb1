//! The command line: one file a command, and what all of them share.

mod agents;
mod config;
mod doctor;
mod drill;
mod log;
mod migrate;
mod serve;
mod slack;

use std::{
    ffi::OsString,
    io::{IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use crate::{
    clock::{SharedClock, SystemClock},
    config::{Config, Env},
};

/// The on-call bot that lives where on-call people talk.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Cli {
    /// The configuration file. Without it WATCHFLOOR_CONFIG, without that none.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What is logged, such as `debug` or `info,watchfloor::coordinator=debug`. Else WATCHFLOOR_LOG, else `info`.
    #[arg(long, global = true, value_name = "FILTER")]
    log_level: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the bot until it is told to stop.
    Serve,
    /// Rehearses an incident on loopback platforms with a recorded model.
    Drill(drill::Args),
    /// Asks each platform whether what it was given works, and says how to mend what doesn't.
    Doctor(doctor::Args),
    /// Looks after personas.
    #[command(subcommand)]
    Agents(agents::Command),
    /// Looks at the configuration without starting anything.
    #[command(subcommand)]
    Config(config::Command),
    /// Brings the store's tables up to date.
    Migrate,
    /// Helps to set up Slack.
    #[command(subcommand)]
    Slack(slack::Command),
}

/// Runs the command line it is given.
pub async fn run() -> ExitCode {
    let cli = Cli::parse();
    // A variable that isn't text can't be one of ours.
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let env: Env = std::env::vars_os().filter_map(text).collect();
    let quiet = match cli.command {
        // A drill is watched; log lines would stand in its way.
        Command::Drill(_) => "off",
        // What is wrong stands among its findings.
        Command::Doctor(_) | Command::Agents(_) => "error",
        _ => "info",
    };
    let written = env.get("WATCHFLOOR_LOG").map(String::as_str).filter(|filter| !filter.is_empty());
    let filter = cli.log_level.as_deref().or(written).unwrap_or(quiet);
    let filter = match EnvFilter::try_new(filter) {
        Ok(filter) => filter,
        Err(error) => return fail(&anyhow::anyhow!("the log filter {filter:?} can't be read: {error}")),
    };
    let colours = std::io::stderr().is_terminal() && env.get("NO_COLOR").is_none_or(String::is_empty);
    log::begin(filter, colours);
    let load = || -> anyhow::Result<Config> { Ok(crate::config::load(cli.config.as_deref(), &env)?) };
    let clock: SharedClock = Arc::new(SystemClock);
    let done = match cli.command {
        Command::Serve => match load() {
            Ok(config) => serve::run(config, clock).await,
            Err(error) => Err(error),
        },
        Command::Doctor(args) => match load() {
            Ok(config) => doctor::run(args, config, clock).await,
            Err(error) => Err(error),
        },
        Command::Drill(args) => drill::run(args, clock, load).await,
        Command::Agents(agents::Command::Lint(args)) => load().and_then(|config| agents::run(args, &config)),
        Command::Config(config::Command::Check) => load().and_then(|config| config::check(&config)),
        Command::Slack(slack::Command::Manifest(args)) => slack::manifest(args),
        Command::Migrate => match load() {
            Ok(config) => migrate::run(config).await,
            Err(error) => Err(error),
        },
    };
    match done {
        Ok(code) => code,
        Err(error) => fail(&error),
    }
}

fn fail(error: &anyhow::Error) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "watchfloor: {error:#}");
    ExitCode::FAILURE
}

/// One line for the person at the terminal. Nobody may be there any more, and that is no reason to end.
fn say(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
