//! Watchfloor: the on-call bot that lives where on-call people talk. `docs/ARCHITECTURE.md` is the map.

pub mod clock;
pub mod config;
pub mod model;
pub mod persona;
pub mod tools;
