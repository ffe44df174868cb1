//! A model endpoint on loopback that speaks OpenAI's chat completions and Anthropic's messages, answers from a script and
//! referees.

mod answer;
mod build;
mod dialect;
mod endpoint;
mod memory;
mod messages;
mod raw;
mod referee;
mod request;
mod script;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use self::script::{ModelFault, ModelScript, Reply, Rule, ScriptedCall, Usage, When};
use crate::{
    board::Board,
    server::{self, Door, Owner},
};

pub const API_KEY: &str = "sk-sim";

/// How long the waiting verbs wait before they panic.
const PATIENCE: Duration = Duration::from_secs(10);

/// A handle; clones share the model. The server ends with the last handle, or with [`ModelSim::stop`].
#[derive(Clone, Debug)]
pub struct ModelSim {
    owner: Arc<Owner>,
    address: SocketAddr,
    door: Door,
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    board: Board<State>,
    stop: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    rules: Vec<Entry>,
    unknown_tools: Vec<String>,
    requests: Vec<Value>,
    looked_at: usize,
    complaints: Vec<String>,
    memory: memory::Memory,
    thoughts: messages::Thoughts,
    rewrites_allowed: bool,
    held: bool,
    calls: u64,
    answers: u64,
    open: usize,
    ended: Vec<std::time::Instant>,
    abandoned: usize,
}

#[derive(Debug)]
struct Entry {
    rule: Rule,
    used: u32,
}

impl From<Rule> for Entry {
    fn from(rule: Rule) -> Self {
        Self { rule, used: 0 }
    }
}

impl Shared {
    async fn wait_for_release(&self) {
        let forever = Duration::from_secs(86_400);
        tokio::select! {
            _ = self.board.until(forever, |state| !state.held) => {}
            () = self.stop.cancelled() => {}
        }
    }
}

impl ModelSim {
    pub async fn start(script: impl Into<ModelScript>) -> io::Result<Self> {
        let owner = Owner::default();
        let script = script.into();
        let state = State {
            rules: script.rules.into_iter().map(Entry::from).collect(),
            unknown_tools: script.unknown_tools,
            ..State::default()
        };
        let shared = Arc::new(Shared { board: Board::new(state), stop: owner.0.stop.clone() });
        let (address, door) = server::serve(endpoint::router(Arc::clone(&shared)), &owner.0).await?;
        Ok(Self { owner: Arc::new(owner), address, door, shared })
    }

    /// For `models.providers.openai.base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// For a provider with `api = "anthropic"`.
    pub fn anthropic_base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a rule after the others.
    pub fn push_rule(&self, rule: Rule) {
        self.shared.board.change(|state| state.rules.push(rule.into()));
    }

    /// Adds a rule that is tried before the others.
    pub fn push_first(&self, rule: Rule) {
        self.shared.board.change(|state| state.rules.insert(0, rule.into()));
    }

    /// Lets the prefix of a conversation change from now on: for stories about compaction.
    pub fn allow_rewrites(&self) {
        self.shared.board.change(|state| state.rewrites_allowed = true);
    }

    /// Every request so far, refused ones included.
    pub fn requests(&self) -> Vec<Value> {
        self.shared.board.look().requests.clone()
    }

    /// The next request that nobody has looked at yet.
    ///
    /// # Panics
    /// If none comes in time.
    pub async fn next_request(&self) -> Value {
        let found = self.shared.board.wait(PATIENCE, |state| {
            let request = state.requests.get(state.looked_at)?.clone();
            state.looked_at += 1;
            Some(request)
        });
        found.await.unwrap_or_else(|| self.give_up("a request"))
    }

    /// Violations and requests without a rule. A story ends with none.
    pub fn complaints(&self) -> Vec<String> {
        self.shared.board.look().complaints.clone()
    }

    /// How often each rule has answered, in the order of the script.
    pub fn used(&self) -> Vec<u32> {
        self.shared.board.look().rules.iter().map(|entry| entry.used).collect()
    }

    /// From now on answers wait before their first byte.
    pub fn hold(&self) {
        self.shared.board.change(|state| state.held = true);
    }

    /// Lets the waiting answers go, and later ones pass.
    pub fn release(&self) {
        self.shared.board.change(|state| state.held = false);
    }

    /// Answers under way: held, delayed or streaming.
    pub fn open_streams(&self) -> usize {
        self.shared.board.look().open
    }

    /// Answers that ended early because the client went away or a fault broke them.
    pub fn abandoned(&self) -> usize {
        self.shared.board.look().abandoned
    }

    /// When the last byte of each answer left, in order.
    pub fn ended(&self) -> Vec<std::time::Instant> {
        self.shared.board.look().ended.clone()
    }

    /// Waits until exactly `count` answers are under way.
    ///
    /// # Panics
    /// If that doesn't happen in time.
    pub async fn wait_for_open_streams(&self, count: usize) {
        if !self.shared.board.until(PATIENCE, |state| state.open == count).await {
            self.give_up(&format!("{count} open streams, there are {}", self.open_streams()));
        }
    }

    /// A model that is down: new connections end at once, open ones break.
    pub fn down(&self, down: bool) {
        self.door.shut(down);
        if down {
            self.door.cut();
        }
    }

    pub async fn stop(self) {
        self.owner.stop().await;
    }

    fn give_up(&self, what: &str) -> ! {
        let (requests, complaints) = (self.requests().len(), self.complaints());
        panic!("waited in vain for {what}; {requests} requests so far, complaints: {complaints:#?}")
    }
}
