//! Killed while messages wait: each of them is answered once, in the order of the conversation it belongs to.

use serde_json::json;
use watchfloor_sim::{model::Rule, slack::Fault};

use crate::bench::{BOB, Bench, NEVER, OPS, until};

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
async fn messages_behind_running_turns_are_answered_once_each() {
    let answers = ["alpha", "beta", "gamma", "delta"];
    let rules =
        answers.iter().map(|word| Rule::reply(format!("about {word}")).when_last_user_contains(*word)).collect();
    let mut bench = Bench::started(rules).await;
    bench.model.hold();
    let one = bench.ask("why alpha?").await;
    let two = bench.ask("why gamma?").await;
    bench.model.wait_for_open_streams(2).await;
    let first = bench.ask_in(&one, BOB, "hello").await;
    bench.slack.wait_for_reactions(&first, &["eyes"]).await;
    let waits = [bench.ask_in(&one, BOB, "why beta?").await, bench.ask_in(&two, BOB, "why delta?").await];
    for message in &waits {
        bench.slack.wait_for_reactions(message, &["eyes"]).await;
    }
    bench.kill_and_start().await;
    bench.model.wait_for_open_streams(2).await;
    bench.model.release();
    bench.all_answered(&[(&one, &["about alpha", "about beta"]), (&two, &["about gamma", "about delta"])]).await;
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

#[tokio::test]
async fn accepted_messages_without_a_turn_are_answered_once() {
    let rules = vec![
        Rule::reply("about both").when_last_user_contains("beta"),
        Rule::reply("about gamma").when_last_user_contains("gamma"),
    ];
    let mut bench = Bench::started(rules).await;
    bench.database.refuse("INSERT ON turns").await;
    let one = bench.ask("why alpha?").await;
    // Events that come together are written down in any order.
    bench.slack.wait_for_acks(2).await;
    bench.ask_in(&one, BOB, "and why beta?").await;
    let two = bench.ask("why gamma?").await;
    bench.slack.wait_for_acks(6).await;
    bench.kill().await;
    assert_eq!(bench.database.owed().await, ["3 waiting messages"]);
    bench.database.refuse_nothing().await;
    bench.start().await;
    bench.all_answered(&[(&one, &["about both"]), (&two, &["about gamma"])]).await;
    assert_eq!((bench.requests(), bench.calls("chat.postMessage")), (2, 2));
    bench.stop().await;
}

#[tokio::test]
async fn what_a_turn_took_in_is_in_the_resumed_turn_once() {
    let rules = vec![
        Rule::call("query_promql", json!({"query": "up"})).when_step(0),
        Rule::reply("never said").when_last_user_contains("which region").delay(NEVER).once(),
        Rule::reply("Only eu-west.").when_last_user_contains("which region"),
    ];
    let mut bench = Bench::started(rules).await;
    bench.model.hold();
    let thread = bench.ask("why?").await;
    bench.model.next_request().await;
    bench.say_in(&thread, "and in which region?").await;
    until("the taken message", async || bench.database.messages().await == 2).await;
    bench.model.release();
    let steered = bench.model.next_request().await["messages"].to_string();
    assert_eq!(steered.matches("which region").count(), 1, "{steered}");
    bench.kill_and_start().await;
    let resumed = bench.model.next_request().await["messages"].to_string();
    assert_eq!(resumed.matches("which region").count(), 1, "{resumed}");
    bench.answered(&thread, &["Only eu-west."]).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_turn_that_waited_for_its_place_is_resumed_too() {
    let mut bench = Bench::started_with("[limits]\nturns = 1", vec![Rule::reply("The pool is full.")]).await;
    bench.model.hold();
    let one = bench.ask("why?").await;
    bench.model.wait_for_open_streams(1).await;
    let two = bench.ask("why not?").await;
    bench.slack.wait_for_calls("chat.postMessage", 2).await;
    bench.kill_and_start().await;
    bench.model.wait_for_open_streams(1).await;
    bench.model.release();
    bench.all_answered(&[(&one, &["The pool is full."]), (&two, &["The pool is full."])]).await;
    assert_eq!(bench.calls("chat.postMessage"), 2);
    bench.stop().await;
}
