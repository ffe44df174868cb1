//! The program itself, among a Slack and a model: ours or somebody else's.

use std::process::Stdio;

use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    task::JoinSet,
};
use watchfloor_sim::slack::{APP_TOKEN, BOT_TOKEN, SlackSim};

use crate::judge::{Lines, first, listen};

/// Ends with its handle.
#[derive(Debug)]
pub(crate) struct Service {
    _process: Child,
    _place: TempDir,
    said: Lines,
    _reader: JoinSet<()>,
}

impl Service {
    /// The lines of a model provider.
    pub(crate) fn provider(api: &str, base_url: &str, key: &str) -> String {
        format!(
            "[models]\ndefault = \"judge/judged\"\ndefault_provider = \"judge\"\n\
             [models.providers.judge]\napi = \"{api}\"\nbase_url = \"{base_url}\"\napi_key = \"{key}\"\n"
        )
    }

    /// Starts it and waits until it is connected.
    pub(crate) async fn start(slack: &SlackSim, settings: &str) -> Self {
        let channel =
            format!("app_token = \"{APP_TOKEN}\"\nbot_token = \"{BOT_TOKEN}\"\napi_url = \"{}\"\n", slack.api_url());
        Self::started(settings, &channel).await
    }

    /// The same over the Events API; where its requests go, too.
    pub(crate) async fn over_http(api_url: &str, secret: &str, settings: &str) -> (Self, String) {
        let channel = format!(
            "mode = \"events\"\nbot_token = \"{BOT_TOKEN}\"\nsigning_secret = \"{secret}\"\napi_url = \"{api_url}\"\n"
        );
        let service = Self::started(settings, &channel).await;
        let listening = first(&service.said, "listening on ").await;
        (service, format!("{}/channels/slack/events", listening.trim_start_matches("listening on ")))
    }

    async fn started(settings: &str, channel: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("config.toml");
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n[store]\nurl = \"sqlite://judged.db\"\n{settings}\
             [[channels]]\nkind = \"slack\"\nname = \"slack\"\nallow_rooms = [\"*\"]\n{channel}"
        );
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_watchfloor"));
        command.args(["--log-level", "warn", "serve", "--config"]).arg(&file).env_clear().stdin(Stdio::null());
        // The log stays with the test's own, for whoever has to read a failure.
        let mut process = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut reader = JoinSet::new();
        let said = listen(&mut reader, process.stdout.take().unwrap());
        first(&said, "slack: connected").await;
        Self { _process: process, _place: place, said, _reader: reader }
    }
}
