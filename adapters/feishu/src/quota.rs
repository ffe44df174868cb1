//! How many calls were made this month. Feishu's free plan allows a tenant 10,000 and says nothing before they are used up.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::task::JoinSet;
use watchfloor_channel::{Note, Notes, Now};

/// Counts within this time are written down together.
const GATHERED: Duration = Duration::from_secs(3);
/// Feishu's day begins in China.
const OFFSET_MS: i64 = 8 * 3_600_000;
const DAY_MS: i64 = 86_400_000;

pub(crate) struct Quota {
    notes: Arc<dyn Notes>,
    now: Now,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    month: String,
    /// What the notes said when the month was first looked at; `None`: not read yet.
    before: Option<u64>,
    since: u64,
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
    pub(crate) fn new(notes: Arc<dyn Notes>, now: Now) -> Self {
        Self { notes, now, state: Arc::default() }
    }

    pub(crate) fn count(&self) {
        let month = month(self.now.millis());
        let mut state = lock(&self.state);
        state.turn_to(month);
        state.since += 1;
        while state.writing.try_join_next().is_some() {}
        if state.writing.is_empty() {
            let (notes, shared) = (self.notes.clone(), self.state.clone());
            state.writing.spawn(async move {
                tokio::time::sleep(GATHERED).await;
                write(&*notes, &shared).await;
            });
        }
    }

    /// Reads what earlier runs counted and writes down what is not written yet.
    pub(crate) async fn settle(&self) {
        lock(&self.state).turn_to(month(self.now.millis()));
        write(&*self.notes, &self.state).await;
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

/// `2026-11`, by the calendar.
fn month(millis: i64) -> String {
    // Counted in years that begin in March, in which months have the same beginnings in every year.
    let days = (millis + OFFSET_MS).div_euclid(DAY_MS) + 719_468;
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

    #[tokio::test(start_paused = true)]
    async fn earlier_runs_count_and_a_new_month_begins_at_nothing() {
        let (notes, now) = (Arc::new(ShortMemory::default()), Arc::new(AtomicI64::new(1_764_518_399_000)));
        notes.write(&[Note::always("calls/2025-11", "40")]).await.unwrap();
        let clock = now.clone();
        let quota = Quota::new(notes.clone(), Now::new(move || clock.load(Ordering::Relaxed)));
        quota.count();
        quota.count();
        tokio::time::sleep(2 * GATHERED).await;
        assert_eq!(quota.this_month(), 42);
        assert_eq!(notes.read("calls/2025-11").await.unwrap().as_deref(), Some("42"));
        now.fetch_add(1_000, Ordering::Relaxed);
        assert_eq!(quota.this_month(), 0);
        quota.count();
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
