//! From the first signal to the last task. The first asks for an orderly end, the second for an end.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What running turns get to finish in; orchestrators commonly kill after 30 s.
const DRAIN: Duration = Duration::from_secs(25);

/// Must be made before anything that should end in order.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Orderly,
    /// By a second signal. What was running goes on after the next start.
    CutShort,
}

impl Signals {
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Returns when somebody asked for an end and `stop`, which gets the time to drain in, is through or was cut short.
    pub async fn run(mut self, stop: impl AsyncFnOnce(Duration)) -> Ending {
        self.next().await;
        tracing::info!("stopping: running turns have {} s to finish; a second signal ends them", DRAIN.as_secs());
        tokio::select! {
            () = stop(DRAIN) => {
                tracing::info!("stopped");
                Ending::Orderly
            }
            () = self.next() => {
                tracing::warn!("ended at once; what was running goes on after the next start");
                Ending::CutShort
            }
        }
    }
}
