//! A door for scripts on loopback: `POST /say` with a form. A web page in somebody's browser is not let in.

use std::{io, net::SocketAddr};

use axum::{
    Form, Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::speaker::{Said, Words};

/// Something to be said, and where the answer goes.
pub(super) struct Order {
    pub words: Words,
    pub answer: oneshot::Sender<Result<Said, String>>,
}

pub(super) struct Door {
    pub address: SocketAddr,
    /// Ends when the door is told to stop.
    pub served: JoinHandle<()>,
}

pub(super) async fn open(orders: mpsc::Sender<Order>, stop: CancellationToken) -> io::Result<Door> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let routes = Router::new().route("/say", post(say)).with_state(orders);
    let tasks = TaskTracker::new();
    let served = tasks.spawn(async move {
        // A client that holds on to its connection must not keep the drill.
        stop.run_until_cancelled_owned(axum::serve(listener, routes).into_future()).await;
    });
    tasks.close();
    Ok(Door { address, served })
}

async fn say(State(orders): State<mpsc::Sender<Order>>, headers: HeaderMap, form: Form<Words>) -> Response {
    if headers.contains_key(header::ORIGIN) {
        return (StatusCode::FORBIDDEN, "this door is for scripts\n").into_response();
    }
    let (answer, answered) = oneshot::channel();
    let gone = (StatusCode::SERVICE_UNAVAILABLE, "the drill is ending\n");
    if orders.send(Order { words: form.0, answer }).await.is_err() {
        return gone.into_response();
    }
    match answered.await {
        Ok(Ok(said)) => Json(said).into_response(),
        Ok(Err(problem)) => (StatusCode::UNPROCESSABLE_ENTITY, format!("{problem}\n")).into_response(),
        Err(_) => gone.into_response(),
    }
}
