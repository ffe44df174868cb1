//! The command line: one file a command, and what all of them share.

mod config;
mod drill;
mod migrate;
mod serve;

use std::{path::PathBuf, process::ExitCode, sync::Arc};

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
    /// Looks at the configuration without starting anything.
    #[command(subcommand)]
    Config(config::Command),
    /// Brings the store's tables up to date.
    Migrate,
}

/// Runs the command line it is given.
pub async fn run() -> ExitCode {
    let cli = Cli::parse();
    let env: Env = std::env::vars().collect();
    // A drill is watched; log lines would stand in its way.
    let quiet = if matches!(cli.command, Command::Drill(_)) { "off" } else { "info" };
    let filter = cli.log_level.as_deref().or(env.get("WATCHFLOOR_LOG").map(String::as_str)).unwrap_or(quiet);
    let filter = match EnvFilter::try_new(filter) {
        Ok(filter) => filter,
        Err(error) => return fail(&anyhow::anyhow!("the log filter {filter:?} can't be read: {error}")),
    };
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let file = cli.config.or_else(|| env.get("WATCHFLOOR_CONFIG").map(PathBuf::from));
    let load = || -> anyhow::Result<Config> { Ok(crate::config::load(file.as_deref(), &env)?) };
    let clock: SharedClock = Arc::new(SystemClock);
    let done = match cli.command {
        Command::Serve => match load() {
            Ok(config) => serve::run(config, clock).await,
            Err(error) => Err(error),
        },
        Command::Drill(args) => drill::run(args, clock).await,
        Command::Config(config::Command::Check) => load().and_then(|config| config::check(&config)),
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

#[expect(clippy::print_stderr, reason = "a terminal is where this is read")]
fn fail(error: &anyhow::Error) -> ExitCode {
    eprintln!("watchfloor: {error:#}");
    ExitCode::FAILURE
}

/// One line for the person at the terminal.
#[expect(clippy::print_stdout, reason = "a terminal is where this is read")]
fn say(line: impl std::fmt::Display) {
    println!("{line}");
}
