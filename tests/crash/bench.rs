//! The simulators, the program's files, and the judge at a story's end.

use std::{
    fs::File,
    process::ExitStatus,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use watchfloor_sim::{
    ModelSim, SlackSim, TelemetrySim,
    model::{self, Rule},
    slack::{self, Author, Message, SimFile, SlackConfig},
    telemetry::{PrometheusScript, QueryScript, TelemetryScript},
};

use crate::{database::Database, process::Process};

pub(crate) const ALICE: &str = "U0ALICE";
pub(crate) const BOB: &str = "U0BOB";
pub(crate) const OPS: &str = "C0OPS";

/// Longer than any story: what is delayed by this never happens before the process is killed.
pub(crate) const NEVER: Duration = Duration::from_secs(600);

const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub(crate) struct Bench {
    pub(crate) slack: SlackSim,
    pub(crate) model: ModelSim,
    pub(crate) telemetry: TelemetrySim,
    pub(crate) database: Database,
    place: TempDir,
    process: Option<Process>,
    starts: usize,
    said: i64,
}

impl Bench {
    /// A running program on SQLite whose model follows `rules`.
    pub(crate) async fn started(rules: Vec<Rule>) -> Self {
        Self::started_with("", rules).await
    }

    /// With more in its configuration than where to find everything.
    pub(crate) async fn started_with(settings: &str, rules: Vec<Rule>) -> Self {
        let mut bench = Self::prepared("sqlite://watchfloor.db", settings, rules).await;
        bench.start().await;
        bench.open_sqlite().await;
        bench
    }

    /// Everything but the program.
    pub(crate) async fn prepared(store_url: &str, settings: &str, rules: Vec<Rule>) -> Self {
        // For whatever client a simulator or the test builds.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = SlackConfig {
            ack_deadline: Duration::from_millis(500),
            redeliver_after: [0, 200, 500, 1_000, 2_000, 4_000].map(Duration::from_millis).to_vec(),
            patience: PATIENCE,
            ..SlackConfig::default()
        };
        let slack = SlackSim::start(config).await.unwrap();
        slack.add_person(ALICE, "Alice").await;
        slack.add_person(BOB, "Bob").await;
        slack.add_channel(OPS, "ops").await;
        let model = ModelSim::start(rules).await.unwrap();
        let telemetry = TelemetrySim::start(quick()).await.unwrap();
        let place = tempfile::tempdir().unwrap();
        let configuration = configuration(store_url, settings, &slack, &model, &telemetry);
        std::fs::write(place.path().join(CONFIG), configuration).unwrap();
        Self { slack, model, telemetry, database: Database::None, place, process: None, starts: 0, said: 0 }
    }

    /// For a program that has made its tables.
    pub(crate) async fn open_sqlite(&mut self) {
        self.slack.connected(1).await;
        self.database = Database::sqlite(&self.place.path().join("watchfloor.db")).await;
    }

    /// SIGKILL. Returns when Slack knows that the connection is gone.
    pub(crate) async fn kill(&mut self) {
        self.process.take().unwrap().kill().await;
        self.disconnected().await;
    }

    async fn disconnected(&self) {
        let slack = &self.slack;
        until("the end of the connection", async || slack.connections() == 0).await;
    }

    pub(crate) async fn start(&mut self) {
        assert!(self.process.is_none(), "one process at a time");
        self.starts += 1;
        self.process = Some(run(&self.place, self.starts));
    }

    pub(crate) async fn kill_and_start(&mut self) {
        self.kill().await;
        self.start().await;
    }

    /// SIGTERM. Returns when the process has heard it, not when it has ended.
    pub(crate) async fn terminate(&self) {
        self.process.as_ref().unwrap().terminate().await;
        until("the first words of an orderly end", async || self.log().contains("stopping: ")).await;
    }

    /// A second SIGTERM.
    pub(crate) async fn terminate_again(&self) {
        self.process.as_ref().unwrap().terminate().await;
    }

    /// The end of a process that was asked to end.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let status = self.process.take().unwrap().ended().await;
        self.disconnected().await;
        status
    }

    /// Mentions the bot at top level; returns the thread.
    pub(crate) async fn ask(&mut self, text: &str) -> String {
        self.said += 1;
        self.slack.say(ALICE, OPS, &format!("{} {text}", slack::bot_mention())).await
    }

    /// Mentions the bot at top level, with a file.
    pub(crate) async fn ask_with(&mut self, text: &str, file: SimFile) -> String {
        self.said += 1;
        self.slack.share(ALICE, OPS, None, &format!("{} {text}", slack::bot_mention()), [file]).await
    }

    /// Mentions the bot in a thread.
    pub(crate) async fn ask_in(&mut self, thread: &str, person: &str, text: &str) -> String {
        self.said += 1;
        self.slack.reply(person, OPS, thread, &format!("{} {text}", slack::bot_mention())).await
    }

    /// What the asker goes on to say in her thread; stop doesn't count as a message.
    pub(crate) async fn say_in(&mut self, thread: &str, text: &str) -> String {
        self.said += i64::from(text != "stop");
        self.slack.reply(ALICE, OPS, thread, text).await
    }

    pub(crate) fn calls(&self, method: &str) -> usize {
        self.slack.calls(method).len()
    }

    pub(crate) fn requests(&self) -> usize {
        self.model.requests().len()
    }

    /// The bot's messages in a thread, oldest first.
    pub(crate) fn shown(&self, thread: &str) -> Vec<Message> {
        let mut messages = self.slack.messages(OPS, Some(thread));
        messages.retain(|message| message.author == Author::Bot);
        messages
    }

    pub(crate) fn texts(&self, thread: &str) -> Vec<String> {
        self.shown(thread).iter().map(|message| message.text().to_owned()).collect()
    }

    /// Until everything that was said is taken and nothing is owed any more.
    pub(crate) async fn at_rest(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // In this order: a message is taken before it is owed an answer.
            let messages = self.database.messages().await;
            let owed = self.database.owed().await;
            if owed.is_empty() && messages == self.said {
                return;
            }
            if Instant::now() > deadline {
                let (said, world) = (self.said, self.slack.messages(OPS, None));
                let seen: Vec<_> = world.iter().map(Message::text).collect();
                panic!("still owed: {owed:?}; {messages} of {said} messages taken; seen: {seen:#?}\n{}", self.log());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// At rest, and with what was seen right: the thread shows exactly these messages of the bot, the model was asked
    /// nothing odd, and Slack saw nothing odd.
    pub(crate) async fn answered(&mut self, thread: &str, texts: &[&str]) {
        self.all_answered(&[(thread, texts)]).await;
    }

    pub(crate) async fn all_answered(&mut self, threads: &[(&str, &[&str])]) {
        self.at_rest().await;
        for (thread, texts) in threads {
            assert_eq!(self.texts(thread), *texts, "{}", self.log());
        }
        self.nothing_odd();
    }

    pub(crate) fn nothing_odd(&self) {
        let mut odd = self.model.complaints();
        odd.extend(self.slack.unread());
        assert_eq!(odd, Vec::<String>::new(), "{}", self.log());
    }

    pub(crate) async fn stop(self) {
        if let Some(process) = self.process {
            process.kill().await;
        }
        self.slack.stop().await;
        self.model.stop().await;
        self.telemetry.stop().await;
    }

    pub(crate) fn log(&self) -> String {
        let read = |start| std::fs::read_to_string(self.place.path().join(log_name(start))).unwrap_or_default();
        (1..=self.starts).map(|start| format!("--- start {start}\n{}", read(start))).collect()
    }
}

/// Waits for an observation.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

const CONFIG: &str = "watchfloor.toml";

fn log_name(start: usize) -> String {
    format!("{start}.log")
}

fn run(place: &TempDir, start: usize) -> Process {
    let log = File::create(place.path().join(log_name(start))).unwrap();
    Process::start(&place.path().join(CONFIG), log)
}

/// A metrics server that knows that everything is up.
pub(crate) fn quick() -> TelemetryScript {
    let result = serde_json::json!({"resultType": "vector", "result": [{"metric": {}, "value": ["-0s", "1"]}]});
    let query = QueryScript { result: Some(result), ..QueryScript::default() };
    let prometheus = PrometheusScript { queries: vec![query], ..PrometheusScript::default() };
    TelemetryScript { prometheus, ..TelemetryScript::default() }
}

/// The same, but no answer comes.
pub(crate) fn slow() -> TelemetryScript {
    let mut script = quick();
    script.prometheus.queries.iter_mut().for_each(|query| query.delay = Some(NEVER));
    script
}

/// What an operator would write, with the simulators' addresses.
fn configuration(
    store_url: &str,
    settings: &str,
    slack: &SlackSim,
    model: &ModelSim,
    telemetry: &TelemetrySim,
) -> String {
    format!(
        r#"{settings}
[server]
listen = "127.0.0.1:0"
[store]
url = "{store_url}"
[models]
default = "recorded/crash"
default_provider = "recorded"
[models.providers.recorded]
api = "openai"
base_url = "{model}"
api_key = "{key}"
[sources.prometheus]
url = "{prometheus}"
[[channels]]
kind = "slack"
name = "slack"
app_token = "{app}"
bot_token = "{bot}"
api_url = "{slack}"
allow_rooms = ["*"]
"#,
        model = model.base_url(),
        key = model::API_KEY,
        prometheus = telemetry.prometheus_url(),
        app = slack::APP_TOKEN,
        bot = slack::BOT_TOKEN,
        slack = slack.api_url(),
    )
}
