//! What a story begins with: the model's rules, what telemetry knows, and how the operator configured the bot. What happens
//! then is the stage's.

use std::{path::Path, sync::Arc, time::Duration};

use watchfloor::{
    app::App,
    clock::SystemClock,
    config::{self, Env},
};
use watchfloor_sim::{
    ModelScript, ModelSim, SlackSim, TelemetryScript, TelemetrySim,
    model::Rule,
    slack::{self, SlackConfig},
};

use crate::stage::{ALICE, BOB, CAROL, CHANGES_TOKEN, ROOM, Stage};

pub(crate) const WORLD: &str = r#"
prometheus:
  queries:
    - contains: pool_in_use
      result:
        resultType: matrix
        result: [{metric: {__name__: pool_in_use, service: checkout}, values: [["-10m", 3], ["-1m", 20]]}]
    - contains: error_rate
      result:
        resultType: matrix
        result: [{metric: {__name__: error_rate, service: checkout}, values: [["-1m", "0.2"]]}]
alertmanager:
  alerts: [{labels: {alertname: PoolFull, severity: critical, service: checkout}}]
"#;

/// Signs what the simulated Slack sends over HTTP.
pub(crate) const SIGNING_SECRET: &str = "story-signing-secret";

#[derive(Clone)]
pub(crate) struct Setting {
    model: ModelScript,
    slack: SlackConfig,
    world: TelemetryScript,
    limits: String,
    channel: String,
    personas: Vec<(String, String)>,
    more: String,
    api_key: bool,
    over_http: bool,
    /// Whose wire format the default model speaks.
    provider: &'static str,
    vision: &'static str,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            model: ModelScript::default(),
            slack: SlackConfig::default(),
            world: TelemetryScript::parse(WORLD).unwrap(),
            limits: String::new(),
            channel: "allow_rooms = [\"*\"]\ndm_policy = \"open\"\n".into(),
            personas: Vec::new(),
            more: String::new(),
            api_key: true,
            over_http: false,
            provider: "openai",
            vision: "",
        }
    }
}

impl Setting {
    pub(crate) fn rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.model.rules.extend(rules);
        self
    }

    /// A tool that the model makes up.
    pub(crate) fn made_up(mut self, tool: &str) -> Self {
        self.model.unknown_tools.push(tool.into());
        self
    }

    /// One line of `[limits]`.
    pub(crate) fn limit(mut self, line: &str) -> Self {
        self.limits += &format!("{line}\n");
        self
    }

    /// All access lines of the channel.
    pub(crate) fn channel(mut self, lines: &str) -> Self {
        self.channel = lines.into();
        self
    }

    pub(crate) fn slack(mut self, change: impl FnOnce(&mut SlackConfig)) -> Self {
        change(&mut self.slack);
        self
    }

    pub(crate) fn world(mut self, yaml: &str) -> Self {
        self.world = TelemetryScript::parse(yaml).unwrap();
        self
    }

    /// A persona on disk that may call `tools` and has `max_turns` model calls.
    pub(crate) fn persona(mut self, name: &str, tools: &str, max_turns: u32) -> Self {
        let text = format!(
            "---\nname: {name}\ndescription: Looks at one thing.\nwhen_to_use: In a story.\ntools: [{tools}]\n\
             permission_mode: read-only\nmax_turns: {max_turns}\n---\n\nLook and report.\n"
        );
        self.personas.push((format!("{name}.md"), text));
        self
    }

    /// A file among the personas.
    pub(crate) fn file(mut self, name: &str, text: &str) -> Self {
        self.personas.push((name.into(), text.into()));
        self
    }

    /// More tables of the configuration.
    pub(crate) fn more(mut self, tables: &str) -> Self {
        self.more = tables.into();
        self
    }

    /// One that nobody waits for.
    pub(crate) fn background_persona(self, name: &str, tools: &str) -> Self {
        let mut setting = self.persona(name, tools, 5);
        for (_, text) in &mut setting.personas {
            *text = text.replace("permission_mode", "background: true\npermission_mode");
        }
        setting
    }

    /// A model that takes pictures.
    pub(crate) fn seeing(mut self) -> Self {
        self.vision = "vision = [\"story\"]";
        self
    }

    pub(crate) fn without_api_key(mut self) -> Self {
        self.api_key = false;
        self
    }

    /// Slack sends signed requests instead of using sockets.
    pub(crate) fn over_http(mut self) -> Self {
        self.over_http = true;
        self
    }

    /// The model is asked in Anthropic's wire format.
    pub(crate) fn anthropic(mut self) -> Self {
        self.provider = "anthropic";
        self
    }

    /// Starts everything and waits until Slack is connected.
    pub(crate) async fn open(self) -> Stage {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let slack = SlackSim::start(self.slack.clone()).await.unwrap();
        let model = ModelSim::start(self.model.clone()).await.unwrap();
        let telemetry = TelemetrySim::start(self.world.clone()).await.unwrap();
        for (id, name) in [(ALICE, "Alice"), (BOB, "Bob"), (CAROL, "Carol")] {
            slack.add_person(id, name).await;
        }
        slack.add_channel(ROOM, "ops").await;
        let place = tempfile::tempdir().unwrap();
        let agents = place.path().join("agents");
        std::fs::create_dir(&agents).unwrap();
        for (file, text) in &self.personas {
            std::fs::write(agents.join(file), text).unwrap();
        }
        let (text, app) = self.start(&slack, &model, &telemetry, place.path()).await;
        Stage { slack, model, telemetry, app, text, place }
    }

    /// Starts the bot alone, and waits until Slack reaches it.
    pub(crate) async fn start(
        &self,
        slack: &SlackSim,
        model: &ModelSim,
        telemetry: &TelemetrySim,
        place: &Path,
    ) -> (String, App) {
        let text = self.configuration(slack, model, telemetry);
        let app = start(&text, place).await;
        if self.over_http {
            let url = format!("http://{}/channels/slack/events", app.address());
            slack.subscribe(&url, SIGNING_SECRET).await.unwrap();
        } else {
            slack.connected(1).await;
        }
        (text, app)
    }

    fn configuration(&self, slack: &SlackSim, model: &ModelSim, telemetry: &TelemetrySim) -> String {
        let provider = if self.api_key {
            let (key, anthropic) = (watchfloor_sim::model::API_KEY, model.anthropic_base_url());
            format!(
                "base_url = \"{}\"\napi_key = \"{key}\"\n[models.providers.anthropic]\nbase_url = \"{anthropic}\"\napi_key = \"{key}\"",
                model.base_url()
            )
        } else {
            // A server of one's own needs no key; the provider's own address does.
            "base_url = \"https://api.openai.com/v1\"".to_owned()
        };
        format!(
            r#"
[server]
listen = "127.0.0.1:0"
[store]
url = "sqlite://story.db"
[limits]
{limits}
[models]
default = "{default}/story"
default_provider = "openai"
[models.providers.openai]
api = "openai"
{vision}
{provider}
[sources.prometheus]
url = "{prometheus}"
[sources.alertmanager]
url = "{alertmanager}"
[hooks]
changes_token = "{CHANGES_TOKEN}"
[[channels]]
kind = "slack"
name = "slack"
{transport}
bot_token = "{bot}"
api_url = "{slack}"
{channel}
{more}
"#,
            limits = self.limits,
            default = self.provider,
            vision = self.vision,
            prometheus = telemetry.prometheus_url(),
            alertmanager = telemetry.alertmanager_url(),
            transport = match self.over_http {
                true => format!("mode = \"events\"\nsigning_secret = \"{SIGNING_SECRET}\""),
                false => format!("app_token = \"{}\"", slack::APP_TOKEN),
            },
            bot = slack::BOT_TOKEN,
            slack = slack.api_url(),
            channel = self.channel,
            more = self.more,
        )
    }
}

/// Starts the bot and waits until its channels are connected.
pub(crate) async fn start(text: &str, place: &Path) -> App {
    let config = config::load_text(text, Some(&place.join("story.toml")), &Env::new()).unwrap();
    let app = App::start(config, Arc::new(SystemClock)).await.unwrap();
    for channel in app.channels() {
        let mut state = channel.state.clone();
        let up = state.wait_for(|state| *state == watchfloor_channel::ChannelState::Connected);
        tokio::time::timeout(Duration::from_secs(10), up).await.unwrap().unwrap();
    }
    app
}
