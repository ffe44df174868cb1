//! Turns that are told to end, by a person or with the process: what was told survives.

use watchfloor_sim::{model::Rule, slack::Fault};

use crate::bench::{ALICE, Bench, NEVER, OPS};

const ANSWER: &str = "The pool is full.";

/// The one message of the bot is the stop's. By what name it calls a person depends on what a process has learnt so far.
async fn shows_the_stop(bench: &mut Bench, thread: &str) -> String {
    bench.at_rest().await;
    let texts = bench.texts(thread);
    let whole = |text: &String| text.starts_with("Stopped by ") && text.ends_with(". Mention me again to start over.");
    assert!(texts.len() == 1 && texts.iter().all(whole), "{texts:#?}\n{}", bench.log());
    bench.nothing_odd();
    texts.concat()
}

/// A turn that waits for its model, and its thread.
async fn thinking() -> (Bench, String) {
    let mut bench = Bench::started(vec![Rule::reply(ANSWER)]).await;
    bench.model.hold();
    let thread = bench.ask("why?").await;
    bench.model.wait_for_open_streams(1).await;
    bench.slack.next_message(OPS).await;
    (bench, thread)
}

#[tokio::test]
async fn a_stop_that_was_not_shown_is_shown_after_the_restart() {
    let (mut bench, thread) = thinking().await;
    bench.slack.fault("chat.update", Fault::DelayBefore(NEVER));
    bench.say_in(&thread, "stop").await;
    bench.slack.wait_for_calls("chat.update", 1).await;
    bench.kill_and_start().await;
    shows_the_stop(&mut bench, &thread).await;
    assert_eq!((bench.requests(), bench.calls("chat.postMessage")), (1, 1));
    bench.stop().await;
}

#[tokio::test]
async fn a_stop_said_while_the_process_is_down_ends_the_resumed_turn() {
    let (mut bench, thread) = thinking().await;
    bench.kill().await;
    bench.say_in(&thread, "stop").await;
    bench.start().await;
    shows_the_stop(&mut bench, &thread).await;
    assert_eq!(bench.calls("chat.postMessage"), 1);
    bench.stop().await;
}

#[tokio::test]
async fn a_question_deleted_while_the_process_is_down_is_not_answered() {
    let (mut bench, thread) = thinking().await;
    bench.kill().await;
    bench.slack.delete(OPS, &thread).await;
    bench.start().await;
    bench.slack.wait_for_calls("chat.delete", 1).await;
    bench.at_rest().await;
    assert_eq!((bench.texts(&thread), bench.calls("chat.postMessage")), (vec![], 1));
    bench.stop().await;
}

#[tokio::test]
async fn what_a_deleted_question_left_behind_is_cleared_away_after_the_restart() {
    let (mut bench, thread) = thinking().await;
    bench.slack.fault("chat.delete", Fault::DelayBefore(NEVER));
    bench.slack.delete(OPS, &thread).await;
    bench.slack.wait_for_calls("chat.delete", 1).await;
    bench.kill_and_start().await;
    bench.slack.wait_for_calls("chat.delete", 2).await;
    bench.at_rest().await;
    assert_eq!((bench.texts(&thread), bench.requests()), (vec![], 1));
    bench.stop().await;
}

#[tokio::test]
async fn an_asker_who_was_told_in_private_is_not_told_again_after_the_restart() {
    let (mut bench, _) = thinking().await;
    let chat = bench.slack.open_dm(ALICE).await;
    bench.slack.archive(OPS).await;
    bench.slack.fault("chat.postMessage", Fault::DelayAfter(NEVER));
    bench.model.release();
    bench.slack.next_message(&chat).await;
    bench.kill_and_start().await;
    bench.at_rest().await;
    assert_eq!((bench.slack.messages(&chat, None).len(), bench.calls("chat.postMessage")), (1, 2));
    bench.nothing_odd();
    bench.stop().await;
}

#[tokio::test]
async fn a_stop_that_was_shown_and_not_closed_stops_nothing_else() {
    let (mut bench, thread) = thinking().await;
    bench.say_in(&thread, "stop").await;
    shows_the_stop(&mut bench, &thread).await;
    bench.kill().await;
    // As if killed after the turn was closed and before the stop was.
    bench.database.run("UPDATE inbox SET state = 'pending', turn_id = NULL WHERE kind = 'stop'").await;
    bench.model.release();
    bench.start().await;
    bench.slack.connected(1).await;
    let stopped = shows_the_stop(&mut bench, &thread).await;
    bench.ask_in(&thread, crate::bench::BOB, "and now?").await;
    bench.answered(&thread, &[&stopped, ANSWER]).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_process_asked_to_end_finishes_its_turn() {
    let (mut bench, thread) = thinking().await;
    bench.terminate().await;
    bench.model.release();
    assert!(bench.ended().await.success());
    bench.answered(&thread, &[ANSWER]).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_turn_cut_short_by_a_second_signal_is_left_to_the_next_start() {
    let (mut bench, thread) = thinking().await;
    bench.terminate().await;
    bench.terminate_again().await;
    bench.ended().await;
    bench.model.wait_for_open_streams(0).await;
    bench.start().await;
    bench.model.wait_for_open_streams(1).await;
    bench.model.release();
    bench.answered(&thread, &[ANSWER]).await;
    assert_eq!((bench.requests(), bench.calls("chat.postMessage")), (2, 1));
    bench.stop().await;
}

#[tokio::test]
async fn a_message_said_while_the_process_ends_is_answered_by_the_next() {
    let (mut bench, thread) = thinking().await;
    bench.terminate().await;
    let other = bench.ask("why not?").await;
    bench.model.release();
    assert!(bench.ended().await.success());
    bench.start().await;
    bench.all_answered(&[(&thread, &[ANSWER]), (&other, &[ANSWER])]).await;
    assert_eq!(bench.calls("chat.postMessage"), 2);
    bench.stop().await;
}
