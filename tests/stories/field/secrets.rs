//! A key in the log: everything fails, every library is at its loudest, and no secret is written.

use std::{
    io,
    sync::{Arc, Mutex},
};

use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;
use watchfloor_sim::{
    model::{self, ModelFault, Rule},
    slack::{APP_TOKEN, BOT_TOKEN, Fault},
};

use crate::{
    setting::Setting,
    stage::{ALICE, CHANGES_TOKEN},
};

/// Of a source, in its address.
const PASSWORD: &str = "CANARY-of-the-source";

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn b069_whatever_fails_no_secret_stands_in_the_log() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_env_filter(FILTER).with_writer(log.clone()).with_ansi(false);
    // For the whole process: libraries that log in the older way are heard only so.
    subscriber.init();

    let look = Rule::call("query_promql", json!({"query": "pool_in_use"})).when_step(0);
    let gone = |status| Rule::fault(ModelFault::Status { status, retry_after: None });
    let rules = [
        gone(503).once(),
        look,
        Rule::reply("Unknown.").when_step(1).but(ModelFault::CutAfterBytes(10)).once(),
        Rule::reply("Unknown.").when_step(1),
        gone(401),
    ];
    let stage = Setting::default().rules(rules).open().await;
    let address = |user: &str| format!("[sources.prometheus]\nurl = \"http://{user}");
    let stage = stage.restarted(&address(""), &address(&format!("watch:{PASSWORD}@"))).await;
    stage.telemetry.down(true);
    for fault in [Fault::Http(500), Fault::HtmlPage(502), Fault::Error("internal_error"), Fault::DropResponse] {
        stage.slack.fault("chat.update", fault);
    }
    let thread = stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "Unknown.");
    stage.slack.cut_connections();
    stage.slack.connected(1).await;
    stage.say_in(&thread, ALICE, "and now?").await;
    assert!(stage.answer().await.starts_with("The model's provider refuses our key."));
    stage.report_changes("wrong", &json!([])).await;
    stage.report_changes(&format!("{CHANGES_TOKEN}-CANARY"), &json!([])).await;
    stage.model.down(true);
    stage.say_in(&thread, ALICE, "and now?").await;
    assert!(stage.answer().await.starts_with("I could not reach the model"));
    stage.model.down(false);
    stage.done().await;

    let log = log.text();
    assert!(log.contains("a turn failed") && log.contains("model call failed"), "{log}");
    for secret in [BOT_TOKEN, APP_TOKEN, model::API_KEY, PASSWORD, "-CANARY"] {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} is in the log");
    }
}

/// As loud as an operator can make it; the simulators, which print what they are asked, aren't his.
const FILTER: &str = "trace,watchfloor_sim=off";
