//! Budgets of one channel: new messages per room, edits per account, and the waits a platform asked for. Says when a
//! message may go; what to do if that isn't now is the outlet's.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, sleep_until};
use watchfloor_channel::{Features, Operation, Outbound, Quota, Urgency};

/// Rooms whose budget is remembered; the idle ones are forgotten first.
pub(super) const ROOMS: usize = 1024;
/// A wait longer than a clock can count.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// One quota and the wait that the platform asked for. Own arithmetic, since no limiter at hand can keep a reserve for
/// those who matter more.
#[derive(Clone, Debug)]
struct Lane {
    per_one: Duration,
    burst: u32,
    /// When all of the burst is there again; each message moves it by `per_one`.
    full_at: Instant,
    held_until: Instant,
}

impl Lane {
    fn new(quota: Quota) -> Self {
        let now = Instant::now();
        Self { per_one: per_one(quota), burst: quota.burst.max(1), full_at: now, held_until: now }
    }

    /// Takes a place, but leaves `keep` of them. If there is none: when to ask again.
    fn take(&mut self, keep: u32) -> Result<(), Instant> {
        let now = Instant::now();
        if self.held_until > now {
            return Err(self.held_until);
        }
        let full_at = self.full_at.max(now) + self.per_one;
        let owed_at_most = self.per_one * (self.burst - keep.min(self.burst - 1));
        match full_at.checked_sub(owed_at_most) {
            Some(free) if free > now => Err(free),
            _ => {
                self.full_at = full_at;
                Ok(())
            }
        }
    }

    /// From then on this lane holds nothing that a new one wouldn't.
    fn idle_at(&self) -> Instant {
        self.full_at.max(self.held_until)
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
    /// A tenth of the edits is kept for answers.
    reserve: u32,
    viewers: Arc<AtomicU32>,
    min_edit_gap: Duration,
    per_interim_edit: Duration,
}

impl Pace {
    pub(super) fn new(features: &Features) -> Self {
        let edits = features.account_edits;
        Self {
            posts: features.posts,
            lanes: Mutex::new(Lanes { posts: HashMap::new(), edits: Lane::new(edits) }),
            reserve: edits.burst.div_ceil(10),
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
        let is_post = matches!(message.operation, Operation::Post(_));
        let keep = if message.urgency == Urgency::Interim && !is_post { self.reserve } else { 0 };
        self.with_lane(message, |lane| lane.take(keep))
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
