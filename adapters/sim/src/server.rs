//! A loopback HTTP server that owns its tasks and its connections, so that a test can cut one, shut the door or stop
//! everything. What is answered is the routers' business.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use axum::{
    Router,
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};
use tokio_util::{
    sync::{CancellationToken, WaitForCancellationFutureOwned},
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

/// The tasks of one simulator: where they are counted and how they are told to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks {
    pub(crate) tracker: TaskTracker,
    pub(crate) stop: CancellationToken,
}

/// Ends the tasks when the last handle of a simulator goes.
#[derive(Debug, Default)]
pub(crate) struct Owner(pub(crate) Tasks);

impl Owner {
    pub(crate) async fn stop(&self) {
        self.0.stop.cancel();
        self.0.tracker.close();
        self.0.tracker.wait().await;
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.stop.cancel();
    }
}

/// Serves `router` on a free port of 127.0.0.1 until the tasks are stopped.
pub(crate) async fn serve(router: Router, tasks: &Tasks) -> io::Result<(SocketAddr, Door)> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let door = Door::new(tasks.stop.child_token());
    let listener = Counted { listener, door: door.clone(), tasks: tasks.clone() };
    let stop = tasks.stop.clone();
    let service = router.into_make_service_with_connect_info::<Line>();
    tasks.tracker.spawn(async move {
        stop.run_until_cancelled_owned(axum::serve(listener, service).into_future()).await;
    });
    Ok((address, door))
}

/// Whether connections are let in, and a way to throw out those that are in.
#[derive(Clone, Debug)]
pub(crate) struct Door(Arc<Inside>);

#[derive(Debug)]
struct Inside {
    shut: AtomicBool,
    all: CancellationToken,
    now: Mutex<CancellationToken>,
}

impl Door {
    pub(crate) fn new(all: CancellationToken) -> Self {
        let now = Mutex::new(all.child_token());
        Self(Arc::new(Inside { shut: AtomicBool::new(false), all, now }))
    }

    /// A shut door closes new connections before a byte is read; the open ones stay.
    pub(crate) fn shut(&self, shut: bool) {
        self.0.shut.store(shut, Ordering::SeqCst);
    }

    /// Ends the open connections; new ones are let in as before.
    pub(crate) fn cut(&self) {
        let mut now = self.0.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.cancel();
        *now = self.0.all.child_token();
    }

    /// The token of a new connection, or nothing if the door is shut.
    pub(crate) fn enter(&self) -> Option<CancellationToken> {
        let open = !self.0.shut.load(Ordering::SeqCst);
        open.then(|| self.0.now.lock().unwrap_or_else(PoisonError::into_inner).child_token())
    }
}

/// The connection that a request came in on.
#[derive(Clone, Debug)]
pub(crate) struct Line(CancellationToken);

impl Line {
    /// Closes the connection: whatever the handler answers afterwards never reaches the wire.
    pub(crate) fn cut(&self) {
        self.0.cancel();
    }
}

impl Connected<IncomingStream<'_, Counted>> for Line {
    fn connect_info(stream: IncomingStream<'_, Counted>) -> Self {
        Self(stream.io().token.clone())
    }
}

#[derive(Debug)]
pub(crate) struct Counted {
    listener: TcpListener,
    door: Door,
    tasks: Tasks,
}

impl Listener for Counted {
    type Io = Cuttable;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            let Some(token) = self.door.enter() else { continue };
            let cut = Box::pin(token.clone().cancelled_owned());
            let io = Cuttable { stream, token, cut, _counted: self.tasks.tracker.token() };
            return (io, address);
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A TCP stream that breaks when its token is cancelled. hyper's task for it ends with that error, and the tracker
/// waits for it.
pub(crate) struct Cuttable {
    stream: TcpStream,
    token: CancellationToken,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    _counted: TaskTrackerToken,
}

impl Cuttable {
    fn broken<T>(&mut self, cx: &mut Context<'_>) -> Option<Poll<io::Result<T>>> {
        let cut = self.cut.as_mut().poll(cx).is_ready();
        cut.then(|| Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())))
    }
}

impl AsyncRead for Cuttable {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some(broken) = self.broken(cx) {
            return broken;
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Cuttable {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if let Some(broken) = self.broken(cx) {
            return broken;
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
