//! Slack for watchfloor: Socket Mode or signed HTTP requests in, Web API out. It translates and decides nothing: whom to answer, what to say and
//! how often to edit are the coordinator's.

mod accounts;
mod adapter;
mod addressee;
mod api;
mod arrivals;
mod config;
mod content;
mod doctor;
mod errors;
mod events;
mod files;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
#[path = "../../core/tests/support/fuzz.rs"]
mod fuzzing;
mod history;
mod hosts;
mod identity;
mod interact;
mod link;
mod manifest;
mod names;
mod outgoing;
mod render;
mod signature;
mod socket;
mod text_in;
mod upload;
mod webhook;
mod wire;

pub use adapter::SlackAdapter;
pub use api::BuildError;
pub use config::{Reconnect, SlackConfig, Transport, Workspace};
pub use manifest::{Delivery, Manifest};
