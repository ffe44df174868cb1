//! Watchfloor: the on-call bot that lives where on-call people talk. `docs/ARCHITECTURE.md` is the map.

pub mod clock;
pub mod model;
pub mod store;
pub mod tools;
