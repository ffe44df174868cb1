//! What comes too late, and the talk of bots that would never end.

use super::*;

fn skipping(access: &mut Access) {
    access.late = Late { after: Some(Duration::from_secs(300)), policy: LatePolicy::Skip };
}

#[tokio::test]
async fn what_comes_too_late_is_skipped_unless_it_was_taken_in_time() {
    let bench = Bench::new(skipping).await;
    assert_eq!(bench.deliver(mention("m1", "U1", "why?")).await, Verdict::Taken);
    bench.clock.advance(Duration::from_secs(300));
    assert_eq!(bench.deliver(mention("m2", "U1", "and now?")).await, Verdict::Ignored);
    assert_eq!(bench.deliver(mention("m1", "U1", "why?")).await, Verdict::Duplicate);
    // To be changed now is news, however old the message is.
    assert_eq!(bench.deliver(edited(mention("m3", "U1", "and the disk?"))).await, Verdict::Taken);
    assert_eq!(bench.deliver(mention("m4", "U1", "stop")).await, Verdict::Taken);
    let expected = [
        (InboxKind::Message, "why?".to_owned()),
        (InboxKind::Message, "and the disk?".to_owned()),
        (InboxKind::Stop, "stop".to_owned()),
    ];
    assert_eq!((bench.queue().await, bench.posted().await), (expected.to_vec(), vec![]));
}

#[tokio::test]
async fn what_is_skipped_stays_context_where_we_take_part() {
    let bench = Bench::new(skipping).await;
    bench.knows_the_thread().await;
    bench.clock.advance(Duration::from_secs(300));
    assert_eq!(bench.deliver(said("m2", "U1", "and now?")).await, Verdict::Ignored);
    assert_eq!((bench.queue().await, bench.overheard().await), (vec![], vec!["and now?".to_owned()]));
}

#[tokio::test]
async fn bots_begin_some_turns_in_a_row_and_then_wait_for_a_person() {
    let bench = Bench::new(|access| access.allow_from = ids("* B1 B2")).await;
    let turns = left_alone::BOT_TURNS;
    let alert = |round: &str, n: i64| {
        let bot = if n % 2 == 0 { "B1" } else { "B2" };
        by_bot(mention(&format!("{round}{n}"), bot, r#"so? {"is_bot":false}"#))
    };
    for round in ["a", "b"] {
        for n in 0..turns {
            assert_eq!(bench.deliver(alert(round, n)).await, Verdict::Taken, "{round}{n}");
            bench.answers(&format!("{round}{n}")).await;
        }
        for n in turns..2 * turns {
            assert_eq!(bench.deliver(alert(round, n)).await, Verdict::Ignored, "{round}{n}");
        }
        assert_eq!(bench.deliver(alert(round, 0)).await, Verdict::Duplicate);
        // Said to nobody, and a person's word all the same.
        assert_eq!(bench.deliver(said(&format!("{round} person"), "U1", "thanks")).await, Verdict::Ignored);
    }
}

#[tokio::test]
async fn what_a_bot_says_while_its_turn_waits_is_one_turn() {
    let bench = Bench::new(|access| access.allow_from = ids("B1")).await;
    for n in 0..3 * left_alone::BOT_TURNS {
        assert_eq!(bench.deliver(by_bot(mention(&n.to_string(), "B1", "alert"))).await, Verdict::Taken);
    }
}

#[tokio::test]
async fn where_there_are_no_threads_only_quick_talk_of_bots_is_a_loop() {
    let bench = Bench::new(|access| access.allow_from = ids("B1")).await;
    let alert = |n: i64| {
        let mut inbound = by_bot(mention(&n.to_string(), "B1", "alert"));
        inbound.conversation.thread.clear();
        inbound
    };
    for n in 0..3 * left_alone::BOT_TURNS {
        assert_eq!(bench.deliver(alert(n)).await, Verdict::Taken, "{n}");
        bench.answers_in("", &n.to_string()).await;
        bench.clock.advance(Duration::from_secs(15 * 60));
    }
}
