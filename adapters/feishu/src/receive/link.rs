//! One long connection, from its address to its end: reads frames, hands events on, acknowledges what was written down. When
//! to open another one is left to `connection`.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use prost::Message as _;
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::{
    net::TcpStream,
    sync::{mpsc, watch},
    time::{Instant, sleep_until, timeout},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{self, Message, protocol::WebSocketConfig},
};
use tracing::{debug, info};
use watchfloor_channel::{ChannelState, RefusalKind};

use super::{
    arrivals::{AT_ONCE, Arrival, Shared},
    endpoint::{self, NotOpened, Pace, Ticket},
    frames::{Answer, CONTROL, DATA, Frame},
    parts::{Joined, Parts},
};
use crate::errors::{self, CallError};

const UPGRADE: Duration = Duration::from_secs(15);
const WRITE: Duration = Duration::from_secs(5);
/// What we may take to acknowledge what was already read when receiving ends.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
const CLOSE: Duration = Duration::from_millis(200);
const LONGEST_FRAME: usize = 8 << 20;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Why a connection is over.
#[derive(Debug)]
pub(super) enum End {
    /// We let it go.
    Stopped,
    NotOpened(NotOpened),
    /// Everything else; the words never hold the address.
    Lost {
        why: String,
        lived: Duration,
        /// The server wants us back within this time.
        within: Duration,
    },
}

pub(super) async fn run(shared: &Arc<Shared>, state: &watch::Sender<ChannelState>) -> End {
    let open = async {
        // Without knowing who we are we can't tell what is for us; meanwhile Feishu keeps the events.
        shared.api.identity().await.map_err(|error| unknown(&error))?;
        let ticket = endpoint::ask(&shared.api, &shared.config).await?;
        let limits =
            WebSocketConfig::default().max_message_size(Some(LONGEST_FRAME)).max_frame_size(Some(LONGEST_FRAME));
        let connect = connect_async_with_config(ticket.url.expose_secret(), Some(limits), true);
        match timeout(UPGRADE, Box::pin(connect)).await {
            Ok(Ok((socket, _))) => Ok((socket, ticket)),
            Ok(Err(tungstenite::Error::Http(response))) => {
                let (status, headers) = (response.status().as_u16(), response.headers());
                Err(endpoint::upgrade(status, headers, &shared.config.base_url))
            }
            Ok(Err(error)) => Err(NotOpened::soon(format!("the connection can't be opened: {}", describe(&error)))),
            Err(_) => Err(NotOpened::soon("the connection did not open in time")),
        }
    };
    let opened = tokio::select! {
        () = shared.stop.cancelled() => return End::Stopped,
        opened = Box::pin(open) => opened,
    };
    let (socket, Ticket { service, device, pace, .. }) = match opened {
        Ok(opened) => opened,
        Err(not) => return End::NotOpened(not),
    };
    info!(channel.id = %shared.config.id, connection = device, "connected to Feishu");
    let connected = shared.api.quota.connected();
    state.send_if_modified(|shown| {
        let changed = *shown != connected;
        *shown = connected;
        changed
    });
    let (answer, answers) = mpsc::channel(AT_ONCE);
    let (shared, parts) = (shared.clone(), Parts::default());
    Link { shared, socket, service, pace, parts, answer, answers, unanswered: 0 }.read().await
}

fn unknown(error: &CallError) -> NotOpened {
    let why = format!("Feishu does not say who the bot is: {error}");
    match error {
        CallError::Refused(refusal)
            if matches!(refusal.kind, RefusalKind::Credentials | RefusalKind::Permission)
                || error.has_code(&[errors::USED_UP]) =>
        {
            NotOpened::Slowly(refusal.remedy.clone())
        }
        CallError::RateLimited(wait) => NotOpened::Soon { why, at_least: *wait },
        _ => NotOpened::soon(why),
    }
}

struct Link {
    shared: Arc<Shared>,
    socket: Socket,
    service: i32,
    pace: Pace,
    parts: Parts,
    answer: mpsc::Sender<Frame>,
    /// One for each delivery.
    answers: mpsc::Receiver<Frame>,
    unanswered: usize,
}

impl Link {
    /// Everything that is written is written here, so that no two frames mix.
    async fn read(mut self) -> End {
        let opened = Instant::now();
        let mut next_ping = opened;
        let mut heard = opened;
        let why = loop {
            let deadline = heard + self.pace.deadline(self.shared.config.inbound_deadline);
            let step = tokio::select! {
                () = self.shared.stop.cancelled() => return self.stop().await,
                message = self.socket.next() => {
                    heard = Instant::now();
                    match message {
                        Some(Ok(Message::Binary(bytes))) => {
                            let ping = self.pace.ping;
                            let step = self.frame(bytes).await;
                            if self.pace.ping != ping {
                                next_ping = next_ping.min(heard + self.pace.ping);
                            }
                            step
                        }
                        Some(Ok(Message::Close(_))) => Err("Feishu closed the connection".to_owned()),
                        // Answered by the library while we read.
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(()),
                        Some(Ok(_)) => {
                            self.shared.malformed("a message that is no frame");
                            Ok(())
                        }
                        Some(Err(error)) => Err(format!("the connection broke: {}", describe(&error))),
                        None => Err("the connection ended".to_owned()),
                    }
                }
                Some(answer) = self.answers.recv() => {
                    self.unanswered = self.unanswered.saturating_sub(1);
                    self.write(&answer).await
                }
                () = sleep_until(next_ping) => {
                    next_ping = Instant::now() + self.pace.ping;
                    self.write(&Frame::ping(self.service)).await
                }
                () = sleep_until(deadline) => Err("nothing arrived for too long".to_owned()),
            };
            if let Err(why) = step {
                break why;
            }
        };
        End::Lost { why, lived: opened.elapsed(), within: self.pace.reconnect }
    }

    /// Acknowledges what was read, then says goodbye. Nobody waits for the other side's.
    async fn stop(mut self) -> End {
        let last_answers = async {
            while self.unanswered > 0 {
                let Some(answer) = self.answers.recv().await else { break };
                self.unanswered -= 1;
                if self.write(&answer).await.is_err() {
                    break;
                }
            }
        };
        if timeout(LAST_ANSWERS, last_answers).await.is_err() {
            debug!(unanswered = self.unanswered, "a closing connection leaves events for Feishu to bring again");
        }
        let _ = timeout(CLOSE, self.socket.close(None)).await;
        End::Stopped
    }

    async fn frame(&mut self, bytes: Bytes) -> Result<(), String> {
        let came = Instant::now();
        let Some(mut frame) = Frame::read(bytes) else {
            self.shared.malformed("a frame");
            return Ok(());
        };
        match (frame.method, frame.header("type").unwrap_or_default()) {
            (CONTROL, "pong") => {
                let payload = frame.payload.as_deref().unwrap_or_default();
                if let Ok(config) = serde_json::from_slice(payload) {
                    self.pace.adopt(&config);
                }
                Ok(())
            }
            // A ping of the server's is not answered by the official clients either.
            (CONTROL, _) => Ok(()),
            (DATA, _) => {
                let payload = frame.payload.take().unwrap_or_default();
                let id = frame.header("message_id").unwrap_or_default();
                match self.parts.take(id, frame.header("sum"), frame.header("seq"), payload, came) {
                    Joined::Whole(payload) => self.push(frame, &payload, came).await,
                    Joined::Waiting => Ok(()),
                    Joined::Bad(why) => {
                        debug!(push = id, why, "a part of a push is dropped");
                        self.shared.malformed("a part of a push");
                        Ok(())
                    }
                }
            }
            (method, _) => {
                self.shared.once(&format!("method {method}"), "a frame of a method we don't know; ignored");
                Ok(())
            }
        }
    }

    /// The answer goes back on the frame that completed the push.
    async fn push(&mut self, frame: Frame, payload: &[u8], came: Instant) -> Result<(), String> {
        let kind = frame.header("type").unwrap_or_default();
        let payload = match serde_json::from_slice::<Value>(payload) {
            Ok(payload @ Value::Object(_)) => payload,
            // Brought again it would be no more readable.
            _ => {
                self.shared.malformed("an event");
                return self.write(&frame.answered(&Answer::Taken, came.elapsed())).await;
            }
        };
        // The official clients leave frames for cards unanswered, which the person who clicked sees as an error.
        if !matches!(kind, "event" | "card") {
            self.shared.once(kind, "a kind of push we don't know; acknowledged");
            return self.write(&frame.answered(&Answer::Taken, came.elapsed())).await;
        }
        match self.shared.event(&payload) {
            Arrival::Nothing => self.write(&frame.answered(&Answer::Taken, came.elapsed())).await,
            Arrival::Later => self.write(&frame.answered(&Answer::NotStored, came.elapsed())).await,
            Arrival::Work(work) => {
                self.unanswered += 1;
                let (shared, answer) = (self.shared.clone(), self.answer.clone());
                self.shared.deliveries.spawn(async move {
                    let done = shared.work(work).await;
                    // The connection may be gone by now; then Feishu brings the event again and learns that it is a
                    // duplicate.
                    let _ = answer.send(frame.answered(&done, came.elapsed())).await;
                });
                Ok(())
            }
        }
    }

    async fn write(&mut self, frame: &Frame) -> Result<(), String> {
        match timeout(WRITE, self.socket.send(Message::binary(frame.encode_to_vec()))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("a frame could not be sent: {}", describe(&error))),
            Err(_) => Err("a frame could not be sent in time".to_owned()),
        }
    }
}

/// The library's words may quote the address, which holds a ticket; these don't.
fn describe(error: &tungstenite::Error) -> String {
    use tungstenite::Error;
    match error {
        Error::Io(error) => error.kind().to_string(),
        Error::Http(response) => format!("HTTP {}", response.status().as_u16()),
        Error::Tls(_) => "TLS failed".to_owned(),
        Error::ConnectionClosed | Error::AlreadyClosed => "closed".to_owned(),
        Error::Protocol(_) => "the other side broke the protocol".to_owned(),
        Error::Capacity(_) => "a frame is too large".to_owned(),
        Error::Url(_) | Error::HttpFormat(_) => "the address is not usable".to_owned(),
        _ => "unexpected error".to_owned(),
    }
}
