//! Slack for watchfloor: Socket Mode in, Web API out. Translates and decides nothing.
mod api;
mod config;
mod errors;
mod events;
mod render;
mod text_in;
mod wire;
pub use api::BuildError;
pub use config::{Reconnect, SlackConfig};
