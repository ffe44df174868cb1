//! Killed in the middle of an answer that needs several messages: every part once, in order.

use std::time::Duration;

use watchfloor_sim::{model::Rule, slack::Fault};

use crate::bench::{ALICE, Bench, NEVER, OPS, until};

const PARAGRAPHS: usize = 30;

/// Long enough for three messages; each paragraph carries its number.
pub(crate) fn long(paragraphs: usize) -> String {
    let paragraph = |number| format!("Paragraph {number}: {}", "the pool is full and callers wait. ".repeat(9));
    (1..=paragraphs).map(|number| paragraph(number).trim_end().to_owned()).collect::<Vec<_>>().join("\n\n")
}

/// The numbers of the paragraphs, in the order in which they stand in the thread.
pub(crate) fn numbers(texts: &[String]) -> Vec<usize> {
    let all = texts.concat();
    let after = all.split("Paragraph ").skip(1);
    after.filter_map(|text| text.split(':').next()?.parse().ok()).collect()
}

async fn whole(bench: &mut Bench, thread: &str) {
    bench.at_rest().await;
    let texts = bench.texts(thread);
    assert_eq!(numbers(&texts), (1..=PARAGRAPHS).collect::<Vec<_>>(), "{texts:#?}");
    assert_eq!((texts.len(), bench.requests()), (3, 1));
    bench.nothing_odd();
}

/// The posts are the placeholder and then the parts from the second on; this one fails.
async fn failing_post(number: usize, fault: Fault) -> (Bench, String) {
    let mut bench = Bench::started(vec![Rule::reply(long(PARAGRAPHS))]).await;
    bench.model.hold();
    let thread = bench.ask("why?").await;
    bench.slack.next_message(OPS).await;
    // A method's faults are used up in order; these let a post pass.
    for _ in 2..number {
        bench.slack.fault("chat.postMessage", Fault::DelayBefore(Duration::ZERO));
    }
    bench.slack.fault("chat.postMessage", fault);
    bench.model.release();
    bench.slack.wait_for_calls("chat.postMessage", number).await;
    (bench, thread)
}

#[tokio::test]
async fn a_part_that_was_not_posted_is_posted_after_the_restart() {
    for number in [2, 3] {
        let (mut bench, thread) = failing_post(number, Fault::DelayBefore(NEVER)).await;
        bench.kill_and_start().await;
        whole(&mut bench, &thread).await;
        bench.stop().await;
    }
}

#[tokio::test]
async fn a_part_whose_post_was_not_written_down_is_not_posted_again() {
    for number in [2, 3] {
        let (mut bench, thread) = failing_post(number, Fault::DelayAfter(NEVER)).await;
        bench.slack.next_message(OPS).await;
        if number == 3 {
            bench.slack.next_message(OPS).await;
        }
        bench.kill_and_start().await;
        whole(&mut bench, &thread).await;
        assert_eq!(bench.calls("chat.postMessage"), 3);
        bench.stop().await;
    }
}

#[tokio::test]
async fn a_part_that_was_written_down_and_not_settled_is_left_as_it_is() {
    let mut bench = Bench::started(vec![Rule::reply(long(PARAGRAPHS))]).await;
    bench.database.refuse("UPDATE ON deliveries WHEN NEW.state = 'settled' AND NEW.part = 1").await;
    let thread = bench.ask("why?").await;
    let sent = "SELECT COUNT(*) FROM deliveries WHERE state = 'sent' AND part = 1";
    until("the second part", async || bench.database.count(sent).await == 1).await;
    bench.kill().await;
    bench.database.refuse_nothing().await;
    bench.start().await;
    whole(&mut bench, &thread).await;
    assert_eq!(bench.calls("chat.postMessage"), 3);
    bench.stop().await;
}

/// The mention of the asker that ends a long turn: after the placeholder it is the second post.
async fn noticed(fault: Fault) {
    let mut bench = Bench::started_with("[limits]\nnotify_after = \"1ms\"", vec![Rule::reply("Because.")]).await;
    bench.model.hold();
    let thread = bench.ask("why?").await;
    bench.slack.next_message(OPS).await;
    bench.slack.fault("chat.postMessage", fault);
    bench.model.release();
    bench.slack.wait_for_calls("chat.postMessage", 2).await;
    bench.kill_and_start().await;
    let notice = format!("<@{ALICE}> done: the answer is in my message above.");
    bench.answered(&thread, &["Because.", &notice]).await;
    bench.stop().await;
}

#[tokio::test]
async fn the_notice_at_the_end_comes_once() {
    noticed(Fault::DelayBefore(NEVER)).await;
    noticed(Fault::DelayAfter(NEVER)).await;
}
