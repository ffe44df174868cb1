//! Text for people: parsed, split, shortened and cleaned in one place. Knows no platform's syntax; adapters render.

mod address;
pub mod blocks;
mod controls;
#[cfg(test)]
mod fuzz;
mod sanitize;
mod shorten;
mod size;
mod split;

pub use address::{is_web_address, next_address};
pub use controls::printable;
pub use sanitize::for_people;
pub use shorten::{middle, one_line, shorten};
pub use size::{Length, Limits, Size, TextUnit};
pub use split::split_within;
