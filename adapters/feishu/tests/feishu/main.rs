//! The adapter against a loopback Feishu, told in Feishu's words.
#![expect(clippy::unwrap_used, reason = "a failed step fails the story")]

mod cards;
mod desk;
mod editing;
mod files;
mod refusals;
mod sending;
mod tokens;
