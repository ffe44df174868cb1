//! Telegram: one bot as a channel.
