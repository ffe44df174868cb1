//! A placeholder that stands there and can't be edited any more.

use super::*;

fn not_editable() -> Answer {
    Answer::refused(RefusalKind::NotEditable)
}

fn delete(id: &str) -> Call {
    Call::Delete { id: id.into() }
}

#[tokio::test]
async fn another_message_takes_its_place_and_is_kept_current() {
    let bench = Bench::new(|_| {}).await;
    let reply = bench.started().await;
    bench.platform.answers([not_editable()]);
    let mut shown = reply.shown();
    for text in ["First.", "Second."] {
        let version = bench.progress.say(text);
        shown.wait_for(|shown| *shown == version).await.unwrap();
    }
    assert_eq!(bench.chat(), ["Second."]);
    let rows = bench.services.store.deliveries().of_turn("t1").await.unwrap();
    assert_eq!(rows[0].message_id.as_deref(), Some("m2"));
    reply.quiet().await.finish(&markdown("It was DNS.")).await.unwrap();
    let expected = [
        post(FIRST),
        edit("m1", "First."),
        post("First."),
        delete("m1"),
        edit("m2", "Second."),
        edit("m2", "It was DNS."),
    ];
    assert_eq!(bench.platform.calls(), expected);
    let expected = [settled(DeliveryKind::Placeholder, 0, "It was DNS."), settled(DeliveryKind::Replaced, 0, "")];
    assert_eq!(bench.owed().await, expected);
}

#[tokio::test]
async fn one_that_can_never_be_edited_is_replaced_twice_and_the_answer_still_comes() {
    let bench = Bench::new(|_| {}).await;
    let reply = bench.started().await;
    let mut shown = reply.shown();
    for text in ["First.", "Second."] {
        bench.platform.answers([not_editable()]);
        let version = bench.progress.say(text);
        shown.wait_for(|shown| *shown == version).await.unwrap();
    }
    bench.platform.answers([not_editable(), not_editable()]);
    bench.progress.say("Third.");
    bench.platform.reached(8).await;
    bench.progress.say("Fourth.");
    reply.quiet().await.finish(&markdown("It was DNS.")).await.unwrap();
    let expected = [
        post(FIRST),
        edit("m1", "First."),
        post("First."),
        delete("m1"),
        edit("m2", "Second."),
        post("Second."),
        delete("m2"),
        edit("m3", "Third."),
        edit("m3", "It was DNS."),
        post("It was DNS."),
        delete("m3"),
    ];
    assert_eq!(bench.platform.calls(), expected);
    assert_eq!((bench.chat(), bench.control.why()), (vec!["It was DNS.".to_owned()], None));
}

#[tokio::test]
async fn an_old_message_that_cannot_be_removed_stays_and_stops_nothing() {
    let bench = Bench::new(|_| {}).await;
    let reply = bench.started().await;
    let (hang, go_on) = Answer::hang();
    go_on.add_permits(1);
    bench.platform.answers([not_editable(), hang, Answer::refused(RefusalKind::Permission)]);
    let version = bench.progress.say("First.");
    reply.shown().wait_for(|shown| *shown == version).await.unwrap();
    reply.quiet().await.finish(&markdown("It was DNS.")).await.unwrap();
    assert_eq!(bench.chat(), [FIRST, "It was DNS."]);
}

#[tokio::test]
async fn where_nothing_takes_its_place_the_answer_is_still_tried() {
    for kind in [RefusalKind::Other, RefusalKind::Room] {
        let bench = Bench::new(|_| {}).await;
        let reply = bench.started().await;
        bench.platform.answers([not_editable(), Answer::refused(kind)]);
        bench.progress.say("First.");
        bench.platform.reached(3).await;
        let route = reply.quiet().await;
        let why = (kind == RefusalKind::Room).then(|| Why::CantPost(refusal(kind)));
        assert_eq!(bench.control.why(), why);
        route.finish(&markdown("It was DNS.")).await.unwrap();
        assert_eq!(bench.chat(), ["It was DNS."]);
    }
}

#[tokio::test]
async fn after_a_crash_in_between_there_is_one_message() {
    let bench = Bench::new(|_| {}).await;
    let before = bench.started().await;
    let old = MessageId { room: "C1".into(), id: "m1".into() };
    // An earlier process came as far as the post.
    let key = super::super::replace::replacement("d1", &old);
    let post_again = crate::coordinator::testing::outbound(Operation::Post(key), "First.", Urgency::Final);
    watchfloor_channel::ChannelAdapter::send(&*bench.platform, &post_again).await.unwrap();
    let route = before.quiet().await;
    drop(route);
    let row = bench.services.store.deliveries().of_turn("t1").await.unwrap().remove(0);

    bench.platform.answers([not_editable()]);
    let reply = bench.start_with(bench.route_after_a_crash(), (&row).into());
    let version = bench.progress.say("Second.");
    reply.shown().wait_for(|shown| *shown == version).await.unwrap();
    reply.quiet().await.finish(&markdown("It was DNS.")).await.unwrap();
    assert_eq!(bench.chat(), ["It was DNS."]);
}

#[tokio::test]
async fn an_answer_for_a_placeholder_that_cannot_be_edited_takes_its_place() {
    let bench = Bench::new(|_| {}).await;
    let route = bench.started().await.quiet().await;
    bench.platform.answers([not_editable()]);
    route.finish(&markdown("It was DNS.")).await.unwrap();
    assert_eq!(bench.platform.calls(), [post(FIRST), edit("m1", "It was DNS."), post("It was DNS."), delete("m1")]);
    let expected = [settled(DeliveryKind::Placeholder, 0, "It was DNS."), settled(DeliveryKind::Replaced, 0, "")];
    assert_eq!(bench.owed().await, expected);
}

#[tokio::test]
async fn a_replacement_that_cannot_become_the_answer_either_is_not_left_behind() {
    let bench = Bench::new(|_| {}).await;
    bench.started().await.quiet().await;
    // An earlier process came as far as the post of the replacement.
    let key = super::super::replace::replacement("d1", &MessageId { room: "C1".into(), id: "m1".into() });
    let before = crate::coordinator::testing::outbound(Operation::Post(key), "First.", Urgency::Final);
    watchfloor_channel::ChannelAdapter::send(&*bench.platform, &before).await.unwrap();
    let (removed, go_on) = Answer::hang();
    go_on.add_permits(1);
    bench.platform.answers([not_editable(), removed, Answer::refused(RefusalKind::Other)]);
    bench.route_after_a_crash().finish(&markdown("It was DNS.")).await.unwrap();
    assert_eq!(bench.chat(), ["It was DNS."]);
}

#[tokio::test]
async fn what_is_shown_of_an_answer_stays_where_the_rest_is_barred() {
    let bench = Bench::new(|features| features.limits.text = TextUnit::Chars.length(12)).await;
    let route = bench.started().await.quiet().await;
    let (first, go_on) = Answer::hang();
    go_on.add_permits(1);
    bench.platform.answers([first, Answer::refused(RefusalKind::Content), Answer::refused(RefusalKind::Content)]);
    route.finish(&markdown("First part.\n\nSecond part.")).await.unwrap();
    let sentence = crate::wording::not_let_through(&refusal(RefusalKind::Content).remedy);
    assert_eq!(bench.chat(), ["First part.", &sentence]);
}
