//! The adapter against a loopback Slack, told in Slack's words.
#![expect(clippy::unwrap_used, reason = "a failed step fails the story")]

mod connection;
mod desk;
mod files;
mod receiving;
mod sending;
