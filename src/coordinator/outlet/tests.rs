//! Pacing and repetition, on a paused clock.

use tokio::{task::JoinSet, time::advance};
use watchfloor_channel::{Budget, Counted, DeliveryKey, Gaps, Quota, Scope};

use super::*;
use crate::coordinator::testing::{
    Answer, Call, FakePlatform, budgets, edit, outbound, post, quota, refusal, thread_in,
};

fn a_post(room: &str, text: &str) -> Outbound {
    let operation = Operation::Post(DeliveryKey(format!("key of {text}")));
    Outbound { conversation: thread_in(room), ..outbound(operation, text, Urgency::Final) }
}

fn an_edit(id: &str, text: &str, urgency: Urgency) -> Outbound {
    outbound(Operation::Edit(MessageId { room: "C1".into(), id: id.into() }), text, urgency)
}

fn final_edit(id: &str, text: &str) -> Outbound {
    an_edit(id, text, Urgency::Final)
}

fn interim(id: &str, text: &str) -> Outbound {
    an_edit(id, text, Urgency::Interim)
}

/// A platform with this many messages of ours, and the way there.
async fn channel(messages: usize, change: impl FnOnce(&mut Features)) -> (Arc<FakePlatform>, Outlet) {
    let platform = FakePlatform::with(change);
    for number in 1..=messages {
        platform.send(&a_post("C0", &format!("message {number}"))).await.unwrap();
    }
    platform.forget_calls();
    let outlet = Outlet::new(platform.clone());
    (platform, outlet)
}

#[tokio::test(start_paused = true)]
async fn posts_obey_quota_and_burst_of_their_room_alone() {
    let (platform, outlet) =
        channel(0, |features| features.budgets = budgets(quota(1, 1, 3), quota(1000, 1, 1000))).await;
    let start = Instant::now();
    for text in ["a", "b", "c", "d", "e"] {
        outlet.send(&a_post("C1", text)).await.unwrap();
    }
    outlet.send(&a_post("C2", "elsewhere")).await.unwrap();
    assert_eq!(platform.times(start), [0.0, 0.0, 0.0, 1.0, 2.0, 2.0]);
}

#[tokio::test(start_paused = true)]
async fn a_tenth_of_the_accounts_edits_is_kept_for_answers() {
    let (platform, outlet) =
        channel(2, |features| features.budgets = budgets(quota(1000, 1, 1000), quota(10, 10, 10))).await;
    let start = Instant::now();
    let mut interims = 0;
    while outlet.send(&interim(if interims % 2 == 0 { "m1" } else { "m2" }, "…")).await.is_ok() {
        interims += 1;
    }
    assert_eq!(interims, 9);
    for text in ["answer", "another", "a third"] {
        outlet.send(&final_edit("m1", text)).await.unwrap();
    }
    // One from the reserve, then what the common nine tenths give: one each 1.11 s, which nothing interim may take first.
    assert_eq!(platform.times(start)[9..], [0.0, 1.112, 2.223]);
    advance(Duration::from_secs(1)).await;
    assert!(matches!(outlet.send(&interim("m2", "too early")).await, Err(Undelivered::Dropped)));
    advance(Duration::from_secs(1)).await;
    outlet.send(&interim("m2", "now")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn retry_after_on_an_edit_holds_every_edit_and_no_post() {
    let (platform, outlet) = channel(2, |_| {}).await;
    let start = Instant::now();
    platform.answers([Answer::limited(30)]);
    let mut sends = JoinSet::new();
    for message in [final_edit("m1", "limited"), final_edit("m2", "held"), a_post("C1", "free")] {
        let outlet = outlet.clone();
        sends.spawn(async move { outlet.send(&message).await.map(|_| ()).map_err(|error| error.to_string()) });
        tokio::task::yield_now().await;
    }
    platform.reached(2).await;
    assert!(matches!(outlet.send(&interim("m2", "dropped")).await, Err(Undelivered::Dropped)));
    assert_eq!(sends.join_all().await, [Ok(()), Ok(()), Ok(())]);
    let mut timeline = platform.timeline(start);
    timeline[2..].sort_by(|(_, a), (_, b)| format!("{a:?}").cmp(&format!("{b:?}")));
    let expected =
        [(0.0, edit("m1", "limited")), (0.0, post("free")), (30.0, edit("m1", "limited")), (30.0, edit("m2", "held"))];
    assert_eq!(timeline, expected);
}

#[tokio::test(start_paused = true)]
async fn retry_after_on_a_post_holds_that_room_alone() {
    let (platform, outlet) = channel(1, |_| {}).await;
    let start = Instant::now();
    platform.answers([Answer::limited(20)]);
    let mut limited = JoinSet::new();
    let (first, message) = (outlet.clone(), a_post("C1", "limited"));
    limited.spawn(async move { first.send(&message).await.map(|id| id.id).map_err(|error| error.to_string()) });
    platform.reached(1).await;
    outlet.send(&a_post("C2", "elsewhere")).await.unwrap();
    outlet.send(&final_edit("m1", "edited")).await.unwrap();
    outlet.send(&a_post("C1", "held")).await.unwrap();
    limited.join_all().await;
    assert_eq!(platform.times(start), [0.0, 0.0, 0.0, 20.0, 20.0]);
}

#[tokio::test(start_paused = true)]
async fn an_interim_edit_that_meets_a_limit_is_dropped_and_holds_the_next() {
    let (platform, outlet) = channel(1, |_| {}).await;
    platform.answers([Answer::limited(5)]);
    for text in ["first", "second"] {
        assert!(matches!(outlet.send(&interim("m1", text)).await, Err(Undelivered::Dropped)));
    }
    advance(Duration::from_secs(5)).await;
    outlet.send(&interim("m1", "third")).await.unwrap();
    assert_eq!(platform.calls(), [edit("m1", "first"), edit("m1", "third")]);
}

#[tokio::test(start_paused = true)]
async fn an_interim_edit_is_tried_once_whatever_goes_wrong() {
    let (platform, outlet) = channel(1, |_| {}).await;
    platform.answers([Answer::away(), Answer::uncertain()]);
    assert!(matches!(outlet.send(&interim("m1", "first")).await, Err(Undelivered::Late(_))));
    assert!(matches!(outlet.send(&interim("m1", "second")).await, Err(Undelivered::InDoubt(_))));
    assert_eq!(platform.calls(), [edit("m1", "first"), edit("m1", "second")]);
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_is_away_is_tried_again_with_growing_waits() {
    let (platform, outlet) = channel(0, |_| {}).await;
    platform.answers([Answer::away(), Answer::away(), Answer::away(), Answer::away()]);
    let start = Instant::now();
    outlet.send(&a_post("C1", "answer")).await.unwrap();
    let times = platform.times(start);
    let steps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(platform.calls(), vec![post("answer"); 5]);
    for (step, most) in steps.iter().zip([0.5, 1.0, 2.0, 4.0]) {
        assert!((most / 2.0..=most + 0.001).contains(step), "{steps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_uncertain_edit_is_repeated() {
    let (platform, outlet) = channel(1, |_| {}).await;
    platform.answers([Answer::Lost, Answer::uncertain()]);
    outlet.send(&final_edit("m1", "answer")).await.unwrap();
    assert_eq!(platform.calls(), vec![edit("m1", "answer"); 3]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_returns_counts_as_uncertain() {
    let (platform, outlet) = channel(1, |_| {}).await;
    platform.answers([Answer::hang().0]);
    outlet.send(&final_edit("m1", "answer")).await.unwrap();
    assert_eq!(platform.calls(), vec![edit("m1", "answer"); 2]);
}

fn find(text: &str) -> Call {
    Call::Find { key: format!("key of {text}") }
}

#[tokio::test(start_paused = true)]
async fn a_post_whose_answer_was_lost_is_found_and_not_posted_again() {
    let (platform, outlet) = channel(0, |_| {}).await;
    platform.answers([Answer::Lost]);
    let id = outlet.send(&a_post("C1", "answer")).await.unwrap();
    assert_eq!((id.id.as_str(), platform.calls()), ("m1", vec![post("answer"), find("answer")]));
}

#[tokio::test(start_paused = true)]
async fn a_post_that_did_not_arrive_is_posted_again() {
    let (platform, outlet) = channel(0, |_| {}).await;
    platform.answers([Answer::uncertain(), Answer::uncertain()]);
    outlet.send(&a_post("C1", "answer")).await.unwrap();
    let (posted, found) = (post("answer"), find("answer"));
    assert_eq!(platform.calls(), [posted.clone(), found.clone(), posted.clone(), found, posted]);
}

#[tokio::test(start_paused = true)]
async fn a_look_up_is_repeated_until_it_can_be_told() {
    let (platform, outlet) = channel(0, |_| {}).await;
    platform.answers([Answer::Lost]);
    let away = || SendError::Unavailable("away".into());
    platform.finds([away(), SendError::RateLimited(Duration::from_secs(60)), away(), away(), away(), away(), away()]);
    outlet.send(&a_post("C1", "answer")).await.unwrap();
    let expected: Vec<_> = std::iter::once(post("answer")).chain(vec![find("answer"); 8]).collect();
    assert_eq!(platform.calls(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_look_up_that_stays_out_of_reach_posts_nothing() {
    let (platform, outlet) = channel(0, |_| {}).await;
    platform.answers([Answer::Lost]);
    platform.finds((0..1000).map(|_| SendError::Unavailable("away".into())));
    assert!(matches!(outlet.send(&a_post("C1", "answer")).await, Err(Undelivered::Late(_))));
    assert_eq!(platform.calls().iter().filter(|call| **call == post("answer")).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn without_look_ups_an_uncertain_post_is_repeated_once_and_counted() {
    let (platform, outlet) = channel(0, |features| features.repeats = Repeats::Blind).await;
    platform.answers([Answer::uncertain(), Answer::uncertain(), Answer::uncertain()]);
    assert!(matches!(outlet.send(&a_post("C1", "answer")).await, Err(Undelivered::Late(_))));
    assert_eq!((platform.calls(), outlet.possible_duplicates()), (vec![post("answer"); 2], 1));
}

#[tokio::test(start_paused = true)]
async fn where_the_key_makes_repeats_one_message_an_uncertain_post_is_repeated_until_it_is_certain() {
    let (platform, outlet) = channel(0, |features| features.repeats = Repeats::Merged(Duration::from_secs(3600))).await;
    platform.answers([Answer::Lost, Answer::uncertain(), Answer::uncertain()]);
    let id = outlet.send(&a_post("C1", "answer")).await.unwrap();
    assert_eq!((id.id.as_str(), platform.calls()), ("m1", vec![post("answer"); 4]));
    assert_eq!((platform.shows().len(), outlet.possible_duplicates()), (1, 0));
}

/// As Telegram counts: everything in a group, more in the account.
fn counting_all(group: Quota) -> Vec<Budget> {
    let budget = |scope, quota| Budget { counts: Counted::All, scope, quota };
    vec![budget(Scope::Group, group), budget(Scope::Account, quota(1000, 1, 1000))]
}

fn in_room(room: &str, message: Outbound) -> Outbound {
    Outbound { conversation: thread_in(room), ..message }
}

#[tokio::test(start_paused = true)]
async fn posts_and_edits_of_a_group_share_one_budget_and_private_chats_have_none() {
    let (platform, outlet) = channel(1, |features| features.budgets = counting_all(quota(1, 1, 3))).await;
    let start = Instant::now();
    outlet.send(&a_post("C1", "a")).await.unwrap();
    outlet.send(&final_edit("m1", "b")).await.unwrap();
    outlet.send(&a_post("C1", "c")).await.unwrap();
    assert!(matches!(outlet.send(&interim("m1", "too early")).await, Err(Undelivered::Dropped)));
    for text in ["d", "e", "f", "g"] {
        outlet.send(&in_room("D1", final_edit("m1", text))).await.unwrap();
    }
    outlet.send(&a_post("C2", "elsewhere")).await.unwrap();
    outlet.send(&final_edit("m1", "h")).await.unwrap();
    let times = platform.times(start);
    assert_eq!(times[..8], [0.0; 8], "{times:?}");
    assert!((0.9..=1.6).contains(&times[8]), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_asked_for_holds_posts_and_edits_of_that_room_alone() {
    let (platform, outlet) = channel(1, |features| features.budgets = counting_all(quota(1000, 1, 1000))).await;
    let start = Instant::now();
    platform.answers([Answer::limited(30)]);
    assert!(matches!(outlet.send(&interim("m1", "limited")).await, Err(Undelivered::Dropped)));
    outlet.send(&in_room("C2", final_edit("m1", "elsewhere"))).await.unwrap();
    outlet.typing(&thread_in("C1")).await;
    outlet.typing(&thread_in("C2")).await;
    outlet.send(&a_post("C1", "held")).await.unwrap();
    outlet.send(&final_edit("m1", "held too")).await.unwrap();
    let expected = [
        (0.0, edit("m1", "limited")),
        (0.0, edit("m1", "elsewhere")),
        (0.0, Call::Typing { room: "C2".into() }),
        (30.0, post("held")),
        (30.0, edit("m1", "held too")),
    ];
    assert_eq!(platform.timeline(start), expected);
}

#[tokio::test(start_paused = true)]
async fn typing_that_meets_a_limit_holds_the_edits_there() {
    let (platform, outlet) = channel(1, |features| features.budgets = counting_all(quota(1000, 1, 1000))).await;
    platform.typings([SendError::RateLimited(Duration::from_secs(5))]);
    outlet.typing(&thread_in("C1")).await;
    assert!(matches!(outlet.send(&interim("m1", "held")).await, Err(Undelivered::Dropped)));
    advance(Duration::from_secs(5)).await;
    outlet.send(&interim("m1", "now")).await.unwrap();
    assert_eq!(platform.calls(), [Call::Typing { room: "C1".into() }, edit("m1", "now")]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_never_repeated() {
    for urgency in [Urgency::Interim, Urgency::Final] {
        let (platform, outlet) = channel(1, |_| {}).await;
        platform.answers([Answer::refused(RefusalKind::Content)]);
        let sent = outlet.send(&an_edit("m1", "answer", urgency)).await;
        assert!(matches!(&sent, Err(Undelivered::Refused(no)) if *no == refusal(RefusalKind::Content)), "{sent:?}");
        assert_eq!(platform.calls(), [edit("m1", "answer")]);
    }
}

#[tokio::test(start_paused = true)]
async fn patience_ends_and_no_call_follows() {
    let (platform, outlet) = channel(0, |_| {}).await;
    platform.answers((0..1000).map(|_| Answer::away()));
    let start = Instant::now();
    assert!(matches!(outlet.send(&a_post("C1", "answer")).await, Err(Undelivered::Late(_))));
    assert!(start.elapsed() <= PATIENCE, "{:?}", start.elapsed());
    let calls = platform.calls().len();
    advance(PATIENCE).await;
    assert_eq!(platform.calls().len(), calls);
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_patience_is_not_begun_and_holds_the_others_no_longer_than_theirs() {
    let (platform, outlet) = channel(1, |_| {}).await;
    platform.answers([Answer::Error(SendError::RateLimited(Duration::MAX))]);
    let start = Instant::now();
    assert!(matches!(outlet.send(&final_edit("m1", "first")).await, Err(Undelivered::Late(_))));
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert!(matches!(outlet.send(&final_edit("m1", "second")).await, Err(Undelivered::Late(_))));
    assert!(start.elapsed() <= PATIENCE + Duration::from_millis(1), "{:?}", start.elapsed());
    assert_eq!(platform.calls(), [edit("m1", "first")]);
}

#[tokio::test(start_paused = true)]
async fn the_gap_between_edits_grows_with_the_messages_kept_current_and_shrinks_again() {
    let (_, outlet) = channel(0, |features| {
        features.edit_gaps = Gaps::constant(Duration::from_secs(3));
        features.budgets = budgets(quota(1000, 1, 1000), quota(45, 60, 10));
    })
    .await;
    let one = outlet.viewer("C1");
    let alone = outlet.edit_gap("C1", 0);
    let many: Vec<_> = (0..8).map(|_| outlet.viewer("C1")).collect();
    let crowded = outlet.edit_gap("C1", 0);
    drop((one, many));
    let seconds = [alone, crowded, outlet.edit_gap("C1", 0)].map(|gap| (gap.as_secs_f64() * 10.0).round() / 10.0);
    // Nine messages share nine tenths of 45 edits a minute.
    assert_eq!(seconds, [3.0, 13.3, 3.0]);
}

#[tokio::test(start_paused = true)]
async fn the_memory_of_rooms_is_bounded_and_forgets_the_idle_first() {
    let pace = Pace::new(
        FakePlatform::with(|features| features.budgets = budgets(quota(1, 1, 1), quota(1000, 1, 1000))).features(),
    );
    let held = a_post("held", "a");
    pace.hold(&held, false, Duration::from_secs(3600));
    for room in 0..3 * pace::ROOMS {
        assert_eq!(pace.try_take(&a_post(&format!("C{room}"), "a"), false), Ok(()));
        assert!(pace.rooms() <= pace::ROOMS);
    }
    assert_eq!(pace.try_take(&held, false), Err(Instant::now() + Duration::from_secs(3600)));
    advance(Duration::from_secs(1)).await;
    pace.try_take(&a_post("new", "a"), false).unwrap();
    assert_eq!(pace.rooms(), 2);
}

proptest::proptest! {
    #[test]
    fn no_stretch_of_time_sees_more_than_the_burst_and_what_was_earned_in_it(
        count in 1_u32..20, burst in 1_u32..20, waits in proptest::collection::vec(0_u64..2_000, 1..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let taken = runtime.block_on(async {
            let pace = Pace::new(FakePlatform::with(|features| features.budgets = budgets(quota(count, 10, burst), quota(1, 1, 1))).features());
            let mut taken = Vec::new();
            for wait in waits {
                advance(Duration::from_millis(wait)).await;
                if pace.try_take(&a_post("C1", "a"), false).is_ok() {
                    taken.push(Instant::now());
                }
            }
            taken
        });
        for (first, from) in taken.iter().enumerate() {
            for (last, to) in taken.iter().enumerate().skip(first) {
                let earned = (*to - *from).as_secs_f64() * f64::from(count) / 10.0;
                let most = f64::from(burst) + earned + 0.001;
                proptest::prop_assert!((last - first + 1) as f64 <= most, "{} in {:?}", last - first + 1, *to - *from);
            }
        }
    }
}
