//! Killed between the model's last word and the closed turn: the answer that was thought out is shown, once, and nobody
//! asks the model again.

use std::time::Duration;

use watchfloor_sim::{model::Rule, slack::Fault};

use crate::bench::{Bench, NEVER, until};

const ANSWER: &str = "The pool is full.";

/// A turn whose answer is stored and not shown, and its thread.
async fn about_to_be_shown(fault: Fault) -> (Bench, String) {
    let mut bench = Bench::started(vec![Rule::reply(ANSWER)]).await;
    bench.slack.fault("chat.update", fault);
    let thread = bench.ask("why?").await;
    bench.slack.wait_for_calls("chat.update", 1).await;
    (bench, thread)
}

#[tokio::test]
async fn b051_a_stored_answer_is_shown_without_asking_the_model_again() {
    let (mut bench, thread) = about_to_be_shown(Fault::DelayBefore(NEVER)).await;
    bench.kill_and_start().await;
    bench.answered(&thread, &[ANSWER]).await;
    assert_eq!((bench.requests(), bench.calls("chat.postMessage")), (1, 1));
    bench.stop().await;
}

#[tokio::test]
async fn an_answer_that_only_the_transcript_holds_is_not_asked_for_again() {
    let mut bench = Bench::started(vec![Rule::reply(ANSWER)]).await;
    bench.database.refuse("UPDATE OF answer ON turns").await;
    let thread = bench.ask("why?").await;
    let said = "SELECT COUNT(*) FROM chat_messages WHERE kind = 'assistant'";
    until("the model's last word", async || bench.database.count(said).await == 1).await;
    bench.kill().await;
    bench.database.refuse_nothing().await;
    bench.start().await;
    bench.answered(&thread, &[ANSWER]).await;
    assert_eq!((bench.requests(), bench.calls("chat.postMessage")), (1, 1));
    bench.stop().await;
}

#[tokio::test]
async fn an_answer_that_was_shown_unnoticed_stays_one_message() {
    for fault in [Fault::DelayAfter(NEVER), Fault::DropResponse] {
        let (mut bench, thread) = about_to_be_shown(fault).await;
        let placeholder = bench.shown(&thread)[0].ts.clone();
        bench.slack.wait_for_text(&placeholder, |text| text == ANSWER).await;
        bench.kill_and_start().await;
        bench.answered(&thread, &[ANSWER]).await;
        assert_eq!((bench.requests(), bench.calls("chat.postMessage")), (1, 1));
        bench.stop().await;
    }
}

#[tokio::test]
async fn an_answer_that_was_shown_and_not_written_down_stays_one_message() {
    let (mut bench, thread) = about_to_be_shown(Fault::DelayAfter(Duration::from_millis(300))).await;
    let placeholder = bench.shown(&thread)[0].ts.clone();
    bench.slack.wait_for_text(&placeholder, |text| text == ANSWER).await;
    bench.database.lock().await;
    let slack = bench.slack.clone();
    until("the answer to the edit", async || slack.calls("chat.update")[0].answer.is_some()).await;
    bench.kill().await;
    bench.database.unlock().await;
    bench.start().await;
    bench.answered(&thread, &[ANSWER]).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_turn_whose_answer_is_settled_is_only_closed() {
    let mut bench = Bench::started(vec![Rule::reply(ANSWER)]).await;
    bench.database.refuse("UPDATE OF status ON turns").await;
    let thread = bench.ask("why?").await;
    let settled = "SELECT COUNT(*) FROM deliveries WHERE state = 'settled'";
    until("the settled answer", async || bench.database.count(settled).await == 1).await;
    bench.kill().await;
    assert_eq!(bench.database.owed().await, ["1 waiting messages", "1 open turns"]);
    bench.database.refuse_nothing().await;
    bench.start().await;
    bench.answered(&thread, &[ANSWER]).await;
    assert_eq!((bench.requests(), bench.calls("chat.postMessage"), bench.calls("chat.update")), (1, 1, 1));
    bench.stop().await;
}
