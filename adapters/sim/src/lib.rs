//! Platforms, a model endpoint and telemetry on loopback, for drills and tests.
//!
//! Each simulator is a real server on a free port of 127.0.0.1 that speaks the wire format of its original, rules and
//! mistakes included, and knows nothing of the bot's own types.
//!
//! * [`SlackSim`]: a workspace. Web API with the documented limits and errors; Socket Mode with acknowledgements,
//!   redelivery, pings and recycling, or signed HTTP requests (`subscribe`); clicks, commands and response addresses;
//!   both events for one mention; the bot's own messages as events.
//! * [`TelegramSim`]: a Bot API server with one bot, people and groups. Long polls that confirm by offset, or a webhook;
//!   HTML parsed and refused as the original does; topics, replies, upgrades, privacy, flood control.
//! * [`FeishuSim`]: a tenant. Messages, edits and cards with the documented limits and codes; the long connection with its
//!   binary frames, acknowledgements and redelivery, or signed and encrypted webhook requests; topics and threads.
//! * [`ModelSim`]: OpenAI's chat completions. Answers come from a script; every request is refereed, and a violation
//!   is refused *and* kept as a complaint.
//! * [`TelemetrySim`]: Prometheus and Alertmanager over a recorded world whose times are relative to now.
//!
//! [`mod@conformance`] is the list of checks that the adapter of every platform passes against its simulator.
//!
//! # Verbs
//!
//! A story is told in the platform's words. People act (`say`, `reply`, `edit`, `delete`, `press`, `slash`), things go wrong
//! on purpose (`fault`, `http_fault`, `redeliver`, `cut_connections`, `go_silent`, `hold`, `down`), and the test looks:
//!
//! ```text
//! let ts = slack.say("U0ALICE", "C0OPS", "<@U0BOT> why is checkout slow?").await;
//! let placeholder = slack.next_message("C0OPS").await;
//! slack.wait_for_text(&placeholder.ts, |text| text.contains("pool")).await;
//! assert!(slack.unread().is_empty() && model.complaints().is_empty());
//! ```
//!
//! Verbs that wait do so for an observation, and panic after some seconds with what they have seen. Handles are cheap
//! to clone. A simulator ends with its last handle; `stop` also waits until its tasks and connections are gone.
//!
//! The simulators live in real time: a paused tokio clock would jump while a socket waits.

mod board;
pub mod conformance;
pub mod feishu;
mod long;
pub mod model;
mod server;
pub mod slack;
pub mod telegram;
pub mod telemetry;
mod time;

pub use feishu::FeishuSim;
pub use long::{LongAnswer, long_answers};
pub use model::{ModelScript, ModelSim};
pub use slack::SlackSim;
pub use telegram::TelegramSim;
pub use telemetry::{TelemetryScript, TelemetrySim};

/// A script that can't be understood. The message carries line and column.
#[derive(Debug, thiserror::Error)]
#[error("the script can't be read: {0}")]
pub struct ScriptError(#[from] serde_yaml::Error);
