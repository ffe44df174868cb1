//! What stands between Telegram and the service in webhook mode: an address that is known before the service is there, and
//! that stays the same when the service is started anew.

use std::net::SocketAddr;

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

pub(crate) struct Front {
    pub(crate) url: String,
    behind: watch::Sender<Option<SocketAddr>>,
    _serving: JoinSet<()>,
}

impl Front {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (behind, to) = watch::channel(None);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut passing = JoinSet::new();
            while let Ok((outside, _)) = listener.accept().await {
                passing.spawn(pass(outside, to.clone()));
            }
        });
        Self { url, behind, _serving: serving }
    }

    /// Requests wait while it leads nowhere.
    pub(crate) fn leads_to(&self, service: Option<SocketAddr>) {
        self.behind.send_replace(service);
    }
}

async fn pass(mut outside: TcpStream, mut to: watch::Receiver<Option<SocketAddr>>) {
    let Ok(Some(service)) = to.wait_for(Option::is_some).await.map(|service| *service) else { return };
    if let Ok(mut inside) = TcpStream::connect(service).await {
        // However it ends, both sides see that it ended.
        let _ = copy_bidirectional(&mut outside, &mut inside).await;
    }
}
