//! What it costs to render a long answer for each platform, and to cut it into its messages.
//!
//! `cargo bench --bench render` prints a table of `docs/performance.md`. Nothing is asserted.

#![expect(clippy::print_stdout, reason = "a benchmark is read in a terminal")]
#![expect(clippy::unwrap_used, reason = "a benchmark that can't run should say where")]

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use watchfloor_channel::{Body, ChannelAdapter, ChannelId, ShortMemory, text::split_within};
use watchfloor_sim::long_answers;

const NOWHERE: &str = "http://127.0.0.1:9/";

fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    println!("| answer | platform | rendered, ms | cut, ms | messages |\n|---|---|---|---|---|");
    for answer in long_answers() {
        for adapter in adapters() {
            let limits = adapter.features().limits;
            let measure = |part: &str| adapter.measure(&Body::Markdown(part.to_owned()));
            let rendered = median(|| _ = black_box(measure(&answer.text)));
            let cut = median(|| _ = black_box(split_within(&answer.text, &limits, measure)));
            let parts = split_within(&answer.text, &limits, measure).len();
            println!("| {} | {} | {rendered:.2} | {cut:.1} | {parts} |", answer.name, adapter.id());
        }
    }
}

/// In milliseconds.
fn median(work: impl Fn()) -> f64 {
    let mut times: Vec<Duration> = (0..21)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

fn adapters() -> [Arc<dyn ChannelAdapter>; 3] {
    let url = || NOWHERE.parse().unwrap();
    let notes = || Arc::new(ShortMemory::default());
    let socket = watchfloor_slack::Transport::Socket { app_token: "none".into() };
    let slack = watchfloor_slack::SlackConfig::new(ChannelId::new("slack"), socket, "none".into(), url());
    let polling = watchfloor_telegram::Intake::Polling { poll_timeout: Duration::from_secs(50) };
    let telegram = watchfloor_telegram::TelegramConfig::new(
        ChannelId::new("telegram"),
        polling,
        watchfloor_sim::telegram::BOT_TOKEN.into(),
        url(),
        notes(),
    );
    let feishu = watchfloor_feishu::FeishuConfig::new(
        ChannelId::new("feishu"),
        watchfloor_sim::feishu::APP_ID.into(),
        "none".into(),
        url(),
        watchfloor_feishu::Transport::LongConnection,
        notes(),
        watchfloor_channel::Now::new(|| 0),
    );
    [
        Arc::new(watchfloor_slack::SlackAdapter::new(slack).unwrap()),
        Arc::new(watchfloor_telegram::TelegramAdapter::new(telegram).unwrap()),
        Arc::new(watchfloor_feishu::FeishuAdapter::new(feishu).unwrap()),
    ]
}
