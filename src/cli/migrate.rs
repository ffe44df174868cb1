//! `watchfloor migrate`: brings the store's tables up to date. `serve` does the same; this is for those who want to do it
//! beforehand.

use std::process::ExitCode;

use anyhow::Context;
use secrecy::ExposeSecret;

use super::say;
use crate::{config::Config, store::Store};

pub(super) async fn run(config: Config) -> anyhow::Result<ExitCode> {
    let store = Store::open(config.store.url.expose_secret()).await.context("the store can't be opened")?;
    store.migrate().await.context("the store can't be brought up to date")?;
    store.close().await;
    say("the store is up to date");
    Ok(ExitCode::SUCCESS)
}
