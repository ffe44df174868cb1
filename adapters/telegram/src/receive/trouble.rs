//! How long to wait after a failed call, and what health shows meanwhile.

use std::time::Duration;

use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use watchfloor_channel::{ChannelState, Refusal, RefusalKind, backoff::Backoff};

use crate::{TelegramConfig, errors::CallError};

const WEBHOOK_SET: &str = "a webhook is set for this bot, and Telegram refuses polls then: set mode = \"webhook\", or remove \
    it by calling deleteWebhook";
const SECOND_POLLER: &str =
    "another process polls with the same bot token and takes part of our updates: stop it, or give it a bot of its own";

pub(crate) struct Trouble<'a> {
    config: &'a TelegramConfig,
    state: &'a watch::Sender<ChannelState>,
    stop: CancellationToken,
    backoff: Backoff,
    /// The first and the latest conflict of a row.
    conflict: Option<(Instant, Instant)>,
    alarm: Option<&'static str>,
    /// What was logged last: the same trouble is told once.
    told: String,
}

impl<'a> Trouble<'a> {
    pub(crate) fn new(
        config: &'a TelegramConfig,
        state: &'a watch::Sender<ChannelState>,
        stop: CancellationToken,
    ) -> Self {
        let backoff = Backoff::new(config.reconnect.first, config.reconnect.longest);
        Self { config, state, stop, backoff, conflict: None, alarm: None, told: String::new() }
    }

    /// Waits as long as it takes. False: stop. An error: nothing can mend it.
    pub(crate) async fn with(&mut self, error: CallError) -> Result<bool, Refusal> {
        let mut at_least = Duration::ZERO;
        match &error {
            CallError::Refused(refusal) if refusal.kind == RefusalKind::Credentials => return Err(refusal.clone()),
            CallError::RateLimited(wait) => {
                at_least = *wait;
                self.show(ChannelState::Disconnected(error.to_string()));
            }
            CallError::Conflict(said) => at_least = self.conflicts(said),
            _ => {
                self.show(ChannelState::Disconnected(error.to_string()));
            }
        }
        let wait = self.backoff.next(&mut rand::rng()).max(at_least);
        let (attempt, wait_ms) = (self.backoff.attempts(), wait.as_millis());
        let said = error.to_string();
        if self.told == said {
            debug!(channel.id = %self.config.id, %error, attempt, wait_ms, "Telegram is still in trouble");
        } else {
            warn!(channel.id = %self.config.id, %error, attempt, wait_ms, "Telegram is in trouble");
            self.told = said;
        }
        Ok(self.stop.run_until_cancelled(sleep(wait)).await.is_some())
    }

    /// How long to leave Telegram alone. After a restart the former poll may stay open for a while: that is no stranger.
    fn conflicts(&mut self, said: &str) -> Duration {
        let now = Instant::now();
        let first = self.conflict.filter(|(_, latest)| now - *latest < self.memory()).map_or(now, |(first, _)| first);
        self.conflict = Some((first, now));
        let said = said.to_lowercase();
        let alarm = if said.contains("webhook is active") {
            WEBHOOK_SET
        } else if now - first >= self.config.reconnect.longest {
            SECOND_POLLER
        } else {
            return Duration::ZERO;
        };
        self.is_lasting(alarm);
        self.config.reconnect.longest
    }

    /// What only a person can mend, told once.
    pub(crate) fn is_lasting(&mut self, alarm: &'static str) {
        if self.alarm.replace(alarm) != Some(alarm) {
            warn!(channel.id = %self.config.id, "{alarm}");
        }
        self.show(ChannelState::Degraded(alarm.to_owned()));
    }

    fn memory(&self) -> Duration {
        self.config.reconnect.longest * 2
    }

    /// A call was answered. Two pollers are let in in turns, so one answer does not end a conflict.
    pub(crate) fn is_over(&mut self) {
        self.backoff.reset();
        let recent = self.conflict.is_some_and(|(_, latest)| latest.elapsed() < self.memory());
        if let Some(alarm) = self.alarm.filter(|_| recent) {
            // Other trouble may have been shown meanwhile.
            self.show(ChannelState::Degraded(alarm.to_owned()));
            return;
        }
        self.alarm = None;
        self.told.clear();
        if self.show(ChannelState::Connected) {
            info!(channel.id = %self.config.id, "connected to Telegram");
        }
    }

    fn show(&self, state: ChannelState) -> bool {
        self.state.send_if_modified(|shown| {
            let changed = *shown != state;
            *shown = state;
            changed
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use watchfloor_channel::{ChannelId, ShortMemory};

    use super::*;
    use crate::Intake;

    #[tokio::test(start_paused = true)]
    async fn what_stays_unreadable_is_shown_and_told_once_and_asked_for_at_most_a_minute_apart() {
        let notes = Arc::new(ShortMemory::default());
        let url = "http://127.0.0.1:9/".parse().unwrap();
        let config = TelegramConfig::new(ChannelId::new("tg"), Intake::default(), "6000:x".into(), url, notes);
        let (state, shown) = watch::channel(ChannelState::Connected);
        let mut trouble = Trouble::new(&config, &state, CancellationToken::new());
        let mut longest = Duration::ZERO;
        for _ in 0..20 {
            let asked = Instant::now();
            let error = CallError::Unclear("the answer is not readable".to_owned());
            assert!(trouble.with(error).await.unwrap());
            longest = longest.max(asked.elapsed());
        }
        assert!((30..=60).contains(&longest.as_secs()), "{longest:?}");
        let reason = "no clear answer from Telegram: the answer is not readable";
        assert_eq!((&*shown.borrow(), &*trouble.told), (&ChannelState::Disconnected(reason.to_owned()), reason));
        trouble.is_over();
        assert_eq!((&*shown.borrow(), &*trouble.told), (&ChannelState::Connected, ""));
    }
}
