//! What one Telegram bot needs to run. Reading it from a file is left to the application.

use std::{fmt, sync::Arc, time::Duration};

use secrecy::SecretString;
use url::Url;
use watchfloor_channel::{ChannelId, Notes};

#[derive(Clone)]
pub struct TelegramConfig {
    pub id: ChannelId,
    pub intake: Intake,
    /// From BotFather: `1234:…`.
    pub bot_token: SecretString,
    pub api_url: Url,
    /// How far it has read, which message belongs to which conversation, which groups have moved.
    pub notes: Arc<dyn Notes>,
    /// Limit for any call but the poll.
    pub call_timeout: Duration,
    /// A poll that takes so much longer than it may has died on its way.
    pub inbound_deadline: Duration,
    /// How long the pieces of a long paste or an album are waited for.
    pub gather: Duration,
    pub reconnect: Reconnect,
    /// What the command menu says of `/stop`; empty: no menu.
    pub stop_description: String,
}

/// How updates reach us. It is one or the other: Telegram refuses polls while a webhook is set.
#[derive(Clone, Debug)]
pub enum Intake {
    Polling {
        /// How long Telegram holds a poll open when there is nothing to tell.
        poll_timeout: Duration,
    },
    /// Requests to [`watchfloor_channel::ChannelAdapter::webhook`].
    Webhook {
        /// Comes back with each request.
        secret_token: SecretString,
        /// The address Telegram is told to deliver to; `None`: the operator tells it.
        url: Option<Url>,
    },
}

/// How fast a lost connection is replaced.
#[derive(Clone, Debug)]
pub struct Reconnect {
    pub first: Duration,
    pub longest: Duration,
}

impl Default for Reconnect {
    fn default() -> Self {
        Self { first: Duration::from_secs(1), longest: Duration::from_secs(60) }
    }
}

impl TelegramConfig {
    pub fn new(id: ChannelId, intake: Intake, bot_token: SecretString, api_url: Url, notes: Arc<dyn Notes>) -> Self {
        Self {
            id,
            intake,
            bot_token,
            api_url,
            notes,
            call_timeout: Duration::from_secs(20),
            inbound_deadline: Duration::from_secs(10),
            gather: Duration::from_millis(1_200),
            reconnect: Reconnect::default(),
            stop_description: String::new(),
        }
    }
}

impl Default for Intake {
    fn default() -> Self {
        Self::Polling { poll_timeout: Duration::from_secs(50) }
    }
}

impl fmt::Debug for TelegramConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TelegramConfig").field("id", &self.id).field("intake", &self.intake).finish_non_exhaustive()
    }
}
