//! Stories: the whole application in one process, against a simulated Slack, model and telemetry, told in the words of the
//! people who use it. The stage is in `stage`; each other file tells of one subject. Telegram and Feishu have stages of their
//! own.

#![expect(clippy::unwrap_used, reason = "a test's helpers may panic, and clippy sees only the test functions")]

mod access;
mod account;
mod answers;
mod anthropic;
mod arrival;
mod asides;
mod asked;
mod codes;
mod context;
mod dispatch;
mod events_api;
mod evidence;
mod feishu;
mod field;
mod files;
mod late;
mod limits;
mod model_faults;
mod models;
mod organisations;
mod personas;
mod react;
mod redirects;
mod retracted;
mod setting;
mod showing;
mod stage;
mod steering;
mod stopping;
mod telegram;
mod threads;
mod workers;
