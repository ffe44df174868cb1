//! `watchfloor config check`: what the configuration means, or everything that is wrong with it.

use std::process::ExitCode;

use clap::Subcommand;

use super::say;
use crate::config::{Config, ConfigErrors, check_built, describe};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Exit code 0 if `serve` would start with it.
    Check,
}

pub(super) fn check(config: &Config) -> anyhow::Result<ExitCode> {
    let (notes, errors) = check_built(config);
    for line in describe(config) {
        say(line);
    }
    for note in notes {
        say(note);
    }
    if errors.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(ConfigErrors(errors).into()) }
}
