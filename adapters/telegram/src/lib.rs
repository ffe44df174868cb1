//! Telegram for watchfloor: long polling or a webhook in, Bot API out. It translates and decides nothing: whom to answer,
//! what to say and how often to edit are the coordinator's.

mod adapter;
mod api;
mod config;
mod descriptions;
mod errors;
mod features;
mod files;
#[cfg(test)]
#[path = "../../core/tests/support/fuzz.rs"]
mod fuzzing;
mod keyboard;
mod names;
mod outgoing;
mod receive;
mod render;
mod thread;

pub use adapter::TelegramAdapter;
pub use api::BuildError;
pub use config::{Intake, Reconnect, TelegramConfig};
