//! Killed round the acknowledgement: what was not written down comes again, what was written down is not taken twice.

use watchfloor_sim::{model::Rule, slack::EventId};

use crate::bench::Bench;

const ANSWER: &str = "The pool is full.";

fn answers() -> Vec<Rule> {
    vec![Rule::reply(ANSWER)]
}

#[tokio::test]
async fn b009_a_message_that_could_not_be_written_down_is_redelivered_and_answered_once() {
    let mut bench = Bench::started(answers()).await;
    bench.database.lock().await;
    let thread = bench.ask("why?").await;
    bench.kill().await;
    assert_eq!(bench.slack.acks(), [], "acknowledged before it was written down");
    bench.database.unlock().await;
    bench.start().await;
    bench.answered(&thread, &[ANSWER]).await;
    assert_eq!(bench.calls("chat.postMessage"), 1);
    bench.stop().await;
}

#[tokio::test]
async fn a_message_said_while_the_process_is_down_is_answered_once() {
    let mut bench = Bench::started(answers()).await;
    bench.kill().await;
    let thread = bench.ask("why?").await;
    bench.start().await;
    bench.answered(&thread, &[ANSWER]).await;
    assert_eq!(bench.calls("chat.postMessage"), 1);
    bench.stop().await;
}

#[tokio::test]
async fn b007_a_message_redelivered_after_the_restart_is_answered_once() {
    let mut bench = Bench::started(answers()).await;
    bench.model.hold();
    let thread = bench.ask("why?").await;
    bench.model.wait_for_open_streams(1).await;
    bench.kill_and_start().await;
    bench.slack.connected(1).await;
    let before = bench.slack.acks().len();
    bench.slack.redeliver(&thread, EventId::Same).await;
    bench.slack.redeliver(&thread, EventId::New).await;
    bench.slack.wait_for_acks(before + 4).await;
    bench.model.release();
    bench.answered(&thread, &[ANSWER]).await;
    bench.stop().await;
}
