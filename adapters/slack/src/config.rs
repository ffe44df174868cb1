//! What one Slack account needs to run. Reading it from a file is left to the application.

use std::time::Duration;

use secrecy::SecretString;
use url::Url;
use watchfloor_channel::{ChannelId, Now};

#[derive(Clone, Debug)]
pub struct SlackConfig {
    pub id: ChannelId,
    pub transport: Transport,
    /// `xoxb-…`: everything else.
    pub bot_token: SecretString,
    /// Further workspaces that have installed the same app.
    pub workspaces: Vec<Workspace>,
    pub api_url: Url,
    /// New messages per room. Slack grants about one a second, with short bursts.
    pub posts_per_minute: u32,
    /// Edits in the whole workspace. Slack grants 50 and more.
    pub edits_per_minute: u32,
    /// A socket on which nothing arrives for this long, not even a ping, is dead.
    pub inbound_deadline: Duration,
    /// Limit for each step of a connect: fetching the address, the upgrade, the hello.
    pub step_timeout: Duration,
    /// Limit for any other call.
    pub call_timeout: Duration,
    pub reconnect: Reconnect,
}

/// How Slack's events, clicks and commands reach us. The app's settings decide; it is one or the other.
#[derive(Clone, Debug)]
pub enum Transport {
    Socket {
        /// `xapp-…`, scope `connections:write`: opens sockets, nothing else.
        app_token: SecretString,
    },
    /// Signed requests to [`watchfloor_channel::ChannelAdapter::webhook`].
    Events {
        signing_secret: SecretString,
        /// A signed request is good for five minutes.
        now: Now,
    },
}

/// One more installation of the app.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// What the operator calls it; in what we log and report.
    pub label: String,
    pub bot_token: SecretString,
}

/// How fast a lost socket is replaced.
#[derive(Clone, Debug)]
pub struct Reconnect {
    pub first: Duration,
    pub longest: Duration,
    /// A socket that lived this long was a good one: waiting times start again from `first`.
    pub steady_after: Duration,
}

impl Default for Reconnect {
    fn default() -> Self {
        Self { first: Duration::from_secs(1), longest: Duration::from_secs(60), steady_after: Duration::from_secs(60) }
    }
}

impl SlackConfig {
    pub fn new(id: ChannelId, transport: Transport, bot_token: SecretString, api_url: Url) -> Self {
        Self {
            id,
            transport,
            bot_token,
            workspaces: Vec::new(),
            api_url,
            posts_per_minute: 60,
            edits_per_minute: 45,
            inbound_deadline: Duration::from_secs(45),
            step_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(20),
            reconnect: Reconnect::default(),
        }
    }
}
