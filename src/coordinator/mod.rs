//! From an accepted message to its final answer. One actor per conversation owns that conversation's transcript, and nobody
//! else writes it; a turn is a plain async function that cannot fail, only end.

pub mod access;
mod command;
mod control;
mod conversation;
mod crew;
mod dispatch;
mod events;
mod files;
mod intake;
pub mod late;
mod outlet;
mod prompt;
mod reply;
mod router;
mod run;
mod steer;
#[cfg(test)]
mod testing;
mod toolboxes;
mod transcript;
mod turn;
mod view;

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use watchfloor_channel::{ChannelAdapter, ChannelId};

use crate::{
    clock::SharedClock,
    model::Models,
    persona::{Persona, Personas},
    store::Store,
    tools::{Invoker, Policy, Redirect, SharedTool},
};

use access::Access;
pub use dispatch::CONTROL_TOOLS;
pub use events::{Event, Events, Told, Usage};
pub use intake::Intake;
use outlet::Outlet;
pub use router::Router;

pub use crate::tools::Role;

/// Characters of one result that enter a model's context.
pub const RESULT_CHARS: usize = 16_000;

#[derive(Clone, Debug)]
pub struct Limits {
    /// Turns running at once, over all conversations.
    pub turns: usize,
    pub turn_timeout: Duration,
    pub worker_timeout: Duration,
    pub workers_per_session: usize,
    pub workers: usize,
    /// Overheard messages kept per thread.
    pub history_limit: usize,
    /// A longer turn ends with one short reply that mentions the asker; zero = never.
    pub notify_after: Duration,
    pub default_max_turns: u32,
}

/// One configured account: how to reach it and who may talk there.
#[derive(Debug)]
pub struct Channel {
    outlet: Outlet,
    access: Access,
}

impl Channel {
    pub fn new(adapter: Arc<dyn ChannelAdapter>, access: Access) -> Self {
        Self { outlet: Outlet::new(adapter), access }
    }
}

/// What all conversations share.
#[derive(Debug)]
pub struct Services {
    pub store: Store,
    pub clock: SharedClock,
    pub models: Models,
    pub personas: Personas,
    /// Every tool this process can offer; a persona's toolbox is cut from it.
    pub tools: Vec<SharedTool>,
    /// Tools that models ask for and personas stand in for.
    pub redirects: Vec<Redirect>,
    pub limits: Limits,
    pub channels: HashMap<ChannelId, Channel>,
    pub events: Events,
    /// This process, as it signs leases.
    pub owner: String,
    pub slots: Slots,
}

/// Places for what runs at the same time.
#[derive(Debug)]
pub struct Slots {
    turns: Semaphore,
    workers: Semaphore,
}

impl Slots {
    pub fn new(limits: &Limits) -> Self {
        Self { turns: Semaphore::new(limits.turns), workers: Semaphore::new(limits.workers) }
    }
}

impl Services {
    /// Until a person can confirm a write, no run makes one, whatever its persona's mode.
    fn invoker(&self, persona: &Persona, asker: &str) -> Invoker {
        Invoker {
            store: self.store.clone(),
            clock: self.clock.clone(),
            cap: RESULT_CHARS,
            policy: Policy::read_only(),
            asker: asker.to_owned(),
            persona: persona.name.clone(),
        }
    }

    fn now(&self) -> i64 {
        self.clock.now_ms()
    }
}
