//! What goes wrong on purpose: faults of calls, redeliveries, dead connections, stale tokens, closed windows.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    ALICE, APP_ID, BOT_OPEN_ID, Fault, FeishuSim, GROUP, TENANT_KEY, ThreadIds,
    delivery::{Out, SERVICE},
    events,
    frame::{DATA, Frame},
    people::MENTION,
};
use crate::{server::Door, time};

/// How an event comes a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventId {
    /// As redeliveries mostly do.
    Same,
    /// With another `event_id`, on which no bot may rely.
    New,
}

impl FeishuSim {
    /// The next call of `name` fails this way. Faults queue and are used up in order.
    pub fn fault(&self, name: &str, fault: Fault) {
        self.fault_times(name, fault, 1);
    }

    pub fn fault_times(&self, name: &str, fault: Fault, times: usize) {
        self.shared.world.change(|world| {
            let queue = world.faults.entry(name.to_owned()).or_default();
            queue.extend(std::iter::repeat_n(fault, times));
        });
    }

    /// Forgets the faults that are still queued.
    pub fn clear_faults(&self) {
        self.shared.world.change(|world| world.faults.clear());
    }

    /// Calls of `name` wait before they take effect, until [`FeishuSim::let_go`].
    pub fn hold(&self, name: &str) {
        self.shared.world.change(|world| world.held.insert(name.to_owned()));
    }

    pub fn let_go(&self, name: &str) {
        self.shared.world.change(|world| world.held.remove(name));
    }

    /// Every token given so far is answered with 99991663.
    pub fn expire_tokens(&self) {
        self.shared.world.change(|world| world.tokens.iter_mut().for_each(|token| token.revoked = true));
    }

    /// As if `by` had passed for the tokens.
    pub fn age_tokens(&self, by: Duration) {
        self.shared.world.change(|world| {
            for token in &mut world.tokens {
                token.ends = token.ends.checked_sub(by).unwrap_or(world.started);
            }
        });
    }

    /// The HTTP status of 99991663: 400 or 200.
    pub fn set_stale_status(&self, http: u16) {
        self.shared.world.change(|world| world.stale_status = http);
    }

    pub fn grant(&self, scope: &str) {
        self.shared.world.change(|world| world.scopes.insert(scope.to_owned()));
    }

    pub fn take_away(&self, scope: &str) {
        self.shared.world.change(|world| world.scopes.remove(scope));
    }

    /// Counted calls in this month until 99991403; nothing = no end.
    pub fn set_monthly_calls(&self, most: Option<u64>) {
        self.shared.world.change(|world| world.monthly_calls = most);
    }

    /// The administrator's window: from now on PUT is answered with 230075.
    pub fn close_edits(&self) {
        self.shared.world.change(|world| world.edits_closed = true);
    }

    pub fn set_thread_ids(&self, thread_ids: ThreadIds) {
        self.shared.world.change(|world| world.thread_ids = thread_ids);
    }

    /// Somebody deletes the topic of this message: replies are answered with 230019, edits in it with 230110.
    pub fn delete_topic(&self, message: &str) {
        let Some(thread) = self.message(message).thread else { panic!("{message} is in no topic") };
        self.shared.world.change(|world| world.gone_topics.insert(thread));
    }

    /// As if `by` had passed since the message was sent: for PATCH after 14 days.
    pub fn age_message(&self, id: &str, by: Duration) {
        self.shared.world.change(|world| {
            if let Some(message) = world.message_mut(id) {
                message.created = message.created.saturating_sub(by.as_millis() as u64);
            }
        });
    }

    /// Sends every event about the message once more.
    pub async fn redeliver(&self, message: &str, id: EventId) {
        let mut again: Vec<Value> = {
            let world = self.shared.world.look();
            world.sent.iter().filter(|sent| events::about(sent) == Some(message)).cloned().collect()
        };
        assert!(!again.is_empty(), "no event about {message} was ever sent");
        for envelope in &mut again {
            if id == EventId::New {
                envelope["header"]["event_id"] = self.shared.world.change(|world| world.fresh("ev")).into();
            }
            self.shared.deliver_as(envelope.clone(), 1);
        }
    }

    /// Says something so that it is brought only now, and was said `ago`.
    pub async fn say_late(&self, person: &str, chat: &str, text: &str, ago: Duration) -> String {
        let mut message = self.shared.world.change(|world| world.said(person, chat, text));
        message.created = time::now().saturating_sub(ago).as_millis() as u64;
        message.updated = message.created;
        self.publish(message, None, false)
    }

    /// Questions to the bot in [`GROUP`], as fast as they go.
    pub async fn burst(&self, count: usize) -> Vec<String> {
        let mut ids = Vec::new();
        for number in 1..=count {
            ids.push(self.say(ALICE, GROUP, &format!("{MENTION} question {number}")).await);
        }
        ids
    }

    /// The bot's own message comes as an event, which it normally doesn't: with this `sender_type` and sender.
    pub async fn echo(&self, id: &str, sender_type: &str, sender: &str) {
        let mut message = self.message(id);
        let envelope = self.shared.world.change(|world| {
            // Group messages without a mention of the bot would not come in any case.
            message.mentions = vec![super::Mention::of_bot("@_user_1".to_owned())];
            let mut event = events::received(world, &message);
            event["sender"]["sender_type"] = sender_type.into();
            event["sender"]["sender_id"]["open_id"] = sender.into();
            events::envelope(world, "im.message.receive_v1", event)
        });
        self.shared.deliver(envelope);
    }

    /// Delivers an envelope; what its header lacks is filled in.
    pub async fn raw_event(&self, mut envelope: Value) -> String {
        self.shared.world.change(|world| {
            let (event_id, now) = (world.fresh("ev"), world.stamp().to_string());
            let filled = json!({"event_id": event_id, "create_time": now, "token": "", "app_id": APP_ID,
                "tenant_key": TENANT_KEY});
            if let Value::Object(filled) = filled {
                for (key, value) in filled {
                    if envelope["header"].get(&key).is_none() {
                        envelope["header"][key] = value;
                    }
                }
            }
            if envelope.get("schema").is_none() {
                envelope["schema"] = "2.0".into();
            }
        });
        let event_id = events::event_id(&envelope);
        self.shared.deliver(envelope);
        event_id
    }

    /// Breaks every open long connection without a closing handshake.
    pub fn cut_connections(&self) {
        self.shared.socket_door.cut();
    }

    /// Closes every open long connection, as the server does now and then.
    pub fn close_connections(&self) {
        self.to_all(&Out::Close);
    }

    /// The open connections fall silent, pongs included, while TCP stays open. Later ones are healthy.
    pub fn go_silent(&self) {
        self.shared.lines.change(|lines| {
            for line in &mut lines.open {
                line.silent = true;
                _ = line.frames.try_send(Out::Silence);
            }
        });
    }

    /// Pongs go on, but no event arrives.
    pub fn starve(&self, starved: bool) {
        self.shared.lines.change(|lines| lines.starved = starved);
    }

    /// The next discovery is answered with this code.
    pub fn refuse_endpoint(&self, code: i64) {
        self.fault("endpoint", Fault::Code { code, http: 200 });
    }

    /// The next upgrade is refused with `Handshake-Status` and, if given, `Handshake-Autherrcode`.
    pub fn refuse_upgrade(&self, status: u16, code: Option<i64>) {
        self.shared.lines.change(|lines| lines.refusals.push((status, code)));
    }

    /// Nothing of the platform can be reached; open connections are cut.
    pub fn down(&self, down: bool) {
        let doors = [Some(&self.shared.socket_door), self.shared.api_door.get()];
        for door in doors.into_iter().flatten() {
            door.shut(down);
            if down {
                Door::cut(door);
            }
        }
    }

    /// Cuts each push into this many frames; `reversed` sends the last one first.
    pub fn split(&self, parts: usize, reversed: bool) {
        self.shared.lines.change(|lines| lines.split = (parts, reversed));
    }

    /// Clicks come as frames of the type `card`.
    pub fn card_frames(&self, on: bool) {
        self.shared.lines.change(|lines| lines.card_frames = on);
    }

    /// Sends these bytes on every open connection.
    pub fn raw_frame(&self, bytes: Vec<u8>) {
        self.to_all(&Out::Frame(bytes));
    }

    /// Sends a text message, which no client expects, on every open connection.
    pub fn raw_text(&self, text: &str) {
        self.to_all(&Out::Text(text.to_owned()));
    }

    /// Sends a frame of an unknown `method`.
    pub fn odd_frame(&self, method: i32) {
        let headers = vec![("type".to_owned(), "novelty".to_owned())];
        self.raw_frame(Frame { method, headers, ..Frame::default() }.encode());
    }

    /// Sends a data frame with these headers: parts that don't fit together, types nobody knows.
    pub fn data_frame(&self, headers: &[(&str, &str)], payload: &[u8]) {
        let headers = headers.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let (seq_id, payload) = (self.shared.lines.change(|lines| lines.next_id()), Some(payload.to_vec()));
        let frame = Frame { seq_id, service: SERVICE, method: DATA, headers, payload, ..Frame::default() };
        self.raw_frame(frame.encode());
    }

    /// Sends a ping of the WebSocket itself, which proves nothing about events.
    pub fn ping(&self) {
        self.to_all(&Out::Ping);
    }

    fn to_all(&self, out: &Out) {
        self.shared.lines.change(|lines| {
            for line in &lines.open {
                // A full queue means that nobody reads.
                _ = line.frames.try_send(out.clone());
            }
        });
    }

    /// The bot's own open_id, for [`FeishuSim::echo`].
    pub fn bot(&self) -> &'static str {
        BOT_OPEN_ID
    }
}
