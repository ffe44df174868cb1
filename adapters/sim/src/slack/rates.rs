//! The documented budgets of the Web API, as sliding windows. Switched off unless the configuration asks for them.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

#[derive(Debug)]
pub(crate) struct Rates {
    enforced: bool,
    spent: HashMap<String, VecDeque<Instant>>,
}

impl Rates {
    pub(crate) fn new(enforced: bool) -> Self {
        Self { enforced, spent: HashMap::new() }
    }

    /// Takes one call out of the budget, or tells the whole seconds until there is room again.
    pub(crate) fn spend(&mut self, method: &str, channel: Option<&str>, now: Instant) -> Result<(), u64> {
        let Some((limit, window)) = budget(method).filter(|_| self.enforced) else { return Ok(()) };
        // Posts are counted per channel, everything else over the whole workspace.
        let key = match channel {
            Some(channel) if method == "chat.postMessage" => format!("{method} {channel}"),
            _ => method.to_owned(),
        };
        let spent = self.spent.entry(key).or_default();
        while spent.front().is_some_and(|&at| now.duration_since(at) >= window) {
            spent.pop_front();
        }
        match spent.front() {
            Some(&oldest) if spent.len() >= limit => {
                let wait = window.saturating_sub(now.duration_since(oldest));
                Err(wait.as_secs() + 1)
            }
            _ => {
                spent.push_back(now);
                Ok(())
            }
        }
    }
}

fn budget(method: &str) -> Option<(usize, Duration)> {
    let minute = Duration::from_secs(60);
    match method {
        // One a second, short bursts allowed.
        "chat.postMessage" => Some((10, Duration::from_secs(10))),
        "chat.update"
        | "chat.delete"
        | "conversations.replies"
        | "conversations.history"
        | "conversations.info"
        | "reactions.add"
        | "reactions.remove" => Some((50, minute)),
        "users.info" | "chat.postEphemeral" => Some((100, minute)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fifty_first_edit_of_a_minute_waits_for_the_first_to_age() {
        let mut rates = Rates::new(true);
        let start = Instant::now();
        for second in 0..50 {
            assert_eq!(rates.spend("chat.update", Some("C1"), start + Duration::from_secs(second)), Ok(()));
        }
        assert_eq!(rates.spend("chat.update", Some("C2"), start + Duration::from_secs(50)), Err(11));
        assert_eq!(rates.spend("chat.update", Some("C2"), start + Duration::from_secs(60)), Ok(()));
    }

    #[test]
    fn posts_are_counted_per_channel() {
        let mut rates = Rates::new(true);
        let now = Instant::now();
        let answers: Vec<_> = (0..11).map(|_| rates.spend("chat.postMessage", Some("C1"), now).is_ok()).collect();
        assert_eq!(answers, [[true; 10].as_slice(), &[false]].concat());
        assert_eq!(rates.spend("chat.postMessage", Some("C2"), now), Ok(()));
    }
}
