//! The workers of this process: which are at work, how they are reached, what they ended with. A worker may outlive the turn
//! that sent it, so none of this belongs to a turn.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Semaphore, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::dispatch::Report;
use crate::{persona::fold, store::Totals};

/// A report answers the same errand again for this long.
const FRESH_MS: i64 = 90_000;

#[derive(Debug, Default)]
pub(super) struct Crew {
    tracker: TaskTracker,
    ending: CancellationToken,
    roll: Mutex<Roll>,
}

#[derive(Debug, Default)]
struct Roll {
    members: HashMap<String, Arc<Member>>,
    /// Places of each coordinator's session.
    places: HashMap<String, Arc<Semaphore>>,
}

/// What makes two calls the same piece of work: its session, the persona and the prompt, read without case and spacing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Errand {
    session_id: String,
    persona: String,
    prompt: String,
}

impl Errand {
    pub(super) fn new(session_id: &str, persona: &str, prompt: &str) -> Self {
        let prompt = prompt.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        Self { session_id: session_id.to_owned(), persona: fold(persona), prompt }
    }
}

/// One worker at work, or just ended.
#[derive(Debug)]
pub(super) struct Member {
    pub task_id: String,
    pub persona: String,
    pub errand: Errand,
    /// Ends its work for good. A process that ends says so by another token.
    pub kill: CancellationToken,
    pub letters: Letters,
    end: watch::Sender<Option<Arc<Ended>>>,
}

#[derive(Debug)]
pub(super) struct Ended {
    pub report: Report,
    pub totals: Totals,
    pub at: i64,
}

/// Words for a worker that are in its transcript and that it hasn't read.
#[derive(Debug)]
pub(super) struct Letters(Mutex<Mailbox>);

#[derive(Debug, PartialEq, Eq)]
enum Mailbox {
    Open { waiting: bool },
    Closed,
}

impl Letters {
    fn lock(&self) -> MutexGuard<'_, Mailbox> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False: nobody will read it here any more.
    pub(super) fn ring(&self) -> bool {
        let mut mailbox = self.lock();
        let open = *mailbox != Mailbox::Closed;
        if open {
            *mailbox = Mailbox::Open { waiting: true };
        }
        open
    }

    /// Whether there is something to read; asked once, it is read.
    pub(super) fn take(&self) -> bool {
        let mut mailbox = self.lock();
        let waiting = *mailbox == Mailbox::Open { waiting: true };
        if waiting {
            *mailbox = Mailbox::Open { waiting: false };
        }
        waiting
    }

    /// False: something came, and has to be read first.
    pub(super) fn close(&self) -> bool {
        let mut mailbox = self.lock();
        if *mailbox == (Mailbox::Open { waiting: true }) {
            return false;
        }
        *mailbox = Mailbox::Closed;
        true
    }

    fn close_for_good(&self) {
        *self.lock() = Mailbox::Closed;
    }
}

impl Member {
    pub(super) fn new(task_id: String, persona: String, errand: Errand) -> Self {
        Self {
            task_id,
            persona,
            errand,
            kill: CancellationToken::new(),
            letters: Letters(Mutex::new(Mailbox::Open { waiting: false })),
            end: watch::Sender::new(None),
        }
    }

    pub(super) fn is_of(&self, session_id: &str) -> bool {
        self.errand.session_id == session_id
    }

    pub(super) fn has_ended(&self) -> Option<Arc<Ended>> {
        self.end.borrow().clone()
    }

    pub(super) async fn ended(&self) -> Arc<Ended> {
        let mut end = self.end.subscribe();
        loop {
            if let Some(ended) = end.borrow_and_update().clone() {
                return ended;
            }
            // The sender is ours: it lives as long as we are borrowed.
            let _ = end.changed().await;
        }
    }

    pub(super) fn end(&self, ended: Ended) {
        self.letters.close_for_good();
        self.end.send_replace(Some(Arc::new(ended)));
    }
}

/// What becomes of a call for a worker.
pub(super) enum Hired {
    New,
    /// The same errand is under way, or was done just now.
    Same(Arc<Member>),
}

impl Crew {
    fn lock(&self) -> MutexGuard<'_, Roll> {
        self.roll.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a worker on the roll, unless the same errand is on it: running, or completed a moment ago.
    pub(super) fn hire(&self, member: &Arc<Member>, now_ms: i64) -> Hired {
        let mut roll = self.lock();
        roll.members.retain(|_, member| member.has_ended().is_none_or(|ended| ended.at > now_ms - FRESH_MS));
        let same = roll.members.values().find(|known| {
            known.errand == member.errand && known.has_ended().is_none_or(|ended| ended.report.is_completed())
        });
        match same {
            Some(same) => Hired::Same(same.clone()),
            None => {
                roll.members.insert(member.task_id.clone(), member.clone());
                Hired::New
            }
        }
    }

    /// One that works again, or that an earlier process had sent. Nothing, if it is at work already.
    pub(super) fn rehire(&self, member: &Arc<Member>) -> Option<Arc<Member>> {
        let mut roll = self.lock();
        if let Some(known) = roll.members.get(&member.task_id).filter(|known| known.has_ended().is_none()) {
            return Some(known.clone());
        }
        roll.members.insert(member.task_id.clone(), member.clone());
        None
    }

    pub(super) fn find(&self, session_id: &str, task_id: &str) -> Option<Arc<Member>> {
        self.lock().members.get(task_id).filter(|member| member.is_of(session_id)).cloned()
    }

    /// Somebody said stop: all of that session's workers end.
    pub(super) fn stop(&self, session_id: &str) {
        for member in self.lock().members.values().filter(|member| member.is_of(session_id)) {
            member.kill.cancel();
        }
    }

    pub(super) fn places(&self, session_id: &str, places: usize) -> Arc<Semaphore> {
        let mut roll = self.lock();
        // Whoever waits or works holds one, too.
        roll.places.retain(|_, places| Arc::strong_count(places) > 1);
        roll.places.entry(session_id.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(places))).clone()
    }

    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(work);
    }

    /// The process ends, and with it all work; what nobody waits for goes on after the next start.
    pub(super) fn ending(&self) -> &CancellationToken {
        &self.ending
    }

    pub(super) async fn end(&self) {
        self.ending.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(id: &str, session: &str, persona: &str, prompt: &str) -> Arc<Member> {
        Arc::new(Member::new(id.into(), persona.into(), Errand::new(session, persona, prompt)))
    }

    fn ended(status: &'static str, at: i64) -> Ended {
        Ended { report: Report::plain(status, "done"), totals: Totals::default(), at }
    }

    fn same(hired: Hired) -> Option<String> {
        match hired {
            Hired::New => None,
            Hired::Same(member) => Some(member.task_id.clone()),
        }
    }

    #[test]
    fn the_same_errand_is_run_once_while_it_runs_and_while_its_report_is_fresh() {
        let crew = Crew::default();
        let first = member("1", "s", "Disk_Specialist", "Is  /var full?");
        assert_eq!(same(crew.hire(&first, 0)), None);
        for (id, session, persona, prompt, known) in [
            ("2", "s", "disk-specialist", "is /VAR\nfull?", Some("1")),
            ("3", "other", "disk-specialist", "is /var full?", None),
            ("4", "s", "disk-specialist", "is /srv full?", None),
            ("5", "s", "reviewer", "is /var full?", None),
        ] {
            assert_eq!(same(crew.hire(&member(id, session, persona, prompt), 0)).as_deref(), known, "{id}");
        }
        first.end(ended("completed", 1_000));
        let again = || member("6", "s", "disk-specialist", "is /var full?");
        assert_eq!(same(crew.hire(&again(), 90_999)).as_deref(), Some("1"));
        assert_eq!(same(crew.hire(&again(), 91_000)), None);
    }

    #[test]
    fn what_failed_or_was_killed_runs_again() {
        for status in ["failed", "killed"] {
            let crew = Crew::default();
            let first = member("1", "s", "reviewer", "look");
            assert_eq!(same(crew.hire(&first, 0)), None);
            first.end(ended(status, 10));
            assert_eq!(same(crew.hire(&member("2", "s", "reviewer", "look"), 20)), None, "{status}");
        }
    }

    #[test]
    fn a_letter_is_read_before_the_mailbox_closes_and_refused_after() {
        let member = member("1", "s", "reviewer", "look");
        assert!(member.letters.ring());
        assert!(!member.letters.close(), "there is something to read");
        assert!(member.letters.take() && !member.letters.take());
        assert!(member.letters.close());
        assert!(!member.letters.ring());
    }
}
