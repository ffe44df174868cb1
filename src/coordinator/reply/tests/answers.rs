//! How an answer comes to stand in the chat, whatever the platform says to it.

use super::*;
use crate::wording;

#[tokio::test]
async fn what_does_not_fit_follows_as_replies_with_fences_closed_and_opened_again() {
    let bench = Bench::new(|features| features.max_text = 40).await;
    let answer = "The log:\n\n```text\nfirst line of it\nsecond line of it\nthird line\n```\n\nThat is all.";
    bench.started().await.quiet().await.finish(&markdown(answer)).await.unwrap();
    let parts =
        ["The log:\n\n```text\nfirst line of it\n```", "```text\nsecond line of it\nthird line\n```", "That is all."];
    assert_eq!(bench.platform.calls(), [post(FIRST), edit("m1", parts[0]), post(parts[1]), post(parts[2])]);
    let expected = [
        settled(DeliveryKind::Placeholder, 0, parts[0]),
        settled(DeliveryKind::Part, 1, parts[1]),
        settled(DeliveryKind::Part, 2, parts[2]),
    ];
    assert_eq!(bench.owed().await, expected);
}

#[tokio::test]
async fn a_part_that_the_platform_finds_too_long_is_cut_smaller() {
    let bench = Bench::new(|features| features.max_text = 24).await;
    bench.platform.takes_at_most(16);
    let route = bench.started().await.quiet().await;
    route.finish(&markdown("one two three four five six seven eight nine ten")).await.unwrap();
    let parts = ["one two", "three four", "five", "six seven", "eight nine", "ten"];
    assert_eq!(bench.chat(), parts);
}

#[tokio::test]
async fn an_answer_that_stays_too_long_is_given_up() {
    let bench = Bench::new(|_| {}).await;
    let route = bench.started().await.quiet().await;
    bench.platform.answers((0..20).map(|_| Answer::refused(RefusalKind::TooLong)));
    let error = route.finish(&markdown("one two three four five six seven eight")).await.unwrap_err();
    assert_eq!(error.refusal(), Some(&refusal(RefusalKind::TooLong)));
    assert_eq!(bench.platform.calls().len(), 5, "{:?}", bench.platform.calls());
}

#[tokio::test]
async fn an_answer_for_a_deleted_placeholder_is_posted() {
    for kind in [RefusalKind::MessageGone, RefusalKind::Permission, RefusalKind::Other] {
        let bench = Bench::new(|_| {}).await;
        let route = bench.started().await.quiet().await;
        bench.platform.answers([Answer::refused(kind)]);
        route.finish(&markdown("It was DNS.")).await.unwrap();
        let cleared = Call::Delete { id: "m1".into() };
        assert_eq!(bench.platform.calls(), [post(FIRST), edit("m1", "It was DNS."), post("It was DNS."), cleared]);
        let gone = (DeliveryKind::Placeholder, 0, DeliveryState::Failed, "It was DNS.".to_owned());
        assert_eq!(bench.owed().await, [gone, settled(DeliveryKind::Part, 0, "It was DNS.")]);
    }
}

#[tokio::test]
async fn a_refusal_for_good_ends_the_matter() {
    for kind in [RefusalKind::Credentials, RefusalKind::Room, RefusalKind::ThreadGone] {
        let bench = Bench::new(|_| {}).await;
        let route = bench.started().await.quiet().await;
        bench.platform.answers([Answer::refused(kind)]);
        let error = route.finish(&markdown("It was DNS.")).await.unwrap_err();
        assert_eq!(error.refusal(), Some(&refusal(kind)));
        assert_eq!(bench.platform.calls(), [post(FIRST), edit("m1", "It was DNS.")]);
    }
}

#[tokio::test]
async fn an_answer_is_shown_without_markup_rather_than_not_at_all() {
    let bench = Bench::new(|features| features.max_text = 12).await;
    let route = bench.started().await.quiet().await;
    bench.platform.answers([Answer::refused(RefusalKind::Content)]);
    route.finish(&markdown("*It* was DNS. **Again.**")).await.unwrap();
    let shown = [("m1".to_owned(), Body::Plain("*It* was".into())), ("m2".to_owned(), markdown("DNS."))];
    assert_eq!(bench.platform.shows()[..2], shown);
}

#[tokio::test]
async fn a_last_edit_that_fails_is_repeated_until_it_stands() {
    let bench = Bench::new(|_| {}).await;
    let route = bench.started().await.quiet().await;
    bench.platform.answers([Answer::away(), Answer::limited(1), Answer::Lost]);
    route.finish(&markdown("It was DNS.")).await.unwrap();
    assert_eq!(bench.platform.calls()[1..], vec![edit("m1", "It was DNS."); 4]);
    assert_eq!(bench.owed().await, [settled(DeliveryKind::Placeholder, 0, "It was DNS.")]);
}

#[tokio::test]
async fn an_answer_with_nothing_for_people_says_so() {
    let bench = Bench::new(|_| {}).await;
    bench.started().await.quiet().await.finish(&markdown("<think>It was DNS, but hush.</think>")).await.unwrap();
    assert_eq!(bench.chat(), [wording::no_answer()]);
}

#[tokio::test]
async fn the_asker_is_notified_once() {
    let bench = Bench::new(|_| {}).await;
    let route = bench.started().await.quiet().await;
    for _ in 0..2 {
        route.notify("<@U1> done.".into()).await.unwrap();
    }
    assert_eq!(bench.platform.calls(), [post(FIRST), post("<@U1> done.")]);
}
