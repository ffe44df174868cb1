//! The program itself, killed between any two steps of an answer and started again: each accepted message is answered
//! exactly once, in the same placeholder, or it is explained.
//!
//! The simulators live in the test's process and outlive every kill. `docs/ARCHITECTURE.md`, section 4, has the steps.
#![expect(clippy::unwrap_used, reason = "a failed step fails the story")]

mod accepted;
mod answer;
mod background;
mod bench;
mod database;
mod ending;
mod feishu;
mod files;
mod parts;
mod placeholder;
mod postgres;
mod process;
mod queue;
mod sweep;
mod telegram;
mod thinking;
