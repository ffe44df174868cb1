//! `GET /readyz`: 200 when the store takes writes and a channel is connected (or none is configured), else 503. The body
//! says why and is what "health" means everywhere.

use axum::{Json, extract::State, http::StatusCode};
use serde::Serialize;
use watchfloor_channel::ChannelState;

use super::Http;

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
}

pub(super) async fn ready(State(http): State<Http>) -> (StatusCode, Json<Health>) {
    let store = http.store.check_writable().await.map_err(|error| {
        tracing::error!(%error, "the store takes no writes");
        "the store takes no writes".to_owned()
    });
    let channels: Vec<_> = http.channels.iter().map(|health| (health, health.state.borrow().clone())).collect();
    let (down, health) =
        judge(store.err(), &channels.iter().map(|(h, s)| (h.name.as_str(), h.kind, s)).collect::<Vec<_>>());
    (if down { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK }, Json(health))
}

fn judge(store: Option<String>, channels: &[(&str, &'static str, &ChannelState)]) -> (bool, Health) {
    let mut reasons: Vec<_> = store.into_iter().collect();
    let mut down = !reasons.is_empty();
    let mut configured = 0;
    let mut connected = 0;
    let channels = channels
        .iter()
        .map(|(name, kind, state)| {
            let (word, reason) = match state {
                ChannelState::Connecting => ("connecting", None),
                ChannelState::Connected => ("connected", None),
                ChannelState::Degraded(why) => ("degraded", Some(why.clone())),
                ChannelState::Disconnected(why) => ("disconnected", Some(why.clone())),
                ChannelState::Off(why) => ("off", Some(why.clone())),
            };
            configured += 1;
            connected += usize::from(matches!(state, ChannelState::Connected | ChannelState::Degraded(_)));
            if !matches!(state, ChannelState::Connected) {
                reasons.push(match &reason {
                    Some(reason) => format!("{name} is {word}: {reason}"),
                    None => format!("{name} is {word}"),
                });
            }
            Channel { name: (*name).to_owned(), kind, state: word, reason }
        })
        .collect();
    down |= configured > 0 && connected == 0;
    let status = if down {
        "down"
    } else if reasons.is_empty() {
        "ok"
    } else {
        "degraded"
    };
    (down, Health { status, reasons, channels })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_connected_channel_is_enough_and_what_is_wrong_is_said() {
        let connected = ChannelState::Connected;
        let lost = ChannelState::Disconnected("no answer".into());
        let cases: [(Option<&str>, &[&ChannelState], bool, &str, &[&str]); 5] = [
            (None, &[], false, "ok", &[]),
            (None, &[&connected], false, "ok", &[]),
            (None, &[&connected, &lost], false, "degraded", &["b is disconnected: no answer"]),
            (None, &[&lost], true, "down", &["a is disconnected: no answer"]),
            (Some("the store takes no writes"), &[&connected], true, "down", &["the store takes no writes"]),
        ];
        for (store, states, down, status, reasons) in cases {
            let named: Vec<_> =
                ["a", "b"].into_iter().zip(states).map(|(name, state)| (name, "slack", *state)).collect();
            let (is_down, health) = judge(store.map(str::to_owned), &named);
            assert_eq!(
                (is_down, health.status, health.reasons),
                (down, status, reasons.iter().map(|r| (*r).to_owned()).collect())
            );
        }
    }
}
