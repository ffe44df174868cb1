//! Telegram, spoken through its Bot API.

#[allow(dead_code, unused_imports, reason = "the adapter that sends it is built beside it")]
mod render;
