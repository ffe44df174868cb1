//! The adapter against a loopback Feishu, told in Feishu's words.
#![expect(clippy::unwrap_used, reason = "a failed step fails the story")]

mod bad_input;
mod cards;
mod clicks;
mod conformance;
mod connection;
mod desk;
mod doctor;
mod editing;
mod files;
mod packets;
mod receiving;
mod refusals;
mod sending;
mod threads;
mod tokens;
mod vectors;
mod webhook;
