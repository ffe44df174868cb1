//! Who gets an envelope, whether it was acknowledged, and what happens if not. Frames and sockets are `socket`'s, requests
//! are `http`'s.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::{
    Shared, events,
    http::{Http, HttpAnswer, HttpFault, Undelivered},
    interact::Asker,
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
    pub(crate) http: Http,
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
    /// Over HTTP one of the simulator's own.
    pub envelope_id: String,
    /// Absent for button presses and commands.
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
    heard: bool,
    /// Gets what the acknowledgement carries.
    acknowledged: Option<oneshot::Sender<Verdict>>,
}

type Verdict = Result<Option<Value>, Undelivered>;

/// What goes into an envelope.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) kind: &'static str,
    pub(crate) payload: Value,
    pub(crate) event_id: Option<String>,
    /// Who sees what the acknowledgement carries.
    pub(crate) asker: Option<Asker>,
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

    fn send(&mut self, parcel: &Parcel, attempt: u32, reason: &str) -> Option<oneshot::Receiver<Verdict>> {
        let frames = self.choose(attempt > 0)?;
        let envelope_id = self.new_envelope();
        let mut envelope = json!({"type": parcel.kind, "envelope_id": envelope_id, "payload": parcel.payload,
            "accepts_response_payload": parcel.kind != "events_api"});
        if parcel.kind == "events_api" {
            envelope["retry_attempt"] = attempt.into();
            envelope["retry_reason"] = reason.into();
        }
        frames.try_send(Frame::Text(envelope.to_string())).ok()?;
        Some(self.await_answer(envelope_id, parcel, attempt))
    }

    fn new_envelope(&mut self) -> String {
        format!("sim-envelope-{:04}", self.next_id())
    }

    fn await_answer(&mut self, envelope_id: String, parcel: &Parcel, attempt: u32) -> oneshot::Receiver<Verdict> {
        let (acknowledged, receiver) = oneshot::channel();
        let event_id = parcel.event_id.clone();
        let (sent, acknowledged) = (Instant::now(), Some(acknowledged));
        self.under_way.insert(envelope_id, UnderWay { event_id, attempt, sent, heard: false, acknowledged });
        receiver
    }

    /// What became of a request.
    fn answered(&mut self, envelope_id: &str, answer: Result<HttpAnswer, Undelivered>, lost: bool) {
        if let Ok(answer) = &answer {
            self.http.answers.push(answer.clone());
        }
        let Some(under_way) = self.under_way.get_mut(envelope_id).filter(|_| !lost) else { return };
        let verdict = match answer {
            Ok(answer) if (200..300).contains(&answer.status) => {
                under_way.heard = true;
                let json = serde_json::from_str(&answer.body).ok();
                let payload = json.or_else(|| (!answer.body.is_empty()).then(|| Value::String(answer.body.clone())));
                self.acks.push(Ack {
                    envelope_id: envelope_id.to_owned(),
                    event_id: under_way.event_id.clone(),
                    attempt: under_way.attempt,
                    after: answer.after,
                    payload: payload.clone(),
                });
                Ok(payload)
            }
            Ok(answer) => Err(Undelivered { reason: "http_error", no_retry: answer.no_retry }),
            Err(undelivered) => Err(undelivered),
        };
        if let Some(waiting) = under_way.acknowledged.take() {
            _ = waiting.send(verdict);
        }
    }

    /// Events and presses of which no envelope was acknowledged yet.
    pub(crate) fn unheard(&self) -> usize {
        let heard: HashSet<_> = self.acks.iter().filter_map(|ack| ack.event_id.as_ref()).collect();
        let open = self.under_way.values().filter(|envelope| !envelope.heard);
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
        under_way.heard = true;
        match under_way.acknowledged.take() {
            // The receiver is gone if the deadline is over; the late acknowledgement still shows in `acks`.
            Some(waiting) => _ = waiting.send(Ok(frame.get("payload").cloned())),
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
        self.dispatch(Parcel { kind: "events_api", payload, event_id: Some(event_id), asker: None }, attempt);
    }

    /// Button presses aren't sent again: the person sees a warning triangle instead.
    pub(crate) fn deliver_press(self: &Arc<Self>, payload: Value) {
        self.dispatch(Parcel { kind: "interactive", payload, event_id: None, asker: None }, 0);
    }

    /// Nor are commands: the person sees an error.
    pub(crate) fn deliver_command(self: &Arc<Self>, payload: Value, asker: Asker) {
        self.dispatch(Parcel { kind: "slash_commands", payload, event_id: None, asker: Some(asker) }, 0);
    }

    fn dispatch(self: &Arc<Self>, parcel: Parcel, attempt: u32) {
        let reason = if attempt > 0 { "timeout" } else { "" };
        let first = self.send(&parcel, attempt, reason);
        let shared = Arc::clone(self);
        let follow_up = async move { shared.follow_up(parcel, attempt, first).await };
        let stop = self.tasks.stop.clone();
        self.tasks.tracker.spawn(async move { stop.run_until_cancelled_owned(follow_up).await });
    }

    /// Nothing if there is nobody to send it to.
    fn send(self: &Arc<Self>, parcel: &Parcel, attempt: u32, reason: &str) -> Option<oneshot::Receiver<Verdict>> {
        let (endpoint, fault, envelope_id, answer) = {
            let mut lines = self.lines.look();
            if !lines.http.on {
                drop(lines);
                return self.lines.change(|lines| lines.send(parcel, attempt, reason));
            }
            let endpoint = lines.http.endpoint.clone()?;
            let envelope_id = lines.new_envelope();
            let answer = lines.await_answer(envelope_id.clone(), parcel, attempt);
            (endpoint, lines.http.faults.pop_front(), envelope_id, answer)
        };
        let (shared, parcel, reason) = (Arc::clone(self), parcel.clone(), reason.to_owned());
        let request = async move {
            let outcome = endpoint.post(&parcel, attempt, &reason, fault).await;
            let lost = fault == Some(HttpFault::ResponseLost);
            shared.lines.change(|lines| lines.answered(&envelope_id, outcome, lost));
        };
        let stop = self.tasks.stop.clone();
        self.tasks.tracker.spawn(async move { stop.run_until_cancelled_owned(request).await });
        Some(answer)
    }

    async fn follow_up(self: &Arc<Self>, parcel: Parcel, attempt: u32, first: Option<oneshot::Receiver<Verdict>>) {
        let mut verdict = self.verdict(first).await;
        let waits = if parcel.event_id.is_some() { self.config.redeliver_after.as_slice() } else { &[] };
        for (&wait, attempt) in waits.iter().zip(attempt + 1..) {
            match verdict {
                Ok(_) | Err(Undelivered { no_retry: true, .. }) => break,
                Err(Undelivered { reason, .. }) => {
                    tokio::time::sleep(wait).await;
                    verdict = self.verdict(self.send(&parcel, attempt, reason)).await;
                }
            }
        }
        if let Ok(payload) = verdict {
            if let (Some(asker), Some(payload)) = (&parcel.asker, payload) {
                self.answered_in_passing(asker, &payload);
            }
            return;
        }
        let what = parcel.event_id.unwrap_or_else(|| match parcel.kind {
            "slash_commands" => "a command".to_owned(),
            _ => "a button press".to_owned(),
        });
        tracing::warn!(event.id = what, "never acknowledged to the simulated Slack");
        self.lines.change(|lines| lines.lost.push(what));
    }

    async fn verdict(&self, under_way: Option<oneshot::Receiver<Verdict>>) -> Verdict {
        let http = self.lines.look().http.on;
        let Some(under_way) = under_way else {
            return Err(Undelivered::because(if http { "connection_failed" } else { "timeout" }));
        };
        match tokio::time::timeout(self.config.ack_deadline, under_way).await {
            Ok(Ok(verdict)) => verdict,
            _ => Err(Undelivered::because(if http { "http_timeout" } else { "timeout" })),
        }
    }
}
