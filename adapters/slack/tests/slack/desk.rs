//! The bot under test and the desk its events arrive at.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use axum::{
    Router,
    body::{Bytes, to_bytes},
    extract::Request,
    response::Response,
};
use tokio::{
    net::TcpListener,
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{
    Aside, Body, ChannelAdapter, ChannelId, ChannelState, ConversationId, Deliver, DeliveryKey, Inbound, Inbox,
    InboxError, MessageId, Now, Operation, Outbound, ReceiveError, SendError, Urgency, Verdict,
};
use watchfloor_sim::slack::{self, APP_TOKEN, BOT_TOKEN, Mentions, SlackSim};
use watchfloor_slack::{Reconnect, SlackAdapter, SlackConfig, Transport};

pub(crate) const ALICE: &str = "U0ALICE";
pub(crate) const OPS: &str = "C0OPS";
pub(crate) const SECRET: &str = "example-signing-secret-0123456789ab";
const PATIENCE: Duration = Duration::from_secs(20);

/// How Slack reaches the bot. What is told of both is told in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Socket,
    Http,
}

pub(crate) const WIRES: [Wire; 2] = [Wire::Socket, Wire::Http];

/// Takes what is delivered, unless told otherwise.
#[derive(Default)]
pub(crate) struct Desk {
    came: Mutex<Vec<Inbound>>,
    refusals: AtomicUsize,
    /// Texts that contain this word wait.
    held: watch::Sender<Option<&'static str>>,
}

impl Desk {
    pub(crate) fn refuse(&self, next: usize) {
        self.refusals.store(next, Ordering::SeqCst);
    }

    pub(crate) fn hold(&self, word: &'static str) {
        self.held.send_replace(Some(word));
    }

    pub(crate) fn release(&self) {
        self.held.send_replace(None);
    }

    /// The texts that came, once `count` are there.
    pub(crate) async fn texts(&self, count: usize) -> Vec<String> {
        self.inbound(count).await.into_iter().map(|inbound| inbound.text).collect()
    }

    pub(crate) async fn inbound(&self, count: usize) -> Vec<Inbound> {
        until("deliveries", || {
            let came = self.came.lock().unwrap();
            (came.len() >= count).then(|| came.clone())
        })
        .await
    }
}

#[async_trait]
impl Deliver for Desk {
    async fn deliver(&self, inbound: Inbound) -> Result<Verdict, InboxError> {
        let text = inbound.text.clone();
        self.came.lock().unwrap().push(inbound);
        let mut held = self.held.subscribe();
        let _ = held.wait_for(|word| word.is_none_or(|word| !text.contains(word))).await;
        match self.refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
            Ok(_) => Err(InboxError("the disk is full".into())),
            Err(_) => Ok(Verdict::Taken),
        }
    }

    async fn aside(&self, aside: Aside) -> String {
        format!("heard: {:?}", aside.act)
    }
}

pub(crate) struct Bot {
    pub(crate) slack: SlackSim,
    pub(crate) adapter: Arc<SlackAdapter>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) stop: CancellationToken,
    running: JoinSet<Result<(), ReceiveError>>,
    serving: JoinSet<()>,
}

/// One event for each mention, quick redeliveries, quick reconnects.
pub(crate) fn workspace() -> slack::SlackConfig {
    slack::SlackConfig {
        mentions: Mentions::OnlyMention,
        ping_every: Duration::from_millis(100),
        patience: PATIENCE,
        ..slack::SlackConfig::default()
    }
}

pub(crate) fn socket() -> Transport {
    Transport::Socket { app_token: APP_TOKEN.into() }
}

pub(crate) fn events() -> Transport {
    Transport::Events { signing_secret: SECRET.into(), now: Now::new(now_ms) }
}

/// The simulated Slack lives in real time.
#[expect(clippy::disallowed_methods, reason = "a test has no clock of the application")]
pub(crate) fn now_ms() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

impl Bot {
    /// A workspace with Alice and a channel; the bot is not connected yet.
    pub(crate) async fn idle(workspace: slack::SlackConfig, change: impl FnOnce(&mut SlackConfig)) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let slack = SlackSim::start(workspace).await.unwrap();
        slack.add_person(ALICE, "Alice").await;
        slack.add_channel(OPS, "ops").await;
        let url = slack.api_url().parse().unwrap();
        let mut config = SlackConfig::new(ChannelId::new("slack"), socket(), BOT_TOKEN.into(), url);
        config.reconnect = Reconnect {
            first: Duration::from_millis(20),
            longest: Duration::from_millis(200),
            steady_after: Duration::from_secs(60),
        };
        change(&mut config);
        let adapter = Arc::new(SlackAdapter::new(config).unwrap());
        let (desk, stop, running, serving) = Default::default();
        Self { slack, adapter, desk, stop, running, serving }
    }

    pub(crate) fn start(&mut self) {
        let (adapter, inbox, stop) = (self.adapter.clone(), Inbox::new(self.desk.clone()), self.stop.clone());
        self.running.spawn(async move { adapter.receive(inbox, stop).await });
    }

    pub(crate) async fn connected(workspace: slack::SlackConfig, change: impl FnOnce(&mut SlackConfig)) -> Self {
        let mut bot = Self::idle(workspace, change).await;
        bot.start();
        bot.slack.connected(1).await;
        bot.state(|state| *state == ChannelState::Connected).await;
        bot
    }

    pub(crate) async fn connected_by(wire: Wire, workspace: slack::SlackConfig) -> Self {
        if wire == Wire::Socket {
            return Self::connected(workspace, |_| {}).await;
        }
        let mut bot = Self::idle(workspace, |config| config.transport = events()).await;
        bot.start();
        bot.state(|state| *state == ChannelState::Connected).await;
        let url = bot.serve().await;
        bot.slack.subscribe(&url, SECRET).await.unwrap();
        bot
    }

    /// Puts the adapter's webhook on a port, and returns the request URL.
    pub(crate) async fn serve(&mut self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (adapter, inbox) = (self.adapter.clone(), Inbox::new(self.desk.clone()));
        let router = Router::new().fallback(async move |request: Request| -> Response {
            let (head, body) = request.into_parts();
            let body: Bytes = to_bytes(body, 1 << 20).await.unwrap();
            adapter.webhook(Request::from_parts(head, body), &inbox).await.map(axum::body::Body::from)
        });
        self.serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        url
    }

    /// How receiving ended.
    pub(crate) async fn ended(&mut self) -> Result<(), ReceiveError> {
        timeout(PATIENCE, self.running.join_next()).await.expect("still receiving").unwrap().unwrap()
    }

    pub(crate) async fn state(&self, wanted: impl Fn(&ChannelState) -> bool) -> ChannelState {
        let mut state = self.adapter.state();
        let found = timeout(PATIENCE, state.wait_for(|state| wanted(state))).await;
        match found {
            Ok(found) => found.unwrap().clone(),
            Err(_) => panic!("the state is {:?}", *self.adapter.state().borrow()),
        }
    }

    pub(crate) async fn mention(&self, text: &str) -> String {
        self.slack.say(ALICE, OPS, &format!("<@U0BOT> {text}")).await
    }

    pub(crate) async fn post(&self, thread: &str, key: &str, text: &str) -> Result<MessageId, SendError> {
        self.send(thread, Operation::Post(DeliveryKey(key.into())), Body::Markdown(text.into())).await
    }

    pub(crate) async fn edit(&self, message: &MessageId, text: &str) -> Result<MessageId, SendError> {
        self.send("", Operation::Edit(message.clone()), Body::Markdown(text.into())).await
    }

    pub(crate) async fn send(&self, thread: &str, operation: Operation, body: Body) -> Result<MessageId, SendError> {
        let conversation = conversation(OPS, thread);
        self.adapter.send(&Outbound { conversation, question: None, operation, body, urgency: Urgency::Final }).await
    }
}

pub(crate) fn conversation(room: &str, thread: &str) -> ConversationId {
    ConversationId { channel: ChannelId::new("slack"), room: room.into(), thread: thread.into() }
}

/// Looks again and again until there is something to see.
pub(crate) async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let watch = async {
        loop {
            if let Some(seen) = look() {
                return seen;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, watch).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}
