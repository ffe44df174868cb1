//! Killed at any moment, once or twice: a turn with a tool call, a worker and an answer in two parts. The moments are drawn
//! from fixed seeds; a failed test names its seed.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::{FutureExt, StreamExt, stream};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::json;
use tokio::time::sleep;
use watchfloor_sim::model::Rule;

use crate::{
    bench::Bench,
    parts::{long, numbers},
};

const SEEDS: u64 = 25;
const LATEST_MS: u64 = 400;
const AT_ONCE: usize = 3;
const WORKER: &str = "incident-investigator";
const PARAGRAPHS: usize = 20;

/// Whatever was interrupted, the model goes on to its next step.
fn rules() -> Vec<Rule> {
    let worker = json!({"description": "looks", "subagent_type": WORKER, "prompt": "Look at the pool."});
    vec![
        Rule::call("query_promql", json!({"query": "up"})).when_persona("default").when_step(0),
        Rule::call("AgentTool", worker).when_persona("default").when_step(1),
        Rule::call("query_promql", json!({"query": "up"})).when_persona(WORKER).when_step(0),
        Rule::reply("The pool is full [E2].").when_persona(WORKER),
        Rule::reply(long(PARAGRAPHS)).when_persona("default").when_step(2),
    ]
}

/// When to kill, after the mention and after the start that followed.
fn moments(seed: u64) -> Vec<Duration> {
    let mut random = StdRng::seed_from_u64(seed);
    let kills = 1 + seed % 2;
    (0..kills).map(|_| Duration::from_millis(random.random_range(0..=LATEST_MS))).collect()
}

async fn killed_at(moments: &[Duration]) {
    let mut bench = Bench::started(rules()).await;
    let thread = bench.ask("why?").await;
    for moment in moments {
        // A moment is what this is about, so there is nothing to observe.
        sleep(*moment).await;
        bench.kill_and_start().await;
    }
    bench.at_rest().await;
    let texts = bench.texts(&thread);
    assert_eq!(numbers(&texts), (1..=PARAGRAPHS).collect::<Vec<_>>(), "{texts:#?}\n{}", bench.log());
    assert_eq!(texts.len(), 2, "{texts:#?}\n{}", bench.log());
    bench.nothing_odd();
    bench.stop().await;
}

#[tokio::test]
async fn killed_at_any_moment_a_message_is_answered_exactly_once() {
    let runs = stream::iter(0..SEEDS).map(async |seed| {
        let moments = moments(seed);
        let run = AssertUnwindSafe(killed_at(&moments)).catch_unwind().await;
        run.err().map(|_| format!("seed {seed}: killed after {moments:?}"))
    });
    let failed: Vec<_> = runs.buffer_unordered(AT_ONCE).filter_map(async |failed| failed).collect().await;
    assert_eq!(failed, Vec::<String>::new());
}
