//! Judges from outside: clients and servers that nobody here wrote. The platforms' and the model providers' own clients work
//! with the simulators, on which every other test rests; and our clients work with other people's servers.
//!
//! A judge is a Python or Node script beside these files. It reports what it saw as JSON lines, and the test compares.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod aimock;
mod anthropic_python;
mod emulate;
mod feishu_lark;
mod feishu_node;
mod judge;
mod llmock;
mod openai_python;
mod request_shape;
mod service;
mod slack_files;
mod slack_node;
mod slack_python;
mod slack_signature;
