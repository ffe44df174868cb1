//! A drill with a real model: the one that `serve` would ask. Platforms and telemetry stay simulated.

use std::time::Duration;

use anyhow::bail;

use super::play::Played;
use crate::config::{self, Config};

/// Models think longer than recordings.
pub(super) const AT_LEAST: Duration = Duration::from_secs(300);

/// What is configured under `[models]`, if the default one can be asked.
pub(super) fn models(config: &Config) -> anyhow::Result<config::Models> {
    let models = &config.models;
    match models.provider_of(&models.default) {
        Some((_, provider)) if provider.is_configured() => Ok(models.clone()),
        Some((name, _)) => bail!(
            "--live asks the configured model, and models.default = {:?} can't be asked: set \
             models.providers.{name}.api_key, or name another model in models.default (--config FILE says which file)",
            models.default
        ),
        None => bail!("--live asks the configured model: set models.default to one of your models.providers"),
    }
}

/// Whether the run ended, and with something to read.
pub(super) fn answered(played: &Played) -> bool {
    played.answered && played.messages().any(|message| !message.text().trim().is_empty())
}
