//! How an answer comes to stand in the chat, whatever the platform says to it.

use super::*;
use crate::wording;

#[tokio::test]
async fn what_does_not_fit_follows_as_replies_with_fences_closed_and_opened_again() {
    let bench = Bench::new(|features| features.limits.text = TextUnit::Chars.length(40)).await;
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
async fn an_answer_is_cut_where_its_bytes_are_too_many_though_its_text_is_not() {
    let bench = Bench::new(|features| features.limits.bytes = 24).await;
    bench.started().await.quiet().await.finish(&markdown("错误率上升。数据库已满。")).await.unwrap();
    assert_eq!(bench.chat(), ["错误率上升。", "数据库已满。"]);
}

#[tokio::test]
async fn a_part_that_the_platform_finds_too_long_is_cut_smaller() {
    let bench = Bench::new(|features| features.limits.text = TextUnit::Chars.length(24)).await;
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
    let bench = Bench::new(|features| features.limits.text = TextUnit::Chars.length(12)).await;
    let route = bench.started().await.quiet().await;
    bench.platform.answers([Answer::refused(RefusalKind::Content)]);
    route.finish(&markdown("*It* was DNS. **Again.**")).await.unwrap();
    let shown = [("m1".to_owned(), Body::Plain("*It* was".into())), ("m2".to_owned(), markdown("DNS."))];
    assert_eq!(bench.platform.shows()[..2], shown);
}

#[tokio::test]
async fn an_answer_that_is_taken_in_no_form_gives_way_to_a_sentence_that_says_so() {
    let bench = Bench::new(|_| {}).await;
    let route = bench.started().await.quiet().await;
    // Edited and posted, each with and without markup.
    bench.platform.answers((0..4).map(|_| Answer::refused(RefusalKind::Content)));
    route.finish(&markdown("It was DNS.")).await.unwrap();
    let sentence = wording::not_let_through(&refusal(RefusalKind::Content).remedy);
    assert_eq!(bench.chat(), std::slice::from_ref(&sentence));
    let gone = (DeliveryKind::Placeholder, 0, DeliveryState::Failed, "It was DNS.".to_owned());
    assert_eq!(bench.owed().await, [gone, settled(DeliveryKind::Part, 0, &sentence)]);
}

#[tokio::test]
async fn where_even_the_sentence_is_refused_the_answer_is_given_up() {
    let bench = Bench::new(|_| {}).await;
    let route = bench.started().await.quiet().await;
    bench.platform.answers((0..20).map(|_| Answer::refused(RefusalKind::Content)));
    let error = route.finish(&markdown("It was DNS.")).await.unwrap_err();
    assert_eq!(error.refusal(), Some(&refusal(RefusalKind::Content)));
    assert_eq!(bench.platform.calls().len(), 6, "{:?}", bench.platform.calls());
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

/// Seven messages of at most 20 characters, of which a platform with files gets none.
const LONG: &str = "aaaa aaaa aaaa aaaa\n\nbbbb bbbb bbbb bbbb\n\ncccc cccc cccc cccc\n\ndddd dddd dddd dddd\n\n\
                    eeee eeee eeee eeee\n\nffff ffff ffff ffff\n\ngggg gggg gggg gggg";

async fn with_files() -> Bench {
    Bench::new(|features| (features.limits.text, features.files) = (TextUnit::Chars.length(20), true)).await
}

#[tokio::test]
async fn a_very_long_answer_goes_up_as_a_file_and_its_beginning_names_it() {
    let bench =
        Bench::new(|features| (features.limits.text, features.files) = (TextUnit::Chars.length(150), true)).await;
    let long = (0..200).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
    bench.started().await.quiet().await.finish(&markdown(&long)).await.unwrap();
    let chat = bench.chat();
    assert_eq!(chat.len(), 2, "{chat:#?}");
    assert!(
        chat[0].starts_with("word0 word1 ") && chat[0].ends_with(&wording::answer_goes_on("answer.md")),
        "{chat:?}"
    );
    assert!(chat[0].chars().count() <= 150, "{}", chat[0]);
    let shows = bench.platform.shows();
    let Body::File(file) = &shows[1].1 else { panic!("{shows:?}") };
    assert_eq!((file.name.as_str(), file.content.as_ref()), ("answer.md", long.as_bytes()));
    let states: Vec<_> = bench.owed().await.into_iter().map(|(kind, _, state, _)| (kind, state)).collect();
    let settled = DeliveryState::Settled;
    assert_eq!(states, [(DeliveryKind::Placeholder, settled), (DeliveryKind::File, settled)]);
}

#[tokio::test]
async fn where_no_file_can_be_posted_a_very_long_answer_comes_in_parts() {
    for kind in [RefusalKind::Permission, RefusalKind::Unsupported, RefusalKind::Other] {
        let bench = with_files().await;
        let route = bench.started().await.quiet().await;
        bench.platform.answers([Answer::refused(kind)]);
        route.finish(&markdown(LONG)).await.unwrap();
        let parts: Vec<_> = LONG.split("\n\n").collect();
        assert_eq!(bench.chat(), parts, "{kind:?}");
        // And stays so, also when it is asked for again.
        let before = bench.owed().await;
        route.finish(&markdown(LONG)).await.unwrap();
        assert_eq!((bench.chat(), bench.owed().await), (parts.iter().map(|part| (*part).to_owned()).collect(), before));
    }
}

#[tokio::test]
async fn a_file_whose_upload_is_in_doubt_is_looked_up_and_not_posted_again() {
    let bench = with_files().await;
    let route = bench.started().await.quiet().await;
    bench.platform.answers([Answer::Lost]);
    route.finish(&markdown(LONG)).await.unwrap();
    let files = bench.platform.shows().into_iter().filter(|(_, body)| matches!(body, Body::File(_))).count();
    assert_eq!(files, 1);
}

#[tokio::test]
async fn an_answer_that_fits_into_a_few_messages_stays_in_messages() {
    let bench = with_files().await;
    let five = LONG.split("\n\n").take(5).collect::<Vec<_>>();
    bench.started().await.quiet().await.finish(&markdown(&five.join("\n\n"))).await.unwrap();
    assert_eq!(bench.chat(), five);
}
