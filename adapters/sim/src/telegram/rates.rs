//! Flood control: a message or an edit a second per chat and short bursts beyond it, twenty a minute per group, thirty a second
//! in all. Who calls during a wait waits twice as long. Switched off unless the configuration asks, but for floods on demand.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

/// Messages that pass at once in a chat before the second counts.
const BURST: u32 = 3;
const LONGEST: Duration = Duration::from_secs(4 * 3600);

#[derive(Debug)]
pub(crate) struct Rates {
    enforced: bool,
    chats: HashMap<i64, Chat>,
    all: VecDeque<Instant>,
    floods: HashMap<i64, Flood>,
}

#[derive(Debug, Default)]
struct Chat {
    minute: VecDeque<Instant>,
    /// Until when a message a second has been used up.
    paid_until: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Flood {
    until: Instant,
    wait: Duration,
    /// Whether a refusal has told the wait: who calls before it is over is early.
    told: bool,
}

/// A refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) seconds: u64,
    /// The caller had been told to wait, and did not.
    pub(crate) early: bool,
}

impl Rates {
    pub(crate) fn new(enforced: bool) -> Self {
        Self { enforced, chats: HashMap::new(), all: VecDeque::new(), floods: HashMap::new() }
    }

    /// The chat refuses the next call that comes within this time, and tells as long a wait.
    pub(crate) fn flood(&mut self, chat: i64, wait: Duration, now: Instant) {
        self.floods.insert(chat, Flood { until: now + wait, wait, told: false });
    }

    /// Takes one message or edit out of the budgets, or tells how long to wait.
    pub(crate) fn spend(&mut self, chat: i64, now: Instant) -> Result<(), Wait> {
        if let Some(flood) = self.floods.get_mut(&chat) {
            if now < flood.until {
                let early = std::mem::replace(&mut flood.told, true);
                if early {
                    flood.wait = (flood.wait * 2).min(LONGEST);
                }
                flood.until = now + flood.wait;
                return Err(Wait { seconds: whole(flood.wait), early });
            }
            self.floods.remove(&chat);
        }
        if !self.enforced {
            return Ok(());
        }
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        let own = self.chats.entry(chat).or_default();
        while own.minute.front().is_some_and(|&at| now.duration_since(at) >= minute) {
            own.minute.pop_front();
        }
        while self.all.front().is_some_and(|&at| now.duration_since(at) >= second) {
            self.all.pop_front();
        }
        // Negative ids are groups; channels count as such.
        let per_minute = (chat < 0).then(|| room(&own.minute, 20, minute, now)).flatten();
        let paid_until = own.paid_until.filter(|until| *until > now).unwrap_or(now);
        let per_second = (paid_until - now).checked_sub(second * (BURST - 1)).filter(|wait| !wait.is_zero());
        let wait = [per_second, per_minute, room(&self.all, 30, second, now)];
        match wait.into_iter().flatten().max() {
            Some(wait) => {
                // Told in whole seconds: who waits exactly that long passes.
                let wait = Duration::from_secs(whole(wait));
                self.floods.insert(chat, Flood { until: now + wait, wait, told: true });
                Err(Wait { seconds: wait.as_secs(), early: false })
            }
            None => {
                own.minute.push_back(now);
                own.paid_until = Some(paid_until + second);
                self.all.push_back(now);
                Ok(())
            }
        }
    }
}

/// How long until fewer than `limit` lie within the window; nothing if there is room.
fn room(spent: &VecDeque<Instant>, limit: usize, window: Duration, now: Instant) -> Option<Duration> {
    let oldest = *spent.get(spent.len().checked_sub(limit)?)?;
    let age = now.duration_since(oldest);
    (age < window).then(|| window - age)
}

fn whole(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: i64 = -4001;
    const PERSON: i64 = 5001;

    fn first(seconds: u64) -> Result<(), Wait> {
        Err(Wait { seconds, early: false })
    }

    fn early(seconds: u64) -> Result<(), Wait> {
        Err(Wait { seconds, early: true })
    }

    #[test]
    fn a_burst_passes_and_then_a_second_must_pass_between_messages() {
        let mut rates = Rates::new(true);
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let answers = [0, 10, 20, 30, 500, 2_000].map(|ms| rates.spend(PERSON, at(ms)));
        // The fourth comes too early, and so does who doesn't wait.
        assert_eq!(answers, [Ok(()), Ok(()), Ok(()), first(1), early(2), early(4)]);
        let answers = [6_000, 6_001, 6_002, 7_000, 7_010].map(|ms| rates.spend(PERSON, at(ms)));
        assert_eq!(answers, [Ok(()), Ok(()), Ok(()), Ok(()), first(1)]);
        assert_eq!(rates.spend(5002, at(30)), Ok(()));
    }

    #[test]
    fn the_twenty_first_of_a_minute_waits_in_a_group_only() {
        let mut rates = Rates::new(true);
        let start = Instant::now();
        for second in 0..20 {
            assert_eq!(rates.spend(GROUP, start + Duration::from_secs(second)), Ok(()));
            assert_eq!(rates.spend(PERSON, start + Duration::from_secs(second)), Ok(()));
        }
        assert_eq!(rates.spend(GROUP, start + Duration::from_secs(20)), first(40));
        assert_eq!(rates.spend(PERSON, start + Duration::from_secs(20)), Ok(()));
        assert_eq!(rates.spend(GROUP, start + Duration::from_secs(60)), Ok(()));
    }

    #[test]
    fn thirty_a_second_is_the_limit_over_all_chats() {
        let mut rates = Rates::new(true);
        let now = Instant::now();
        let passed = (0..31).filter(|&chat| rates.spend(100 + chat, now).is_ok()).count();
        assert_eq!(passed, 30);
    }

    #[test]
    fn a_flood_on_demand_holds_without_enforced_rates_and_grows_under_calls() {
        let mut rates = Rates::new(false);
        let now = Instant::now();
        rates.flood(GROUP, Duration::from_secs(2), now);
        let seconds = |n| now + Duration::from_secs(n);
        assert_eq!(rates.spend(GROUP, seconds(1)), first(2));
        assert_eq!(rates.spend(GROUP, seconds(2)), early(4));
        assert_eq!(rates.spend(PERSON, seconds(2)), Ok(()));
        assert_eq!(rates.spend(GROUP, seconds(6)), Ok(()));
    }
}
