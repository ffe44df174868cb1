//! `watchfloor slack manifest`: what to create the Slack app from.

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Subcommand, ValueEnum};
use url::Url;

use super::say;
use crate::{
    app::{SlackDelivery, SlackManifest},
    config,
};

/// What Slack takes for an app's name.
const LONGEST_NAME: usize = 35;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Prints the manifest for api.slack.com, Create New App, From a manifest.
    Manifest(Args),
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How Slack brings events: over a web socket that watchfloor opens, or as HTTP requests to it.
    #[arg(value_enum, default_value_t = Mode::Socket)]
    mode: Mode,
    /// Where Slack reaches this service, such as https://watchfloor.example.com; for `events`.
    #[arg(long, value_name = "URL", required_if_eq("mode", "events"))]
    url: Option<Url>,
    /// The channel's name in the configuration; for `events`.
    #[arg(long, value_name = "NAME", default_value = "slack")]
    channel: String,
    /// What people mention.
    #[arg(long, value_name = "NAME", default_value = "watchfloor")]
    name: String,
    /// May be installed once for a whole Enterprise organization.
    #[arg(long)]
    org: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    Socket,
    Events,
}

pub(super) fn manifest(args: Args) -> anyhow::Result<ExitCode> {
    let length = args.name.chars().count();
    if !(1..=LONGEST_NAME).contains(&length) || args.name.chars().any(char::is_control) {
        bail!("--name: expected 1 to {LONGEST_NAME} characters, got {length}");
    }
    let delivery = match (args.mode, args.url) {
        (Mode::Socket, Some(_)) => {
            bail!("--url: Slack calls no address in socket mode; leave it out, or ask for `events`")
        }
        (Mode::Socket, None) => SlackDelivery::Socket,
        (Mode::Events, url) => SlackDelivery::Events(request_url(url, &args.channel)?),
    };
    say(SlackManifest { name: args.name, delivery, org: args.org }.yaml().trim_end());
    Ok(ExitCode::SUCCESS)
}

/// Slack accepts https alone.
fn request_url(url: Option<Url>, channel: &str) -> anyhow::Result<Url> {
    let mut url = url.context("--url: expected where Slack reaches this service, got nothing")?;
    if url.scheme() != "https" || url.host().is_none() {
        bail!("--url: expected an address that begins with https://, since Slack calls no other");
    }
    url.set_query(None);
    url.set_fragment(None);
    config::request_url(&url, channel).context("--url: expected an address with a host")
}
