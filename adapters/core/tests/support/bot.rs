//! Any adapter as the conformance checks see it: receiving, with a desk for what it hands on. Each adapter's tests
//! include this file; what differs between platforms is theirs.

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
    sync::{Mutex as Turn, watch},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{
    Act, Addressed, Aside, Ask, Body, ChannelAdapter, ChannelState, Choice, ConversationId, Deliver, DeliveryKey,
    Inbound, InboundKind, Inbox, InboxError, MessageId, Operation, Outbound, ReceiveError, SendError, Tone, Urgency,
    Verdict,
};
use watchfloor_sim::conformance::{Bot, Click, Heard, Message, Sent, Words};

/// Shorter than any wait of an adapter that a stop must not await.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct BotUnderTest {
    pub(crate) adapter: Arc<dyn ChannelAdapter>,
    desk: Arc<Desk>,
    posts: AtomicUsize,
    stop: CancellationToken,
    running: Turn<JoinSet<Result<(), ReceiveError>>>,
    _serving: JoinSet<()>,
}

/// Where requests to the adapter arrive, known before it is made.
pub(crate) struct Door {
    listener: TcpListener,
    pub(crate) url: String,
}

impl Door {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/events", listener.local_addr().unwrap());
        Self { listener, url }
    }
}

impl BotUnderTest {
    /// Returns when the adapter says that it receives.
    pub(crate) async fn start(adapter: Arc<dyn ChannelAdapter>, door: Option<Door>) -> Self {
        let (desk, stop) = (Arc::<Desk>::default(), CancellationToken::new());
        let (mut running, mut serving) = (JoinSet::new(), JoinSet::new());
        if let Some(door) = door {
            let (adapter, inbox) = (adapter.clone(), Inbox::new(desk.clone()));
            let router = Router::new().fallback(async move |request: Request| -> Response {
                let (head, body) = request.into_parts();
                let body: Bytes = to_bytes(body, 16 << 20).await.unwrap();
                adapter.webhook(Request::from_parts(head, body), &inbox).await.map(axum::body::Body::from)
            });
            serving.spawn(async move { axum::serve(door.listener, router).await.unwrap() });
        }
        running.spawn({
            let (adapter, inbox, stop) = (adapter.clone(), Inbox::new(desk.clone()), stop.clone());
            async move { adapter.receive(inbox, stop).await }
        });
        let bot =
            Self { adapter, desk, posts: AtomicUsize::new(0), stop, running: Turn::new(running), _serving: serving };
        bot.state(|state| *state == ChannelState::Connected).await;
        bot
    }

    pub(crate) async fn state(&self, wanted: impl Fn(&ChannelState) -> bool) {
        let mut state = self.adapter.state();
        let found = timeout(PATIENCE, state.wait_for(|state| wanted(state))).await;
        assert!(found.is_ok(), "the state is {:?}", *self.adapter.state().borrow());
    }

    fn conversation_of(&self, question: &Message) -> ConversationId {
        let came = self.desk.came.lock().unwrap();
        let question = came.iter().find(|inbound| inbound.message == id(question));
        question.expect("what is answered was heard").conversation.clone()
    }

    async fn on(&self, message: &Message, operation: Operation, body: Body) -> Sent {
        let channel = self.adapter.id().clone();
        let conversation = ConversationId { channel, room: message.room.clone(), thread: String::new() };
        self.send(conversation, None, operation, body).await
    }

    async fn send(
        &self,
        conversation: ConversationId,
        question: Option<MessageId>,
        operation: Operation,
        body: Body,
    ) -> Sent {
        let outbound = Outbound { conversation, question, operation, body, urgency: Urgency::Final };
        match self.adapter.send(&outbound).await {
            Ok(MessageId { room, id }) => Sent::Done(Message { room, id }),
            Err(SendError::RateLimited(wait)) => Sent::Wait(wait),
            Err(SendError::Unavailable(_)) => Sent::Unavailable,
            Err(SendError::Uncertain(_)) => Sent::Uncertain,
            Err(SendError::Refused(refusal)) => Sent::Refused(format!("{:?}", refusal.kind)),
        }
    }
}

impl Bot for BotUnderTest {
    fn hold(&self, word: &'static str) {
        self.desk.held.send_replace(Some(word));
    }

    fn release(&self) {
        self.desk.held.send_replace(None);
    }

    fn refuse(&self, next: usize) {
        self.desk.refusals.store(next, Ordering::SeqCst);
    }

    fn heard(&self) -> Vec<Heard> {
        let came = self.desk.came.lock().unwrap();
        let meant = came.iter().filter(|inbound| {
            inbound.kind == InboundKind::Message
                && (inbound.author.is_self || inbound.addressed != Addressed::Overheard)
        });
        let heard = meant.map(|inbound| Heard {
            text: inbound.text.clone(),
            key: inbound.message_key.clone(),
            own: inbound.author.is_self,
        });
        heard.collect()
    }

    fn clicks(&self) -> Vec<Click> {
        let asides = self.desk.asides.lock().unwrap();
        let clicks = asides.iter().filter_map(|aside| match &aside.act {
            Act::Click { message: MessageId { room, id }, action, value } => {
                let message = Message { room: room.clone(), id: id.clone() };
                Some(Click { message, action: action.clone(), value: value.clone() })
            }
            Act::Command { .. } => None,
        });
        clicks.collect()
    }

    async fn post(&self, question: &Message, words: &Words) -> Sent {
        let key = DeliveryKey(format!("k{}", self.posts.fetch_add(1, Ordering::SeqCst)));
        self.send(self.conversation_of(question), Some(id(question)), Operation::Post(key), body(words)).await
    }

    async fn edit(&self, message: &Message, words: &Words) -> Sent {
        self.on(message, Operation::Edit(id(message)), body(words)).await
    }

    async fn delete(&self, message: &Message) -> Sent {
        self.on(message, Operation::Delete(id(message)), Body::Plain(String::new())).await
    }

    async fn stop(&self) {
        self.stop.cancel();
        let mut running = self.running.lock().await;
        timeout(PATIENCE, running.join_next()).await.expect("still receiving").unwrap().unwrap().unwrap();
    }
}

/// Takes what is delivered, unless told otherwise.
#[derive(Default)]
struct Desk {
    came: Mutex<Vec<Inbound>>,
    asides: Mutex<Vec<Aside>>,
    refusals: AtomicUsize,
    held: watch::Sender<Option<&'static str>>,
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
        "This is no longer valid.".to_owned()
    }
}

fn id(message: &Message) -> MessageId {
    MessageId { room: message.room.clone(), id: message.id.clone() }
}

fn body(words: &Words) -> Body {
    match words {
        Words::Text(text) => Body::Markdown(text.clone()),
        Words::Ask { text, choices } => {
            let choices = choices.iter().map(|choice| Choice {
                label: choice.label.clone(),
                action: choice.action.clone(),
                value: choice.value.clone(),
                tone: Tone::Plain,
            });
            Body::Ask(Ask { text: text.clone(), choices: choices.collect() })
        }
    }
}
