//! Slack for watchfloor: Socket Mode in, Web API out. It translates and decides nothing: whom to answer, what to say and
//! how often to edit are the coordinator's.

mod adapter;
mod api;
mod config;
mod content;
mod errors;
mod events;
mod files;
mod history;
mod hosts;
mod link;
mod names;
mod render;
mod socket;
mod text_in;
mod upload;
mod wire;

pub use adapter::SlackAdapter;
pub use api::BuildError;
pub use config::{Reconnect, SlackConfig};
