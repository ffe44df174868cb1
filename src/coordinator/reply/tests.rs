//! The placeholder's life against a platform in memory. Time is real while the store is at work; where a gap is measured,
//! the clock is paused once the placeholder stands.

mod answers;
mod lasting;
mod replacing;
mod restarts;

use std::time::Duration;

use tokio::{task::JoinSet, time::Instant};
use watchfloor_channel::{Features, Gaps, TextUnit};

use super::{
    super::{
        control::Why,
        testing::{Answer, Call, FakePlatform, access, budgets, edit, post, quota, refusal, services, thread_in},
        view::Progress,
    },
    *,
};
use crate::{clock::FixedClock, store::OpenTurn};

/// One open turn and its platform.
struct Bench {
    platform: Arc<FakePlatform>,
    services: Arc<Services>,
    progress: Progress,
    control: Control,
    tasks: TaskTracker,
    session_id: String,
    placeholder: Owed,
}

impl Bench {
    async fn new(change: impl FnOnce(&mut Features)) -> Self {
        let platform = FakePlatform::with(change);
        let services = services(platform.clone(), access(), FixedClock::at(1_000)).await;
        let at = thread_in("C1");
        let open = OpenTurn {
            turn_id: "t1".into(),
            channel: at.channel.as_str().into(),
            room: at.room,
            thread: at.thread,
            asker_id: "U1".into(),
            owner: "test".into(),
            delivery_id: "d1".into(),
            ..OpenTurn::default()
        };
        let opened = services.store.turns().open(&open).await.unwrap();
        let progress = Progress::new("Looking into it…".into());
        // So that the first version shown differs from none.
        progress.say("Looking into it…");
        Self {
            platform,
            services,
            progress,
            control: Control::default(),
            tasks: TaskTracker::new(),
            session_id: opened.session.id,
            placeholder: (&opened.placeholder).into(),
        }
    }

    fn route(&self) -> Route {
        let at = thread_in("C1");
        Route {
            services: self.services.clone(),
            outlet: self.services.channels[&at.channel].outlet.clone(),
            conversation: at,
            question: None,
            to: None,
            session_id: self.session_id.clone(),
            turn_id: "t1".into(),
            unsure: Arc::new(AtomicBool::new(false)),
        }
    }

    /// As a later process finds it.
    fn route_after_a_crash(&self) -> Route {
        Route { unsure: Arc::new(AtomicBool::new(true)), ..self.route() }
    }

    fn start(&self) -> Reply {
        self.start_with(self.route(), self.placeholder.clone())
    }

    fn start_with(&self, route: Route, placeholder: Owed) -> Reply {
        Reply::start(route, placeholder, self.progress.subscribe(), self.control.clone(), &self.tasks)
    }

    /// With the placeholder in its place.
    async fn started(&self) -> Reply {
        let reply = self.start();
        reply.shown().wait_for(|shown| *shown > 0).await.unwrap();
        reply
    }

    /// The same, with time standing still from then on.
    async fn started_and_paused(&self) -> Reply {
        let reply = self.started().await;
        tokio::time::pause();
        reply
    }

    /// Kind, part, state and text of what we owe.
    async fn owed(&self) -> Vec<(DeliveryKind, i64, DeliveryState, String)> {
        let rows = self.services.store.deliveries().of_turn("t1").await.unwrap();
        rows.into_iter().map(|row| (row.kind, row.part, row.state, row.text)).collect()
    }

    /// Our messages as they stand, in order.
    fn chat(&self) -> Vec<String> {
        self.platform.shows().into_iter().map(|(_, body)| body.text().to_owned()).collect()
    }
}

fn markdown(text: &str) -> Body {
    Body::Markdown(text.into())
}

fn settled(kind: DeliveryKind, part: i64, text: &str) -> (DeliveryKind, i64, DeliveryState, String) {
    (kind, part, DeliveryState::Settled, text.into())
}

const FIRST: &str = "Looking into it…";

#[tokio::test]
async fn the_placeholder_is_posted_and_becomes_the_answer() {
    let bench = Bench::new(|_| {}).await;
    bench.started().await.quiet().await.finish(&markdown("It was **DNS**.")).await.unwrap();
    assert_eq!(bench.platform.calls(), [post(FIRST), edit("m1", "It was **DNS**.")]);
    assert_eq!(bench.owed().await, [settled(DeliveryKind::Placeholder, 0, "It was **DNS**.")]);
}

#[tokio::test]
async fn changes_within_a_gap_are_shown_together_and_the_newest_wins() {
    let bench = Bench::new(|features| features.edit_gaps = Gaps::constant(Duration::from_secs(3))).await;
    let reply = bench.started_and_paused().await;
    let start = Instant::now();
    for number in 1..=14 {
        bench.progress.start("a", &format!("step {number}"));
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    reply.shown().wait_for(|shown| *shown == 15).await.unwrap();
    let timeline = bench.platform.timeline(start);
    assert!((2..=4).contains(&timeline.len()), "{timeline:?}");
    assert_eq!(bench.chat(), [format!("{FIRST}\n\n- ⏳ `step 14`")]);
    let gaps: Vec<_> = timeline.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.iter().all(|gap| *gap >= 3.0), "{gaps:?}");
}

#[tokio::test]
async fn what_the_coordinator_says_does_not_wait_for_the_gap() {
    let bench = Bench::new(|features| features.edit_gaps = Gaps::constant(Duration::from_secs(3600))).await;
    let reply = bench.started().await;
    bench.progress.start("a", "step");
    let version = bench.progress.say("Asking the metrics.");
    reply.shown().wait_for(|shown| *shown == version).await.unwrap();
    assert_eq!(bench.platform.calls(), [post(FIRST), edit("m1", "Asking the metrics.\n\n- ⏳ `step`")]);
}

#[tokio::test]
async fn a_view_that_reads_the_same_is_not_sent_again() {
    let bench = Bench::new(|_| {}).await;
    let reply = bench.started().await;
    let version = bench.progress.say(FIRST);
    reply.shown().wait_for(|shown| *shown == version).await.unwrap();
    assert_eq!(bench.platform.calls(), [post(FIRST)]);
}

#[tokio::test]
async fn an_edit_in_flight_is_waited_for_and_none_follows_the_answer() {
    let bench = Bench::new(|_| {}).await;
    let reply = bench.started().await;
    let (hang, go_on) = Answer::hang();
    bench.platform.answers([hang]);
    bench.progress.say("Interim.");
    bench.platform.reached(2).await;
    let mut quiet = JoinSet::new();
    quiet.spawn(async move { reply.quiet().await });
    bench.progress.say("Later.");
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(quiet.try_join_next().is_none());
    go_on.add_permits(1);
    let route = quiet.join_next().await.unwrap().unwrap();
    bench.progress.say("Later still.");
    route.finish(&markdown("It was DNS.")).await.unwrap();
    assert_eq!(bench.platform.calls(), [post(FIRST), edit("m1", "Interim."), edit("m1", "It was DNS.")]);
    assert_eq!(bench.chat(), ["It was DNS."]);
}

#[tokio::test]
async fn a_view_that_was_dropped_is_shown_after_a_while() {
    let bench = Bench::new(|_| {}).await;
    let reply = bench.started_and_paused().await;
    bench.platform.answers([Answer::away(), Answer::limited(30)]);
    let version = bench.progress.say("Interim.");
    let start = Instant::now();
    reply.shown().wait_for(|shown| *shown == version).await.unwrap();
    assert_eq!(bench.platform.calls()[1..], vec![edit("m1", "Interim."); 3]);
    let times = bench.platform.times(start);
    assert!(times[3] - times[2] >= 30.0, "{times:?}");
}

#[tokio::test]
async fn a_view_that_is_refused_does_not_end_the_views_after_it() {
    let bench = Bench::new(|_| {}).await;
    let reply = bench.started().await;
    for kind in [RefusalKind::TooLong, RefusalKind::Content] {
        bench.platform.answers([Answer::refused(kind)]);
        bench.progress.say(&format!("{kind:?}"));
        bench.platform.reached(bench.platform.calls().len() + 1).await;
    }
    let version = bench.progress.say("Good.");
    reply.shown().wait_for(|shown| *shown == version).await.unwrap();
    assert_eq!(bench.chat(), ["Good."]);
}

#[tokio::test]
async fn of_a_bounded_number_of_edits_three_are_kept_for_the_answer() {
    let bench = Bench::new(|features| features.edit_budget = Some(5)).await;
    let reply = bench.started().await;
    for number in 1..=2 {
        let version = bench.progress.say(&format!("Interim {number}."));
        reply.shown().wait_for(|shown| *shown == version).await.unwrap();
    }
    for number in 3..=5 {
        bench.progress.say(&format!("Interim {number}."));
        tokio::task::yield_now().await;
    }
    reply.quiet().await.finish(&markdown("It was DNS.")).await.unwrap();
    let expected = [post(FIRST), edit("m1", "Interim 1."), edit("m1", "Interim 2."), edit("m1", "It was DNS.")];
    assert_eq!(bench.platform.calls(), expected);
}

#[tokio::test]
async fn where_nothing_can_be_posted_the_turn_is_told() {
    let bench = Bench::new(|_| {}).await;
    bench.platform.answers([Answer::refused(RefusalKind::Room)]);
    bench.start().quiet().await;
    assert_eq!(bench.control.why(), Some(Why::CantPost(refusal(RefusalKind::Room))));
    assert_eq!(bench.platform.calls(), [post(FIRST)]);
}

#[tokio::test]
async fn where_nothing_can_be_shown_any_more_the_turn_is_told() {
    for kind in [RefusalKind::Credentials, RefusalKind::Room, RefusalKind::ThreadGone] {
        let bench = Bench::new(|_| {}).await;
        let reply = bench.started().await;
        bench.platform.answers([Answer::refused(kind)]);
        bench.progress.say("Interim.");
        bench.control.token().cancelled().await;
        reply.quiet().await;
        assert_eq!(bench.control.why(), Some(Why::CantPost(refusal(kind))));
        assert_eq!(bench.platform.calls(), [post(FIRST), edit("m1", "Interim.")]);
    }
}

#[tokio::test]
async fn a_deleted_placeholder_ends_the_views_and_not_the_turn() {
    let bench = Bench::new(|_| {}).await;
    let reply = bench.started().await;
    bench.platform.answers([Answer::refused(RefusalKind::MessageGone)]);
    bench.progress.say("Interim.");
    bench.platform.reached(2).await;
    bench.progress.say("Later.");
    reply.quiet().await;
    assert_eq!(bench.control.why(), None);
    assert_eq!(bench.platform.calls(), [post(FIRST), edit("m1", "Interim.")]);
}

#[tokio::test]
async fn a_platform_without_edits_sees_the_placeholder_and_the_answer() {
    let bench = Bench::new(|features| features.edits = false).await;
    let reply = bench.started().await;
    bench.progress.say("Interim.");
    reply.quiet().await.finish(&markdown("It was DNS.")).await.unwrap();
    assert_eq!(bench.platform.calls(), [post(FIRST), post("It was DNS.")]);
}

#[tokio::test]
async fn an_answer_waits_for_the_placeholder_that_is_being_posted() {
    let bench = Bench::new(|_| {}).await;
    let (hang, go_on) = Answer::hang();
    bench.platform.answers([hang]);
    let reply = bench.start();
    bench.platform.reached(1).await;
    let mut finish = JoinSet::new();
    finish.spawn(async move { reply.quiet().await.finish(&markdown("It was DNS.")).await.unwrap() });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.platform.calls(), [post(FIRST)]);
    go_on.add_permits(1);
    finish.join_all().await;
    assert_eq!(bench.platform.calls(), [post(FIRST), edit("m1", "It was DNS.")]);
}

#[tokio::test]
async fn an_answer_waits_for_a_placeholder_only_so_long_and_then_looks_for_it() {
    let bench = Bench::new(|_| {}).await;
    bench.platform.answers([Answer::hang().0]);
    let reply = bench.start();
    bench.platform.reached(1).await;
    tokio::time::pause();
    let route = reply.quiet().await;
    tokio::time::resume();
    route.finish(&markdown("It was DNS.")).await.unwrap();
    let looked = Call::Find { key: "d1".into() };
    assert_eq!(bench.platform.calls(), [post(FIRST), looked, post("It was DNS.")]);
    assert_eq!(bench.owed().await, [settled(DeliveryKind::Placeholder, 0, "It was DNS.")]);
}

#[tokio::test]
async fn a_busy_account_still_gets_its_answer_through() {
    let bench = Bench::new(|features| features.budgets = budgets(quota(1000, 1, 1000), quota(2, 3600, 2))).await;
    let reply = bench.started().await;
    bench.progress.say("Interim 1.");
    bench.platform.reached(2).await;
    bench.progress.say("Interim 2.");
    tokio::task::yield_now().await;
    let answer = markdown("It was DNS.");
    let finish = async { reply.quiet().await.finish(&answer).await };
    // Without the reserve it would be half an hour.
    tokio::time::timeout(Duration::from_secs(20), finish).await.unwrap().unwrap();
    assert_eq!(bench.platform.calls(), [post(FIRST), edit("m1", "Interim 1."), edit("m1", "It was DNS.")]);
}
