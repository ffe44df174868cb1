//! Watchfloor: the on-call bot that lives where on-call people talk. `docs/ARCHITECTURE.md` is the map.

pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod coordinator;
pub mod http;
pub mod lifecycle;
pub mod model;
pub mod persona;
pub mod store;
mod tool_names;
pub mod tools;
pub mod wording;
