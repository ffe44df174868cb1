//! Keeps one Socket Mode connection open: opens the next before it closes the last, waits longer after each failure, and
//! says when another process takes part of our events. Reading a socket is left to `link`.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    task::{self, JoinError, JoinSet},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use watchfloor_channel::{ChannelState, Refusal, backoff::Backoff};

use crate::{
    arrivals::Shared,
    errors::{self, CallError},
    link::{self, End, Said},
};

/// Slack goes on counting a lost socket for a while; it is no stranger.
const GHOST: Duration = Duration::from_secs(60);
const GOODBYE: Duration = Duration::from_millis(800);

/// Runs until `shared.stop`, or until Slack says what no retry can mend.
pub(crate) async fn keep_open(shared: Arc<Shared>, state: &watch::Sender<ChannelState>) -> Result<(), Refusal> {
    let (said, mut words) = mpsc::channel(64);
    let reconnect = &shared.config.reconnect;
    let mut keeper = Keeper {
        backoff: Backoff::new(reconnect.first, reconnect.longest),
        steady_after: reconnect.steady_after,
        stop: shared.stop.clone(),
        shared,
        state,
        said,
        links: JoinSet::new(),
        live: HashMap::new(),
        opening: None,
        serving: None,
        retry_at: None,
        ghosts: Vec::new(),
        alarm: None,
    };
    keeper.open();
    let outcome = loop {
        let retry_at = keeper.retry_at;
        let step = tokio::select! {
            biased;
            () = keeper.stop.cancelled() => break Ok(()),
            Some(word) = words.recv() => keeper.heard(word),
            Some(ended) = keeper.links.join_next_with_id() => {
                // A socket's last words come before its end.
                let mut step = Ok(());
                while let Ok(word) = words.try_recv() {
                    step = step.and(keeper.heard(word));
                }
                step.and_then(|()| keeper.ended(ended))
            }
            () = sleep_until(retry_at.unwrap_or_else(Instant::now)), if retry_at.is_some() => {
                keeper.open();
                Ok(())
            }
        };
        if let Err(refusal) = step {
            break Err(refusal);
        }
    };
    drop(words);
    keeper.close().await;
    outcome
}

struct Keeper<'a> {
    shared: Arc<Shared>,
    state: &'a watch::Sender<ChannelState>,
    said: mpsc::Sender<Said>,
    stop: CancellationToken,
    backoff: Backoff,
    steady_after: Duration,
    links: JoinSet<End>,
    live: HashMap<task::Id, LinkState>,
    /// Has not said hello yet.
    opening: Option<task::Id>,
    /// Said hello and was not told to leave.
    serving: Option<task::Id>,
    retry_at: Option<Instant>,
    ghosts: Vec<Instant>,
    alarm: Option<String>,
}

struct LinkState {
    retire: CancellationToken,
    greeted: Option<Instant>,
    /// Slack closes it, for this reason.
    told: Option<String>,
}

impl Keeper<'_> {
    fn open(&mut self) {
        self.retry_at = None;
        let retire = CancellationToken::new();
        let link = self.links.spawn(link::run(self.shared.clone(), self.said.clone(), retire.clone())).id();
        self.live.insert(link, LinkState { retire, greeted: None, told: None });
        self.opening = Some(link);
    }

    fn open_after(&mut self, at_least: Duration) {
        let wait = self.backoff.next(&mut rand::rng()).max(at_least);
        self.retry_at = Some(Instant::now() + wait);
    }

    fn heard(&mut self, word: Said) -> Result<(), Refusal> {
        match word {
            Said::Hello { link, connections } => self.greeted(link, connections),
            Said::Leaving { link, reason } => self.leaving(link, &reason)?,
        }
        Ok(())
    }

    fn greeted(&mut self, link: task::Id, connections: usize) {
        if self.opening != Some(link) {
            return;
        }
        self.opening = None;
        self.serving = Some(link);
        for (id, state) in &mut self.live {
            if *id == link {
                state.greeted = Some(Instant::now());
            } else {
                state.retire.cancel();
            }
        }
        let now = Instant::now();
        self.ghosts.retain(|lost| now.duration_since(*lost) < GHOST);
        if connections > self.live.len() + self.ghosts.len() {
            warn!(
                channel.id = %self.shared.config.id,
                connections,
                ours = self.live.len(),
                "another process is connected with this app token and takes part of our events: stop it"
            );
            self.show(ChannelState::Degraded(format!(
                "another process is connected with the same app token ({connections} connections) and takes part of our events"
            )));
        } else {
            info!(channel.id = %self.shared.config.id, "connected to Slack");
            self.alarm = None;
            self.show(ChannelState::Connected);
        }
    }

    fn leaving(&mut self, link: task::Id, reason: &str) -> Result<(), Refusal> {
        if self.opening == Some(link) {
            // It never said hello: there is nothing to read from it.
            self.opening = None;
            if let Some(state) = self.live.get_mut(&link) {
                state.told = Some(reason.to_owned());
                state.retire.cancel();
            }
        } else if self.serving == Some(link) {
            self.serving = None;
        } else {
            return Ok(());
        }
        let steady = self.was_steady(link);
        match reason {
            "link_disabled" => return Err(errors::socket_mode_is_off()),
            "too_many_websockets" => {
                warn!(channel.id = %self.shared.config.id, "Slack counts too many connections of this app: stop other processes");
                let alarm = "too many processes are connected with the same app token".to_owned();
                self.alarm = Some(alarm.clone());
                self.show(ChannelState::Degraded(alarm));
                self.open_after(Duration::ZERO);
            }
            // A first refresh is routine; a socket that is refreshed again and again is not.
            "warning" | "refresh_requested" if steady || self.backoff.attempts() == 0 => {
                debug!(channel.id = %self.shared.config.id, reason, "Slack recycles the socket");
                if !steady {
                    self.backoff.next(&mut rand::rng());
                }
                self.open();
            }
            _ => {
                info!(channel.id = %self.shared.config.id, reason, "Slack closes the socket");
                self.open_after(Duration::ZERO);
            }
        }
        Ok(())
    }

    fn ended(&mut self, ended: Result<(task::Id, End), JoinError>) -> Result<(), Refusal> {
        let (link, end) = match ended {
            Ok(ended) => ended,
            Err(error) => (error.id(), End::Lost("the reader failed".to_owned())),
        };
        let ours = self.opening == Some(link) || self.serving == Some(link);
        self.was_steady(link);
        let (greeted, told) = self.live.remove(&link).map_or((false, None), |it| (it.greeted.is_some(), it.told));
        let (why, at_least) = match end {
            End::Retired => match told {
                Some(reason) => (format!("Slack closes the socket: {reason}"), Duration::ZERO),
                None => ("closed by us".to_owned(), Duration::ZERO),
            },
            End::NotOpened(CallError::Refused(refusal)) if errors::is_fatal(&refusal) => return Err(refusal),
            End::NotOpened(CallError::RateLimited(wait)) => ("Slack asks to wait".to_owned(), wait),
            End::NotOpened(error) => (error.to_string(), Duration::ZERO),
            End::Lost(why) => {
                if greeted {
                    self.ghosts.push(Instant::now());
                }
                (why, Duration::ZERO)
            }
        };
        if ours {
            self.opening = self.opening.filter(|id| *id != link);
            self.serving = self.serving.filter(|id| *id != link);
            self.open_after(at_least);
            warn!(channel.id = %self.shared.config.id, why, attempt = self.backoff.attempts(), "connection to Slack lost");
        }
        if !self.live.values().any(|state| state.greeted.is_some()) && self.opening.is_none() {
            // A named trouble says more than that the socket is gone.
            self.show(ChannelState::Disconnected(self.alarm.clone().unwrap_or(why)));
        }
        Ok(())
    }

    /// A socket that lived long shows that all is well: waiting times start again.
    fn was_steady(&mut self, link: task::Id) -> bool {
        let steady = self
            .live
            .get(&link)
            .and_then(|state| state.greeted)
            .is_some_and(|greeted| greeted.elapsed() >= self.steady_after);
        if steady {
            self.backoff.reset();
        }
        steady
    }

    fn show(&self, state: ChannelState) {
        self.state.send_if_modified(|shown| {
            let changed = *shown != state;
            *shown = state;
            changed
        });
    }

    async fn close(mut self) {
        for state in self.live.values() {
            state.retire.cancel();
        }
        let all = async { while self.links.join_next().await.is_some() {} };
        if timeout(GOODBYE, all).await.is_err() {
            debug!(channel.id = %self.shared.config.id, "a socket did not close in time");
        }
        self.links.shutdown().await;
    }
}
