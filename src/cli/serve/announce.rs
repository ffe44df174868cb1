//! One channel's way through the day, in lines for a terminal: each change of its state once.

use tokio::sync::watch;
use watchfloor_channel::ChannelState;

/// Ends when the channel is gone. What never changes was said by the description of the configuration.
pub(super) async fn announce(
    name: String,
    who: String,
    mut state: watch::Receiver<ChannelState>,
    say: impl Fn(String),
) {
    let mut said = ChannelState::Connecting;
    let mut connected_before = false;
    if state.has_changed().is_err() {
        return;
    }
    loop {
        let now = state.borrow_and_update().clone();
        // Adapters may show the same state after each attempt.
        if now != said {
            say(format!("{name}: {}", words(&now, &who, connected_before)));
            connected_before |= now == ChannelState::Connected;
            said = now;
        }
        if state.changed().await.is_err() {
            return;
        }
    }
}

fn words(state: &ChannelState, who: &str, connected_before: bool) -> String {
    match state {
        ChannelState::Connecting => "connecting".to_owned(),
        ChannelState::Connected if connected_before => "connected again".to_owned(),
        ChannelState::Connected => format!("connected: {who}"),
        ChannelState::Degraded(why) => format!("degraded: {why}"),
        ChannelState::Disconnected(why) => format!("disconnected, being retried: {why}"),
        ChannelState::Off(why) => format!("off: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn each_change_is_said_once_and_who_may_talk_with_the_first_connection() {
        let (show, state) = watch::channel(ChannelState::Connecting);
        let (line, mut lines) = mpsc::channel(16);
        let announced =
            announce("ops".into(), "everybody in C1".into(), state, move |text| line.try_send(text).unwrap());
        let story = async {
            use ChannelState::{Connected, Degraded, Disconnected, Off};
            let mut told = Vec::new();
            for next in [
                Disconnected("no answer".into()),
                Connected,
                Degraded("another process".into()),
                Disconnected("no answer".into()),
                Connected,
                Off("the token was revoked".into()),
            ] {
                show.send_replace(next.clone());
                told.push(lines.recv().await.unwrap());
                // The next state would come before a line for this one if it had any.
                show.send_replace(next);
                tokio::task::yield_now().await;
            }
            drop(show);
            told
        };
        let ((), told) = tokio::join!(announced, story);
        assert_eq!(
            told,
            [
                "ops: disconnected, being retried: no answer",
                "ops: connected: everybody in C1",
                "ops: degraded: another process",
                "ops: disconnected, being retried: no answer",
                "ops: connected again",
                "ops: off: the token was revoked",
            ]
        );
        assert_eq!(lines.recv().await, None);
    }

    #[tokio::test]
    async fn a_channel_that_was_never_switched_on_is_not_news() {
        let (_, state) = watch::channel(ChannelState::Off("app_token not set".into()));
        announce("ops".into(), String::new(), state, |line| panic!("{line}")).await;
    }
}
