//! Ten minutes of work with forty calls of tools, in real time and on every platform at once: how many calls it costs there.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;
use watchfloor_sim::{ModelSim, model::Rule};

use crate::{
    platform::{Kind, Platform},
    process::Service,
    stage::common,
};

const CALLS: usize = 40;
/// Of the model before each call of a tool, and before its answer.
const THOUGHT: Duration = Duration::from_millis(14_600);

/// A coordinator that may work as long as this takes. The shipped one would send a worker after a few calls.
const PERSONA: &str = "---
name: default
description: Coordinates one conversation.
when_to_use: Every conversation begins here.
tools: [query_change_events]
max_turns: 60
---
Look at what changed.
";

pub(crate) async fn run() {
    let platforms = [
        Platform::start(Kind::Slack).await,
        Platform::start(Kind::Telegram).await,
        Platform::start(Kind::Feishu).await,
    ];
    let look = |step| {
        let arguments = json!({"since": "-2h", "service": format!("service-{step}")});
        Rule::call("query_change_events", arguments).when_step(step).delay(THOUGHT)
    };
    let mut rules: Vec<Rule> = (0..CALLS).map(look).collect();
    rules.push(Rule::reply("The pool is full.").when_step(CALLS).delay(THOUGHT));
    let model = ModelSim::start(rules).await.unwrap();
    let place = tempfile::tempdir().unwrap();
    let agents = place.path().join("agents");
    std::fs::create_dir(&agents).unwrap();
    std::fs::write(agents.join("default.md"), PERSONA).unwrap();
    let file = place.path().join("bench.toml");
    let channels: String = platforms.iter().map(|platform| platform.configuration(false)).collect();
    std::fs::write(&file, common(&model) + &channels).unwrap();
    let _service = Service::start(&file);
    for platform in &platforms {
        platform.connected().await;
    }
    // What belongs to the start is no turn's.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before: Vec<_> = platforms.iter().map(|platform| (platform.calls(), platform.counted())).collect();
    let mut questions = Vec::new();
    for platform in &platforms {
        questions.push((platform.elapsed(), platform.ask_in_group().await));
    }
    for ((platform, (asked, question)), (calls, counted)) in platforms.iter().zip(&questions).zip(before) {
        let answer = platform.answered(question).await;
        // Signs and the word to the asker follow the answer.
        tokio::time::sleep(Duration::from_secs(5)).await;
        report(platform, *asked, &answer.versions, &calls, counted);
    }
    println!("model: {:?}", model.complaints());
}

fn report(
    platform: &Platform,
    asked: Duration,
    versions: &[Duration],
    before: &BTreeMap<String, usize>,
    counted: Option<u64>,
) {
    let name = match platform {
        Platform::Slack(_) => "Slack",
        Platform::Telegram(_) => "Telegram",
        Platform::Feishu(_) => "Feishu",
    };
    let mut calls = platform.calls();
    for (method, times) in before {
        if let Some(all) = calls.get_mut(method) {
            *all -= times;
        }
    }
    calls.retain(|_, times| *times > 0);
    let seconds: Vec<u64> = versions.iter().map(|at| (*at - asked).as_secs()).collect();
    println!("{name}: {} calls {calls:?}", calls.values().sum::<usize>());
    if let (Some(now), Some(before)) = (platform.counted(), counted) {
        println!("  of them counted by the month: {}", now - before);
    }
    println!("  versions of the message, seconds after the question: {seconds:?}");
}
