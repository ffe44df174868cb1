//! Who is taken, who is told no, and what is left alone.

use std::time::Duration;

use watchfloor_channel::{Author, MessageId};

use super::*;
use crate::{
    clock::FixedClock,
    coordinator::{
        access::{Access, DmPolicy},
        late::{Late, LatePolicy},
        testing::{self, Answer, Call, FakePlatform, ids, said_at, thread_in},
    },
    store::{InboxRow, OpenTurn},
};

mod stops;
mod unanswered;

struct Bench {
    platform: Arc<FakePlatform>,
    services: Arc<Services>,
    router: Router,
    clock: Arc<FixedClock>,
    intake: Intake,
}

impl Bench {
    /// No conversation is opened: what is taken stays in the queue.
    async fn new(change: impl FnOnce(&mut Access)) -> Self {
        let platform = FakePlatform::with(|_| {});
        let mut access = testing::access();
        change(&mut access);
        let clock = FixedClock::at(1_000_000);
        let services = testing::services(platform.clone(), access, clock.clone()).await;
        let router = Router::new(services.clone());
        router.drain().await;
        let intake = Intake::new(services.clone(), router.clone());
        Self { platform, services, router, clock, intake }
    }

    async fn deliver(&self, inbound: Inbound) -> Verdict {
        self.intake.deliver(inbound).await.unwrap()
    }

    /// Somebody has mentioned us in the thread, and we answered.
    async fn knows_the_thread(&self) {
        assert_eq!(self.deliver(mention("opener", "U1", "why?")).await, Verdict::Taken);
        self.answers("t1").await;
    }

    /// What waits in the thread becomes a turn.
    async fn answers(&self, turn: &str) {
        self.answers_in("100.1", turn).await;
    }

    async fn answers_in(&self, thread: &str, turn: &str) {
        let waiting = self.services.store.inbox().pending("fake", "C1", thread).await.unwrap();
        let at = ConversationId { thread: thread.into(), ..thread_in("C1") };
        let open = OpenTurn {
            turn_id: turn.into(),
            channel: at.channel.as_str().into(),
            room: at.room,
            thread: at.thread,
            asker_id: "U1".into(),
            owner: "test".into(),
            delivery_id: format!("of {turn}"),
            inbox_ids: waiting.into_iter().map(|row| row.id).collect(),
            ..OpenTurn::default()
        };
        self.services.store.turns().open(&open).await.unwrap();
    }

    async fn waiting(&self) -> Vec<InboxRow> {
        self.services.store.inbox().pending("fake", "C1", "100.1").await.unwrap()
    }

    /// Kind and text of what waits.
    async fn queue(&self) -> Vec<(InboxKind, String)> {
        self.waiting().await.into_iter().map(|row| (row.kind, row.text)).collect()
    }

    async fn overheard(&self) -> Vec<String> {
        let rows = self.services.store.inbox().waiting("fake", "C1", "100.1").await.unwrap();
        rows.into_iter().filter(|row| row.kind == InboxKind::Overheard).map(|row| row.text).collect()
    }

    /// What was posted, once everything under way is done.
    async fn posted(&self) -> Vec<Call> {
        self.router.drain().await;
        self.platform.calls()
    }
}

fn said(key: &str, author: &str, text: &str) -> Inbound {
    let default = said_at(900_000);
    Inbound {
        message_key: key.into(),
        message: MessageId { room: "C1".into(), id: key.into() },
        author: Author { id: author.into(), ..default.author },
        text: text.into(),
        addressed: Addressed::Overheard,
        ..default
    }
}

fn mention(key: &str, author: &str, text: &str) -> Inbound {
    Inbound { addressed: Addressed::Mention, ..said(key, author, text) }
}

fn direct(key: &str, author: &str, text: &str) -> Inbound {
    Inbound { addressed: Addressed::Direct, private: true, ..said(key, author, text) }
}

fn by_bot(inbound: Inbound) -> Inbound {
    let author = Author { is_bot: true, ..inbound.author.clone() };
    Inbound { author, ..inbound }
}

fn edited(inbound: Inbound) -> Inbound {
    Inbound { kind: InboundKind::Edit, ..inbound }
}

fn refusal_line(whom: &str) -> Call {
    Call::Post { room: "C1".into(), text: wording::not_allowed(whom) }
}

#[tokio::test]
async fn our_own_messages_are_ignored_in_every_kind_of_room() {
    let bench = Bench::new(|access| {
        access.require_mention = false;
        access.allow_from = ids("* W1");
    })
    .await;
    for inbound in [said("m1", "W1", "answer"), mention("m2", "W1", "answer"), direct("m3", "W1", "answer")] {
        for is_bot in [false, true] {
            let author = Author { is_self: true, is_bot, ..inbound.author.clone() };
            assert_eq!(bench.deliver(Inbound { author, ..inbound.clone() }).await, Verdict::Ignored);
        }
    }
    assert_eq!((bench.queue().await, bench.overheard().await), (vec![], vec![]));
    assert_eq!(bench.posted().await, []);
}

#[tokio::test]
async fn a_closed_room_stays_silent() {
    let bench = Bench::new(|access| access.allow_rooms = ids("C2")).await;
    assert_eq!(bench.deliver(mention("m1", "U1", "why?")).await, Verdict::Ignored);
    assert_eq!((bench.queue().await, bench.posted().await), (vec![], vec![]));
}

#[tokio::test]
async fn closed_private_chats_stay_silent() {
    let bench = Bench::new(|access| access.dm_policy = DmPolicy::Disabled).await;
    assert_eq!(bench.deliver(direct("m1", "U1", "why?")).await, Verdict::Ignored);
    assert_eq!((bench.queue().await, bench.posted().await), (vec![], vec![]));
}

#[tokio::test]
async fn a_message_of_an_unknown_channel_is_ignored() {
    let bench = Bench::new(|_| {}).await;
    let mut inbound = mention("m1", "U1", "why?");
    inbound.conversation.channel = watchfloor_channel::ChannelId::new("gone");
    assert_eq!(bench.deliver(inbound).await, Verdict::Ignored);
}

#[tokio::test]
async fn an_unknown_person_is_told_once_an_hour_whom_to_ask() {
    let bench = Bench::new(|access| {
        access.allow_from = ids("U1");
        access.admins = vec!["U7".into(), "U8".into()];
    })
    .await;
    for key in ["m1", "m1", "m2"] {
        assert_eq!(bench.deliver(mention(key, "U9", "why?")).await, Verdict::Ignored);
        // The copy without the mention, as some platforms send it beside.
        assert_eq!(bench.deliver(said(key, "U9", "why?")).await, Verdict::Ignored);
    }
    assert_eq!(bench.posted().await, [refusal_line("<@U7>, <@U8>")]);
    bench.clock.advance(Duration::from_secs(3599));
    bench.deliver(mention("m3", "U9", "why?")).await;
    assert_eq!(bench.posted().await.len(), 1);
    bench.clock.advance(Duration::from_secs(1));
    bench.deliver(mention("m4", "U9", "why?")).await;
    assert_eq!(bench.posted().await.len(), 2);
    assert_eq!(bench.queue().await, []);
}

#[tokio::test]
async fn who_is_of_another_organisation_gets_no_answer_and_is_context_where_we_take_part() {
    let bench = Bench::new(|access| {
        access.thread_follow = ThreadFollow::All;
        access.allow_from = ids("* U9");
    })
    .await;
    let outside = |inbound: Inbound| {
        let author = Author { is_outsider: true, ..inbound.author.clone() };
        Inbound { author, ..inbound }
    };
    assert_eq!(bench.deliver(outside(mention("m1", "U9", "why?"))).await, Verdict::Ignored);
    assert_eq!(bench.deliver(outside(direct("m2", "U9", "why?"))).await, Verdict::Ignored);
    assert_eq!(bench.overheard().await, Vec::<String>::new());
    bench.knows_the_thread().await;
    for (key, text) in [("m3", "and now?"), ("m4", "stop")] {
        assert_eq!(bench.deliver(outside(mention(key, "U9", text))).await, Verdict::Ignored);
    }
    assert_eq!(bench.deliver(outside(said("m5", "U9", "it is slow here too"))).await, Verdict::Ignored);
    assert_eq!(bench.overheard().await, ["and now?", "stop", "it is slow here too"]);
    assert_eq!((bench.queue().await, bench.posted().await), (vec![], vec![]));
}

#[tokio::test]
async fn a_refusal_does_not_hold_up_the_verdict() {
    let bench = Bench::new(|access| access.allow_from = ids("U1")).await;
    let (hang, go_on) = Answer::hang();
    bench.platform.answers([hang]);
    assert_eq!(bench.deliver(mention("m1", "U9", "why?")).await, Verdict::Ignored);
    bench.platform.reached(1).await;
    assert_eq!(bench.platform.shows(), []);
    go_on.add_permits(1);
    assert_eq!(bench.posted().await, [refusal_line(&wording::operators())]);
}

#[tokio::test]
async fn who_was_not_speaking_to_us_is_not_told_no() {
    for change in [(|access| access.require_mention = false) as fn(&mut Access), |access| {
        access.thread_follow = ThreadFollow::All
    }] {
        let bench = Bench::new(|access| {
            access.allow_from = ids("U1");
            change(access);
        })
        .await;
        bench.knows_the_thread().await;
        assert_eq!(bench.deliver(said("m2", "U9", "I see it too")).await, Verdict::Ignored);
        assert_eq!((bench.posted().await, bench.overheard().await), (vec![], vec!["I see it too".to_owned()]));
    }
}

#[tokio::test]
async fn an_unknown_bot_is_not_answered_with_a_refusal() {
    let bench = Bench::new(|access| access.allow_from = ids("*")).await;
    for inbound in [by_bot(mention("m1", "B1", "alert")), by_bot(direct("m2", "B1", "alert"))] {
        assert_eq!(bench.deliver(inbound).await, Verdict::Ignored);
    }
    assert_eq!((bench.queue().await, bench.posted().await), (vec![], vec![]));
}

#[tokio::test]
async fn a_bot_starts_work_only_if_it_is_listed_and_mentions_us() {
    let bench = Bench::new(|access| {
        access.allow_from = ids("* B1");
        access.require_mention = false;
    })
    .await;
    assert_eq!(bench.deliver(by_bot(said("m1", "B1", "alert"))).await, Verdict::Ignored);
    assert_eq!(bench.deliver(by_bot(mention("m2", "B1", "alert"))).await, Verdict::Taken);
    assert_eq!(bench.deliver(by_bot(mention("m3", "B2", "alert"))).await, Verdict::Ignored);
}

#[tokio::test]
async fn a_message_is_taken_once_by_whatever_event_tells_of_it() {
    let bench = Bench::new(|_| {}).await;
    assert_eq!(bench.deliver(said("m1", "U1", "why?")).await, Verdict::Ignored);
    assert_eq!(bench.deliver(mention("m1", "U1", "why?")).await, Verdict::Taken);
    assert_eq!(bench.deliver(mention("m1", "U1", "why?")).await, Verdict::Duplicate);
    assert_eq!(bench.deliver(edited(mention("m1", "U1", "why, please?"))).await, Verdict::Duplicate);
    assert_eq!(bench.queue().await, [(InboxKind::Message, "why?".to_owned())]);
}

#[tokio::test]
async fn an_edit_that_adds_the_mention_is_taken() {
    let bench = Bench::new(|_| {}).await;
    bench.knows_the_thread().await;
    assert_eq!(bench.deliver(said("m2", "U2", "it is slow")).await, Verdict::Ignored);
    assert_eq!(bench.overheard().await, ["it is slow"]);
    assert_eq!(bench.deliver(edited(mention("m2", "U2", "why is it slow?"))).await, Verdict::Taken);
    assert_eq!(bench.overheard().await, Vec::<String>::new());
    // Taking the mention away again changes nothing.
    assert_eq!(bench.deliver(edited(said("m2", "U2", "never mind"))).await, Verdict::Ignored);
    assert_eq!(bench.overheard().await, Vec::<String>::new());
    assert_eq!(bench.queue().await, [(InboxKind::Message, "why is it slow?".to_owned())]);
}

#[tokio::test]
async fn only_what_was_taken_can_be_taken_back_and_only_once() {
    let bench = Bench::new(|_| {}).await;
    let deleted = |key: &str| Inbound { kind: InboundKind::Deleted, ..mention(key, "U1", "why is it slow?") };
    assert_eq!(bench.deliver(deleted("m1")).await, Verdict::Ignored);
    assert_eq!(bench.deliver(mention("m1", "U1", "why is it slow?")).await, Verdict::Taken);
    assert_eq!(bench.deliver(deleted("m1")).await, Verdict::Taken);
    assert_eq!(bench.deliver(deleted("m1")).await, Verdict::Duplicate);
    assert_eq!(bench.deliver(mention("m1", "U1", "why is it slow?")).await, Verdict::Duplicate);
    // What was taken back is not written down a second time.
    assert_eq!(
        bench.queue().await,
        [(InboxKind::Message, "why is it slow?".to_owned()), (InboxKind::Retraction, String::new())]
    );
}

#[tokio::test]
async fn an_edit_without_a_mention_only_changes_what_was_overheard() {
    for require_mention in [true, false] {
        let bench = Bench::new(|access| access.require_mention = require_mention).await;
        bench.knows_the_thread().await;
        for text in ["it is slow", "it is very slow"] {
            assert_eq!(bench.deliver(edited(said("m2", "U1", text))).await, Verdict::Ignored);
        }
        assert_eq!(bench.overheard().await, ["it is very slow"]);
        assert_eq!(bench.queue().await, []);
    }
}

#[tokio::test]
async fn a_thread_is_followed_as_the_channel_says() {
    use Verdict::{Ignored, Taken};
    for (follow, asker, bystander) in [
        (ThreadFollow::Asker, Taken, Ignored),
        (ThreadFollow::All, Taken, Taken),
        (ThreadFollow::Mention, Ignored, Ignored),
    ] {
        let bench = Bench::new(|access| access.thread_follow = follow).await;
        bench.knows_the_thread().await;
        let verdicts = [
            bench.deliver(said("m2", "U1", "and now?")).await,
            bench.deliver(said("m3", "U2", "and now?")).await,
            bench.deliver(Inbound { addressed: Addressed::Reply, ..said("m4", "U2", "and now?") }).await,
            bench.deliver(by_bot(said("m5", "B1", "alert"))).await,
            bench.deliver(Inbound { opens_with_other: true, ..said("m6", "U1", "@ben look") }).await,
        ];
        assert_eq!(verdicts, [asker, bystander, Taken, Ignored, Ignored], "{follow:?}");
    }
}

#[tokio::test]
async fn a_thread_where_nobody_mentioned_us_is_left_alone() {
    let bench = Bench::new(|access| access.thread_follow = ThreadFollow::All).await;
    assert_eq!(bench.deliver(said("m1", "U1", "lunch?")).await, Verdict::Ignored);
    assert_eq!((bench.queue().await, bench.overheard().await), (vec![], vec![]));
}

#[tokio::test]
async fn a_room_without_threads_is_not_followed() {
    let bench = Bench::new(|_| {}).await;
    let in_the_room = |mut inbound: Inbound| {
        inbound.conversation.thread.clear();
        inbound
    };
    assert_eq!(bench.deliver(in_the_room(mention("m1", "U1", "why?"))).await, Verdict::Taken);
    assert_eq!(bench.deliver(in_the_room(said("m2", "U1", "lunch?"))).await, Verdict::Ignored);
}

#[tokio::test]
async fn without_require_mention_every_message_to_the_room_is_taken() {
    let bench = Bench::new(|access| access.require_mention = false).await;
    assert_eq!(bench.deliver(said("m1", "U1", "the site is down")).await, Verdict::Taken);
    let to_another = Inbound { opens_with_other: true, ..said("m2", "U1", "@ben look") };
    assert_eq!(bench.deliver(to_another).await, Verdict::Ignored);
}

#[tokio::test]
async fn a_room_that_has_changed_its_name_is_served_under_both() {
    for (rooms, verdict) in [("C1", Verdict::Taken), ("C9", Verdict::Taken), ("C8", Verdict::Ignored)] {
        let bench = Bench::new(|access| access.allow_rooms = ids(rooms)).await;
        let moved = Inbound { room_now: Some("C9".into()), ..mention("m1", "U1", "why?") };
        assert_eq!(bench.deliver(moved).await, verdict, "{rooms}");
    }
}

#[tokio::test]
async fn what_could_not_be_written_down_is_not_acknowledged() {
    let bench = Bench::new(|_| {}).await;
    bench.services.store.close().await;
    for inbound in [mention("m1", "U1", "why?"), said("m2", "U1", "lunch?")] {
        assert!(bench.intake.deliver(inbound).await.is_err());
    }
}

#[test]
fn the_memory_of_refusals_is_bounded() {
    let refused = Refusals::default();
    let told = (0..2 * REMEMBERED).filter(|person| refused.first_in_a_while(&person.to_string(), 0)).count();
    assert_eq!(told, REMEMBERED);
    assert!(refused.first_in_a_while("later", REFUSAL_EVERY_MS));
}
