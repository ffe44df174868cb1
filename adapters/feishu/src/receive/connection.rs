//! Keeps a long connection open for as long as anybody wants events: one at a time, with growing waits after failures, and
//! slow ones where a person has to mend something first. Reading it is left to `link`.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::sleep};
use tracing::{info, warn};
use watchfloor_channel::{ChannelState, backoff::Backoff};

use super::{
    arrivals::Shared,
    endpoint::NotOpened,
    link::{self, End},
};

/// A connection that lived this long was a good one: waiting times start again.
const STEADY: Duration = Duration::from_secs(60);
/// Where a person has to act first, a look every few minutes is enough.
const SLOWER: u32 = 5;

/// Runs until `shared.stop`.
pub(super) async fn keep_open(shared: &Arc<Shared>, state: &watch::Sender<ChannelState>) {
    let reconnect = &shared.config.reconnect;
    let mut backoff = Backoff::new(reconnect.first, reconnect.longest);
    let mut longest = reconnect.longest;
    loop {
        let (shown, at_least) = match link::run(shared, state).await {
            End::Stopped => return,
            End::NotOpened(NotOpened::Slowly(remedy)) => {
                warn!(channel.id = %shared.config.id, remedy, "Feishu takes no connection of ours; a person must act");
                (ChannelState::Off(remedy), reconnect.longest.saturating_mul(SLOWER))
            }
            End::NotOpened(NotOpened::Soon { why, at_least }) => {
                let attempt = backoff.attempts();
                warn!(channel.id = %shared.config.id, why, attempt, "no connection to Feishu");
                (ChannelState::Disconnected(why), at_least)
            }
            End::Lost { why, lived, within } => {
                longest = reconnect.longest.min(within);
                if lived >= STEADY {
                    backoff.reset();
                }
                // Feishu closes connections now and then.
                info!(channel.id = %shared.config.id, why, lived_s = lived.as_secs(), "connection to Feishu lost");
                (ChannelState::Disconnected(why), Duration::ZERO)
            }
        };
        state.send_if_modified(|before| {
            let changed = *before != shown;
            *before = shown;
            changed
        });
        let wait = backoff.next(&mut rand::rng()).min(longest).max(at_least);
        if shared.stop.run_until_cancelled(sleep(wait)).await.is_none() {
            return;
        }
    }
}
