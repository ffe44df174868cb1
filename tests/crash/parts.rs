//! Killed in the middle of an answer that needs several messages: every part once, in order.

use watchfloor_sim::{model::Rule, slack::Fault};

use crate::bench::{Bench, NEVER, OPS};

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
        bench.slack.fault("chat.postMessage", Fault::DelayBefore(std::time::Duration::ZERO));
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
