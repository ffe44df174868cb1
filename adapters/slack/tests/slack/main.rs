//! The adapter against a loopback Slack, told in Slack's words.
#![expect(clippy::unwrap_used, reason = "a failed step fails the story")]

mod asides;
mod conformance;
mod connection;
mod desk;
mod doctor;
mod files;
mod organisations;
mod receiving;
mod refusals;
mod sending;
mod webhook;
mod workspaces;
