//! Killed while a turn thinks: what was under way is interrupted for the model too, and the answer comes in the same
//! message. A turn that never gets through is given up with a sentence.

use serde_json::json;
use watchfloor_sim::{model::Rule, slack::Fault};

use crate::bench::{BOB, Bench, NEVER, OPS, quick, slow};

const ANSWER: &str = "The pool is full.";
const WORKER: &str = "incident-investigator";

fn send_worker() -> Rule {
    let arguments = json!({"description": "looks", "subagent_type": WORKER, "prompt": "Look at the pool."});
    Rule::call("AgentTool", arguments)
}

fn query() -> Rule {
    Rule::call("query_promql", json!({"query": "up"}))
}

#[tokio::test]
async fn a_call_under_way_is_interrupted_for_the_model_too() {
    let rules = vec![query().when_step(0), Rule::reply(ANSWER).when_tool_result_contains("interrupted")];
    let mut bench = Bench::started(rules).await;
    bench.telemetry.replace(slow());
    let thread = bench.ask("why?").await;
    bench.telemetry.wait_for_requests(1).await;
    bench.kill().await;
    bench.telemetry.replace(quick());
    bench.start().await;
    bench.answered(&thread, &[ANSWER]).await;
    assert_eq!((bench.requests(), bench.calls("chat.postMessage")), (2, 1));
    bench.stop().await;
}

#[tokio::test]
async fn a_worker_under_way_is_closed_and_its_coordinator_is_told() {
    let rules = vec![
        send_worker().when_persona("default").when_step(0),
        Rule::reply("never said").when_persona(WORKER).delay(NEVER),
        Rule::reply(ANSWER).when_persona("default").when_tool_result_contains("interrupted"),
    ];
    let mut bench = Bench::started(rules).await;
    let thread = bench.ask("why?").await;
    for _ in 0..2 {
        bench.model.next_request().await;
    }
    bench.kill_and_start().await;
    bench.answered(&thread, &[ANSWER]).await;
    let worker = "SELECT COUNT(*) FROM chat_sessions WHERE kind = 'worker' AND status = 'failed'";
    assert_eq!(bench.database.count(worker).await, 1);
    assert_eq!((bench.requests(), bench.calls("chat.postMessage")), (3, 1));
    bench.stop().await;
}

#[tokio::test]
async fn a_call_of_a_worker_under_way_ends_with_its_worker() {
    let rules = vec![
        send_worker().when_persona("default").when_step(0),
        query().when_persona(WORKER),
        Rule::reply(ANSWER).when_persona("default").when_tool_result_contains("interrupted"),
    ];
    let mut bench = Bench::started(rules).await;
    bench.telemetry.replace(slow());
    let thread = bench.ask("why?").await;
    bench.telemetry.wait_for_requests(1).await;
    bench.kill_and_start().await;
    bench.answered(&thread, &[ANSWER]).await;
    bench.stop().await;
}

#[tokio::test]
async fn what_stood_in_the_thread_is_read_after_the_restart_too() {
    let mut bench = Bench::started(vec![Rule::reply(ANSWER)]).await;
    let alert = json!([{"id": 1, "title": "OrderApi5xxRatio", "text": "order-api answers with 5xx", "fallback": "x"}]);
    let thread = bench.slack.alert(OPS, alert).await;
    bench.slack.fault("conversations.replies", Fault::DelayBefore(NEVER));
    bench.ask_in(&thread, BOB, "why?").await;
    bench.slack.wait_for_calls("conversations.replies", 1).await;
    bench.kill_and_start().await;
    bench.answered(&thread, &[ANSWER]).await;
    let asked = bench.model.next_request().await["messages"].to_string();
    assert!(asked.contains("OrderApi5xxRatio") && asked.matches("why?").count() == 1, "{asked}");
    bench.stop().await;
}

#[tokio::test]
async fn a_turn_that_never_gets_through_is_explained_and_not_tried_again() {
    let mut bench = Bench::started(vec![Rule::reply("never said")]).await;
    bench.model.hold();
    let thread = bench.ask("why?").await;
    for _ in 0..3 {
        bench.model.wait_for_open_streams(1).await;
        bench.kill().await;
        bench.model.wait_for_open_streams(0).await;
        bench.start().await;
    }
    let explanation = "I was interrupted 3 times while working on this and gave up. Ask again to start over.";
    bench.answered(&thread, &[explanation]).await;
    bench.kill_and_start().await;
    bench.slack.connected(1).await;
    bench.answered(&thread, &[explanation]).await;
    assert_eq!((bench.requests(), bench.calls("chat.postMessage")), (3, 1));
    bench.stop().await;
}
