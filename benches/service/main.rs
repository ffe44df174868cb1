//! What the service costs: the release binary as a process of its own, a platform and the model simulated in this one.
//!
//! `cargo bench --bench service` prints the tables of `docs/performance.md`; `-- --latency` those of latency alone;
//! `-- --investigation` counts the calls of ten minutes' work, which takes as long. Nothing is asserted: a busy machine makes
//! no test fail.

#![expect(clippy::print_stdout, reason = "a benchmark is read in a terminal")]
#![expect(clippy::unwrap_used, reason = "a benchmark that can't run should say where")]

mod investigation;
mod platform;
mod process;
mod stage;

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use platform::Kind;
use process::Service;
use stage::Stage;

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
    let wants = |option: &str| std::env::args().any(|argument| argument == option);
    if wants("--investigation") {
        return investigation::run().await;
    }
    start().await;
    for kind in [Kind::Slack, Kind::Telegram, Kind::Feishu] {
        latency(kind).await;
    }
    if wants("--latency") {
        return;
    }
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

/// One question at a time, each in a conversation of its own.
async fn latency(kind: Kind) {
    let stage = Stage::new(kind).await;
    let rounds = if kind == Kind::Slack { 200 } else { 120 };
    let (mut placeholder, mut answer, mut last_word) = (Vec::new(), Vec::new(), Vec::new());
    let mut cpu = Duration::ZERO;
    for round in 0..20 + rounds {
        stage.pause().await;
        // The first turns warm connections up.
        if round == 20 {
            cpu = stage.service.cpu();
        }
        let asked = stage.platform.elapsed();
        let asked_at = Instant::now();
        let question = stage.ask().await;
        let versions = stage.answered(&question).await.versions;
        if round >= 20 {
            placeholder.push(versions[0] - asked);
            let end = *versions.last().unwrap();
            answer.push(end - asked);
            let said = stage.model.ended().last().unwrap().duration_since(asked_at);
            last_word.push((end - asked).saturating_sub(said));
        }
    }
    let used = (stage.service.cpu() - cpu).as_secs_f64() * 1000.0 / f64::from(rounds);
    row(&format!("{kind:?}: event → placeholder"), placeholder);
    row(&format!("{kind:?}: event → answer"), answer);
    row(&format!("{kind:?}: last byte of the model → final edit"), last_word);
    println!("| {kind:?}: CPU a turn, pauses included | {used:.1} | | |");
}

/// As many questions under way as there are threads; each is followed by the next.
async fn throughput(threads: usize) {
    let stage = Arc::new(Stage::new(Kind::Slack).await);
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
    let stage = Stage::new(Kind::Slack).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (resident, own) = stage.service.memory();
    println!("\nidle, connected: {resident:.1} MiB resident, {own:.1} MiB of it its own");
    stage.model.hold();
    let mut questions = Vec::new();
    while questions.len() < 1000 {
        for _ in 0..100 {
            questions.push(stage.ask().await);
        }
        stage.platform.posted(questions.len()).await;
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
