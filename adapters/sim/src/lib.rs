//! Platforms, a model endpoint and telemetry on loopback, for drills and tests.

mod board;
pub mod model;
mod server;
pub mod slack;
#[expect(dead_code, reason = "the model and telemetry read times")]
mod time;

pub use model::{ModelScript, ModelSim};
pub use slack::SlackSim;
