//! Platforms, a model endpoint and telemetry on loopback, for drills and tests.

mod board;
mod server;
pub mod slack;
#[expect(dead_code, reason = "the model and telemetry read times")]
mod time;

pub use slack::SlackSim;
