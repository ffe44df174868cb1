//! A Slack workspace on loopback: Web API, Socket Mode or signed HTTP requests, and people who talk.
//!
//! The verbs are methods of [`SlackSim`]: what people do is in `people` and `interact`, what a test looks at in `looks`,
//! what goes wrong on purpose in `trouble` and `http`.

mod api;
mod args;
mod blocks;
mod delivery;
mod events;
mod faults;
mod files;
mod http;
mod interact;
mod looks;
mod message;
mod methods;
mod people;
mod rates;
mod socket;
mod teams;
mod trouble;
mod world;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::net::TcpListener;

pub use self::{
    delivery::Ack,
    faults::Fault,
    files::{Download, Served, SimFile, Uploaded},
    http::{HttpAnswer, HttpFault, sign},
    message::{Author, Edit, Message, Reaction},
    teams::{Removal, Team},
    trouble::EventId,
    world::Call,
};
use self::{delivery::Lines, rates::Rates, world::World};
use crate::{
    board::Board,
    server::{self, Door, Owner, Tasks},
};

pub const TEAM_ID: &str = "T0SIM";
pub const APP_ID: &str = "A0SIM";
pub const BOT_USER: &str = "U0BOT";
pub const BOT_ID: &str = "B0BOT";
pub const BOT_TOKEN: &str = "xoxb-sim-bot";
pub const APP_TOKEN: &str = "xapp-sim-app";

/// How the bot is mentioned in a text on the wire.
pub const fn bot_mention() -> &'static str {
    "<@U0BOT>"
}

#[derive(Clone, Debug)]
pub struct SlackConfig {
    /// Time to acknowledge an envelope.
    pub ack_deadline: Duration,
    /// Waits before the first, second, … redelivery. After the last one the event is lost.
    pub redeliver_after: Vec<Duration>,
    pub ping_every: Duration,
    /// How long a connection lives after a `disconnect` frame.
    pub recycle_grace: Duration,
    /// Answers 429 to calls beyond the documented budgets.
    pub enforce_rates: bool,
    pub mentions: Mentions,
    /// Time between the two events of one mention.
    pub pair_gap: Duration,
    /// A deleted message that has replies comes as a tombstone, otherwise as `message_deleted`.
    pub tombstones: bool,
    /// Further workspaces that have installed the app.
    pub teams: Vec<Team>,
    /// What the bot token may do, as the header of every answer says.
    pub scopes: String,
    /// How long the waiting verbs wait before they panic with what they have seen.
    pub patience: Duration,
    /// Quiet time after which [`SlackSim::settled`] takes a text for final.
    pub settle: Duration,
}

impl Default for SlackConfig {
    fn default() -> Self {
        Self {
            ack_deadline: Duration::from_secs(3),
            redeliver_after: [0, 60, 300].map(Duration::from_secs).to_vec(),
            ping_every: Duration::from_secs(10),
            recycle_grace: Duration::from_secs(10),
            enforce_rates: false,
            mentions: Mentions::MessageFirst,
            pair_gap: Duration::ZERO,
            tombstones: true,
            teams: Vec::new(),
            scopes: "app_mentions:read,channels:history,groups:history,im:history,mpim:history,channels:read,\
                     groups:read,im:read,mpim:read,im:write,chat:write,files:read,files:write,users:read,\
                     reactions:write,commands"
                .to_owned(),
            patience: Duration::from_secs(10),
            settle: Duration::from_millis(1500),
        }
    }
}

/// Which of the two events of one mention are sent, and in which order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mentions {
    #[default]
    MessageFirst,
    MentionFirst,
    OnlyMention,
    OnlyMessage,
}

/// A handle; clones share the workspace. The servers end with the last handle, or with [`SlackSim::stop`].
#[derive(Clone, Debug)]
pub struct SlackSim {
    owner: Arc<Owner>,
    api: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: SlackConfig,
    pub(crate) world: Board<World>,
    pub(crate) lines: Board<Lines>,
    pub(crate) tasks: Tasks,
    /// Known once it serves.
    pub(crate) api: OnceLock<SocketAddr>,
    pub(crate) socket: SocketAddr,
    pub(crate) socket_door: Door,
}

impl SlackSim {
    pub async fn start(config: SlackConfig) -> io::Result<Self> {
        let owner = Owner::default();
        let tasks = owner.0.clone();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let shared = Arc::new(Shared {
            world: Board::new(World::new(Rates::new(config.enforce_rates), config.mentions, &config.teams)),
            lines: Board::new(Lines::default()),
            api: OnceLock::new(),
            socket: listener.local_addr()?,
            socket_door: Door::new(tasks.stop.child_token()),
            tasks: tasks.clone(),
            config,
        });
        let (api, _) = server::serve(api::router(Arc::clone(&shared)), &tasks).await?;
        _ = shared.api.set(api);
        shared.world.change(|world| world.files.base = format!("http://{api}"));
        tasks.tracker.spawn(socket::listen(Arc::clone(&shared), listener));
        Ok(Self { owner: Arc::new(owner), api, shared })
    }

    /// For `channels.slack.api_url`.
    pub fn api_url(&self) -> String {
        format!("http://{}/api/", self.api)
    }

    pub fn bot_mention(&self) -> &'static str {
        bot_mention()
    }

    /// Ends the servers and waits until every task and connection is gone.
    pub async fn stop(self) {
        self.owner.stop().await;
    }
}
