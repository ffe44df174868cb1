//! The program itself, among a simulated Slack and a model that somebody else wrote.

use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::{Child, Command};
use watchfloor_sim::slack::{APP_TOKEN, BOT_TOKEN, SlackSim};

/// Ends with its handle.
#[derive(Debug)]
pub(crate) struct Service {
    _process: Child,
    _place: TempDir,
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
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("config.toml");
        let channel = format!(
            "[[channels]]\nkind = \"slack\"\nname = \"slack\"\napp_token = \"{APP_TOKEN}\"\nbot_token = \"{BOT_TOKEN}\"\n\
             api_url = \"{}\"\nallow_rooms = [\"*\"]\n",
            slack.api_url()
        );
        let text =
            format!("[server]\nlisten = \"127.0.0.1:0\"\n[store]\nurl = \"sqlite://judged.db\"\n{settings}{channel}");
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_watchfloor"));
        command.args(["--log-level", "warn", "serve", "--config"]).arg(&file).env_clear().stdin(Stdio::null());
        // The log stays with the test's own, for whoever has to read a failure.
        let process = command.stdout(Stdio::null()).kill_on_drop(true).spawn().unwrap();
        slack.connected(1).await;
        Self { _process: process, _place: place }
    }
}
