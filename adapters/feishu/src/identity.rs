//! Who we are: asked once, then remembered. Mentions of us are found by it.

use serde::Deserialize;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// `ou_…`: mentions of us name it.
    pub(crate) open_id: String,
    /// `cli_…`: the sender of our messages in what is read back.
    pub(crate) app_id: String,
    pub(crate) name: String,
    /// The app has a bot, and it is switched on.
    pub(crate) is_active: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct BotInfo {
    pub(crate) open_id: String,
    pub(crate) app_name: String,
    pub(crate) activate_status: i64,
}

impl BotInfo {
    pub(crate) const ENABLED: i64 = 2;
}
