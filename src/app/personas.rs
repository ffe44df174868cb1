//! Personas of a running bot: what they find here, where the written ones are kept, and when all are read anew.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::tool_names;
use crate::{
    clock::SharedClock,
    config::{self, Config},
    persona::{Keeper, Roots, Shelf, ShelfError, Surroundings, Written},
    store::Store,
};

/// Files are read when nothing has changed for this long: editors and mounts change several times in a row.
const QUIET: Duration = Duration::from_millis(150);
/// Where changes never end, they are read all the same.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

pub(crate) fn roots(agents: &config::Agents) -> Roots {
    Roots { dir: Some(agents.dir.clone()), external: agents.external_dirs.clone() }
}

/// What this configuration and this machine offer to personas.
pub(crate) fn surroundings(config: &Config) -> Surroundings {
    let configured = config.models.providers.iter().filter(|(_, provider)| provider.is_configured());
    Surroundings {
        os: std::env::consts::OS.to_owned(),
        path: std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default(),
        settings: config.set.clone(),
        providers: configured.map(|(name, _)| name.clone()).collect(),
        aliases: config.models.aliases.clone(),
        tools: tool_names().into_iter().map(str::to_owned).collect(),
    }
}

/// The table of the store.
#[derive(Debug)]
pub(super) struct StoreShelf {
    pub(super) store: Store,
    pub(super) clock: SharedClock,
}

#[async_trait]
impl Shelf for StoreShelf {
    async fn all(&self) -> Result<Vec<Written>, ShelfError> {
        let rows = self.store.agents().all().await.map_err(failed)?;
        Ok(rows.into_iter().map(|row| Written { name: row.name, definition: row.definition }).collect())
    }

    async fn put(&self, written: &Written) -> Result<(), ShelfError> {
        self.store.agents().put(&written.name, &written.definition, self.clock.now_ms()).await.map_err(failed)
    }

    async fn delete(&self, name: &str) -> Result<bool, ShelfError> {
        self.store.agents().delete(name).await.map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> ShelfError {
    ShelfError(error.to_string())
}

/// When to read personas anew. It listens from the moment it is made, which is before they are read for the first time.
pub(super) struct Watch {
    changed: mpsc::Receiver<()>,
    /// Keeps the queue open where no files are watched.
    tell: mpsc::Sender<()>,
    hangup: Option<Signal>,
    roots: Option<Vec<PathBuf>>,
    watcher: Option<RecommendedWatcher>,
}

impl Watch {
    pub(super) fn begin(roots: &Roots, files: bool) -> Self {
        let (tell, changed) = mpsc::channel(1);
        let hangup = signal(SignalKind::hangup())
            .inspect_err(|error| tracing::warn!(%error, "SIGHUP will not make it read personas anew"))
            .ok();
        let whole = |root: &Path| std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let roots = files.then(|| roots.all().map(whole).collect());
        let mut watch = Self { changed, tell, hangup, roots, watcher: None };
        watch.look();
        watch
    }

    /// Folders come and go: what is watched is looked up anew after each change.
    fn look(&mut self) {
        let Some(roots) = &self.roots else { return };
        match watcher(roots, self.tell.clone()) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => {
                tracing::warn!(%error, "folders of personas aren't watched; SIGHUP or a request reads them anew");
            }
        }
    }

    pub(super) async fn run(mut self, keeper: Keeper, stop: CancellationToken) {
        loop {
            tokio::select! {
                _ = self.changed.recv() => self.settle().await,
                () = hung_up(&mut self.hangup) => {}
                () = stop.cancelled() => return,
            }
            self.look();
            match keeper.reload().await {
                Ok(done) => tracing::info!(
                    added = ?done.added, changed = ?done.changed, removed = ?done.removed, "personas read anew"
                ),
                Err(error) => tracing::warn!(%error, "personas stay as they were"),
            }
        }
    }

    async fn settle(&mut self) {
        let end = Instant::now() + LONGEST_WAIT;
        while Instant::now() < end && timeout(QUIET, self.changed.recv()).await.is_ok() {}
    }
}

async fn hung_up(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

fn watcher(roots: &[PathBuf], tell: mpsc::Sender<()>) -> notify::Result<RecommendedWatcher> {
    let ours: Arc<[PathBuf]> = roots.into();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if event.map_or(true, |event| concerns(&event, &ours)) {
            // A full queue holds the same news.
            let _ = tell.try_send(());
        }
    })?;
    for root in roots {
        if root.is_dir() {
            watcher.watch(root, RecursiveMode::Recursive)?;
        }
        // It may be replaced or made later.
        if let Some(parent) = root.ancestors().skip(1).find(|parent| parent.is_dir()) {
            watcher.watch(parent, RecursiveMode::NonRecursive)?;
        }
    }
    Ok(watcher)
}

/// Neighbours of a folder change all the time, and reading it is no change.
fn concerns(event: &Event, roots: &[PathBuf]) -> bool {
    let read_only = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    };
    let ours = |path: &PathBuf| roots.iter().any(|root| path.starts_with(root) || root.starts_with(path));
    !read_only && (event.paths.is_empty() || event.paths.iter().any(ours))
}
