//! Socket Mode's wire: the handshake, `hello`, pings, and frames out and in.

use std::{sync::Arc, time::Duration};

use futures::{SinkExt, StreamExt};
use serde_json::json;
use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::{Instant, MissedTickBehavior},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::server::{ErrorResponse, Request, Response},
    },
};

use super::{
    APP_ID, Shared,
    delivery::{Frame, Line},
};

/// As many as one app may have open.
const MOST: usize = 10;

pub(crate) async fn listen(shared: Arc<Shared>, listener: TcpListener) {
    let stop = shared.tasks.stop.clone();
    let accept = async {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            // A closed door looks like a server that is just going down: TCP connects, then it is over.
            let Some(token) = shared.socket_door.enter() else { continue };
            let shared = Arc::clone(&shared);
            shared.tasks.tracker.clone().spawn(async move {
                let id = shared.lines.change(|lines| lines.next_id());
                token.run_until_cancelled_owned(converse(&shared, id, stream)).await;
                shared.lines.change(|lines| lines.open.retain(|line| line.id != id));
            });
        }
    };
    stop.run_until_cancelled(accept).await;
}

async fn converse(shared: &Shared, id: u64, stream: TcpStream) {
    let Ok(mut socket) = tokio_tungstenite::accept_hdr_async(stream, TicketCheck(shared)).await else { return };
    let (frames, mut to_send) = mpsc::channel(1024);
    let line = Line { id, frames, silent: false, retiring: false };
    let number = shared.lines.change(|lines| {
        (lines.open.len() < MOST).then(|| {
            lines.open.push(line);
            lines.was_open = true;
            lines.claimed.unwrap_or(lines.open.len())
        })
    });
    let Some(number) = number else {
        let no = json!({"type": "disconnect", "reason": "too_many_websockets"}).to_string();
        _ = socket.send(Message::text(no)).await;
        _ = socket.close(None).await;
        return;
    };
    let hello = json!({"type": "hello", "num_connections": number, "connection_info": {"app_id": APP_ID},
        "debug_info": {"host": "applink-sim", "build_number": 1, "approximate_connection_time": 18060}});
    if socket.send(Message::text(hello.to_string())).await.is_err() {
        return;
    }
    if let Some(silent) = talk(shared, &mut socket, &mut to_send).await.then_some(socket) {
        ignore(silent.into_inner()).await;
    }
}

/// Frames in both directions until the connection ends; true if it shall stay open in silence.
async fn talk(shared: &Shared, socket: &mut WebSocketStream<TcpStream>, to_send: &mut mpsc::Receiver<Frame>) -> bool {
    let mut ping = tokio::time::interval_at(Instant::now() + shared.config.ping_every, shared.config.ping_every);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut end = Instant::now() + Duration::from_secs(86_400);
    loop {
        let sent = tokio::select! {
            frame = to_send.recv() => match frame {
                Some(Frame::Text(text)) => socket.send(Message::text(text)).await,
                Some(Frame::Goodbye(text)) => {
                    end = Instant::now() + shared.config.recycle_grace;
                    socket.send(Message::text(text)).await
                }
                Some(Frame::Silence) => return true,
                None => return false,
            },
            heard = socket.next() => match heard {
                Some(Ok(Message::Text(text))) => {
                    shared.lines.change(|lines| lines.heard(&text));
                    Ok(())
                }
                Some(Ok(_)) => Ok(()),
                Some(Err(_)) | None => return false,
            },
            _ = ping.tick() => socket.send(Message::Ping("Ping from applink-sim".into())).await,
            () = tokio::time::sleep_until(end) => socket.close(None).await,
        };
        if sent.is_err() {
            return false;
        }
        if Instant::now() >= end {
            return false;
        }
    }
}

/// A half-open connection: bytes go in and nothing comes back.
async fn ignore(mut stream: TcpStream) {
    let mut sink = [0; 1024];
    while stream.read(&mut sink).await.is_ok_and(|read| read > 0) {}
}

/// The address of `apps.connections.open` is good for one connection.
struct TicketCheck<'s>(&'s Shared);

impl tokio_tungstenite::tungstenite::handshake::server::Callback for TicketCheck<'_> {
    fn on_request(self, request: &Request, response: Response) -> Result<Response, ErrorResponse> {
        let ticket = request.uri().query().and_then(|query| query.split('&').find_map(|p| p.strip_prefix("ticket=")));
        if ticket.is_some_and(|ticket| self.0.lines.change(|lines| lines.tickets.remove(ticket))) {
            return Ok(response);
        }
        let mut refusal = ErrorResponse::new(Some("unknown or used ticket".to_owned()));
        *refusal.status_mut() = http::StatusCode::UNAUTHORIZED;
        Err(refusal)
    }
}
