//! The configuration: one TOML file, `${VAR}`s, overrides from the environment, and a type that can't be wrong.
//!
//! Nothing here looks the environment up or decides what to start; what this build can't do yet is said by [`check_built`].

mod built;
mod channel;
mod describe;
mod doubles;
mod duration;
mod env;
mod error;
mod expand;
mod ids;
mod load;
mod models;
mod platform;
mod read;
mod secret;
mod sections;
mod server;
mod store_url;
#[cfg(test)]
mod tests;
mod tree;
mod unbuilt;
mod unknown;

use std::{collections::BTreeSet, path::PathBuf};

pub use built::{Note, check_built};
pub use channel::{
    Access, Behaviour, BreakAt, ChannelConfig, Chunk, DmPolicy, Late, QueueMode, SessionScope, Streaming, ThreadFollow,
};
pub use describe::{describe, who};
pub use env::Env;
pub use error::{ConfigError, ConfigErrors};
pub use load::{load, load_text};
pub use models::{Api, Models, Provider};
pub use platform::{
    ChannelKind, Feishu, FeishuMode, Platform, ReplyMode, Slack, SlackMode, SlackWorkspace, Telegram, TelegramMode,
};
pub use sections::{Agents, Hooks, Limits, Redirect, Source, Sources, Store, Workspace};
pub use server::{ApiToken, Role, Server, request_url};

/// Everything an operator can set. Paths are resolved, secrets are read, and no `Debug` of it shows one.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file it came from; `None` = the defaults and the environment alone.
    pub file: Option<PathBuf>,
    /// `WATCHFLOOR_LOG`: the filter of the log lines.
    pub log: Option<String>,
    pub server: Server,
    pub store: Store,
    pub limits: Limits,
    pub agents: Agents,
    pub workspace: Workspace,
    pub models: Models,
    pub sources: Sources,
    pub hooks: Hooks,
    pub channels: Vec<ChannelConfig>,
    /// The dotted paths of everything that is written and not empty, in the file or in the environment.
    pub set: BTreeSet<String>,
}
