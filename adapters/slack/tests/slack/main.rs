//! The adapter against a loopback Slack, told in Slack's words.

mod connection;
mod desk;
mod receiving;
mod sending;
