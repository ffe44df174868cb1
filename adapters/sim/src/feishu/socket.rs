//! The long connection's wire: tickets, the upgrade, and binary messages out and in.

use std::sync::Arc;

use futures::{SinkExt, StreamExt};
use http::{HeaderValue, StatusCode};
use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::server::{ErrorResponse, Request, Response},
    },
};

use super::{
    Shared,
    delivery::{Line, Out},
};

/// As many as one app may have open.
const MOST: usize = 50;

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
                shared.lines.change(|lines| lines.closed(id));
            });
        }
    };
    stop.run_until_cancelled(accept).await;
}

async fn converse(shared: &Shared, id: u64, stream: TcpStream) {
    let Ok(mut socket) = tokio_tungstenite::accept_hdr_async(stream, Upgrade(shared)).await else { return };
    let (frames, mut to_send) = mpsc::channel(1024);
    shared.lines.change(|lines| {
        lines.open.push(Line { id, frames, silent: false });
        lines.opened += 1;
    });
    if talk(shared, &mut socket, &mut to_send).await {
        ignore(socket.into_inner()).await;
    }
}

/// Messages in both directions until the connection ends; true if it shall stay open in silence.
async fn talk(shared: &Shared, socket: &mut WebSocketStream<TcpStream>, to_send: &mut mpsc::Receiver<Out>) -> bool {
    loop {
        let sent = tokio::select! {
            out = to_send.recv() => match out {
                Some(Out::Frame(bytes)) => socket.send(Message::binary(bytes)).await,
                Some(Out::Text(text)) => socket.send(Message::text(text)).await,
                Some(Out::Ping) => socket.send(Message::Ping("sim".into())).await,
                Some(Out::Close) => socket.close(None).await,
                Some(Out::Silence) => return true,
                None => return false,
            },
            heard = socket.next() => match heard {
                Some(Ok(Message::Binary(bytes))) => match shared.lines.change(|lines| lines.heard(&bytes)) {
                    Some(pong) => socket.send(Message::binary(pong)).await,
                    None => Ok(()),
                },
                Some(Ok(Message::Text(text))) => {
                    let wrong = format!("a text message, where only binary ones are understood: {text}");
                    shared.lines.change(|lines| lines.complaints.push(wrong));
                    Ok(())
                }
                Some(Ok(_)) => Ok(()),
                Some(Err(_)) | None => return false,
            },
        };
        if sent.is_err() {
            return false;
        }
    }
}

/// A half-open connection: bytes go in and nothing comes back.
async fn ignore(mut stream: TcpStream) {
    let mut sink = [0; 1024];
    while stream.read(&mut sink).await.is_ok_and(|read| read > 0) {}
}

/// The address of the discovery is good for one connection. Why not stands in headers.
struct Upgrade<'s>(&'s Shared);

impl tokio_tungstenite::tungstenite::handshake::server::Callback for Upgrade<'_> {
    fn on_request(self, request: &Request, response: Response) -> Result<Response, ErrorResponse> {
        let ticket = request.uri().query().and_then(|query| query.split('&').find_map(|p| p.strip_prefix("ticket=")));
        let (status, code, why) = self.0.lines.change(|lines| {
            if !lines.refusals.is_empty() {
                let (status, code) = lines.refusals.remove(0);
                return (status, code, "refused on purpose");
            }
            let known = lines.tickets.len();
            lines.tickets.retain(|known| Some(known.as_str()) != ticket);
            match () {
                () if lines.tickets.len() == known => (514, Some(1_000_040_344), "unknown or used ticket"),
                () if lines.open.len() >= MOST => (514, Some(1_000_040_350), "too many connections"),
                () => (0, None, ""),
            }
        });
        if status == 0 {
            return Ok(response);
        }
        let mut refusal = ErrorResponse::new(Some(why.to_owned()));
        *refusal.status_mut() = if status == 403 { StatusCode::FORBIDDEN } else { StatusCode::BAD_REQUEST };
        let headers = refusal.headers_mut();
        headers.insert("Handshake-Status", status.into());
        headers.insert("Handshake-Msg", HeaderValue::from_static(why));
        if let Some(code) = code {
            headers.insert("Handshake-Autherrcode", code.into());
        }
        Err(refusal)
    }
}
