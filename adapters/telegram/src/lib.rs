//! Telegram: one bot as a channel.

#[allow(dead_code, unused_imports, reason = "the adapter that sends it is built beside it")]
mod render;
