//! What a story in Feishu begins with: the tenant, the model's rules, and how the operator configured the bot.

use watchfloor_sim::{
    FeishuSim, ModelScript, ModelSim, TelemetryScript, TelemetrySim,
    feishu::{self, FeishuConfig, GROUP_MESSAGES},
    model::Rule,
};

use super::stage::{OTHER_BOT, PATIENCE, Stage, WEI};
use crate::setting::{WORLD, start};

pub(super) struct Setting {
    model: ModelScript,
    feishu: FeishuConfig,
    limits: String,
    channel: String,
    webhook: bool,
    personas: Vec<(String, String)>,
}

impl Setting {
    pub(super) fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self {
            model: rules.into_iter().collect::<Vec<_>>().into(),
            feishu: FeishuConfig { patience: PATIENCE, ..FeishuConfig::default() },
            limits: String::new(),
            channel: String::new(),
            webhook: false,
            personas: Vec::new(),
        }
    }

    /// One line of `[limits]`.
    pub(super) fn limit(mut self, line: &str) -> Self {
        self.limits += &format!("{line}\n");
        self
    }

    /// One line of the channel.
    pub(super) fn line(mut self, line: &str) -> Self {
        self.channel += &format!("{line}\n");
        self
    }

    pub(super) fn feishu(mut self, change: impl FnOnce(&mut FeishuConfig)) -> Self {
        change(&mut self.feishu);
        self
    }

    /// Everything that is said in a group reaches the bot, not its mentions alone.
    pub(super) fn hears_all(self) -> Self {
        self.feishu(|feishu| _ = feishu.scopes.insert(GROUP_MESSAGES.to_owned()))
    }

    pub(super) fn webhook(mut self, on: bool) -> Self {
        self.webhook = on;
        self
    }

    /// A persona on disk that may call `tools`.
    pub(super) fn persona(mut self, name: &str, tools: &str) -> Self {
        let text = format!(
            "---\nname: {name}\ndescription: Looks at one thing.\nwhen_to_use: In a story.\ntools: [{tools}]\n\
             permission_mode: read-only\nmax_turns: 5\n---\n\nLook and report.\n"
        );
        self.personas.push((format!("{name}.md"), text));
        self
    }

    /// Starts everything and waits until Feishu reaches the bot.
    pub(super) async fn open(self) -> Stage {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let feishu = FeishuSim::start(self.feishu.clone()).await.unwrap();
        let model = ModelSim::start(self.model.clone()).await.unwrap();
        let telemetry = TelemetrySim::start(TelemetryScript::parse(WORLD).unwrap()).await.unwrap();
        feishu.add_person(WEI, "Wei").await;
        feishu.add_person(OTHER_BOT, "deployer").await;
        let place = tempfile::tempdir().unwrap();
        let agents = place.path().join("agents");
        std::fs::create_dir(&agents).unwrap();
        for (file, text) in &self.personas {
            std::fs::write(agents.join(file), text).unwrap();
        }
        let text = self.configuration(&feishu, &model, &telemetry);
        let app = start(&text, place.path()).await;
        let stage = Stage { feishu, model, telemetry, app, text, place, webhook: self.webhook };
        stage.reached().await;
        stage
    }

    fn configuration(&self, feishu: &FeishuSim, model: &ModelSim, telemetry: &TelemetrySim) -> String {
        let transport = match self.webhook {
            true => format!(
                "mode = \"webhook\"\nverification_token = \"{}\"\nencrypt_key = \"{}\"",
                feishu::VERIFICATION_TOKEN,
                feishu::ENCRYPT_KEY
            ),
            false => String::new(),
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
kind = "feishu"
name = "feishu"
app_id = "{app}"
app_secret = "{secret}"
base_url = "{feishu}"
allow_rooms = ["*"]
dm_policy = "open"
{transport}
{channel}
"#,
            limits = self.limits,
            model = model.base_url(),
            key = watchfloor_sim::model::API_KEY,
            prometheus = telemetry.prometheus_url(),
            alertmanager = telemetry.alertmanager_url(),
            app = feishu::APP_ID,
            secret = feishu::APP_SECRET,
            feishu = feishu.base_url(),
            channel = self.channel,
        )
    }
}
