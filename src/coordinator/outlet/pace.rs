//! Budgets of one channel: new messages per room, edits per account, and the waits a platform asked for. Says when a
//! message may go; what to do if that isn't now is the outlet's.

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
use tokio::time::{Instant, sleep_until};
use watchfloor_channel::{Features, Operation, Outbound, Quota, Urgency};

/// Rooms whose budget is remembered; the idle ones are forgotten first.
pub(super) const ROOMS: usize = 1024;
/// A wait longer than a clock can count.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

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
    let at_least_one = |count: u32| NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
    let period = per_one(quota).max(Duration::from_nanos(1));
    let limit = governor::Quota::with_period(period)
        .unwrap_or_else(|| governor::Quota::per_second(NonZeroU32::MIN))
        .allow_burst(at_least_one(quota.burst));
    RateLimiter::direct_with_clock(limit, TokioClock)
}

/// One quota and the wait that the platform asked for.
#[derive(Debug)]
struct Lane {
    common: Limiter,
    /// The part of the quota that is kept for answers.
    reserve: Option<Limiter>,
    held_until: Instant,
    /// Left alone for this long it holds nothing that a new one wouldn't.
    refills_in: Duration,
    used: Instant,
}

impl Lane {
    fn new(quota: Quota) -> Self {
        let now = Instant::now();
        let refills_in = per_one(quota) * quota.burst.max(1);
        Self { common: limiter(quota), reserve: None, held_until: now, refills_in, used: now }
    }

    /// A tenth is for answers alone.
    fn with_reserve(quota: Quota) -> Self {
        let (count, burst) = (quota.count.div_ceil(10), quota.burst.div_ceil(10));
        if count >= quota.count || burst >= quota.burst {
            return Self::new(quota);
        }
        let common = Quota { count: quota.count - count, burst: quota.burst - burst, ..quota };
        Self { reserve: Some(limiter(Quota { count, burst, ..quota })), ..Self::new(common) }
    }

    /// Takes a place. If there is none: when to ask again.
    fn take(&mut self, urgency: Urgency) -> Result<(), Instant> {
        let now = Instant::now();
        if self.held_until > now {
            return Err(self.held_until);
        }
        self.used = now;
        let ask = |limiter: &Limiter| limiter.check().map_err(|no| now + no.wait_time_from(Moment(now)));
        let Err(free) = ask(&self.common) else { return Ok(()) };
        match &self.reserve {
            Some(reserve) if urgency == Urgency::Final => ask(reserve).map_err(|other| free.min(other)),
            _ => Err(free),
        }
    }

    fn idle_at(&self) -> Instant {
        (self.used + self.refills_in).max(self.held_until)
    }
}

fn per_one(quota: Quota) -> Duration {
    quota.per / quota.count.max(1)
}

#[derive(Debug)]
struct Lanes {
    posts: HashMap<String, Lane>,
    /// Edits and deletions of the whole account.
    edits: Lane,
}

#[derive(Debug)]
pub(super) struct Pace {
    posts: Quota,
    lanes: Mutex<Lanes>,
    viewers: Arc<AtomicU32>,
    min_edit_gap: Duration,
    per_interim_edit: Duration,
}

impl Pace {
    pub(super) fn new(features: &Features) -> Self {
        let edits = features.account_edits;
        Self {
            posts: features.posts,
            lanes: Mutex::new(Lanes { posts: HashMap::new(), edits: Lane::with_reserve(edits) }),
            viewers: Arc::default(),
            min_edit_gap: features.min_edit_gap,
            per_interim_edit: per_one(edits) * 10 / 9,
        }
    }

    pub(super) fn viewer(&self) -> Viewer {
        self.viewers.fetch_add(1, Ordering::Relaxed);
        Viewer(self.viewers.clone())
    }

    pub(super) fn edit_gap(&self) -> Duration {
        self.min_edit_gap.max(self.per_interim_edit * self.viewers.load(Ordering::Relaxed).max(1))
    }

    /// The platform asked to wait: nothing of this kind goes before that.
    pub(super) fn hold(&self, message: &Outbound, wait: Duration) {
        let now = Instant::now();
        let until = now.checked_add(wait).unwrap_or(now + FOREVER);
        self.with_lane(message, |lane| lane.held_until = lane.held_until.max(until));
    }

    /// Waits until the message may go.
    pub(super) async fn take(&self, message: &Outbound) {
        while let Err(free) = self.try_take(message) {
            sleep_until(free).await;
        }
    }

    /// Takes a place only if there is one now; else says when to ask again.
    pub(super) fn try_take(&self, message: &Outbound) -> Result<(), Instant> {
        self.with_lane(message, |lane| lane.take(message.urgency))
    }

    fn with_lane<T>(&self, message: &Outbound, act: impl FnOnce(&mut Lane) -> T) -> T {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(message.operation, Operation::Post(_)) {
            return act(&mut lanes.edits);
        }
        let room = &message.conversation.room;
        if lanes.posts.len() >= ROOMS && !lanes.posts.contains_key(room) {
            forget_idle(&mut lanes.posts);
        }
        act(lanes.posts.entry(room.clone()).or_insert_with(|| Lane::new(self.posts)))
    }

    #[cfg(test)]
    pub(super) fn rooms(&self) -> usize {
        self.lanes.lock().unwrap().posts.len()
    }
}

/// If none is idle, the one that would be first.
fn forget_idle(rooms: &mut HashMap<String, Lane>) {
    let now = Instant::now();
    rooms.retain(|_, lane| lane.idle_at() > now);
    if rooms.len() >= ROOMS
        && let Some(first) = rooms.iter().min_by_key(|(_, lane)| lane.idle_at()).map(|(room, _)| room.clone())
    {
        rooms.remove(&first);
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
