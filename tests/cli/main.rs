//! The binary as an operator meets it: files, variables and signals in, lines, answers and exit codes out.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the story")]

mod channels;
mod doctor;
mod drilling;
mod manifest;
mod process;
mod starting;
mod stopping;
