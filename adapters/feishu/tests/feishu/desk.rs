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
    InboxError, MessageId, Notes, Now, Operation, Outbound, ReceiveError, Refusal, SendError, ShortMemory, Urgency,
    Verdict,
};
use watchfloor_feishu::{FeishuAdapter, FeishuConfig, Reconnect, Transport};
use watchfloor_sim::{
    FeishuSim,
    feishu::{self, ALICE, APP_ID, APP_SECRET, GROUP, MENTION},
};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Takes what is delivered, unless told otherwise.
#[derive(Default)]
pub(crate) struct Desk {
    came: Mutex<Vec<Inbound>>,
    asides: Mutex<Vec<Aside>>,
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

    pub(crate) fn so_far(&self) -> usize {
        self.came.lock().unwrap().len()
    }

    pub(crate) fn asides(&self) -> Vec<Aside> {
        self.asides.lock().unwrap().clone()
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
        self.asides.lock().unwrap().push(aside);
        "no longer valid".to_owned()
    }
}

pub(crate) struct Bot {
    pub(crate) feishu: FeishuSim,
    pub(crate) adapter: Arc<FeishuAdapter>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) notes: Arc<ShortMemory>,
    pub(crate) stop: CancellationToken,
    running: JoinSet<Result<(), ReceiveError>>,
    serving: JoinSet<()>,
}

/// Quick pings, quick redeliveries.
pub(crate) fn tenant() -> feishu::FeishuConfig {
    feishu::FeishuConfig {
        redeliver_after: vec![Duration::from_millis(100); 4],
        patience: PATIENCE,
        ..feishu::FeishuConfig::default()
    }
}

/// The simulated Feishu lives in real time.
#[expect(clippy::disallowed_methods, reason = "a test has no clock of the application")]
pub(crate) fn now_ms() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

impl Bot {
    /// The bot is not connected yet.
    pub(crate) async fn idle(tenant: feishu::FeishuConfig, change: impl FnOnce(&mut FeishuConfig)) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let feishu = FeishuSim::start(tenant).await.unwrap();
        let notes = Arc::new(ShortMemory::default());
        let adapter = adapter(&feishu, notes.clone(), change);
        let (desk, stop, running, serving) = Default::default();
        Self { feishu, adapter, desk, notes, stop, running, serving }
    }

    /// The same app after a restart: only its notes are left.
    pub(crate) fn restarted(&mut self, change: impl FnOnce(&mut FeishuConfig)) {
        self.adapter = adapter(&self.feishu, self.notes.clone(), change);
    }

    pub(crate) fn start(&mut self) {
        let (adapter, inbox, stop) = (self.adapter.clone(), Inbox::new(self.desk.clone()), self.stop.clone());
        self.running.spawn(async move { adapter.receive(inbox, stop).await });
    }

    pub(crate) async fn connected(tenant: feishu::FeishuConfig, change: impl FnOnce(&mut FeishuConfig)) -> Self {
        let mut bot = Self::idle(tenant, change).await;
        bot.start();
        bot.feishu.connected(1).await;
        bot.state(|state| *state == ChannelState::Connected).await;
        bot
    }

    /// Puts the adapter's webhook on a port, and returns the request URL.
    pub(crate) async fn serve(&mut self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (adapter, inbox) = (self.adapter.clone(), Inbox::new(self.desk.clone()));
        let router = Router::new().fallback(async move |request: Request| -> Response {
            let (head, body) = request.into_parts();
            let body: Bytes = to_bytes(body, 16 << 20).await.unwrap();
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

    pub(crate) fn figure(&self, name: &str) -> Option<u64> {
        self.adapter.figures().into_iter().find(|(known, _)| *known == name).map(|(_, figure)| figure)
    }

    /// Alice asks in the group.
    pub(crate) async fn mention(&self, text: &str) -> String {
        self.feishu.say(ALICE, GROUP, &format!("{MENTION} {text}")).await
    }

    /// Answers a question in the group.
    pub(crate) async fn post(&self, question: &str, key: &str, text: &str) -> Result<MessageId, SendError> {
        self.post_as(question, key, Body::Markdown(text.into())).await
    }

    pub(crate) async fn post_as(&self, question: &str, key: &str, body: Body) -> Result<MessageId, SendError> {
        self.post_to(conversation(GROUP, question), Some(question), key, body).await
    }

    pub(crate) async fn post_to(
        &self,
        conversation: ConversationId,
        question: Option<&str>,
        key: &str,
        body: Body,
    ) -> Result<MessageId, SendError> {
        let question = question.map(|id| MessageId { room: conversation.room.clone(), id: id.into() });
        let operation = Operation::Post(DeliveryKey(key.into()));
        self.adapter.send(&Outbound { conversation, question, operation, body, urgency: Urgency::Final }).await
    }

    pub(crate) async fn edit(&self, message: &MessageId, text: &str) -> Result<MessageId, SendError> {
        self.edit_as(message, Body::Markdown(text.into())).await
    }

    pub(crate) async fn edit_as(&self, message: &MessageId, body: Body) -> Result<MessageId, SendError> {
        self.on(Operation::Edit(message.clone()), &message.room, body).await
    }

    pub(crate) async fn delete(&self, message: &MessageId) -> Result<MessageId, SendError> {
        self.on(Operation::Delete(message.clone()), &message.room, Body::Plain(String::new())).await
    }

    async fn on(&self, operation: Operation, room: &str, body: Body) -> Result<MessageId, SendError> {
        let conversation = conversation(room, "");
        self.adapter.send(&Outbound { conversation, question: None, operation, body, urgency: Urgency::Final }).await
    }
}

fn adapter(feishu: &FeishuSim, notes: Arc<dyn Notes>, change: impl FnOnce(&mut FeishuConfig)) -> Arc<FeishuAdapter> {
    let url = feishu.base_url().parse().unwrap();
    let (id, transport) = (ChannelId::new("feishu"), Transport::LongConnection);
    let mut config = FeishuConfig::new(id, APP_ID.into(), APP_SECRET.into(), url, transport, notes, Now::new(now_ms));
    config.reconnect = Reconnect { first: Duration::from_millis(20), longest: Duration::from_millis(200) };
    change(&mut config);
    Arc::new(FeishuAdapter::new(config).unwrap())
}

pub(crate) fn conversation(room: &str, thread: &str) -> ConversationId {
    ConversationId { channel: ChannelId::new("feishu"), room: room.into(), thread: thread.into() }
}

#[track_caller]
pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T, SendError>) -> Refusal {
    match result {
        Err(SendError::Refused(refusal)) => refusal,
        other => panic!("no refusal: {other:?}"),
    }
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
