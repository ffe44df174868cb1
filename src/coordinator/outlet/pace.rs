//! Budgets of one channel, as its features list them, and the waits a platform asked for. Says when a message may go; what to
//! do if that isn't now is the outlet's.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
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
use watchfloor_channel::{Budget, Counted, Features, Gaps, Operation, Outbound, Quota, Scope, Urgency};

/// Rooms whose place in a budget is remembered; the idle ones are forgotten first.
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
    /// When there is a place again, as far as somebody asked: for what is interim, and for all.
    common_full_until: Instant,
    full_until: Instant,
    /// Left alone for this long it holds nothing that a new one wouldn't.
    refills_in: Duration,
    used: Instant,
}

impl Lane {
    fn new(quota: Quota) -> Self {
        let now = Instant::now();
        Self {
            common: limiter(quota),
            reserve: None,
            held_until: now,
            common_full_until: now,
            full_until: now,
            refills_in: per_one(quota) * quota.burst.max(1),
            used: now,
        }
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

    fn of(budget: Budget) -> Self {
        match budget.counts {
            Counted::Posts => Self::new(budget.quota),
            Counted::Edits | Counted::All => Self::with_reserve(budget.quota),
        }
    }

    /// Until when there is certainly no place, without taking one.
    fn closed_until(&self, urgency: Urgency) -> Instant {
        let full = if urgency == Urgency::Final { self.full_until } else { self.common_full_until };
        self.held_until.max(full)
    }

    /// Takes a place. If there is none: when to ask again.
    fn take(&mut self, urgency: Urgency, now: Instant) -> Result<(), Instant> {
        self.used = now;
        let ask = |limiter: &Limiter| limiter.check().map_err(|no| now + no.wait_time_from(Moment(now)));
        let Err(free) = ask(&self.common) else { return Ok(()) };
        self.common_full_until = free;
        match &self.reserve {
            Some(_) if urgency == Urgency::Interim => Err(free),
            Some(reserve) => ask(reserve).map_err(|other| {
                self.full_until = free.min(other);
                self.full_until
            }),
            None => {
                self.full_until = free;
                Err(free)
            }
        }
    }

    fn idle_at(&self) -> Instant {
        (self.used + self.refills_in).max(self.held_until)
    }
}

fn per_one(quota: Quota) -> Duration {
    quota.per / quota.count.max(1)
}

/// One budget: a lane for each room it tells apart.
#[derive(Debug)]
struct Counter {
    budget: Budget,
    lanes: HashMap<String, Lane>,
}

impl Counter {
    fn counts(&self, is_post: bool, private: bool) -> bool {
        covers(self.budget, private)
            && match self.budget.counts {
                Counted::All => true,
                Counted::Posts => is_post,
                Counted::Edits => !is_post,
            }
    }

    fn lane(&mut self, room: &str) -> &mut Lane {
        let room = if self.budget.scope == Scope::Account { "" } else { room };
        if self.lanes.len() >= ROOMS && !self.lanes.contains_key(room) {
            forget_idle(&mut self.lanes);
        }
        let budget = self.budget;
        self.lanes.entry(room.to_owned()).or_insert_with(|| Lane::of(budget))
    }
}

fn is_post(message: &Outbound) -> bool {
    matches!(message.operation, Operation::Post(_))
}

fn covers(budget: Budget, private: bool) -> bool {
    budget.scope != Scope::Group || !private
}

type Viewers = Arc<Mutex<HashMap<String, u32>>>;

#[derive(Debug)]
pub(super) struct Pace {
    /// The scarcest first: what it refuses takes no place elsewhere.
    counters: Mutex<Vec<Counter>>,
    budgets: Vec<Budget>,
    gaps: Gaps,
    viewers: Viewers,
}

impl Pace {
    pub(super) fn new(features: &Features) -> Self {
        let mut budgets = features.budgets.clone();
        budgets.sort_by_key(|budget| std::cmp::Reverse(per_one(budget.quota)));
        let counters = budgets.iter().map(|budget| Counter { budget: *budget, lanes: HashMap::new() }).collect();
        Self { counters: Mutex::new(counters), budgets, gaps: features.edit_gaps, viewers: Arc::default() }
    }

    pub(super) fn viewer(&self, room: &str) -> Viewer {
        *lock(&self.viewers).entry(room.to_owned()).or_default() += 1;
        Viewer { viewers: self.viewers.clone(), room: room.to_owned() }
    }

    /// Time to leave before the next interim edit of a message that had so many: the platform's spacing, or more where many
    /// messages share a budget.
    pub(super) fn edit_gap(&self, room: &str, private: bool, edits: u32) -> Duration {
        let (here, everywhere) = {
            let viewers = lock(&self.viewers);
            (viewers.get(room).copied().unwrap_or_default().max(1), viewers.values().sum::<u32>().max(1))
        };
        let counting =
            self.budgets.iter().filter(|budget| budget.counts != Counted::Posts && covers(**budget, private));
        let shares = counting.map(|budget| {
            let viewers = if budget.scope == Scope::Account { everywhere } else { here };
            per_one(budget.quota) * 10 / 9 * viewers
        });
        shares.fold(self.gaps.after(edits), Duration::max)
    }

    /// The platform asked to wait: nothing of this kind goes before that.
    pub(super) fn hold(&self, message: &Outbound, private: bool, wait: Duration) {
        self.hold_kind(&message.conversation.room, is_post(message), private, wait);
    }

    /// The same after a call that is neither a post nor an edit.
    pub(super) fn hold_edits(&self, room: &str, private: bool, wait: Duration) {
        self.hold_kind(room, false, private, wait);
    }

    fn hold_kind(&self, room: &str, is_post: bool, private: bool, wait: Duration) {
        let now = Instant::now();
        let until = now.checked_add(wait).unwrap_or(now + FOREVER);
        let mut counters = lock(&self.counters);
        let counting = counters.iter_mut().filter(|counter| counter.counts(is_post, private));
        if let Some(narrowest) = counting.min_by_key(|counter| counter.budget.scope) {
            let lane = narrowest.lane(room);
            lane.held_until = lane.held_until.max(until);
        }
    }

    /// The platform asked to wait with edits here, or everywhere.
    pub(super) fn is_held(&self, room: &str, private: bool) -> bool {
        let mut counters = lock(&self.counters);
        let mut counting = counters.iter_mut().filter(|counter| counter.counts(false, private));
        counting.any(|counter| counter.lane(room).held_until > Instant::now())
    }

    /// Waits until the message may go.
    pub(super) async fn take(&self, message: &Outbound, private: bool) {
        while let Err(free) = self.try_take(message, private) {
            sleep_until(free).await;
        }
    }

    /// Takes a place only if there is one now; else says when to ask again.
    pub(super) fn try_take(&self, message: &Outbound, private: bool) -> Result<(), Instant> {
        let room = &message.conversation.room;
        let mut counters = lock(&self.counters);
        let mut lanes: Vec<_> = counters
            .iter_mut()
            .filter(|counter| counter.counts(is_post(message), private))
            .map(|counter| counter.lane(room))
            .collect();
        // After that: a lane that is made now is free now.
        let now = Instant::now();
        let closed = lanes.iter().map(|lane| lane.closed_until(message.urgency)).max();
        if let Some(until) = closed.filter(|until| *until > now) {
            return Err(until);
        }
        lanes.iter_mut().try_for_each(|lane| lane.take(message.urgency, now))
    }

    #[cfg(test)]
    pub(super) fn rooms(&self) -> usize {
        lock(&self.counters).iter().map(|counter| counter.lanes.len()).max().unwrap_or_default()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
pub(in super::super) struct Viewer {
    viewers: Viewers,
    room: String,
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let mut viewers = lock(&self.viewers);
        if let Some(count) = viewers.get_mut(&self.room) {
            *count -= 1;
            if *count == 0 {
                viewers.remove(&self.room);
            }
        }
    }
}
