//! Budgets of one channel: new messages per room, edits per account, and the waits a platform asked for.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use governor::{
    RateLimiter,
    clock::{Clock, Reference},
    middleware::NoOpMiddleware,
    nanos::Nanos,
    state::{InMemoryState, NotKeyed},
};
use tokio::time::Instant;
use watchfloor_channel::{Features, Operation, Outbound, Quota, Urgency};

/// Rooms whose budget is remembered; the idle ones are forgotten first.
const ROOMS: usize = 1024;

/// tokio's time, so that pacing obeys a paused clock.
#[derive(Clone, Debug, Default)]
struct TokioClock;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Moment(Instant);

impl std::ops::Add<Nanos> for Moment {
    type Output = Self;
    fn add(self, nanos: Nanos) -> Self {
        Self(self.0 + Duration::from(nanos))
    }
}

impl Reference for Moment {
    fn duration_since(&self, earlier: Self) -> Nanos {
        self.0.saturating_duration_since(earlier.0).into()
    }

    fn saturating_sub(&self, duration: Nanos) -> Self {
        self.0.checked_sub(duration.into()).map_or(*self, Self)
    }
}

impl Clock for TokioClock {
    type Instant = Moment;
    fn now(&self) -> Moment {
        Moment(Instant::now())
    }
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<Moment>>;

fn limiter(quota: Quota) -> Limiter {
    let one = NonZeroU32::MIN;
    let per_cell = quota.per / quota.count.max(1);
    let quota = governor::Quota::with_period(per_cell.max(Duration::from_nanos(1)))
        .unwrap_or_else(|| governor::Quota::per_second(one))
        .allow_burst(NonZeroU32::new(quota.burst).unwrap_or(one));
    RateLimiter::direct_with_clock(quota, TokioClock)
}

/// What the platform's `Retry-After` stops: one kind of call, for posts in one room.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Lane {
    Post(String),
    Edit,
    Delete,
}

fn lane(message: &Outbound) -> Lane {
    match &message.operation {
        Operation::Post(_) => Lane::Post(message.conversation.room.clone()),
        Operation::Edit(_) => Lane::Edit,
        Operation::Delete(_) => Lane::Delete,
    }
}

#[derive(Debug)]
pub(super) struct Pace {
    posts: Quota,
    rooms: Mutex<HashMap<String, (Instant, Arc<Limiter>)>>,
    edits: Limiter,
    /// Nine tenths of the edits: the rest is kept for answers.
    interim: Limiter,
    holds: Mutex<HashMap<Lane, Instant>>,
    viewers: Arc<AtomicU32>,
    min_edit_gap: Duration,
    per_edit: Duration,
}

impl Pace {
    pub(super) fn new(features: &Features) -> Self {
        let edits = features.account_edits;
        let interim = Quota { count: (edits.count * 9 / 10).max(1), burst: (edits.burst * 9 / 10).max(1), ..edits };
        Self {
            posts: features.posts,
            rooms: Mutex::default(),
            edits: limiter(edits),
            interim: limiter(interim),
            holds: Mutex::default(),
            viewers: Arc::default(),
            min_edit_gap: features.min_edit_gap,
            per_edit: interim.per / interim.count,
        }
    }

    pub(super) fn viewer(&self) -> Viewer {
        self.viewers.fetch_add(1, Ordering::Relaxed);
        Viewer(self.viewers.clone())
    }

    pub(super) fn edit_gap(&self) -> Duration {
        self.min_edit_gap.max(self.per_edit * self.viewers.load(Ordering::Relaxed).max(1))
    }

    pub(super) fn hold(&self, message: &Outbound, wait: Duration) {
        let mut holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        holds.retain(|_, until| *until > now);
        let until = holds.entry(lane(message)).or_insert(now);
        *until = (*until).max(now + wait);
    }

    fn held_until(&self, message: &Outbound) -> Option<Instant> {
        let holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        holds.get(&lane(message)).copied().filter(|until| *until > Instant::now())
    }

    /// Waits until the message may go.
    pub(super) async fn take(&self, message: &Outbound) {
        loop {
            if let Some(until) = self.held_until(message) {
                tokio::time::sleep_until(until).await;
                continue;
            }
            match self.check(message) {
                Ok(()) => return,
                Err(wait) => tokio::time::sleep(wait).await,
            }
        }
    }

    /// Takes a place only if there is one now.
    pub(super) fn try_take(&self, message: &Outbound) -> bool {
        self.held_until(message).is_none() && self.check(message).is_ok()
    }

    fn check(&self, message: &Outbound) -> Result<(), Duration> {
        let ask = |limiter: &Limiter| limiter.check().map_err(|no| no.wait_time_from(TokioClock.now()));
        match &message.operation {
            Operation::Post(_) => ask(&self.room(&message.conversation.room)),
            Operation::Edit(_) if message.urgency == Urgency::Interim => {
                ask(&self.interim)?;
                ask(&self.edits)
            }
            Operation::Edit(_) | Operation::Delete(_) => ask(&self.edits),
        }
    }

    fn room(&self, room: &str) -> Arc<Limiter> {
        let now = Instant::now();
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if rooms.len() >= ROOMS && !rooms.contains_key(room) {
            // A limiter that nobody asked for a whole period holds no debt.
            let idle = self.posts.per * self.posts.burst.max(1);
            rooms.retain(|_, (used, _)| now.saturating_duration_since(*used) < idle);
        }
        let entry = rooms.entry(room.to_owned()).or_insert_with(|| (now, Arc::new(limiter(self.posts))));
        entry.0 = now;
        entry.1.clone()
    }
}

/// Counts one message that is kept current, until dropped.
#[derive(Debug)]
pub(in super::super) struct Viewer(Arc<AtomicU32>);

impl Drop for Viewer {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
