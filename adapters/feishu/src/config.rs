//! What one Feishu or Lark app needs to run. Reading it from a file is left to the application.

use std::{fmt, sync::Arc, time::Duration};

use secrecy::SecretString;
use url::Url;
use watchfloor_channel::{ChannelId, Notes, Now};

#[derive(Clone)]
pub struct FeishuConfig {
    pub id: ChannelId,
    /// `cli_…`
    pub app_id: String,
    pub app_secret: SecretString,
    /// `https://open.feishu.cn` or `https://open.larksuite.com`, for calls and for finding the long connection.
    pub base_url: Url,
    pub transport: Transport,
    pub reply_mode: ReplyMode,
    pub notes: Arc<dyn Notes>,
    pub now: Now,
    /// A long connection on which nothing arrives for this long is dead. `None`: the server's ping interval and half a
    /// minute.
    pub inbound_deadline: Option<Duration>,
    /// Limit for any call.
    pub call_timeout: Duration,
    pub reconnect: Reconnect,
}

/// How events and clicks reach us. The app's settings decide; it is one or the other.
#[derive(Clone, Debug)]
pub enum Transport {
    LongConnection,
    /// Requests to [`watchfloor_channel::ChannelAdapter::webhook`].
    Webhook {
        verification_token: Option<SecretString>,
        encrypt_key: Option<SecretString>,
    },
}

/// Which of Feishu's two kinds of message an answer is, and so how it is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyMode {
    /// As `Text`, but as `Card` where the platform refuses to edit texts.
    Auto,
    /// Rich text: 20 edits in a message's life, looks like any message.
    Text,
    /// Cards: edits without an end, tables.
    Card,
}

/// How fast a lost long connection is replaced.
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

impl FeishuConfig {
    pub fn new(
        id: ChannelId,
        app_id: String,
        app_secret: SecretString,
        base_url: Url,
        transport: Transport,
        notes: Arc<dyn Notes>,
        now: Now,
    ) -> Self {
        Self {
            id,
            app_id,
            app_secret,
            base_url,
            transport,
            reply_mode: ReplyMode::Auto,
            notes,
            now,
            inbound_deadline: None,
            call_timeout: Duration::from_secs(20),
            reconnect: Reconnect::default(),
        }
    }
}

impl fmt::Debug for FeishuConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeishuConfig")
            .field("id", &self.id)
            .field("app_id", &self.app_id)
            .field("base_url", &self.base_url.as_str())
            .field("transport", &self.transport)
            .field("reply_mode", &self.reply_mode)
            .finish_non_exhaustive()
    }
}
