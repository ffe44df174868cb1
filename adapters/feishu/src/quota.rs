//! How many calls were made this month, and whether there are any left. Feishu's free plan allows a tenant 10,000 and says
//! nothing before they are used up.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, task::JoinSet};
use watchfloor_channel::{ChannelState, Note, Notes, Now};

/// Counts within this time are written down together.
const GATHERED: Duration = Duration::from_secs(3);
/// Feishu's day begins in China.
const OFFSET_MS: i64 = 8 * 3_600_000;
const DAY_MS: i64 = 86_400_000;

pub(crate) struct Quota {
    notes: Arc<dyn Notes>,
    now: Now,
    state: Arc<Mutex<State>>,
    /// Two writers could leave the smaller number behind.
    writer: Arc<tokio::sync::Mutex<()>>,
    /// How the channel is, for health.
    channel: watch::Sender<ChannelState>,
}

#[derive(Default)]
struct State {
    month: String,
    /// What the notes said when the month was first looked at; `None`: not read yet.
    before: Option<u64>,
    since: u64,
    /// Nothing is received any more: the process may end after any call.
    ending: bool,
    /// What health says while no calls are left.
    used_up: Option<String>,
    /// The day on which that was last logged.
    complained: Option<i64>,
    /// The one that writes the count down.
    writing: JoinSet<()>,
}

impl State {
    fn turn_to(&mut self, month: String) {
        if self.month != month {
            (self.month, self.before, self.since) = (month, None, 0);
        }
    }
}

impl Quota {
    pub(crate) fn new(notes: Arc<dyn Notes>, now: Now, channel: watch::Sender<ChannelState>) -> Self {
        Self { notes, now, state: Arc::default(), writer: Arc::default(), channel }
    }

    /// Written down a little later, with others; at once where there may be no later.
    pub(crate) async fn count(&self) {
        if self.counted() {
            let _one = self.writer.lock().await;
            write(&*self.notes, &self.state).await;
        }
    }

    /// True: it is to be written down now.
    fn counted(&self) -> bool {
        let month = month(self.now.millis());
        let mut state = lock(&self.state);
        state.turn_to(month);
        state.since += 1;
        while state.writing.try_join_next().is_some() {}
        if state.writing.is_empty() && !state.ending {
            let (notes, shared, writer) = (self.notes.clone(), self.state.clone(), self.writer.clone());
            state.writing.spawn(async move {
                tokio::time::sleep(GATHERED).await;
                let _one = writer.lock().await;
                write(&*notes, &shared).await;
            });
        }
        state.ending
    }

    /// Reads what earlier runs counted.
    pub(crate) async fn begin(&self) {
        lock(&self.state).ending = false;
        self.settle().await;
    }

    /// Nothing is received any more. Answers may still be on their way; each of their calls is written down as it is made.
    pub(crate) async fn end(&self) {
        lock(&self.state).ending = true;
        self.settle().await;
    }

    async fn settle(&self) {
        lock(&self.state).turn_to(month(self.now.millis()));
        let _one = self.writer.lock().await;
        write(&*self.notes, &self.state).await;
    }

    /// Feishu says that no calls are left. What to do about it, which health says from now on, and the log once a day.
    pub(crate) fn is_used_up(&self) -> String {
        let now = self.now.millis();
        let remedy = format!(
            "the month's calls are used up: nothing can be said until {} in China, unless more are bought in the admin console",
            first_of_next(&month(now))
        );
        let mut state = lock(&self.state);
        let today = day(now);
        if state.complained.replace(today) != Some(today) {
            tracing::error!(code = crate::errors::USED_UP, remedy, "Feishu takes no more calls of this month");
        }
        state.used_up = Some(remedy.clone());
        self.channel.send_if_modified(|shown| {
            let connected = *shown == ChannelState::Connected;
            if connected {
                *shown = ChannelState::Degraded(remedy.clone());
            }
            connected
        });
        remedy
    }

    /// A call that counts was taken.
    pub(crate) fn is_not_used_up(&self) {
        let Some(before) = lock(&self.state).used_up.take() else { return };
        tracing::info!("Feishu takes calls again");
        self.channel.send_if_modified(|shown| {
            let said = *shown == ChannelState::Degraded(before.clone());
            if said {
                *shown = ChannelState::Connected;
            }
            said
        });
    }

    /// What an open connection amounts to.
    pub(crate) fn connected(&self) -> ChannelState {
        lock(&self.state).used_up.clone().map_or(ChannelState::Connected, ChannelState::Degraded)
    }

    pub(crate) fn this_month(&self) -> u64 {
        let mut state = lock(&self.state);
        state.turn_to(month(self.now.millis()));
        state.before.unwrap_or(0) + state.since
    }
}

async fn write(notes: &dyn Notes, state: &Mutex<State>) {
    let (month, before) = {
        let state = lock(state);
        (state.month.clone(), state.before)
    };
    let key = format!("calls/{month}");
    let before = match before {
        Some(before) => before,
        None => match notes.read(&key).await {
            Ok(note) => note.and_then(|count| count.parse().ok()).unwrap_or(0),
            Err(error) => return tracing::warn!(%error, "the month's calls can't be read"),
        },
    };
    let count = {
        let mut state = lock(state);
        if state.month != month {
            return;
        }
        let before = *state.before.get_or_insert(before);
        before + state.since
    };
    if let Err(error) = notes.write(&[Note::always(key, count.to_string())]).await {
        tracing::warn!(%error, "the month's calls can't be written down");
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn day(millis: i64) -> i64 {
    (millis + OFFSET_MS).div_euclid(DAY_MS)
}

/// `2026-12-01` for `2026-11`.
fn first_of_next(month: &str) -> String {
    let (year, month) = month.split_once('-').unwrap_or_default();
    let (year, month): (i64, i64) = (year.parse().unwrap_or_default(), month.parse().unwrap_or_default());
    if month < 12 { format!("{year:04}-{:02}-01", month + 1) } else { format!("{:04}-01-01", year + 1) }
}

/// `2026-11`, by the calendar.
fn month(millis: i64) -> String {
    // Counted in years that begin in March, in which months have the same beginnings in every year.
    let days = day(millis) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use watchfloor_channel::ShortMemory;

    use super::*;

    fn channel() -> watch::Sender<ChannelState> {
        watch::Sender::new(ChannelState::Connected)
    }

    #[tokio::test]
    async fn once_nothing_is_received_any_more_each_call_is_written_down_as_it_is_made() {
        let notes = Arc::new(ShortMemory::default());
        let quota = Quota::new(notes.clone(), Now::new(|| 1_764_518_399_000), channel());
        quota.begin().await;
        quota.count().await;
        quota.end().await;
        let written = async || notes.read("calls/2025-11").await.unwrap().unwrap_or_default();
        assert_eq!(written().await, "1");
        for count in ["2", "3"] {
            quota.count().await;
            assert_eq!(written().await, count);
        }
    }

    #[test]
    fn what_is_used_up_shows_as_trouble_until_a_call_is_taken() {
        let channel = channel();
        let quota = Quota::new(Arc::new(ShortMemory::default()), Now::new(|| 1_764_518_399_000), channel.clone());
        let remedy = quota.is_used_up();
        assert!(remedy.contains("until 2025-12-01 in China"), "{remedy}");
        let trouble = ChannelState::Degraded(remedy);
        // Also when the connection was lost and came back.
        assert_eq!((channel.borrow().clone(), quota.connected()), (trouble.clone(), trouble));
        quota.is_not_used_up();
        assert_eq!((channel.borrow().clone(), quota.connected()), (ChannelState::Connected, ChannelState::Connected));
        assert_eq!(first_of_next("2026-12"), "2027-01-01");
    }

    #[tokio::test(start_paused = true)]
    async fn earlier_runs_count_and_a_new_month_begins_at_nothing() {
        let (notes, now) = (Arc::new(ShortMemory::default()), Arc::new(AtomicI64::new(1_764_518_399_000)));
        notes.write(&[Note::always("calls/2025-11", "40")]).await.unwrap();
        let clock = now.clone();
        let quota = Quota::new(notes.clone(), Now::new(move || clock.load(Ordering::Relaxed)), channel());
        quota.count().await;
        quota.count().await;
        tokio::time::sleep(2 * GATHERED).await;
        assert_eq!(quota.this_month(), 42);
        assert_eq!(notes.read("calls/2025-11").await.unwrap().as_deref(), Some("42"));
        now.fetch_add(1_000, Ordering::Relaxed);
        assert_eq!(quota.this_month(), 0);
        quota.count().await;
        quota.settle().await;
        assert_eq!((quota.this_month(), notes.read("calls/2025-12").await.unwrap().as_deref()), (1, Some("1")));
        assert_eq!(notes.read("calls/2025-11").await.unwrap().as_deref(), Some("42"));
    }

    #[test]
    fn a_month_begins_at_midnight_in_china() {
        let midnight = 1_764_518_400_000; // 2025-12-01 00:00 there
        assert_eq!((month(midnight - 1), month(midnight)), ("2025-11".into(), "2025-12".into()));
        assert_eq!(
            (month(0), month(1_709_164_800_000), month(-1 - OFFSET_MS)),
            ("1970-01".into(), "2024-02".into(), "1969-12".into())
        );
    }
}
