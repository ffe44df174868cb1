//! `watchfloor agents lint`: everything that is wrong with files of personas, for people and for scripts.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, bail};
use clap::Subcommand;

use super::say;
use crate::{
    app,
    config::Config,
    persona::{Lint, Roots, Severity, lint},
};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Looks through files of personas. Exit code 1 if one of them doesn't load.
    Lint(Args),
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder to look through, instead of the configured ones.
    dir: Option<PathBuf>,
    /// For scripts: one JSON document.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, config: &Config) -> anyhow::Result<ExitCode> {
    let roots = match args.dir {
        Some(dir) if !dir.is_dir() => bail!("{} isn't a folder", dir.display()),
        Some(dir) => Roots { dir: Some(dir), external: Vec::new() },
        None => app::persona_roots(&config.agents),
    };
    let found = lint(&roots, &app::surroundings(config));
    if args.json {
        say(serde_json::to_string_pretty(&found).context("the findings can't be written as JSON")?);
    } else {
        print(&found);
    }
    Ok(if found.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(found: &Lint) {
    for problem in &found.problems {
        let severity = if problem.severity == Severity::Error { "error" } else { "warning" };
        let (path, line, column, code, message) =
            (&problem.path, problem.line, problem.column, problem.code, &problem.message);
        say(format_args!("{path}:{line}:{column}: {severity}: {message} [{code}]"));
        if !problem.hint.is_empty() {
            say(format_args!("    {}", problem.hint));
        }
    }
    let loaded = found.personas.iter().filter(|persona| persona.loaded).count();
    let errors = found.problems.iter().filter(|problem| problem.is_error()).count();
    let warnings = found.problems.len() - errors;
    let files = found.personas.len();
    say(format_args!("{files} files, {loaded} loaded; errors: {errors}, warnings: {warnings}"));
}
