//! A Feishu tenant on loopback: the open API, the long connection or signed webhook requests, and people who talk.
//!
//! The verbs are methods of [`FeishuSim`]: what people do is in `people` and `clicks`, what a test looks at in `looks`,
//! what goes wrong on purpose in `trouble` and `webhook`.
//!
//! Calls go by short names, for [`FeishuSim::fault`] and [`FeishuSim::calls`]: `token`, `bot_info`, `endpoint`, `send`,
//! `reply`, `edit` (PUT), `patch`, `recall`, `react`, `unreact`, `get`, `mget`, `list`, `resource`, `upload_image`,
//! `upload_file`, `users`, `chat`, `scopes`.

mod api;
mod card;
mod check;
mod clicks;
mod content;
mod crypt;
mod delivery;
mod events;
mod faults;
mod files;
mod frame;
mod looks;
mod message;
mod methods;
mod people;
mod rates;
mod socket;
mod trouble;
mod webhook;
mod world;

use std::{
    collections::BTreeSet,
    io,
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::net::TcpListener;

pub use self::{
    clicks::Pressed,
    crypt::{encrypt, sign},
    delivery::Ack,
    faults::Fault,
    files::SimFile,
    message::{Author, Edit, Mention, Message, Reaction},
    people::MENTION,
    trouble::EventId,
    webhook::{HttpAnswer, HttpFault},
    world::{Call, Chat, ChatKind, Person},
};
use self::{delivery::Lines, world::World};
use crate::{
    board::Board,
    server::{self, Door, Owner, Tasks},
};

/// Sixteen hexadecimal digits: official clients refuse others.
pub const APP_ID: &str = "cli_5100a1b2c3d4e5f6";
pub const APP_SECRET: &str = "sim-app-secret";
pub const BOT_OPEN_ID: &str = "ou_bot";
pub const BOT_NAME: &str = "watchfloor";
pub const VERIFICATION_TOKEN: &str = "sim-verification-token";
pub const ENCRYPT_KEY: &str = "sim-encrypt-key";
pub const TENANT_KEY: &str = "tenant_sim";
/// The company of [`GUEST`].
pub const FOREIGN_TENANT: &str = "tenant_elsewhere";

pub const ALICE: &str = "ou_alice";
pub const BOB: &str = "ou_bob";
/// Of another company, and only in [`EXTERNAL`].
pub const GUEST: &str = "ou_guest";

/// An ordinary group.
pub const GROUP: &str = "oc_group";
/// A topic group: every message is in a thread.
pub const TOPICS: &str = "oc_topics";
/// A group with members of another company.
pub const EXTERNAL: &str = "oc_external";

/// The scope without which a bot gets only mentions, and can't read a group's history.
pub const GROUP_MESSAGES: &str = "im:message.group_msg";

#[derive(Clone, Debug)]
pub struct FeishuConfig {
    /// Time to acknowledge an event or to answer a callback.
    pub ack_deadline: Duration,
    /// Waits before the first, second, … redelivery. After the last one the event is lost.
    pub redeliver_after: Vec<Duration>,
    /// `ClientConfig` of the discovery; may be missing or partial.
    pub client_config: Option<Value>,
    /// `ClientConfig` inside pongs, which are empty without it.
    pub pong_config: Option<Value>,
    /// Writes the empty optional fields of frames, as one of the official encoders does.
    pub empty_optionals: bool,
    /// The first `LogID`. The default can't be held in a double.
    pub first_log_id: u64,
    /// Events carry the sign that a webhook is encrypted with it, too; nothing turns both off.
    pub encrypt_key: Option<String>,
    pub token_life: Duration,
    /// HTTP status of 99991663.
    pub stale_status: u16,
    /// What the app may do.
    pub scopes: BTreeSet<String>,
    /// Answers 99991400 and 230020 to calls beyond the documented rates.
    pub enforce_rates: bool,
    /// Counted calls a month before 99991403.
    pub monthly_calls: Option<u64>,
    pub thread_ids: ThreadIds,
    /// How long the waiting verbs wait before they panic with what they have seen.
    pub patience: Duration,
    /// Quiet time after which [`FeishuSim::settled`] takes a text for final.
    pub settle: Duration,
}

impl Default for FeishuConfig {
    fn default() -> Self {
        let scopes = [
            "im:message.p2p_msg:readonly",
            "im:message.group_at_msg:readonly",
            "im:message:send_as_bot",
            "im:message:readonly",
            "im:message.reactions:write_only",
            "im:resource",
            "im:chat:readonly",
            "im:chat.members:bot_access",
            "contact:user.basic_profile:readonly",
        ];
        Self {
            ack_deadline: Duration::from_secs(3),
            redeliver_after: [15, 300, 3600, 21_600].map(Duration::from_secs).to_vec(),
            client_config: Some(json!({"ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30,
                "PingInterval": 120})),
            pong_config: None,
            empty_optionals: true,
            first_log_id: 1_234_567_890_123_456_789,
            encrypt_key: Some(ENCRYPT_KEY.to_owned()),
            token_life: Duration::from_secs(7200),
            stale_status: 400,
            scopes: scopes.map(str::to_owned).into(),
            enforce_rates: false,
            monthly_calls: None,
            thread_ids: ThreadIds::default(),
            patience: Duration::from_secs(10),
            settle: Duration::from_millis(1500),
        }
    }
}

/// Where events in a topic carry its `thread_id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadIds {
    #[default]
    Always,
    /// The first message of a topic lacks it.
    NotOnTheFirst,
    /// Replies have their `root_id` alone.
    Never,
}

/// A handle; clones share the tenant. The servers end with the last handle, or with [`FeishuSim::stop`].
#[derive(Clone, Debug)]
pub struct FeishuSim {
    owner: Arc<Owner>,
    api: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: FeishuConfig,
    pub(crate) world: Board<World>,
    pub(crate) lines: Board<Lines>,
    pub(crate) tasks: Tasks,
    pub(crate) socket: SocketAddr,
    pub(crate) socket_door: Door,
    /// Known once it serves.
    pub(crate) api_door: OnceLock<Door>,
}

impl FeishuSim {
    pub async fn start(config: FeishuConfig) -> io::Result<Self> {
        let owner = Owner::default();
        let tasks = owner.0.clone();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let shared = Arc::new(Shared {
            world: Board::new(World::new(&config)),
            lines: Board::new(Lines::new(&config)),
            socket: listener.local_addr()?,
            socket_door: Door::new(tasks.stop.child_token()),
            api_door: OnceLock::new(),
            tasks: tasks.clone(),
            config,
        });
        let (api, door) = server::serve(api::router(Arc::clone(&shared)), &tasks).await?;
        _ = shared.api_door.set(door);
        tasks.tracker.spawn(socket::listen(Arc::clone(&shared), listener));
        Ok(Self { owner: Arc::new(owner), api, shared })
    }

    /// For `channels.feishu.base_url`: calls and discovery. Without a slash at the end.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.api)
    }

    /// Ends the servers and waits until every task and connection is gone.
    pub async fn stop(self) {
        self.owner.stop().await;
    }
}
