//! The binary as an operator meets it: files, variables and signals in, lines, answers and exit codes out.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the story")]

mod agents;
mod channels;
mod doctor;
mod drilling;
mod manifest;
mod process;
mod secrets;
mod starting;
mod stopping;
mod webhooks;
