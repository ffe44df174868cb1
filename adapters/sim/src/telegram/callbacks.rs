//! Presses of buttons: each must be answered once and in time.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// How the bot answered a press.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackAnswer {
    pub query: String,
    pub text: String,
    pub alert: bool,
    /// Since the press.
    pub after: Duration,
}

#[derive(Debug)]
pub(crate) struct Callbacks {
    lifetime: Duration,
    /// Presses that nobody has answered.
    open: BTreeMap<String, Instant>,
    pub(crate) answers: Vec<CallbackAnswer>,
}

impl Callbacks {
    pub(crate) fn new(lifetime: Duration) -> Self {
        Self { lifetime, open: BTreeMap::new(), answers: Vec::new() }
    }

    pub(crate) fn pressed(&mut self, query: &str) {
        self.open.insert(query.to_owned(), Instant::now());
    }

    /// False if the press is unknown, too old or answered already.
    pub(crate) fn answer(&mut self, query: &str, text: &str, alert: bool) -> bool {
        let Some(after) = self.open.remove(query).map(|at| at.elapsed()).filter(|&after| after < self.lifetime) else {
            return false;
        };
        let (query, text) = (query.to_owned(), text.to_owned());
        self.answers.push(CallbackAnswer { query, text, alert, after });
        true
    }

    /// Presses that wait for their answer.
    pub(crate) fn open(&self) -> Vec<String> {
        self.open.keys().cloned().collect()
    }
}
