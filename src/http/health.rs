//! `GET /readyz`: 200 when the store takes writes and a channel is connected (or none is configured), else 503. The body
//! says why and is what "health" means everywhere.

use std::collections::BTreeMap;

use axum::{Json, extract::State, http::StatusCode};
use serde::Serialize;
use watchfloor_channel::ChannelState;

use super::{ChannelHealth, Http, Webhooks};

#[derive(Debug, Serialize)]
pub(super) struct Health {
    status: &'static str,
    reasons: Vec<String>,
    channels: Vec<Channel>,
}

#[derive(Debug, Serialize)]
struct Channel {
    name: String,
    kind: &'static str,
    state: &'static str,
    reason: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    figures: BTreeMap<&'static str, u64>,
}

pub(super) async fn ready(State(http): State<Http>) -> (StatusCode, Json<Health>) {
    let mut reasons = Vec::new();
    if let Err(error) = http.store.check_writable().await {
        tracing::error!(%error, "the store takes no writes");
        reasons.push("the store takes no writes".to_owned());
    }
    let channels: Vec<_> = http.channels.iter().map(|health| Channel::of(health, &http.webhooks)).collect();
    let works = |channel: &Channel| matches!(channel.state, "connected" | "degraded");
    let down = !reasons.is_empty() || !(channels.is_empty() || channels.iter().any(works));
    reasons.extend(channels.iter().filter(|channel| channel.state != "connected").map(Channel::complaint));
    reasons.extend(http.personas.personas().now().degraded().map(str::to_owned));
    let (code, status) = match (down, reasons.is_empty()) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "down"),
        (false, true) => (StatusCode::OK, "ok"),
        (false, false) => (StatusCode::OK, "degraded"),
    };
    (code, Json(Health { status, reasons, channels }))
}

impl Channel {
    fn of(health: &ChannelHealth, webhooks: &Webhooks) -> Self {
        let (state, reason) = match &*health.state.borrow() {
            ChannelState::Connecting => ("connecting", None),
            ChannelState::Connected => ("connected", None),
            ChannelState::Degraded(why) => ("degraded", Some(why.clone())),
            ChannelState::Disconnected(why) => ("disconnected", Some(why.clone())),
            ChannelState::Off(why) => ("off", Some(why.clone())),
        };
        let unread = Some(("unread_bodies", webhooks.unread(&health.name))).filter(|(_, count)| *count > 0);
        let figures = health.figures.now().into_iter().chain(unread).collect();
        Self { name: health.name.clone(), kind: health.kind, state, reason, figures }
    }

    fn complaint(&self) -> String {
        match &self.reason {
            Some(reason) => format!("{} is {}: {reason}", self.name, self.state),
            None => format!("{} is {}", self.name, self.state),
        }
    }
}
