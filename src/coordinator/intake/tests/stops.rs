//! Stop, the platform's own commands, and clicks.

use super::*;

#[tokio::test]
async fn stop_is_the_whole_of_a_message() {
    let bench = Bench::new(|_| {}).await;
    bench.deliver(mention("m1", "U1", "Stop!")).await;
    bench.deliver(mention("m2", "U1", "stop the deploy?")).await;
    let expected = [(InboxKind::Stop, "Stop!".to_owned()), (InboxKind::Message, "stop the deploy?".to_owned())];
    assert_eq!(bench.queue().await, expected);
}

#[tokio::test]
async fn a_message_that_is_edited_into_stop_stops_once() {
    let bench = Bench::new(|_| {}).await;
    let stop = |key: &str| edited(mention(key, "U1", "stop"));
    // A question that we took, and a word that was for nobody.
    assert_eq!(bench.deliver(mention("m1", "U1", "why?")).await, Verdict::Taken);
    assert_eq!(bench.deliver(said("m2", "U2", "stpo")).await, Verdict::Ignored);
    for key in ["m1", "m2"] {
        assert_eq!(bench.deliver(stop(key)).await, Verdict::Taken, "{key}");
        assert_eq!(bench.deliver(stop(key)).await, Verdict::Duplicate, "{key}");
    }
    // An edit that changes no word of a stop stops nothing more.
    assert_eq!(bench.deliver(mention("m3", "U1", "stop")).await, Verdict::Taken);
    assert_eq!(bench.deliver(stop("m3")).await, Verdict::Duplicate);
    let stops = [InboxKind::Message, InboxKind::Stop, InboxKind::Stop, InboxKind::Stop];
    assert_eq!(bench.queue().await.into_iter().map(|(kind, _)| kind).collect::<Vec<_>>(), stops);
}

#[tokio::test]
async fn a_bystanders_stop_is_only_overheard() {
    let bench = Bench::new(|_| {}).await;
    bench.knows_the_thread().await;
    assert_eq!(bench.deliver(said("m2", "U2", "stop")).await, Verdict::Ignored);
    assert_eq!(bench.deliver(said("m3", "U1", "stop")).await, Verdict::Taken);
    assert_eq!(bench.queue().await, [(InboxKind::Stop, "stop".to_owned())]);
}

fn command(key: &str, name: &str) -> Inbound {
    Inbound { command: Some(name.into()), ..mention(key, "U1", &format!("/{name} why?")) }
}

#[tokio::test]
async fn the_platforms_own_stop_stops_whatever_stands_behind_it() {
    let bench = Bench::new(|_| {}).await;
    assert_eq!(bench.deliver(command("m1", "stop")).await, Verdict::Taken);
    assert_eq!(bench.queue().await, [(InboxKind::Stop, "/stop why?".to_owned())]);
}

#[tokio::test]
async fn any_other_command_gets_one_sentence_and_claims_nothing() {
    let bench = Bench::new(|access| access.allow_from = ids("* B1")).await;
    for inbound in [command("m1", "new"), command("m1", "new"), edited(command("m6", "new")), command("m2", "help")] {
        assert_eq!(bench.deliver(inbound).await, Verdict::Ignored);
    }
    let private = Inbound { addressed: Addressed::Direct, private: true, ..command("m3", "start") };
    assert_eq!(bench.deliver(private).await, Verdict::Ignored);
    // Nobody asked us, and a bot would go on for ever.
    let overheard = Inbound { addressed: Addressed::Overheard, ..command("m4", "new") };
    for inbound in
        [overheard, by_bot(Inbound { author: Author { id: "B1".into(), ..said_at(0).author }, ..command("m5", "new") })]
    {
        assert_eq!(bench.deliver(inbound).await, Verdict::Ignored);
    }
    let said = [wording::command_without_effect("new"), wording::greeting(false), wording::greeting(true)];
    let posts = said.map(|text| Call::Post { room: "C1".into(), text });
    assert_eq!((bench.posted().await, bench.queue().await), (posts.to_vec(), vec![]));
    // The same message may still become a question.
    assert_eq!(bench.deliver(edited(mention("m1", "U1", "why?"))).await, Verdict::Taken);
}

#[tokio::test]
async fn a_command_of_somebody_who_may_not_ask_is_refused() {
    let bench = Bench::new(|access| access.allow_from = ids("U2")).await;
    assert_eq!(bench.deliver(command("m1", "help")).await, Verdict::Ignored);
    assert_eq!(bench.posted().await, [refusal_line(&wording::operators())]);
}

#[tokio::test]
async fn clicks_and_commands_from_outside_are_answered_with_nothing() {
    let bench = Bench::new(|_| {}).await;
    for (is_outsider, expected) in [(true, String::new()), (false, wording::command_help("<@U0BOT>", "why?"))] {
        let author = Author { is_outsider, ..said_at(0).author };
        let act = Act::Command { name: "/watchfloor".into(), text: "why?".into(), us: "U0BOT".into() };
        assert_eq!(bench.intake.aside(Aside { conversation: thread_in("C1"), author, act }).await, expected);
    }
}
