//! The bot under test and the desk its updates arrive at.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{
    Aside, Ask, Body, ChannelAdapter, ChannelId, ChannelState, Choice, ConversationId, Deliver, DeliveryKey, Inbound,
    Inbox, InboxError, MessageId, Operation, Outbound, ReceiveError, SendError, ShortMemory, Tone, Urgency, Verdict,
};
use watchfloor_sim::telegram::{self, BOT_TOKEN, TelegramSim};
use watchfloor_telegram::{Intake, Reconnect, TelegramAdapter, TelegramConfig};

const PATIENCE: Duration = Duration::from_secs(20);

/// Takes what is delivered, unless told otherwise.
#[derive(Default)]
pub(crate) struct Desk {
    came: Mutex<Vec<Inbound>>,
    asides: Mutex<Vec<Aside>>,
    refusals: AtomicUsize,
    /// Texts that contain this word wait.
    held: watch::Sender<Option<&'static str>>,
}

#[allow(dead_code, reason = "for the stories of receiving")]
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

    pub(crate) async fn asides(&self, count: usize) -> Vec<Aside> {
        until("clicks", || {
            let asides = self.asides.lock().unwrap();
            (asides.len() >= count).then(|| asides.clone())
        })
        .await
    }
}

#[async_trait]
impl Deliver for Desk {
    async fn deliver(&self, inbound: Inbound) -> Result<Verdict, InboxError> {
        let text = inbound.text.clone();
        assert!(!text.contains("boom"), "what always fails");
        self.came.lock().unwrap().push(inbound);
        let mut held = self.held.subscribe();
        let _ = held.wait_for(|word| word.is_none_or(|word| !text.contains(word))).await;
        match self.refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
            Ok(_) => Err(InboxError("the disk is full".into())),
            Err(_) => Ok(Verdict::Taken),
        }
    }

    async fn aside(&self, aside: Aside) -> String {
        let heard = format!("heard: {:?}", aside.act);
        self.asides.lock().unwrap().push(aside);
        heard
    }
}

#[allow(dead_code, reason = "for the stories of receiving")]
pub(crate) struct Bot {
    pub(crate) telegram: TelegramSim,
    pub(crate) adapter: Arc<TelegramAdapter>,
    pub(crate) notes: Arc<ShortMemory>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) stop: CancellationToken,
    running: JoinSet<Result<(), ReceiveError>>,
}

pub(crate) fn world() -> telegram::TelegramConfig {
    telegram::TelegramConfig { patience: PATIENCE, ..telegram::TelegramConfig::default() }
}

/// Short limits, quick reconnects.
pub(crate) fn config(url: &str, notes: Arc<ShortMemory>) -> TelegramConfig {
    let intake = Intake::Polling { poll_timeout: Duration::from_secs(2) };
    let mut config =
        TelegramConfig::new(ChannelId::new("telegram"), intake, BOT_TOKEN.into(), url.parse().unwrap(), notes);
    config.call_timeout = Duration::from_secs(10);
    config.reconnect = Reconnect { first: Duration::from_millis(20), longest: Duration::from_millis(200) };
    config
}

#[allow(dead_code, reason = "for the stories of receiving")]
impl Bot {
    /// Not receiving yet.
    pub(crate) async fn idle(world: telegram::TelegramConfig, change: impl FnOnce(&mut TelegramConfig)) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let telegram = TelegramSim::start(world).await.unwrap();
        let notes = Arc::new(ShortMemory::default());
        let mut config = config(&telegram.api_url(), notes.clone());
        change(&mut config);
        let adapter = Arc::new(TelegramAdapter::new(config).unwrap());
        let (desk, stop, running) = Default::default();
        Self { telegram, adapter, notes, desk, stop, running }
    }

    pub(crate) fn start(&mut self) {
        let (adapter, inbox, stop) = (self.adapter.clone(), Inbox::new(self.desk.clone()), self.stop.clone());
        self.running.spawn(async move { adapter.receive(inbox, stop).await });
    }

    pub(crate) async fn connected(world: telegram::TelegramConfig, change: impl FnOnce(&mut TelegramConfig)) -> Self {
        let mut bot = Self::idle(world, change).await;
        bot.start();
        bot.state(|state| *state == ChannelState::Connected).await;
        bot
    }

    /// The next process, with the same notes.
    pub(crate) async fn again(self, change: impl FnOnce(&mut TelegramConfig)) -> Self {
        let Self { telegram, notes, stop, mut running, .. } = self;
        stop.cancel();
        while running.join_next().await.is_some() {}
        let mut config = config(&telegram.api_url(), notes.clone());
        change(&mut config);
        let adapter = Arc::new(TelegramAdapter::new(config).unwrap());
        let (desk, stop, running) = Default::default();
        let mut bot = Self { telegram, adapter, notes, desk, stop, running };
        bot.start();
        bot
    }

    pub(crate) fn figure(&self, name: &str) -> u64 {
        self.adapter.figures().into_iter().find(|(known, _)| *known == name).unwrap().1
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

    /// A post in a chat, as the answer to a message there.
    pub(crate) async fn answer(
        &self,
        chat: i64,
        thread: &str,
        question: i64,
        body: Body,
    ) -> Result<MessageId, SendError> {
        let question = Some(named(chat, question));
        let operation = Operation::Post(DeliveryKey("k1".into()));
        let conversation = conversation(chat, thread);
        self.adapter.send(&Outbound { conversation, question, operation, body, urgency: Urgency::Final }).await
    }

    pub(crate) async fn post(&self, chat: i64, thread: &str, text: &str) -> Result<MessageId, SendError> {
        self.send(chat, thread, Operation::Post(DeliveryKey("k1".into())), Body::Markdown(text.into())).await
    }

    pub(crate) async fn edit(&self, message: &MessageId, text: &str) -> Result<MessageId, SendError> {
        self.change(Operation::Edit(message.clone()), Body::Markdown(text.into())).await
    }

    pub(crate) async fn delete(&self, message: &MessageId) -> Result<MessageId, SendError> {
        self.change(Operation::Delete(message.clone()), Body::Plain(String::new())).await
    }

    /// What is named by its message alone.
    pub(crate) async fn change(&self, operation: Operation, body: Body) -> Result<MessageId, SendError> {
        self.send(telegram::OPS, "", operation, body).await
    }

    pub(crate) async fn send(
        &self,
        chat: i64,
        thread: &str,
        operation: Operation,
        body: Body,
    ) -> Result<MessageId, SendError> {
        let conversation = conversation(chat, thread);
        self.adapter.send(&Outbound { conversation, question: None, operation, body, urgency: Urgency::Final }).await
    }
}

pub(crate) fn conversation(chat: i64, thread: &str) -> ConversationId {
    ConversationId { channel: ChannelId::new("telegram"), room: chat.to_string(), thread: thread.into() }
}

pub(crate) fn named(chat: i64, id: i64) -> MessageId {
    MessageId { room: chat.to_string(), id: id.to_string() }
}

pub(crate) fn number(message: &MessageId) -> i64 {
    message.id.parse().unwrap()
}

/// May we restart it?
pub(crate) fn question() -> Body {
    let choice = |label: &str, action: &str, tone| Choice {
        label: label.into(),
        action: action.into(),
        value: "r7:Zk3v9QmN".into(),
        tone,
    };
    let choices = vec![choice("Approve", "a", Tone::Positive), choice("Deny", "d", Tone::Danger)];
    Body::Ask(Ask { text: "Restart **checkout**?".into(), choices })
}

pub(crate) fn outcome<T>(result: Result<T, SendError>) -> String {
    match result {
        Ok(_) => "done".into(),
        Err(SendError::RateLimited(wait)) => format!("wait {}", wait.as_secs()),
        Err(SendError::Unavailable(_)) => "unavailable".into(),
        Err(SendError::Uncertain(_)) => "uncertain".into(),
        Err(SendError::Refused(refusal)) => format!("{:?}", refusal.kind),
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
