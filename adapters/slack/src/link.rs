//! One socket of Socket Mode, from its address to its end: reads frames, hands events on, acknowledges what was written
//! down. When to open another one is left to `socket`.

use std::{sync::Arc, time::Duration};

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    sync::mpsc,
    task,
    time::{Instant, sleep_until, timeout},
};
use tokio_tungstenite::{
    Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config,
    tungstenite::{self, Message},
};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::{
    arrivals::{AT_ONCE, Arrival, Shared},
    errors::CallError,
    interact,
    wire::{Frame, Opened},
};

const WRITE: Duration = Duration::from_secs(5);
/// What a replaced socket may take to acknowledge what it already read; Slack gives each event three seconds.
const LAST_ANSWERS: Duration = Duration::from_secs(3);
const LAST_ANSWERS_AT_STOP: Duration = Duration::from_millis(500);
const CLOSE: Duration = Duration::from_millis(200);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// What a socket tells while it lives.
#[derive(Debug)]
pub(crate) enum Said {
    /// It is usable. `connections` counts all of the app's sockets, as Slack sees them.
    Hello { link: task::Id, connections: usize },
    /// Slack will close it, for this reason.
    Leaving { link: task::Id, reason: String },
}

/// Why a socket is over.
#[derive(Debug)]
pub(crate) enum End {
    /// We let it go.
    Retired,
    /// Slack gave no address for it.
    NotOpened(CallError),
    /// Everything else; the words never hold the address.
    Lost(String),
}

pub(crate) async fn run(shared: Arc<Shared>, said: mpsc::Sender<Said>, retire: CancellationToken) -> End {
    let open = async {
        let opened: Opened = shared.api.open_connection().await.map_err(End::NotOpened)?;
        let step = shared.config.step_timeout;
        let tls = Connector::Rustls(shared.api.tls.clone());
        match timeout(step, connect_async_tls_with_config(opened.url, None, true, Some(tls))).await {
            Ok(Ok((socket, _))) => Ok(socket),
            Ok(Err(error)) => Err(End::Lost(format!("the socket can't be opened: {}", describe(&error)))),
            Err(_) => Err(End::Lost(format!("the socket did not open within {} s", step.as_secs()))),
        }
    };
    let opened = tokio::select! {
        () = retire.cancelled() => return End::Retired,
        opened = Box::pin(open) => opened,
    };
    match opened {
        Ok(socket) => {
            let (answer, answers) = mpsc::channel(AT_ONCE);
            Link { shared, said, socket, answer, answers, unanswered: 0 }.read(retire).await
        }
        Err(end) => end,
    }
}

struct Answer {
    envelope: String,
    payload: Option<Value>,
}

struct Link {
    shared: Arc<Shared>,
    said: mpsc::Sender<Said>,
    socket: Socket,
    answer: mpsc::Sender<Option<Answer>>,
    /// One for each delivery and command: what to acknowledge, or nothing if the store refused.
    answers: mpsc::Receiver<Option<Answer>>,
    unanswered: usize,
}

impl Link {
    async fn read(mut self, retire: CancellationToken) -> End {
        // Until the hello, only the hello counts as life.
        let mut greeted = false;
        let mut deadline = Instant::now() + self.shared.config.step_timeout;
        let lost = loop {
            let step = tokio::select! {
                () = retire.cancelled() => return self.retire().await,
                frame = self.socket.next() => match frame {
                    Some(Ok(message)) => {
                        if greeted {
                            deadline = Instant::now() + self.shared.config.inbound_deadline;
                        }
                        match message {
                            Message::Text(text) => self.frame(&text, &mut greeted, &mut deadline).await,
                            Message::Close(_) => Err("Slack closed the socket".to_owned()),
                            // Pings are answered by the library while we read.
                            _ => Ok(()),
                        }
                    }
                    Some(Err(error)) => Err(format!("the socket broke: {}", describe(&error))),
                    None => Err("the socket ended".to_owned()),
                },
                Some(answer) = self.answers.recv() => self.answered(answer).await,
                () = sleep_until(deadline) => Err(match greeted {
                    true => "nothing arrived for too long".to_owned(),
                    false => "Slack did not say hello".to_owned(),
                }),
            };
            if let Err(lost) = step {
                break lost;
            }
        };
        End::Lost(lost)
    }

    /// Acknowledges what was read, then says goodbye. Slack does not finish the closing handshake, so nobody waits for it.
    async fn retire(mut self) -> End {
        let patience = if self.shared.stop.is_cancelled() { LAST_ANSWERS_AT_STOP } else { LAST_ANSWERS };
        let last_answers = async {
            while self.unanswered > 0 {
                let Some(answer) = self.answers.recv().await else { break };
                if self.answered(answer).await.is_err() {
                    break;
                }
            }
        };
        if timeout(patience, last_answers).await.is_err() {
            debug!(unanswered = self.unanswered, "a closing socket leaves events for Slack to bring again");
        }
        let _ = timeout(CLOSE, self.socket.close(None)).await;
        End::Retired
    }

    async fn frame(&mut self, text: &str, greeted: &mut bool, deadline: &mut Instant) -> Result<(), String> {
        let Ok(frame) = serde_json::from_str::<Frame>(text) else {
            self.shared.once("unreadable frame", "a frame is not readable; ignored").await;
            return Ok(());
        };
        match frame.kind.as_str() {
            "hello" => {
                *greeted = true;
                *deadline = Instant::now() + self.shared.config.inbound_deadline;
                self.say(Said::Hello { link: task::id(), connections: frame.num_connections }).await;
                Ok(())
            }
            "disconnect" => {
                self.say(Said::Leaving { link: task::id(), reason: frame.reason }).await;
                Ok(())
            }
            kind if frame.envelope_id.is_empty() => {
                self.shared.once(kind, "a kind of frame we don't know; ignored").await;
                Ok(())
            }
            "events_api" => self.event(frame).await,
            "slash_commands" => self.command(frame).await,
            "interactive" => {
                self.acknowledge(&frame.envelope_id, None).await?;
                self.shared.interaction(&frame.payload).await;
                Ok(())
            }
            kind => {
                self.shared.once(kind, "a kind of envelope we don't use; acknowledged").await;
                self.acknowledge(&frame.envelope_id, None).await
            }
        }
    }

    async fn event(&mut self, frame: Frame) -> Result<(), String> {
        let inbound = match self.shared.event(&frame.payload, frame.retry_attempt).await {
            Arrival::Message(inbound) => inbound,
            Arrival::Nothing => return self.acknowledge(&frame.envelope_id, None).await,
            Arrival::Crowded => return Ok(()),
        };
        self.unanswered += 1;
        let (shared, answer) = (self.shared.clone(), self.answer.clone());
        self.shared.deliveries.spawn(async move {
            let written = shared.write_down(*inbound).await;
            // The socket may be gone by now; then Slack brings the event again and learns that it is a duplicate.
            let _ = answer.send(written.then_some(Answer { envelope: frame.envelope_id, payload: None })).await;
        });
        Ok(())
    }

    /// The acknowledgement carries the sentence, where Slack takes one.
    async fn command(&mut self, frame: Frame) -> Result<(), String> {
        let asked = interact::command(&self.shared.config.id, &frame.payload);
        let Some(asked) = asked else { return self.acknowledge(&frame.envelope_id, None).await };
        if frame.accepts_response_payload == Some(false) {
            self.acknowledge(&frame.envelope_id, None).await?;
            self.shared.follow_up(asked);
            return Ok(());
        }
        self.unanswered += 1;
        let (shared, answer) = (self.shared.clone(), self.answer.clone());
        self.shared.deliveries.spawn(async move {
            let sentence = shared.give_up.run_until_cancelled(shared.sentence(asked.aside)).await.flatten();
            let payload = sentence.map(|sentence| interact::for_her_alone(&sentence));
            let _ = answer.send(Some(Answer { envelope: frame.envelope_id, payload })).await;
        });
        Ok(())
    }

    async fn answered(&mut self, answer: Option<Answer>) -> Result<(), String> {
        self.unanswered = self.unanswered.saturating_sub(1);
        match answer {
            Some(answer) => self.acknowledge(&answer.envelope, answer.payload).await,
            None => Ok(()),
        }
    }

    async fn acknowledge(&mut self, envelope: &str, payload: Option<Value>) -> Result<(), String> {
        let mut frame = json!({ "envelope_id": envelope });
        if let Some(payload) = payload {
            frame["payload"] = payload;
        }
        match timeout(WRITE, self.socket.send(Message::text(frame.to_string()))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("an acknowledgement could not be sent: {}", describe(&error))),
            Err(_) => Err("an acknowledgement could not be sent in time".to_owned()),
        }
    }

    async fn say(&self, word: Said) {
        // Nobody listens any more only when everything ends.
        let _ = self.said.send(word).await;
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
