//! What goes wrong on purpose: faults of methods, redeliveries, dead connections, lost permissions.

use std::time::Duration;

use serde_json::json;

use super::{
    BOT_TOKEN, Fault, Mentions, SlackSim,
    delivery::Frame,
    world::{SentEvent, World},
};
use crate::time;

/// How an event comes a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventId {
    /// A redelivery: the same `event_id` in a new envelope, marked as attempt 1.
    Same,
    /// As a second subscription would send it: a new `event_id`, marked as a first attempt.
    New,
}

impl SlackSim {
    /// The next call of `method` fails this way. Faults queue and are used up in order.
    pub fn fault(&self, method: &str, fault: Fault) {
        self.fault_times(method, fault, 1);
    }

    pub fn fault_times(&self, method: &str, fault: Fault, times: usize) {
        self.shared.world.change(|world| {
            let queue = world.faults.entry(method.to_owned()).or_default();
            queue.extend(std::iter::repeat_n(fault, times));
        });
    }

    /// Forgets the faults that are still queued.
    pub fn clear_faults(&self) {
        self.shared.world.change(|world| world.faults.clear());
    }

    /// From now on the bot token is answered with `token_revoked`.
    pub async fn revoke_token(&self) {
        self.shared.world.change(|world| world.revoked.insert(BOT_TOKEN.to_owned()));
    }

    pub fn set_mentions(&self, mentions: Mentions) {
        self.shared.world.change(|world| world.mentions = mentions);
    }

    /// Sends every event about the message `ts` once more.
    pub async fn redeliver(&self, ts: &str, id: EventId) {
        let again: Vec<_> = {
            let world = self.shared.world.look();
            let mut seen = Vec::new();
            let mut about = |sent: &&SentEvent| {
                let new = !seen.contains(&sent.event_id);
                seen.push(sent.event_id.clone());
                new && sent.event["ts"] == ts
            };
            world.sent.iter().filter(|sent| about(sent)).cloned().collect()
        };
        assert!(!again.is_empty(), "no event about {ts} was ever sent");
        for sent in again {
            match id {
                EventId::Same => self.shared.deliver_as(sent, 1),
                EventId::New => {
                    let event_id = self.shared.world.change(World::next_event_id);
                    self.shared.deliver_as(SentEvent { event_id, ..sent }, 0);
                }
            }
        }
    }

    /// Says something so that it is brought only now, and was said `ago`.
    pub async fn say_late(
        &self,
        person: &str,
        channel: &str,
        thread: Option<&str>,
        text: &str,
        ago: Duration,
    ) -> String {
        let mut message = self.compose(person, channel, thread, text);
        let said = time::now().saturating_sub(ago);
        message.ts = format!("{}.{:06}", said.as_secs(), said.subsec_micros());
        self.publish(message)
    }

    /// Breaks every open connection without a closing handshake.
    pub fn cut_connections(&self) {
        self.shared.socket_door.cut();
    }

    /// New connections end before the handshake; open ones stay.
    pub fn refuse_connections(&self, refuse: bool) {
        self.shared.socket_door.shut(refuse);
    }

    /// Announces the end of every open connection; they are closed after the grace period. Events go to newer ones.
    pub fn disconnect(&self, reason: &str, with_debug_info: bool) {
        let mut frame = json!({"type": "disconnect", "reason": reason});
        if with_debug_info {
            frame["debug_info"] = json!({"host": "applink-sim"});
        }
        let frame = frame.to_string();
        self.shared.lines.change(|lines| {
            for line in &mut lines.open {
                line.retiring = true;
                // A full queue means that nobody reads; such a connection ends anyway.
                _ = line.frames.try_send(Frame::Goodbye(frame.clone()));
            }
        });
    }

    /// The open connections fall silent, pings included, while TCP stays open. Later ones are healthy.
    pub fn go_silent(&self) {
        self.shared.lines.change(|lines| {
            for line in &mut lines.open {
                line.silent = true;
                _ = line.frames.try_send(Frame::Silence);
            }
        });
    }

    /// Sends a text frame as it is on every open connection.
    pub fn send_frame(&self, raw: &str) {
        self.shared.lines.change(|lines| {
            for line in &lines.open {
                _ = line.frames.try_send(Frame::Text(raw.to_owned()));
            }
        });
    }

    /// What `hello` says from now on about the number of connections; nothing = the truth.
    pub fn claim_connections(&self, number: Option<usize>) {
        self.shared.lines.change(|lines| lines.claimed = number);
    }
}
