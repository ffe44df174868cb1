//! Who gets an event, and whether it was acknowledged. Bringing it again is `courier`'s, frames and sockets are `socket`'s.

mod courier;

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, Hasher, RandomState},
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::{
    FeishuConfig, events,
    frame::{CONTROL, DATA, Frame},
    webhook::{Http, HttpAnswer},
};
use crate::time;

pub(crate) const SERVICE: i32 = 7;

/// Open connections and events under way.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) open: Vec<Line>,
    /// Connections there have been.
    pub(crate) opened: u64,
    pub(crate) tickets: Vec<String>,
    /// `Handshake-Status` and `Handshake-Autherrcode` of upgrades that will be refused.
    pub(crate) refusals: Vec<(u16, Option<i64>)>,
    pub(crate) acks: Vec<Ack>,
    /// Events that nobody acknowledged in time, however often they were sent.
    pub(crate) lost: Vec<String>,
    /// Frames and acknowledgements that made no sense.
    pub(crate) complaints: Vec<String>,
    /// Into how many frames a push is cut, and whether the last one goes first.
    pub(crate) split: (usize, bool),
    /// Pongs go on, events go nowhere.
    pub(crate) starved: bool,
    /// Clicks come as frames of the type `card`.
    pub(crate) card_frames: bool,
    pub(crate) pings: usize,
    pub(crate) http: Http,
    empty_optionals: bool,
    pong_config: Option<Value>,
    next_log_id: u64,
    last_id: u64,
    under_way: HashMap<String, UnderWay>,
    /// Deliveries of each event that are neither acknowledged nor given up.
    pending: BTreeMap<String, usize>,
}

#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) id: u64,
    pub(crate) frames: mpsc::Sender<Out>,
    pub(crate) silent: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Out {
    Frame(Vec<u8>),
    Text(String),
    /// Of the WebSocket itself.
    Ping,
    /// A closing handshake.
    Close,
    /// Nothing more, in either direction, while TCP stays open.
    Silence,
}

/// One acknowledgement by the bot.
#[derive(Clone, Debug, PartialEq)]
pub struct Ack {
    /// Of the push, not of the message.
    pub push_id: String,
    pub event_id: String,
    /// 0 for the first delivery.
    pub attempt: u32,
    /// `code` of the payload, or the HTTP status.
    pub code: i64,
    /// What a callback is answered with.
    pub data: Option<Value>,
    /// From the frame's sending to its acknowledgement.
    pub after: Duration,
}

#[derive(Debug)]
struct UnderWay {
    line: u64,
    event_id: String,
    attempt: u32,
    sent: Instant,
    frames: Vec<Frame>,
    /// Gets what the acknowledgement carries.
    acknowledged: Option<oneshot::Sender<Verdict>>,
}

/// What an acknowledgement carries, or why it is none.
pub(crate) type Verdict = Result<Option<Value>, Undelivered>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undelivered {
    /// There is nobody to send it to.
    Nobody,
    TimedOut,
    /// It was answered, but not with success.
    Refused,
    NotUnderstood,
}

/// What is pushed.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) envelope: Value,
    pub(crate) callback: bool,
}

impl Lines {
    pub(crate) fn new(config: &FeishuConfig) -> Self {
        Self {
            open: Vec::new(),
            opened: 0,
            tickets: Vec::new(),
            refusals: Vec::new(),
            acks: Vec::new(),
            lost: Vec::new(),
            complaints: Vec::new(),
            split: (1, false),
            starved: false,
            card_frames: false,
            pings: 0,
            http: Http::default(),
            empty_optionals: config.empty_optionals,
            pong_config: config.pong_config.clone(),
            next_log_id: config.first_log_id,
            last_id: 0,
            under_way: HashMap::new(),
            pending: BTreeMap::new(),
        }
    }

    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Each event goes to one connection, picked at random; a repetition to one that still answers, if there is any.
    fn choose(&self, again: bool) -> Option<(u64, mpsc::Sender<Out>)> {
        let healthy: Vec<_> = self.open.iter().filter(|line| !(again && line.silent)).collect();
        let lines = if healthy.is_empty() { self.open.iter().collect() } else { healthy };
        let any = usize::try_from(RandomState::new().build_hasher().finish() >> 33).unwrap_or_default();
        lines.get(any.checked_rem(lines.len())?).map(|line| (line.id, line.frames.clone()))
    }

    fn send(&mut self, parcel: &Parcel, attempt: u32) -> Option<oneshot::Receiver<Verdict>> {
        let (line, to_send) = self.choose(attempt > 0)?;
        let push_id = format!("sim-push-{:06}", self.next_id());
        let kind = if parcel.callback && self.card_frames { "card" } else { "event" };
        let payload = parcel.envelope.to_string().into_bytes();
        let frames = self.cut(kind, &push_id, &payload);
        if !self.starved {
            let reversed = self.split.1;
            let order: Vec<_> = if reversed { frames.iter().rev().collect() } else { frames.iter().collect() };
            for frame in order {
                // A full queue means that nobody reads: as good as lost on the way.
                _ = to_send.try_send(Out::Frame(frame.encode()));
            }
        }
        Some(self.await_answer(push_id, parcel, attempt, line, frames))
    }

    fn await_answer(
        &mut self,
        push_id: String,
        parcel: &Parcel,
        attempt: u32,
        line: u64,
        frames: Vec<Frame>,
    ) -> oneshot::Receiver<Verdict> {
        let (acknowledged, receiver) = oneshot::channel();
        let (event_id, sent) = (events::event_id(&parcel.envelope), Instant::now());
        let acknowledged = Some(acknowledged);
        self.under_way.insert(push_id, UnderWay { line, event_id, attempt, sent, frames, acknowledged });
        receiver
    }

    /// What became of a request.
    fn answered(&mut self, push_id: &str, callback: bool, answer: Result<HttpAnswer, Undelivered>, lost: bool) {
        if let Ok(answer) = &answer {
            self.http.answers.push(answer.clone());
        }
        let Some(under_way) = self.under_way.get_mut(push_id).filter(|_| !lost) else { return };
        let verdict = match answer {
            Ok(answer) if answer.status == 200 => {
                let data: Option<Value> = serde_json::from_str(&answer.body).ok();
                self.acks.push(Ack {
                    push_id: push_id.to_owned(),
                    event_id: under_way.event_id.clone(),
                    attempt: under_way.attempt,
                    code: 200,
                    data: data.clone(),
                    after: answer.after,
                });
                // The body matters for callbacks alone.
                if callback && data.is_none() { Err(Undelivered::NotUnderstood) } else { Ok(data) }
            }
            Ok(_) => Err(Undelivered::Refused),
            Err(why) => Err(why),
        };
        if let Some(waiting) = under_way.acknowledged.take() {
            _ = waiting.send(verdict);
        }
    }

    fn cut(&mut self, kind: &str, push_id: &str, payload: &[u8]) -> Vec<Frame> {
        let parts = self.split.0.clamp(1, payload.len().max(1));
        let size = payload.len().div_ceil(parts).max(1);
        let pieces: Vec<_> = payload.chunks(size).collect();
        let sum = pieces.len();
        let timestamp = time::now().as_millis();
        let log_id = self.next_log_id;
        self.next_log_id = self.next_log_id.wrapping_add(1);
        let mut frames = Vec::new();
        for (seq, piece) in pieces.into_iter().enumerate() {
            let headers = [
                ("type", kind.to_owned()),
                ("message_id", push_id.to_owned()),
                ("sum", sum.to_string()),
                ("seq", seq.to_string()),
                ("trace_id", format!("trace-{push_id}")),
                ("timestamp", timestamp.to_string()),
                ("instance_id", format!("opaque-{log_id:x}")),
            ];
            frames.push(Frame {
                seq_id: self.next_id(),
                log_id,
                service: SERVICE,
                method: DATA,
                headers: headers.map(|(key, value)| (key.to_owned(), value)).into(),
                payload_encoding: self.empty_optionals.then(String::new),
                payload_type: self.empty_optionals.then(String::new),
                payload: Some(piece.to_vec()),
                log_id_new: Some(format!("log-{push_id}")),
            });
        }
        frames
    }

    /// A binary message from the bot; what is sent back at once.
    pub(crate) fn heard(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let frame = match Frame::decode(bytes) {
            Ok(frame) => frame,
            Err(wrong) => {
                self.complaints.push(format!("a message that is no frame: {wrong}"));
                return None;
            }
        };
        match frame.method {
            CONTROL => self.pinged(frame),
            DATA => {
                self.acknowledged(&frame);
                None
            }
            other => {
                self.complaints.push(format!("a frame of the unknown method {other}"));
                None
            }
        }
    }

    fn pinged(&mut self, ping: Frame) -> Option<Vec<u8>> {
        if ping.header("type") != Some("ping") {
            self.complaints.push(format!("a control frame that is no ping: {:?}", ping.headers));
            return None;
        }
        if (ping.service, ping.seq_id, ping.log_id) != (SERVICE, 0, 0) {
            self.complaints.push(format!("a ping with odd numbers: {ping:?}"));
        }
        self.pings += 1;
        let empty = || self.empty_optionals.then(String::new);
        let config = self.pong_config.as_ref().map(|config| config.to_string().into_bytes());
        let pong = Frame {
            service: ping.service,
            headers: vec![("type".to_owned(), "pong".to_owned())],
            payload_encoding: empty(),
            payload_type: empty(),
            payload: config,
            log_id_new: empty(),
            ..Frame::default()
        };
        Some(pong.encode())
    }

    fn acknowledged(&mut self, ack: &Frame) {
        let push_id = ack.header("message_id").unwrap_or_default();
        let Some(under_way) = self.under_way.get_mut(push_id) else {
            self.complaints.push(format!("an acknowledgement of the unknown push {push_id:?}"));
            return;
        };
        self.complaints.extend(mistakes(&under_way.frames, ack));
        let payload: Value = serde_json::from_slice(ack.payload.as_deref().unwrap_or_default()).unwrap_or_default();
        let code = payload["code"].as_i64();
        let data = payload["data"].as_str().map(|data| {
            let json = BASE64_STANDARD.decode(data).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
            json.ok_or(Undelivered::NotUnderstood)
        });
        let (verdict, data) = match (code, data.transpose()) {
            (Some(200), Ok(data)) => (Ok(data.clone()), data),
            (Some(200), Err(not)) => {
                self.complaints.push(format!("data that is no base64 of JSON: {payload}"));
                (Err(not), None)
            }
            (Some(500), _) => (Err(Undelivered::Refused), None),
            _ => {
                self.complaints.push(format!("an acknowledgement whose payload makes no sense: {payload}"));
                (Err(Undelivered::NotUnderstood), None)
            }
        };
        self.acks.push(Ack {
            push_id: push_id.to_owned(),
            event_id: under_way.event_id.clone(),
            attempt: under_way.attempt,
            code: code.unwrap_or_default(),
            data,
            after: under_way.sent.elapsed(),
        });
        match under_way.acknowledged.take() {
            // The receiver is gone if the deadline is over; the late acknowledgement still shows in `acks`.
            Some(waiting) => _ = waiting.send(verdict),
            None => self.complaints.push(format!("a second acknowledgement of {push_id}")),
        }
    }

    /// What was under way on a connection that is over has to go another way.
    pub(crate) fn closed(&mut self, line: u64) {
        self.open.retain(|open| open.id != line);
        for under_way in self.under_way.values_mut().filter(|under_way| under_way.line == line) {
            under_way.acknowledged = None;
        }
    }

    /// Events that are neither acknowledged nor given up, whether they are under way at this moment or not.
    pub(crate) fn unacked(&self) -> Vec<String> {
        self.pending.keys().cloned().collect()
    }

    fn settled(&mut self, event_id: &str) {
        if let Some(deliveries) = self.pending.get_mut(event_id) {
            *deliveries -= 1;
            if *deliveries == 0 {
                self.pending.remove(event_id);
            }
        }
    }
}

/// What an acknowledgement should have echoed.
fn mistakes(pushed: &[Frame], ack: &Frame) -> Vec<String> {
    let Some(frame) = pushed.iter().find(|frame| frame.header("seq") == ack.header("seq")) else {
        return vec![format!("an acknowledgement without the seq of its push: {:?}", ack.headers)];
    };
    let mut wrong = Vec::new();
    let mut compare = |what: &str, same: bool| {
        if !same {
            wrong.push(format!("an acknowledgement with another {what} than the event's: {ack:?}"));
        }
    };
    compare("SeqID", ack.seq_id == frame.seq_id);
    compare("LogID", ack.log_id == frame.log_id);
    compare("service", ack.service == frame.service);
    compare("LogIDNew", ack.log_id_new == frame.log_id_new);
    for (key, value) in &frame.headers {
        compare(key, ack.header(key) == Some(value));
    }
    // The official clients leave it out when they ask for redelivery.
    let refusal = ack.payload.as_deref().is_some_and(|payload| payload.windows(3).any(|digits| digits == b"500"));
    if !refusal && ack.header("biz_rt").is_none_or(|time| time.parse::<i64>().is_err()) {
        wrong.push(format!("an acknowledgement without biz_rt: {:?}", ack.headers));
    }
    wrong
}
