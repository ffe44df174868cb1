//! The adapter against a loopback Telegram, told in Telegram's words.
#![expect(clippy::unwrap_used, reason = "a failed step fails the story")]

mod desk;
mod files;
mod refusals;
mod sending;
