//! Slack for watchfloor: Socket Mode in, Web API out. It translates and decides nothing: whom to answer, what to say and
//! how often to edit are the coordinator's.

mod adapter;
mod api;
mod config;
mod content;
mod errors;
mod events;
mod history;
mod link;
mod manifest;
mod names;
mod render;
mod socket;
mod text_in;
mod wire;

pub use adapter::SlackAdapter;
pub use api::BuildError;
pub use config::{Reconnect, SlackConfig};
pub use manifest::{Delivery, Manifest};
