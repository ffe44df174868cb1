//! The same stories in Telegram's words: groups, topics, chains of replies, and what Telegram alone does to a bot.

mod arrival;
mod asking;
mod editing;
mod field;
mod formatting;
mod front;
mod rooms;
mod running;
mod setting;
mod stage;
mod webhook;
