//! What stands in the command menu: only what acts.

use std::sync::Arc;

use teloxide::{payloads::SetMyCommands, types::BotCommand};
use tracing::debug;

use super::arrivals::Shared;

/// In the background: the menu is nice to have.
pub(crate) fn register(shared: &Arc<Shared>) {
    let description = shared.config.stop_description.clone();
    if description.is_empty() {
        return;
    }
    let told = shared.clone();
    shared.deliveries.spawn(async move {
        let menu = SetMyCommands::new([BotCommand::new("stop", description)]);
        let set = told.stop.run_until_cancelled(told.api.call::<serde_json::Value>(&menu)).await;
        if let Some(Err(error)) = set {
            debug!(channel.id = %told.config.id, %error, "the command menu could not be set");
        }
    });
}
