//! Text for people: parsed, split, shortened and cleaned in one place. Knows no platform's syntax; adapters render.

pub mod blocks;
mod controls;
mod sanitize;
mod shorten;
mod split;

pub use sanitize::for_people;
pub use shorten::{middle, one_line, shorten};
pub use split::split;
