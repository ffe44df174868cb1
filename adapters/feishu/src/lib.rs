//! Feishu and Lark for watchfloor: long connection or signed HTTP requests in, message API out. It translates and decides
//! nothing: whom to answer, what to say and how often to edit are the coordinator's.

mod adapter;
mod api;
mod call;
mod config;
mod errors;
mod exchange;
mod features;
mod files;
#[cfg(test)]
#[path = "../../core/tests/support/fuzz.rs"]
mod fuzzing;
mod history;
mod identity;
mod names;
mod outgoing;
mod quota;
mod receive;
mod render;
mod token;

pub use adapter::FeishuAdapter;
pub use api::BuildError;
pub use config::{FeishuConfig, Reconnect, ReplyMode, Transport};
