//! What a later process makes of what an earlier one left.

use watchfloor_channel::ChannelAdapter;

use super::*;
use crate::coordinator::testing::outbound;

/// Begins to show the answer and dies as soon as the platform got this many calls.
async fn crash_while_finishing(bench: &Bench, route: Route, answer: &str, calls: usize) {
    let mut process = JoinSet::new();
    let answer = markdown(answer);
    process.spawn(async move { route.finish(&answer).await.unwrap() });
    bench.platform.reached(calls).await;
    process.shutdown().await;
}

#[tokio::test]
async fn what_is_settled_is_not_shown_again() {
    let bench = Bench::new(|features| features.limits.text = TextUnit::Chars.length(12)).await;
    let answer = markdown("First part.\n\nSecond part.");
    bench.started().await.quiet().await.finish(&answer).await.unwrap();
    let calls = bench.platform.calls();
    bench.route_after_a_crash().finish(&answer).await.unwrap();
    assert_eq!(bench.platform.calls(), calls);
    assert_eq!(bench.chat(), ["First part.", "Second part."]);
}

#[tokio::test]
async fn a_part_that_arrived_before_the_crash_is_found_and_not_posted_again() {
    let bench = Bench::new(|features| features.limits.text = TextUnit::Chars.length(12)).await;
    let route = bench.started().await.quiet().await;
    let (hang, go_on) = Answer::hang();
    go_on.add_permits(1);
    bench.platform.answers([hang, Answer::Lost]);
    let answer = "First part.\n\nSecond part.\n\nThird part.";
    crash_while_finishing(&bench, route, answer, 3).await;
    assert_eq!(bench.chat(), ["First part.", "Second part."]);
    bench.route_after_a_crash().finish(&markdown(answer)).await.unwrap();
    assert_eq!(bench.chat(), ["First part.", "Second part.", "Third part."]);
}

#[tokio::test]
async fn a_part_that_did_not_arrive_before_the_crash_is_posted() {
    let bench = Bench::new(|features| features.limits.text = TextUnit::Chars.length(12)).await;
    let route = bench.started().await.quiet().await;
    let (hang, go_on) = Answer::hang();
    go_on.add_permits(1);
    bench.platform.answers([hang, Answer::uncertain()]);
    let answer = "First part.\n\nSecond part.";
    crash_while_finishing(&bench, route, answer, 3).await;
    bench.route_after_a_crash().finish(&markdown(answer)).await.unwrap();
    assert_eq!(bench.chat(), ["First part.", "Second part."]);
}

#[tokio::test]
async fn an_answer_cut_smaller_before_the_crash_loses_and_repeats_nothing() {
    let answer = "one two three four five six seven eight nine ten";
    let parts = ["one two", "three four", "five", "six seven", "eight nine", "ten"];
    for calls in 2..10 {
        let bench = Bench::new(|features| features.limits.text = TextUnit::Chars.length(24)).await;
        bench.platform.takes_at_most(16);
        let route = bench.started().await.quiet().await;
        crash_while_finishing(&bench, route, answer, calls).await;
        bench.route_after_a_crash().finish(&markdown(answer)).await.unwrap();
        assert_eq!(bench.chat(), parts, "crash after {calls} calls");
    }
}

#[tokio::test]
async fn a_placeholder_of_an_earlier_process_is_found_and_shows_that_we_are_back() {
    let bench = Bench::new(|_| {}).await;
    let before = outbound(Operation::Post(DeliveryKey("d1".into())), "Before the crash.", Urgency::Final);
    bench.platform.send(&before).await.unwrap();

    let reply = bench.start_with(bench.route_after_a_crash(), bench.placeholder.clone());
    reply.shown().wait_for(|shown| *shown > 0).await.unwrap();
    let looked = Call::Find { key: "d1".into() };
    assert_eq!(bench.platform.calls(), [post("Before the crash."), looked, edit("m1", FIRST)]);
    reply.quiet().await.finish(&markdown("It was DNS.")).await.unwrap();
    assert_eq!(bench.chat(), ["It was DNS."]);
}

#[tokio::test]
async fn a_post_whose_row_could_not_be_written_is_looked_for() {
    let bench = Bench::new(|_| {}).await;
    let route = bench.route();
    let unknown = Owed { id: "no such row".into(), message: None, since: None };
    assert!(matches!(route.place(&unknown, &markdown(FIRST)).await, Err(ReplyError::Store(_))));
    assert!(route.unsure.load(Ordering::Relaxed));
}

const HOUR: Duration = Duration::from_secs(3600);

/// A placeholder that an earlier process posted without learning of it.
async fn after_a_crash(repeats: Repeats, row_is_old: bool) -> (Bench, Reply) {
    let mut bench = Bench::new(|features| features.repeats = repeats).await;
    if row_is_old {
        let later = FixedClock::at(1_000);
        later.advance(2 * HOUR);
        Arc::get_mut(&mut bench.services).unwrap().clock = later;
    }
    bench.placeholder.since = Some(1_000);
    let before = outbound(Operation::Post(DeliveryKey("d1".into())), "Before the crash.", Urgency::Final);
    bench.platform.send(&before).await.unwrap();
    let reply = bench.start_with(bench.route_after_a_crash(), bench.placeholder.clone());
    reply.shown().wait_for(|shown| *shown > 0).await.unwrap();
    (bench, reply)
}

#[tokio::test]
async fn where_the_key_makes_repeats_one_message_a_placeholder_in_doubt_is_posted_again_and_brought_up_to_date() {
    let (bench, reply) = after_a_crash(Repeats::Merged(HOUR), false).await;
    assert_eq!(bench.platform.calls(), [post("Before the crash."), post(FIRST), edit("m1", FIRST)]);
    let route = reply.quiet().await;
    assert_eq!(route.outlet.possible_duplicates(), 0);
    route.finish(&markdown("It was DNS.")).await.unwrap();
    assert_eq!(bench.chat(), ["It was DNS."]);
}

#[tokio::test]
async fn an_answer_never_hides_behind_an_older_text_that_its_key_brought_back() {
    let bench = Bench::new(|features| features.repeats = Repeats::Merged(HOUR)).await;
    let before = outbound(Operation::Post(DeliveryKey("d1".into())), "Before the crash.", Urgency::Final);
    bench.platform.send(&before).await.unwrap();
    bench.route_after_a_crash().finish(&markdown("It was DNS.")).await.unwrap();
    assert_eq!(bench.chat(), ["It was DNS."]);
}

#[tokio::test]
async fn a_placeholder_in_doubt_that_may_stand_there_twice_is_counted() {
    for (repeats, row_is_old) in [(Repeats::Blind, false), (Repeats::Merged(HOUR), true)] {
        let (bench, reply) = after_a_crash(repeats, row_is_old).await;
        let route = reply.quiet().await;
        assert_eq!(route.outlet.possible_duplicates(), 1, "{repeats:?}");
        route.finish(&markdown("First part.")).await.unwrap();
        assert_eq!(bench.platform.calls()[..2], [post("Before the crash."), post(FIRST)]);
    }
}

#[tokio::test]
async fn what_is_said_first_after_a_restart_is_in_no_doubt() {
    let bench =
        Bench::new(|features| (features.limits.text, features.repeats) = (TextUnit::Chars.length(12), Repeats::Blind))
            .await;
    bench.started().await.quiet().await;
    let route = bench.route_after_a_crash();
    route.finish(&markdown("First part.\n\nSecond part.")).await.unwrap();
    assert_eq!(
        (bench.chat(), route.outlet.possible_duplicates()),
        (vec!["First part.".into(), "Second part.".into()], 0)
    );
}
