//! `watchfloor serve`: the service itself.

use std::process::ExitCode;

use watchfloor_channel::ChannelState;

use super::say;
use crate::{
    app::App,
    clock::SharedClock,
    config::{Config, describe},
    lifecycle::Signals,
};

pub(super) async fn run(config: Config, clock: SharedClock) -> anyhow::Result<ExitCode> {
    for line in describe(&config) {
        say(line);
    }
    let signals = Signals::listen()?;
    let app = App::start(config, clock).await?;
    say(format_args!("listening on http://{}", app.address()));
    for channel in app.channels() {
        let (name, mut state) = (channel.name.clone(), channel.state.clone());
        if let ChannelState::Off(reason) = &*state.borrow_and_update() {
            say(format_args!("{name}: off: {reason}"));
        }
    }
    signals.run(async |drain| app.stop(drain).await).await;
    Ok(ExitCode::SUCCESS)
}
