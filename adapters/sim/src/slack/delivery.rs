//! Who gets an envelope, whether it was acknowledged, and what happens if not. Frames and sockets are `socket`'s.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::{
    Shared, events,
    world::{SentEvent, World},
};
use crate::time;

/// Open connections and envelopes under way.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) open: Vec<Line>,
    pub(crate) was_open: bool,
    pub(crate) tickets: HashSet<String>,
    pub(crate) acks: Vec<Ack>,
    /// Events that nobody acknowledged in time, however often they were sent.
    pub(crate) lost: Vec<String>,
    /// What `hello` claims instead of the true number.
    pub(crate) claimed: Option<usize>,
    /// Frames and acknowledgements that made no sense.
    pub(crate) oddities: Vec<String>,
    turn: usize,
    last_id: u64,
    under_way: HashMap<String, UnderWay>,
}

#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) id: u64,
    pub(crate) frames: mpsc::Sender<Frame>,
    pub(crate) silent: bool,
    pub(crate) retiring: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Frame {
    Text(String),
    /// A text after which the connection is closed soon.
    Goodbye(String),
    /// Nothing more, in either direction, while TCP stays open.
    Silence,
}

/// One acknowledgement by the bot.
#[derive(Clone, Debug, PartialEq)]
pub struct Ack {
    pub envelope_id: String,
    /// Absent for button presses.
    pub event_id: Option<String>,
    /// 0 for the first delivery.
    pub attempt: u32,
    /// From the frame's sending to its acknowledgement.
    pub after: Duration,
    pub payload: Option<Value>,
}

#[derive(Debug)]
struct UnderWay {
    event_id: Option<String>,
    attempt: u32,
    sent: Instant,
    acknowledged: Option<oneshot::Sender<()>>,
}

/// What goes into an envelope.
#[derive(Clone, Debug)]
struct Parcel {
    kind: &'static str,
    payload: Value,
    event_id: Option<String>,
}

impl Lines {
    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Each payload goes to one connection. Here they take turns, the healthy ones first when it is a repetition.
    fn choose(&mut self, again: bool) -> Option<mpsc::Sender<Frame>> {
        let fit = |line: &&Line| !line.retiring && (!again || !line.silent);
        let mut fitting: Vec<_> = self.open.iter().filter(fit).collect();
        if fitting.is_empty() {
            fitting = self.open.iter().collect();
        }
        self.turn += 1;
        let index = self.turn.checked_rem(fitting.len())?;
        fitting.get(index).map(|line| line.frames.clone())
    }

    fn send(&mut self, parcel: &Parcel, attempt: u32, reason: &str) -> Option<oneshot::Receiver<()>> {
        let frames = self.choose(attempt > 0)?;
        let envelope_id = format!("sim-envelope-{:04}", self.next_id());
        let mut envelope = json!({"type": parcel.kind, "envelope_id": envelope_id, "payload": parcel.payload,
            "accepts_response_payload": parcel.kind != "events_api"});
        if parcel.kind == "events_api" {
            envelope["retry_attempt"] = attempt.into();
            envelope["retry_reason"] = reason.into();
        }
        frames.try_send(Frame::Text(envelope.to_string())).ok()?;
        let (acknowledged, receiver) = oneshot::channel();
        let event_id = parcel.event_id.clone();
        let entry = UnderWay { event_id, attempt, sent: Instant::now(), acknowledged: Some(acknowledged) };
        self.under_way.insert(envelope_id, entry);
        Some(receiver)
    }

    /// Events and presses of which no envelope was acknowledged yet.
    pub(crate) fn unheard(&self) -> usize {
        let heard: HashSet<_> = self.acks.iter().filter_map(|ack| ack.event_id.as_ref()).collect();
        let open = self.under_way.values().filter(|envelope| envelope.acknowledged.is_some());
        open.filter(|envelope| envelope.event_id.as_ref().is_none_or(|id| !heard.contains(id))).count()
    }

    /// A frame from the bot.
    pub(crate) fn heard(&mut self, text: &str) {
        let frame: Value = serde_json::from_str(text).unwrap_or_default();
        let Some(envelope_id) = frame["envelope_id"].as_str() else {
            self.oddities.push(format!("a frame that is no acknowledgement: {text}"));
            return;
        };
        let Some(under_way) = self.under_way.get_mut(envelope_id) else {
            self.oddities.push(format!("an acknowledgement of the unknown envelope {envelope_id}"));
            return;
        };
        match under_way.acknowledged.take() {
            // The receiver is gone if the deadline is over; the late acknowledgement still shows in `acks`.
            Some(waiting) => _ = waiting.send(()),
            None => self.oddities.push(format!("a second acknowledgement of {envelope_id}")),
        }
        self.acks.push(Ack {
            envelope_id: envelope_id.to_owned(),
            event_id: under_way.event_id.clone(),
            attempt: under_way.attempt,
            after: under_way.sent.elapsed(),
            payload: frame.get("payload").cloned(),
        });
    }
}

impl Shared {
    /// Sends a new event, in the order of the calls: once for each installation in its channel.
    pub(crate) fn deliver(self: &Arc<Self>, event: Value) {
        let (teams, _) = self.world.look().audience(&event);
        for team in teams {
            let event_id = self.world.change(World::next_event_id);
            self.deliver_as(SentEvent { event_id, event: event.clone(), team }, 0);
        }
    }

    pub(crate) fn deliver_as(self: &Arc<Self>, sent: SentEvent, attempt: u32) {
        let (_, ext_shared) = self.world.look().audience(&sent.event);
        let payload = events::callback(&sent.event, &sent.event_id, time::now().as_secs(), &sent.team, ext_shared);
        let event_id = sent.event_id.clone();
        self.world.change(|world| world.sent.push(sent));
        self.dispatch(Parcel { kind: "events_api", payload, event_id: Some(event_id) }, attempt);
    }

    /// Button presses aren't sent again: the person sees a warning triangle instead.
    pub(crate) fn deliver_press(self: &Arc<Self>, payload: Value) {
        self.dispatch(Parcel { kind: "interactive", payload, event_id: None }, 0);
    }

    fn dispatch(self: &Arc<Self>, parcel: Parcel, attempt: u32) {
        let reason = if attempt > 0 { "timeout" } else { "" };
        let first = self.lines.change(|lines| lines.send(&parcel, attempt, reason));
        let shared = Arc::clone(self);
        let follow_up = async move { shared.follow_up(parcel, attempt, first).await };
        let stop = self.tasks.stop.clone();
        self.tasks.tracker.spawn(async move { stop.run_until_cancelled_owned(follow_up).await });
    }

    async fn follow_up(&self, parcel: Parcel, attempt: u32, first: Option<oneshot::Receiver<()>>) {
        if self.acknowledged(first).await {
            return;
        }
        let waits = if parcel.event_id.is_some() { self.config.redeliver_after.as_slice() } else { &[] };
        for (&wait, attempt) in waits.iter().zip(attempt + 1..) {
            tokio::time::sleep(wait).await;
            let again = self.lines.change(|lines| lines.send(&parcel, attempt, "timeout"));
            if self.acknowledged(again).await {
                return;
            }
        }
        let what = parcel.event_id.unwrap_or_else(|| "a button press".to_owned());
        tracing::warn!(event.id = what, "never acknowledged to the simulated Slack");
        self.lines.change(|lines| lines.lost.push(what));
    }

    async fn acknowledged(&self, under_way: Option<oneshot::Receiver<()>>) -> bool {
        let Some(under_way) = under_way else { return false };
        matches!(tokio::time::timeout(self.config.ack_deadline, under_way).await, Ok(Ok(())))
    }
}
