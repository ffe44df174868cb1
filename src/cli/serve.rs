//! `watchfloor serve`: the service itself. Standard output tells how it is doing in short lines; the log is elsewhere.

use std::{collections::HashMap, process::ExitCode};

use tokio::task::JoinSet;

use self::announce::announce;
use super::say;
use crate::{
    app::App,
    clock::SharedClock,
    config::{Config, describe, who},
    lifecycle::{Ending, Signals},
};

mod announce;

pub(super) async fn run(config: Config, clock: SharedClock) -> anyhow::Result<ExitCode> {
    for line in describe(&config) {
        say(line);
    }
    let mut who_may_talk: HashMap<_, _> =
        config.channels.iter().map(|channel| (channel.name.clone(), who(channel))).collect();
    // A signal during a long start is kept for its end.
    let signals = Signals::listen()?;
    let app = App::start(config, clock).await?;
    say(format_args!("listening on http://{}", app.address()));
    let mut lines = JoinSet::new();
    for channel in app.channels() {
        let who = who_may_talk.remove(&channel.name).unwrap_or_default();
        lines.spawn(announce(channel.name.clone(), who, channel.state.clone(), say));
    }
    let ending = signals
        .run(async move |drain| {
            // That channels close now is no news.
            lines.shutdown().await;
            app.stop(drain).await;
        })
        .await;
    Ok(match ending {
        Ending::Orderly => ExitCode::SUCCESS,
        Ending::CutShort => ExitCode::FAILURE,
    })
}
