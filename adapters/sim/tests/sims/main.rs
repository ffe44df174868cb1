//! The simulators, driven by bare clients: what they promise on the wire and what their verbs tell.
#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod feishu;
mod feishu_link;
mod messages;
mod model;
mod slack_files;
mod slack_http;
mod slack_socket;
mod slack_web;
mod support;
mod telemetry;
