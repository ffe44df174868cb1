//! Killed while a specialist works in the background: it goes on after the restart, and what it found is told exactly once.

use serde_json::json;
use watchfloor_sim::{model::Rule, slack::Fault};

use crate::bench::{Bench, NEVER, until};

const WORKER: &str = "incident-investigator";
const SOON: &str = "I'll tell you.";
const TOLD: &str = "<@U0ALICE> The pool is full.";

fn coordinator() -> Vec<Rule> {
    let send = json!({"description": "looks", "subagent_type": WORKER, "prompt": "Look.", "background": true});
    let of = |rule: Rule, step| rule.when_persona("default").when_step(step);
    vec![of(Rule::call("AgentTool", send), 0), of(Rule::reply(SOON), 1), of(Rule::reply("The pool is full."), 2)]
}

async fn answered_soon(bench: &mut Bench, thread: &str) {
    until("the first answer", async || bench.texts(thread) == [SOON]).await;
    let closed = "SELECT COUNT(*) FROM turns WHERE status = 'answered'";
    until("the turn's end", async || bench.database.count(closed).await == 1).await;
}

async fn told_once(mut bench: Bench, thread: &str) {
    until("the report", async || bench.texts(thread).len() == 2).await;
    bench.at_rest().await;
    assert_eq!(bench.texts(thread), [SOON, TOLD]);
    assert_eq!(bench.database.count("SELECT COUNT(*) FROM turns").await, 2);
    let done = "SELECT COUNT(*) FROM chat_sessions WHERE kind = 'worker' AND status = 'completed'";
    assert_eq!(bench.database.count(done).await, 1);
    bench.nothing_odd();
    bench.stop().await;
}

#[tokio::test]
async fn a_specialist_goes_on_with_what_it_had() {
    let mut rules = coordinator();
    rules.push(Rule::call("query_promql", json!({"query": "up"})).when_persona(WORKER).when_step(0));
    rules.push(Rule::reply("never said").when_persona(WORKER).when_step(1).delay(NEVER).once());
    rules.push(Rule::reply("20 of 20.").when_persona(WORKER).when_step(1));
    let mut bench = Bench::started(rules).await;
    let thread = bench.ask("how full is it?").await;
    answered_soon(&mut bench, &thread).await;
    until("the specialist's second step", async || bench.requests() == 4).await;
    bench.kill_and_start().await;
    until("its second step again", async || bench.requests() >= 5).await;
    told_once(bench, &thread).await;
}

#[tokio::test]
async fn a_report_that_waits_is_told_by_the_next_process() {
    let mut rules = coordinator();
    rules.push(Rule::reply("20 of 20.").when_persona(WORKER));
    let mut bench = Bench::started(rules).await;
    // The turn of the report can't be opened.
    bench.database.refuse("INSERT ON turns WHEN NEW.follow_up").await;
    let thread = bench.ask("how full is it?").await;
    let waits = "SELECT COUNT(*) FROM inbox WHERE kind = 'task_notification' AND state = 'pending'";
    until("the report in the queue", async || bench.database.count(waits).await == 1).await;
    answered_soon(&mut bench, &thread).await;
    bench.kill().await;
    bench.database.refuse_nothing().await;
    bench.start().await;
    told_once(bench, &thread).await;
}

#[tokio::test]
async fn a_report_that_a_store_did_not_take_is_told_when_it_does_without_a_restart() {
    let mut rules = coordinator();
    rules.push(Rule::reply("20 of 20.").when_persona(WORKER));
    let mut bench = Bench::started(rules).await;
    bench.database.refuse("UPDATE ON chat_sessions WHEN NEW.status = 'completed'").await;
    let thread = bench.ask("how full is it?").await;
    until("a refused report", async || bench.log().contains("a worker's end can't be written down now")).await;
    bench.database.refuse_nothing().await;
    told_once(bench, &thread).await;
}

#[tokio::test]
async fn an_answer_to_a_report_whose_post_was_not_written_down_is_not_posted_again() {
    let mut rules = coordinator();
    rules.push(Rule::reply("20 of 20.").when_persona(WORKER));
    let mut bench = Bench::started(rules).await;
    bench.slack.fault("chat.postMessage", Fault::DelayBefore(std::time::Duration::ZERO));
    bench.slack.fault("chat.postMessage", Fault::DelayAfter(NEVER));
    let thread = bench.ask("how full is it?").await;
    until("the second post", async || bench.texts(&thread).len() == 2).await;
    bench.kill_and_start().await;
    told_once(bench, &thread).await;
}
