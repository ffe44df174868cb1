//! The simulators, driven by bare clients: what they promise on the wire and what their verbs tell.
#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod conformance;
mod feishu;
mod feishu_calls;
mod feishu_cards;
mod feishu_link;
mod feishu_messages;
mod feishu_webhook;
mod messages;
mod model;
mod slack_files;
mod slack_http;
mod slack_socket;
mod slack_web;
mod support;
mod telegram_people;
mod telegram_sends;
mod telegram_support;
mod telegram_trouble;
mod telegram_updates;
mod telemetry;
