//! What a story on Telegram begins with: the model's rules, what Telegram allows, and how the operator configured the bot.

use watchfloor_sim::{
    ModelScript, ModelSim, TelegramSim, TelemetryScript, TelemetrySim,
    model::Rule,
    telegram::{self, TelegramConfig},
};

use super::{front::Front, stage::Stage};
use crate::setting::{WORLD, start};

pub(crate) const SECRET_TOKEN: &str = "story-secret-token";

#[derive(Clone)]
pub(crate) struct Setting {
    model: ModelScript,
    telegram: TelegramConfig,
    limits: String,
    channel: String,
    personas: Vec<(String, String)>,
    webhook: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            model: ModelScript::default(),
            telegram: TelegramConfig::default(),
            limits: String::new(),
            channel: "allow_rooms = [\"*\"]\ndm_policy = \"open\"\n".into(),
            personas: Vec::new(),
            webhook: false,
        }
    }
}

impl Setting {
    pub(crate) fn rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.model.rules.extend(rules);
        self
    }

    /// One line of `[limits]`.
    pub(crate) fn limit(mut self, line: &str) -> Self {
        self.limits += &format!("{line}\n");
        self
    }

    /// All lines of the channel but its kind and where it is.
    pub(crate) fn channel(mut self, lines: &str) -> Self {
        self.channel = lines.into();
        self
    }

    pub(crate) fn telegram(mut self, change: impl FnOnce(&mut TelegramConfig)) -> Self {
        change(&mut self.telegram);
        self
    }

    /// Telegram sends requests instead of being polled.
    pub(crate) fn webhook(mut self) -> Self {
        self.webhook = true;
        self
    }

    /// A persona on disk that may call `tools`.
    pub(crate) fn persona(mut self, name: &str, tools: &str) -> Self {
        let text = format!(
            "---\nname: {name}\ndescription: Looks at one thing.\nwhen_to_use: In a story.\ntools: [{tools}]\n\
             permission_mode: read-only\nmax_turns: 5\n---\n\nLook and report.\n"
        );
        self.personas.push((format!("{name}.md"), text));
        self
    }

    /// Starts everything and waits until Telegram is connected.
    pub(crate) async fn open(self) -> Stage {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let telegram = TelegramSim::start(self.telegram.clone()).await.unwrap();
        let model = ModelSim::start(self.model.clone()).await.unwrap();
        let telemetry = TelemetrySim::start(TelemetryScript::parse(WORLD).unwrap()).await.unwrap();
        let place = tempfile::tempdir().unwrap();
        let agents = place.path().join("agents");
        std::fs::create_dir(&agents).unwrap();
        for (file, text) in &self.personas {
            std::fs::write(agents.join(file), text).unwrap();
        }
        let front = if self.webhook { Some(Front::open().await) } else { None };
        let text = self.configuration(&telegram, &model, &telemetry, front.as_ref());
        let app = start(&text, place.path()).await;
        if let Some(front) = &front {
            front.leads_to(Some(app.address()));
        }
        Stage { telegram, model, telemetry, app, text, place, front }
    }

    fn configuration(
        &self,
        telegram: &TelegramSim,
        model: &ModelSim,
        telemetry: &TelemetrySim,
        front: Option<&Front>,
    ) -> String {
        let (public, transport) = match front {
            Some(front) => (
                format!("public_url = \"{}\"", front.url),
                format!("mode = \"webhook\"\nsecret_token = \"{SECRET_TOKEN}\""),
            ),
            None => (String::new(), String::new()),
        };
        format!(
            r#"
[server]
listen = "127.0.0.1:0"
{public}
[store]
url = "sqlite://story.db"
[limits]
{limits}
[models]
default = "openai/story"
default_provider = "openai"
[models.providers.openai]
api = "openai"
base_url = "{model}"
api_key = "{key}"
[sources.prometheus]
url = "{prometheus}"
[sources.alertmanager]
url = "{alertmanager}"
[[channels]]
kind = "telegram"
name = "telegram"
bot_token = "{token}"
api_url = "{telegram}"
{transport}
{channel}
"#,
            limits = self.limits,
            model = model.base_url(),
            key = watchfloor_sim::model::API_KEY,
            prometheus = telemetry.prometheus_url(),
            alertmanager = telemetry.alertmanager_url(),
            token = telegram::BOT_TOKEN,
            telegram = telegram.api_url(),
            channel = self.channel,
        )
    }
}
