//! Long investigations: a limited number of edits lasts to their end, and the sign of typing too.

use watchfloor_channel::SendError;

use super::*;

const FEISHU: Gaps = Gaps { first: Duration::from_secs(2), growth_percent: 150, longest: Duration::from_secs(3600) };

/// Twenty edits in a message's life, as Feishu has them.
async fn of_twenty_edits(turn_timeout: Duration) -> Bench {
    let mut bench = Bench::new(|features| (features.edit_budget, features.edit_gaps) = (Some(20), FEISHU)).await;
    Arc::get_mut(&mut bench.services).unwrap().limits.turn_timeout = turn_timeout;
    bench
}

/// So many calls, evenly, for so long. Returns when the view was edited, in seconds.
async fn investigate(bench: &Bench, minutes: u64, calls: u32) -> Vec<f64> {
    let reply = bench.started_and_paused().await;
    let (start, each) = (Instant::now(), Duration::from_secs(minutes * 60) / calls);
    for number in 0..calls {
        let key = number.to_string();
        bench.progress.start(&key, &format!("call {number}"));
        tokio::time::sleep(each / 2).await;
        bench.progress.end(&key, crate::coordinator::view::LineState::Done);
        tokio::time::sleep(each / 2).await;
    }
    let times = bench.platform.times(start)[1..].to_vec();
    let route = reply.quiet().await;
    tokio::time::resume();
    route.finish(&markdown("It was DNS.")).await.unwrap();
    assert_eq!(bench.chat(), ["It was DNS."]);
    times
}

#[tokio::test]
async fn ten_minutes_with_forty_calls_are_shown_to_the_end_in_few_edits() {
    let bench = of_twenty_edits(Duration::from_secs(30 * 60)).await;
    let edits = investigate(&bench, 10, 40).await;
    assert!((8..=17).contains(&edits.len()), "{edits:?}");
    assert!(edits.last().is_some_and(|last| *last >= 8.0 * 60.0), "{edits:?}");
    // One placeholder, one answer.
    assert_eq!(bench.platform.calls().len(), edits.len() + 2);
}

#[tokio::test]
async fn three_hours_with_four_hundred_calls_are_shown_to_the_end() {
    for limit in [3, 6] {
        let bench = of_twenty_edits(Duration::from_secs(limit * 3600)).await;
        let edits = investigate(&bench, 180, 400).await;
        assert!((8..=17).contains(&edits.len()), "{edits:?}");
        assert!(edits.last().is_some_and(|last| *last >= 140.0 * 60.0), "{limit} h: {edits:?}");
        assert!(edits[3] < 120.0, "{edits:?}");
    }
}

/// News all the time, on a platform that does what it is asked and never says so.
#[tokio::test]
async fn edits_whose_answers_are_lost_are_counted_and_spaced() {
    let bench = of_twenty_edits(Duration::from_secs(30 * 60)).await;
    let reply = bench.started_and_paused().await;
    let start = Instant::now();
    bench.platform.answers((0..40).map(|_| Answer::Lost));
    for number in 0..600 {
        bench.progress.say(&format!("step {number}"));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let edits = bench.platform.times(start)[1..].to_vec();
    assert!((6..=17).contains(&edits.len()), "{edits:?}");
    assert!(edits.last().is_some_and(|last| *last > 60.0), "{edits:?}");
    drop(reply);
}

#[tokio::test]
async fn a_platform_that_is_away_is_asked_less_and_less_often() {
    let bench = Bench::new(|_| {}).await;
    let reply = bench.started_and_paused().await;
    let start = Instant::now();
    bench.platform.answers((0..60).map(|_| Answer::away()));
    bench.progress.say("Asking the metrics.");
    tokio::time::sleep(Duration::from_secs(10 * 60)).await;
    let tries = bench.platform.times(start).len() - 1;
    assert!((15..=30).contains(&tries), "{tries}");
    drop(reply);
}

/// The earlier process may have spent most of the message's edits.
#[tokio::test]
async fn after_a_restart_the_edits_of_the_earlier_process_count() {
    let mut bench = of_twenty_edits(Duration::from_secs(30 * 60)).await;
    let later = FixedClock::at(1_000);
    later.advance(Duration::from_secs(10 * 60));
    Arc::get_mut(&mut bench.services).unwrap().clock = later;
    bench.started().await.quiet().await;
    let row = bench.services.store.deliveries().of_turn("t1").await.unwrap().remove(0);
    assert!(row.message_id.is_some());
    let reply = bench.start_with(bench.route_after_a_crash(), (&row).into());
    // The first says at once that we are back.
    reply.shown().wait_for(|shown| *shown > 0).await.unwrap();
    tokio::time::pause();
    let start = Instant::now();
    for number in 0..600 {
        bench.progress.say(&format!("step {number}"));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let edits = bench.platform.times(start).into_iter().filter(|at| *at > 0.0).count();
    assert!((1..=4).contains(&edits), "{edits}");
    tokio::time::resume();
    reply.quiet().await.finish(&markdown("It was DNS.")).await.unwrap();
    assert_eq!(bench.chat(), ["It was DNS."]);
}

#[tokio::test]
async fn typing_is_shown_at_the_beginning_and_as_often_as_the_platform_forgets_it() {
    let bench = Bench::new(|features| features.typing = Some(Duration::from_secs(4))).await;
    bench.platform.typings([SendError::Unavailable("away".into())]);
    let reply = bench.started_and_paused().await;
    let start = Instant::now();
    bench.platform.reached(2).await;
    tokio::time::sleep(Duration::from_millis(8_500)).await;
    let route = reply.quiet().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let typing = |(_, call): &(f64, Call)| matches!(call, Call::Typing { .. });
    let calls = bench.platform.timeline(start).into_iter().filter(typing).count();
    assert_eq!(calls, 3, "{:?}", bench.platform.timeline(start));
    tokio::time::resume();
    route.finish(&markdown("It was DNS.")).await.unwrap();
    assert_eq!(bench.chat(), ["It was DNS."]);
}

#[tokio::test]
async fn a_sign_of_typing_that_hangs_holds_up_nothing() {
    let bench = Bench::new(|features| features.typing = Some(Duration::from_secs(4))).await;
    bench.platform.typing_hangs();
    let reply = bench.started().await;
    let version = bench.progress.say("Asking the metrics.");
    reply.shown().wait_for(|shown| *shown == version).await.unwrap();
    reply.quiet().await.finish(&markdown("It was DNS.")).await.unwrap();
    assert_eq!(bench.chat(), ["It was DNS."]);
}
