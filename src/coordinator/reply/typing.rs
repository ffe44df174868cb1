//! The platform's own sign that somebody is at work, as long as a turn runs.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::Route;

/// Whatever a platform asks for.
const SHORTEST: Duration = Duration::from_secs(1);

impl Route {
    /// One call at a time, at the beginning and then as often as the platform forgets it.
    pub(super) async fn show_typing(&self, enough: &CancellationToken) {
        let Some(every) = self.outlet.features().typing else { return };
        let mut beat = interval(every.max(SHORTEST));
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let typing = async {
            loop {
                beat.tick().await;
                self.outlet.typing(&self.conversation).await;
            }
        };
        let _: Option<()> = enough.run_until_cancelled(typing).await;
    }
}
