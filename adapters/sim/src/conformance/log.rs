//! What the bot logs while a check runs: lines of level info and above, the simulators' own left out.

use std::{
    fmt::{self, Write},
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use tracing::{
    Dispatch, Event, Level, Metadata, Subscriber,
    dispatcher::{self, DefaultGuard},
    field::{Field, Visit},
    span,
};

type Lines = Arc<Mutex<Vec<String>>>;

/// With one listener alone, the thread that first comes to a place in the code, listening or not, would decide for all
/// threads whether that place logs.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Ear(Lines::default())));

/// Listens on this thread while it lives.
#[derive(Debug)]
pub struct Log {
    lines: Lines,
    _listening: DefaultGuard,
}

impl Log {
    pub fn listen() -> Self {
        LazyLock::force(&SECOND);
        let lines = Lines::default();
        let listening = dispatcher::set_default(&Dispatch::new(Ear(lines.clone())));
        Self { lines, _listening: listening }
    }

    /// The lines that contain this word.
    pub fn about(&self, word: &str) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter(|line| line.contains(word)).cloned().collect()
    }
}

struct Ear(Lines);

impl Subscriber for Ear {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO && !metadata.target().starts_with(env!("CARGO_CRATE_NAME"))
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // A string takes everything.
        let _ = write!(self.0, " {field}={value:?}");
    }
}
