//! The documented rates, as sliding windows. Switched off unless the configuration asks for them.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use super::methods::Refused;

#[derive(Debug)]
pub(crate) struct Rates {
    enforced: bool,
    spent: HashMap<String, VecDeque<Instant>>,
}

impl Rates {
    pub(crate) fn new(enforced: bool) -> Self {
        Self { enforced, spent: HashMap::new() }
    }

    /// Takes one call of `name` out of its budgets. `chat` is where a message goes, `card` the one that is updated.
    pub(crate) fn spend(
        &mut self,
        name: &str,
        chat: Option<&str>,
        card: Option<&str>,
        now: Instant,
    ) -> Result<(), Refused> {
        if !self.enforced || name == "token" {
            return Ok(());
        }
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        let a_second = if name == "users" { 5 } else { 50 };
        let mut budgets =
            vec![(format!("{name} a second"), a_second, second), (format!("{name} a minute"), 1000, minute)];
        budgets.extend(chat.map(|chat| (format!("into {chat}"), 5, second)));
        budgets.extend(card.map(|card| (format!("of {card}"), 5, second)));
        for (key, limit, window) in &budgets {
            let spent = self.spent.entry(key.clone()).or_default();
            while spent.front().is_some_and(|&at| now.duration_since(at) >= *window) {
                spent.pop_front();
            }
            let Some(&oldest) = spent.front().filter(|_| spent.len() >= *limit) else { continue };
            if key.starts_with(name) {
                let wait = window.saturating_sub(now.duration_since(oldest)).as_secs_f64().ceil() as u64;
                let refused = Refused::because(99_991_400, "request trigger frequency limit").with_http(429);
                return Err(Refused { reset_secs: Some(wait), ..refused });
            }
            return Err(Refused::because(230_020, "This operation triggers the frequency limit."));
        }
        for (key, ..) in budgets {
            self.spent.entry(key).or_default().push_back(now);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(calls: impl Iterator<Item = Result<(), Refused>>) -> Vec<i64> {
        calls.map(|call| call.err().map_or(0, |refused| refused.code)).collect()
    }

    #[test]
    fn a_chat_takes_five_messages_a_second() {
        let (mut rates, now) = (Rates::new(true), Instant::now());
        let answers = codes((0..6).map(|_| rates.spend("send", Some("oc_1"), None, now)));
        assert_eq!(answers, [0, 0, 0, 0, 0, 230_020]);
        assert!(rates.spend("send", Some("oc_2"), None, now).is_ok());
        assert!(rates.spend("send", Some("oc_1"), None, now + Duration::from_secs(1)).is_ok());
    }

    #[test]
    fn a_call_takes_fifty_a_second_and_says_how_long_to_wait() {
        let (mut rates, now) = (Rates::new(true), Instant::now());
        assert_eq!(codes((0..50).map(|_| rates.spend("get", None, None, now))), [0; 50]);
        let refused = rates.spend("get", None, None, now).unwrap_err();
        assert_eq!((refused.code, refused.http, refused.reset_secs), (99_991_400, 429, Some(1)));
        assert!(rates.spend("list", None, None, now).is_ok());
    }
}
