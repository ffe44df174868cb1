//! The adapter against a loopback Telegram, told in Telegram's words.
#![expect(clippy::unwrap_used, reason = "a failed step fails the story")]

mod bad_input;
mod clicks;
mod conformance;
mod desk;
mod doctor;
mod files;
mod gather;
mod moved;
mod polling;
mod receiving;
mod refusals;
mod sending;
mod threads;
mod webhook;
