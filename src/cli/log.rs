//! The log on standard error: what the operator's filter lets through, but for the few lines of libraries that hold secrets.

use tracing::Metadata;
use tracing_subscriber::{EnvFilter, filter::filter_fn, layer::SubscriberExt, util::SubscriberInitExt};

/// Writes the requests that open web sockets, whose addresses are tickets.
const REVEALING: &str = "tungstenite::handshake";

pub(super) fn begin(filter: EnvFilter, colours: bool) {
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours);
    lines.finish().with(filter_fn(is_harmless)).init();
}

/// However loud the operator wants it.
fn is_harmless(metadata: &Metadata<'_>) -> bool {
    !metadata.target().starts_with(REVEALING)
}
