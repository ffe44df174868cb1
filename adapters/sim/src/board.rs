//! State that many tasks change and that a test waits on: every change wakes whoever is looking.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Board<S> {
    state: Mutex<S>,
    changed: watch::Sender<()>,
}

impl<S> Board<S> {
    pub(crate) fn new(state: S) -> Self {
        Self { state: Mutex::new(state), changed: watch::Sender::new(()) }
    }

    /// Looks without waking anybody.
    pub(crate) fn look(&self) -> MutexGuard<'_, S> {
        // A test that panicked while looking must not hide what the others would have said.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        let done = change(&mut self.look());
        self.changed.send_replace(());
        done
    }

    /// Waits until `find` finds something; nothing after `patience`.
    pub(crate) async fn wait<T>(&self, patience: Duration, mut find: impl FnMut(&mut S) -> Option<T>) -> Option<T> {
        let mut changed = self.changed.subscribe();
        let search = async {
            loop {
                let found = find(&mut self.look());
                if found.is_some() {
                    return found;
                }
                if changed.changed().await.is_err() {
                    return None;
                }
            }
        };
        tokio::time::timeout(patience, search).await.ok().flatten()
    }

    pub(crate) async fn until(&self, patience: Duration, mut holds: impl FnMut(&S) -> bool) -> bool {
        self.wait(patience, |state| holds(state).then_some(())).await.is_some()
    }
}
