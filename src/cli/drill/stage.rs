//! What a drill is played on: the simulators, and watchfloor started as it is started for real, configuration and all.

use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::header;
use serde_json::json;
use tempfile::TempDir;
use tokio::time::timeout;
use watchfloor_channel::ChannelState;
use watchfloor_sim::{ModelScript, ModelSim, TelemetrySim};

use super::{
    platform::{self, Platform},
    scenario::Scenario,
    show::{Numbers, Scene},
};
use crate::{
    app::App,
    clock::SharedClock,
    config::{self, Env},
};

const CHANGES_TOKEN: &str = "drill";
pub(super) const START_WITHIN: Duration = Duration::from_secs(20);

pub(super) struct Stage {
    pub app: App,
    pub sims: Sims,
    /// Holds the store; gone with the stage.
    place: TempDir,
}

pub(super) struct Sims {
    /// In the scenario's order.
    pub platforms: Vec<Box<dyn Platform>>,
    pub telemetry: TelemetrySim,
    /// Absent if a real model answers.
    pub model: Option<ModelSim>,
}

impl Stage {
    /// With `live`, these models answer instead of the recorded one.
    pub(super) async fn set(
        scenario: &Scenario,
        live: Option<config::Models>,
        clock: SharedClock,
    ) -> anyhow::Result<Self> {
        let sims = Sims::start(scenario, live.is_none()).await?;
        let place = tempfile::tempdir().context("no temporary directory")?;
        let file = place.path().join("drill.toml");
        let mut config = config::load_text(&configuration(&sims), Some(&file), &Env::new())?;
        if let Some(models) = live {
            config.models = models;
        }
        let app = App::start(config, clock.clone()).await?;
        connected(&app).await?;
        seed_changes(&app, scenario, clock.now_ms()).await?;
        Ok(Self { app, sims, place })
    }

    /// Stops the service; what the simulators have seen stays.
    pub(super) async fn close(self, drain: Duration) -> Sims {
        let Self { app, sims, place: _place } = self;
        app.stop(drain).await;
        sims
    }

    pub(super) async fn strike(self, drain: Duration) {
        self.close(drain).await.stop().await;
    }
}

impl Sims {
    async fn start(scenario: &Scenario, recorded_model: bool) -> anyhow::Result<Self> {
        let mut platforms = Vec::new();
        for kind in &scenario.platforms {
            platforms.push(platform::start(*kind, scenario).await?);
        }
        let telemetry = TelemetrySim::start(scenario.telemetry.clone());
        let telemetry = telemetry.await.context("the simulated telemetry can't start")?;
        let model = if recorded_model {
            Some(ModelSim::start(for_all(scenario)).await.context("the simulated model can't start")?)
        } else {
            None
        };
        Ok(Self { platforms, telemetry, model })
    }

    /// What the platforms show at this moment.
    pub(super) fn scene(&self, scenario: &Scenario) -> Scene {
        Scene { panes: self.platforms.iter().flat_map(|platform| platform.panes(scenario)).collect() }
    }

    /// What they found wrong: broken rules of a platform, odd requests to the model, things nobody expected.
    pub(super) fn complaints(&self) -> Vec<String> {
        let mut complaints = self.model.as_ref().map(ModelSim::complaints).unwrap_or_default();
        complaints.extend(self.platforms.iter().flat_map(|platform| platform.complaints()));
        complaints
    }

    pub(super) async fn stop(self) {
        for platform in self.platforms {
            platform.stop().await;
        }
        if let Some(model) = self.model {
            model.stop().await;
        }
        self.telemetry.stop().await;
    }
}

/// The same is asked on every platform: a rule that answers so often answers so often on each.
fn for_all(scenario: &Scenario) -> ModelScript {
    let mut script = scenario.model.clone();
    let platforms = u32::try_from(scenario.platforms.len()).unwrap_or(u32::MAX);
    for rule in &mut script.rules {
        rule.times = rule.times.map(|times| times.saturating_mul(platforms));
    }
    script
}

/// What the store has counted, for the line below the threads.
pub(super) async fn numbers(app: &App, elapsed: Duration) -> anyhow::Result<Numbers> {
    let tally = app.store.tally().await?;
    let model_calls = usize::try_from(tally.answers).unwrap_or_default();
    Ok(Numbers { elapsed, model_calls, tool_calls: tally.calls.len(), workers: tally.workers.len() })
}

/// What an operator would write, with the simulators' addresses.
fn configuration(sims: &Sims) -> String {
    let model = sims.model.as_ref().map_or_else(String::new, |model| {
        format!(
            r#"
[models]
default = "recorded/drill"
default_provider = "recorded"
[models.providers.recorded]
api = "openai"
base_url = "{model}"
api_key = "{key}"
"#,
            model = model.base_url(),
            key = watchfloor_sim::model::API_KEY,
        )
    });
    format!(
        r#"
[server]
listen = "127.0.0.1:0"
[store]
url = "sqlite://drill.db"
{model}
[sources.prometheus]
url = "{prometheus}"
[sources.alertmanager]
url = "{alertmanager}"
[hooks]
changes_token = "{CHANGES_TOKEN}"
{channels}
"#,
        prometheus = sims.telemetry.prometheus_url(),
        alertmanager = sims.telemetry.alertmanager_url(),
        channels = sims.platforms.iter().map(|platform| platform.configuration()).collect::<String>(),
    )
}

async fn connected(app: &App) -> anyhow::Result<()> {
    for channel in app.channels() {
        let mut state = channel.state.clone();
        let up = timeout(START_WITHIN, state.wait_for(|state| *state == ChannelState::Connected)).await;
        if !matches!(up, Ok(Ok(_))) {
            bail!("{} did not connect: {:?}", channel.name, *channel.state.borrow());
        }
    }
    Ok(())
}

/// Through the intake, as a deploy pipeline would.
async fn seed_changes(app: &App, scenario: &Scenario, now_ms: i64) -> anyhow::Result<()> {
    let mut changes = Vec::new();
    for change in &scenario.changes {
        let before = i64::try_from(change.before()?.as_millis())?;
        changes.push(json!({
            "time": jiff::Timestamp::from_millisecond(now_ms - before)?.to_string(),
            "kind": change.kind,
            "title": change.title,
            "service": change.service,
            "author": change.author,
            "url": change.url,
            "details": change.details,
        }));
    }
    let client = reqwest::Client::builder().timeout(START_WITHIN).build()?;
    let answer = client
        .post(format!("http://{}/api/v1/hooks/changes", app.address()))
        .header(header::AUTHORIZATION, format!("Bearer {CHANGES_TOKEN}"))
        .json(&changes)
        .send()
        .await?;
    if !answer.status().is_success() {
        bail!("the intake of changes answered {}: {}", answer.status(), answer.text().await.unwrap_or_default());
    }
    Ok(())
}
