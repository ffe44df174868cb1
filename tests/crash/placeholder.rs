//! Killed round the placeholder: it is posted once, whatever is known of it after the restart.

use std::time::Duration;

use watchfloor_sim::{model::Rule, slack::Fault};

use crate::bench::{Bench, NEVER, OPS};

const ANSWER: &str = "The pool is full.";

fn answers() -> Vec<Rule> {
    vec![Rule::reply(ANSWER)]
}

#[tokio::test]
async fn a_placeholder_that_was_not_posted_is_posted_after_the_restart() {
    let mut bench = Bench::started(answers()).await;
    bench.slack.fault("chat.postMessage", Fault::DelayBefore(NEVER));
    bench.model.hold();
    let thread = bench.ask("why?").await;
    bench.slack.wait_for_calls("chat.postMessage", 1).await;
    bench.kill().await;
    assert_eq!(bench.texts(&thread), [""; 0]);
    bench.start().await;
    bench.slack.next_message(OPS).await;
    bench.model.release();
    bench.answered(&thread, &[ANSWER]).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_placeholder_whose_answer_was_not_seen_is_found_by_its_metadata() {
    for fault in [Fault::DelayAfter(NEVER), Fault::DropResponse] {
        let mut bench = Bench::started(answers()).await;
        bench.slack.fault("chat.postMessage", fault);
        bench.model.hold();
        let thread = bench.ask("why?").await;
        let placeholder = bench.slack.next_message(OPS).await;
        bench.kill_and_start().await;
        bench.model.wait_for_open_streams(1).await;
        bench.model.release();
        bench.answered(&thread, &[ANSWER]).await;
        assert_eq!(bench.shown(&thread)[0].ts, placeholder.ts);
        assert_eq!(bench.calls("chat.postMessage"), 1);
        bench.stop().await;
    }
}

#[tokio::test]
async fn b052_a_turn_that_waited_for_its_model_is_resumed_in_its_placeholder() {
    let mut bench = Bench::started(answers()).await;
    bench.model.hold();
    let thread = bench.ask("why?").await;
    bench.slack.next_message(OPS).await;
    bench.model.wait_for_open_streams(1).await;
    bench.kill_and_start().await;
    bench.model.wait_for_open_streams(1).await;
    bench.model.release();
    bench.answered(&thread, &[ANSWER]).await;
    assert_eq!((bench.requests(), bench.calls("chat.postMessage")), (2, 1));
    bench.stop().await;
}

#[tokio::test]
async fn a_look_up_that_fails_is_repeated_before_anything_is_posted() {
    let mut bench = Bench::started(answers()).await;
    bench.slack.fault("chat.postMessage", Fault::DelayAfter(NEVER));
    bench.model.hold();
    let thread = bench.ask("why?").await;
    bench.slack.next_message(OPS).await;
    bench.kill().await;
    bench.slack.fault("conversations.replies", Fault::Http(503));
    bench.slack.fault("conversations.replies", Fault::RateLimited { retry_after_secs: 1, http_200: false });
    bench.slack.fault("conversations.replies", Fault::HtmlPage(502));
    bench.model.release();
    bench.start().await;
    bench.answered(&thread, &[ANSWER]).await;
    assert_eq!(bench.calls("chat.postMessage"), 1);
    bench.stop().await;
}

#[tokio::test]
async fn a_start_cut_short_does_not_hinder_the_next() {
    let mut bench = Bench::prepared("sqlite://watchfloor.db", "", answers()).await;
    for after in [5, 15, 30, 60, 120] {
        bench.start().await;
        // A moment is what this is about, so there is nothing to observe.
        tokio::time::sleep(Duration::from_millis(after)).await;
        bench.kill().await;
    }
    bench.start().await;
    bench.open_sqlite().await;
    let thread = bench.ask("why?").await;
    bench.answered(&thread, &[ANSWER]).await;
    bench.stop().await;
}
