//! The adapter against a loopback Feishu, told in Feishu's words.

mod desk;
mod sending;
