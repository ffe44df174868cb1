//! Telegram on loopback: a Bot API server with one bot, and the people and groups around it.
//!
//! The verbs are methods of [`TelegramSim`]: what people do is in `people`, what a test looks at in `looks`, what goes wrong
//! on purpose in `trouble`.

mod api;
mod args;
mod callbacks;
mod chats;
mod entities;
mod faults;
mod files;
mod html;
mod looks;
mod message;
mod methods;
mod people;
mod post;
mod rates;
mod trouble;
mod updates;
mod webhook;
mod world;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

pub use self::{
    callbacks::CallbackAnswer,
    faults::Fault,
    files::{Served, SimFile},
    message::{Author, Message, Version},
    post::Post,
    webhook::WebhookAnswer,
    world::{Action, Call},
};
use self::{chats::Kind, world::World};
use crate::{
    board::Board,
    server::{self, Door, Owner, Tasks},
};

pub const BOT_ID: i64 = 6000;
pub const BOT_USERNAME: &str = "ops_bot";
/// Shaped like a real one: clients that hide tokens look at the shape.
pub const BOT_TOKEN: &str = "6000:AAsimulated-bot-token_for-the-tests";

/// `@alice_ops`
pub const ALICE: i64 = 5001;
/// Has no username.
pub const BOB: i64 = 5002;
/// A basic group.
pub const SMALL_GROUP: i64 = -4001;
/// A supergroup without topics.
pub const OPS: i64 = -1_001_234_567_890;
/// A supergroup with topics.
pub const FORUM: i64 = -1_001_234_567_891;

#[derive(Clone, Debug)]
pub struct TelegramConfig {
    /// Off = privacy mode: in groups the bot gets only what is meant for it.
    pub can_read_all_group_messages: bool,
    /// Answers 429 to messages and edits beyond the usual budgets.
    pub enforce_rates: bool,
    /// How long a button press waits for the bot, and for its answer.
    pub press_lifetime: Duration,
    /// Wait before an update is brought to the webhook again; it doubles up to a minute.
    pub webhook_retry: Duration,
    /// Time for the webhook to answer.
    pub webhook_deadline: Duration,
    /// How long the waiting verbs wait before they panic with what they have seen.
    pub patience: Duration,
    /// Quiet time after which [`TelegramSim::settled`] takes a text for final.
    pub settle: Duration,
}

impl Default for TelegramConfig {
    fn default() -> Self {
        Self {
            can_read_all_group_messages: true,
            enforce_rates: false,
            press_lifetime: Duration::from_secs(150),
            webhook_retry: Duration::from_secs(1),
            webhook_deadline: Duration::from_secs(60),
            patience: Duration::from_secs(10),
            settle: Duration::from_millis(1500),
        }
    }
}

/// A handle; clones share the world. The server ends with the last handle, or with [`TelegramSim::stop`].
#[derive(Clone, Debug)]
pub struct TelegramSim {
    owner: Arc<Owner>,
    api: SocketAddr,
    door: Door,
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: TelegramConfig,
    pub(crate) world: Board<World>,
    pub(crate) tasks: Tasks,
}

impl TelegramSim {
    /// Starts with Alice, Bob, a basic group, a supergroup and a forum; the bot is in each of them.
    pub async fn start(config: TelegramConfig) -> io::Result<Self> {
        let owner = Owner::default();
        let tasks = owner.0.clone();
        let world = Board::new(World::new(&config));
        let shared = Arc::new(Shared { world, tasks: tasks.clone(), config });
        let (api, door) = server::serve(api::router(Arc::clone(&shared)), &tasks).await?;
        let sim = Self { owner: Arc::new(owner), api, door, shared };
        sim.add_user(ALICE, "Alice", Some("alice_ops"));
        sim.add_user(BOB, "Bob", None);
        for (id, kind, title) in [
            (SMALL_GROUP, Kind::Group, "Small group"),
            (OPS, Kind::Supergroup, "Ops"),
            (FORUM, Kind::Forum, "Ops forum"),
        ] {
            sim.add_chat(id, kind, title);
        }
        Ok(sim)
    }

    /// For `channels.telegram.api_url`: `http://127.0.0.1:PORT`.
    pub fn api_url(&self) -> String {
        format!("http://{}", self.api)
    }

    /// How the bot is mentioned in a text.
    pub fn bot_mention(&self) -> &'static str {
        "@ops_bot"
    }

    /// Ends the server and waits until every task and connection is gone.
    pub async fn stop(self) {
        self.owner.stop().await;
    }
}
