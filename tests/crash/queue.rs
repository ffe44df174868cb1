//! Killed while messages wait: each of them is answered once, in the order of the conversation it belongs to.

use watchfloor_sim::{model::Rule, slack::Fault};

use crate::bench::{BOB, Bench, NEVER, OPS};

#[tokio::test]
async fn what_the_asker_added_and_nobody_took_steers_the_resumed_turn() {
    let rules =
        vec![Rule::reply("Only eu-west.").when_last_user_contains("which region"), Rule::reply("The pool is full.")];
    let mut bench = Bench::started(rules).await;
    bench.model.hold();
    let thread = bench.ask("why?").await;
    bench.model.wait_for_open_streams(1).await;
    let added = bench.say_in(&thread, "and in which region?").await;
    bench.slack.wait_for_reactions(&added, &["eyes"]).await;
    bench.kill_and_start().await;
    bench.model.wait_for_open_streams(1).await;
    bench.model.release();
    bench.answered(&thread, &["Only eu-west."]).await;
    bench.stop().await;
}

#[tokio::test]
async fn waiting_messages_of_two_threads_are_answered_once_each() {
    let answers = ["alpha", "beta", "gamma", "delta"];
    let rules =
        answers.iter().map(|word| Rule::reply(format!("about {word}")).when_last_user_contains(*word)).collect();
    let mut bench = Bench::started(rules).await;
    bench.model.hold();
    let one = bench.ask("why alpha?").await;
    let two = bench.ask("why gamma?").await;
    bench.model.wait_for_open_streams(2).await;
    bench.ask_in(&one, BOB, "hello").await;
    let waits = [bench.ask_in(&one, BOB, "why beta?").await, bench.ask_in(&two, BOB, "why delta?").await];
    for message in &waits {
        bench.slack.wait_for_reactions(message, &["eyes"]).await;
    }
    bench.kill_and_start().await;
    bench.model.wait_for_open_streams(2).await;
    bench.model.release();
    bench.answered(&one, &["about alpha", "about beta"]).await;
    bench.answered(&two, &["about gamma", "about delta"]).await;
    assert_eq!(bench.calls("chat.postMessage"), 4);
    bench.stop().await;
}

#[tokio::test]
async fn two_open_turns_of_one_thread_are_both_resumed() {
    let words = ["alpha", "beta"];
    let rules = words.iter().map(|word| Rule::reply(format!("about {word}")).when_last_user_contains(*word)).collect();
    let mut bench = Bench::started(rules).await;
    let thread = bench.ask("why alpha?").await;
    bench.at_rest().await;
    bench.slack.fault("chat.update", Fault::DelayBefore(NEVER));
    bench.ask_in(&thread, BOB, "why beta?").await;
    bench.slack.wait_for_calls("chat.update", 2).await;
    bench.kill().await;
    // As if a process had taken up the second before the first was closed.
    bench.database.run("UPDATE turns SET status = 'running', closed_at = NULL").await;
    bench.database.run("UPDATE inbox SET state = 'taken' WHERE state = 'done' AND turn_id IS NOT NULL").await;
    bench.start().await;
    bench.answered(&thread, &["about alpha", "about beta"]).await;
    assert_eq!((bench.requests(), bench.calls("chat.postMessage")), (2, 2));
    assert_eq!(bench.slack.messages(OPS, Some(&thread)).len(), 4);
    bench.stop().await;
}
