//! What the service costs: the release binary as a process of its own, Slack and the model simulated in this one.
//!
//! `cargo bench --bench service` prints the tables of `docs/performance.md`. Nothing is asserted: a busy machine makes no
//! test fail.

#![expect(clippy::print_stdout, reason = "a benchmark is read in a terminal")]
#![expect(clippy::unwrap_used, reason = "a benchmark that can't run should say where")]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use watchfloor_sim::{
    ModelSim, SlackSim,
    model::Rule,
    slack::{self, SlackConfig},
};

const ROOM: &str = "C0OPS";
const ASKER: &str = "U0ALICE";

/// The service under test. Killed when dropped.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn start(config: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_watchfloor"))
            .args(["serve", "--config"])
            .arg(config)
            .env("WATCHFLOOR_LOG", "warn")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("listening on http://").map(str::to_owned))
            .unwrap();
        // Keep reading, so that the service never waits for its own output.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    async fn ready(&self, client: &reqwest::Client) {
        let url = format!("http://{}/readyz", self.address);
        while !client.get(&url).send().await.is_ok_and(|answer| answer.status().is_success()) {
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
    }

    /// Resident memory in MiB, and how much of it is the process's own.
    fn memory(&self) -> (f64, f64) {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let mib = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
        };
        (mib("VmRSS:"), mib("RssAnon:"))
    }

    /// User and system time so far.
    fn cpu(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        // Linux counts in hundredths of a second wherever this runs.
        Duration::from_millis(ticks * 10)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Slack, a model that answers at once, and the service between them.
struct Stage {
    slack: SlackSim,
    model: ModelSim,
    service: Service,
    _place: tempfile::TempDir,
}

impl Stage {
    async fn new() -> Self {
        let slack = SlackSim::start(SlackConfig { patience: Duration::from_secs(120), ..SlackConfig::default() });
        let slack = slack.await.unwrap();
        slack.add_person(ASKER, "Alice").await;
        slack.add_channel(ROOM, "ops").await;
        let model = ModelSim::start(vec![Rule::reply("The pool is full.")]).await.unwrap();
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("bench.toml");
        fs::write(&file, configuration(&slack, &model)).unwrap();
        let service = Service::start(&file);
        slack.connected(1).await;
        Self { slack, model, service, _place: place }
    }

    async fn ask(&self) -> String {
        self.slack.say(ASKER, ROOM, "<@U0BOT> why is checkout slow?").await
    }

    /// Waits for the final text beneath that question.
    async fn answered(&self, question: &str) -> slack::Message {
        loop {
            let thread = self.slack.messages(ROOM, Some(question));
            let answer = thread.into_iter().find(|m| m.author == slack::Author::Bot && m.text().contains("pool"));
            if let Some(answer) = answer {
                return answer;
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    }
}

/// Slack's budgets are lifted: what is measured is the service, not the platform's patience.
fn configuration(slack: &SlackSim, model: &ModelSim) -> String {
    format!(
        r#"
[server]
listen = "127.0.0.1:0"
[store]
url = "sqlite://bench.db"
[limits]
turns = 100
[models]
default = "recorded/bench"
default_provider = "recorded"
[models.providers.recorded]
base_url = "{}"
api_key = "{}"
[[channels]]
kind = "slack"
app_token = "{}"
bot_token = "{}"
api_url = "{}"
allow_rooms = ["*"]
posts_per_minute = 100000
edits_per_minute = 100000
"#,
        model.base_url(),
        watchfloor_sim::model::API_KEY,
        slack::APP_TOKEN,
        slack::BOT_TOKEN,
        slack.api_url(),
    )
}

fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    sorted[(sorted.len() - 1) * percent / 100].as_secs_f64() * 1000.0
}

fn row(name: &str, mut times: Vec<Duration>) {
    times.sort();
    println!(
        "| {name} | {:.1} | {:.1} | {:.1} |",
        percentile(&times, 50),
        percentile(&times, 99),
        percentile(&times, 100)
    );
}

#[tokio::main]
async fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    start().await;
    latency().await;
    for threads in [1, 20, 100] {
        throughput(threads).await;
    }
    memory().await;
}

async fn start() {
    let client = reqwest::Client::builder().build().unwrap();
    let mut times = Vec::new();
    for _ in 0..20 {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("bench.toml");
        fs::write(&file, "[server]\nlisten = \"127.0.0.1:0\"\n[store]\nurl = \"sqlite://bench.db\"\n").unwrap();
        let began = Instant::now();
        let service = Service::start(&file);
        service.ready(&client).await;
        times.push(began.elapsed());
    }
    println!("| ms | p50 | p99 | max |\n|---|---|---|---|");
    row("start → ready, new store", times);
}

/// One question at a time, each in a thread of its own.
async fn latency() {
    let stage = Stage::new().await;
    let (mut placeholder, mut answer, mut last_word) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..220 {
        // The turn before closes its books after its answer is there.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let asked = stage.slack.elapsed();
        let asked_at = Instant::now();
        let question = stage.ask().await;
        let message = stage.answered(&question).await;
        // The first turns warm connections up.
        if round >= 20 {
            placeholder.push(message.edits[0].at - asked);
            let end = message.edits.last().unwrap().at;
            answer.push(end - asked);
            let said = stage.model.ended().last().unwrap().duration_since(asked_at);
            last_word.push((end - asked).saturating_sub(said));
        }
    }
    row("event → placeholder", placeholder);
    row("event → answer", answer);
    row("last byte of the model → final edit", last_word);
    println!();
}

/// As many questions under way as there are threads; each is followed by the next.
async fn throughput(threads: usize) {
    let stage = std::sync::Arc::new(Stage::new().await);
    let turns = 400;
    for _ in 0..10 {
        let question = stage.ask().await;
        stage.answered(&question).await;
    }
    let (began, cpu) = (Instant::now(), stage.service.cpu());
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..threads {
        let stage = stage.clone();
        workers.spawn(async move {
            for _ in (worker..turns).step_by(threads) {
                let question = stage.ask().await;
                stage.answered(&question).await;
            }
        });
    }
    while let Some(done) = workers.join_next().await {
        done.unwrap();
    }
    let (took, used) = (began.elapsed(), stage.service.cpu() - cpu);
    println!(
        "{threads} threads: {:.0} turns/s, {:.2} ms CPU a turn (service alone)",
        turns as f64 / took.as_secs_f64(),
        used.as_secs_f64() * 1000.0 / turns as f64,
    );
}

async fn memory() {
    let stage = Stage::new().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (resident, own) = stage.service.memory();
    println!("\nidle, connected: {resident:.1} MiB resident, {own:.1} MiB of it its own");
    stage.model.hold();
    let mut questions = Vec::new();
    while questions.len() < 1000 {
        for _ in 0..100 {
            questions.push(stage.ask().await);
        }
        stage.slack.wait_for_calls("chat.postMessage", questions.len()).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (resident, own) = stage.service.memory();
    println!("1,000 open conversations: {resident:.1} MiB resident, {own:.1} MiB of it its own");
    stage.model.release();
    for question in questions {
        stage.answered(&question).await;
    }
    let (resident, own) = stage.service.memory();
    println!("after they were answered: {resident:.1} MiB resident, {own:.1} MiB of it its own");
}
