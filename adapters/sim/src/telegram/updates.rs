//! The queue of updates and `getUpdates`: what is confirmed, what comes again, who may poll.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Map, Value};

use super::{
    Shared,
    args::{Args, integer},
    methods::{Outcome, Refused},
};
use crate::time;

const LONGEST_POLL: Duration = Duration::from_secs(50);
/// Kinds that come only if they are asked for by name.
const NOT_BY_DEFAULT: [&str; 3] = ["chat_member", "message_reaction", "message_reaction_count"];

#[derive(Debug)]
pub(crate) struct Updates {
    queue: VecDeque<Queued>,
    /// What the latest confirmation took away.
    confirmed: Vec<Queued>,
    next_id: u64,
    pub(crate) allowed: Option<Vec<String>>,
    /// The poller that is let in; an older one has to go.
    poller: u64,
    pub(crate) conflicts: usize,
    pub(crate) hang: bool,
    press_lifetime: Duration,
}

#[derive(Clone, Debug)]
pub(crate) struct Queued {
    pub(crate) id: u64,
    pub(crate) update: Value,
    at: Instant,
    /// Comes once more though it was confirmed.
    again: bool,
    /// A delivery to the webhook is under way.
    pub(crate) in_flight: bool,
}

impl Updates {
    pub(crate) fn new(press_lifetime: Duration) -> Self {
        Self {
            queue: VecDeque::new(),
            confirmed: Vec::new(),
            // Later simulators have higher ids, as a bot may remember an earlier one.
            next_id: time::now().as_secs().saturating_sub(1_600_000_000),
            allowed: None,
            poller: 0,
            conflicts: 0,
            hang: false,
            press_lifetime,
        }
    }

    /// Queues an update, unless nobody wants its kind.
    pub(crate) fn push(&mut self, kind: &str, value: Value) {
        let wanted = match self.allowed.as_deref() {
            None | Some([]) => !NOT_BY_DEFAULT.contains(&kind),
            Some(kinds) => kinds.iter().any(|allowed| allowed == kind),
        };
        if wanted {
            self.push_raw(Value::Object(Map::from_iter([(kind.to_owned(), value)])));
        }
    }

    /// Queues an update as it is, with the next id if it has none.
    pub(crate) fn push_raw(&mut self, mut update: Value) -> u64 {
        let id = match update.get("update_id").and_then(Value::as_u64) {
            Some(id) => id,
            None => {
                self.next_id += 1;
                if let Value::Object(fields) = &mut update {
                    fields.insert("update_id".into(), self.next_id.into());
                }
                self.next_id
            }
        };
        self.next_id = self.next_id.max(id);
        self.queue.push_back(Queued { id, update, at: Instant::now(), again: false, in_flight: false });
        id
    }

    pub(crate) fn skip_ids(&mut self, number: u64) {
        self.next_id += number;
    }

    /// Updates that nobody has confirmed.
    pub(crate) fn waiting(&self) -> Vec<Value> {
        self.queue.iter().map(|queued| queued.update.clone()).collect()
    }

    pub(crate) fn clear(&mut self) {
        self.queue.clear();
    }

    /// Forgets the latest confirmation; how many updates come again.
    pub(crate) fn redeliver(&mut self) -> usize {
        let again = std::mem::take(&mut self.confirmed);
        let number = again.len();
        for queued in again.into_iter().rev() {
            self.queue.push_front(Queued { again: true, in_flight: false, ..queued });
        }
        number
    }

    fn confirm(&mut self, offset: i64) {
        let below = |id: u64| i64::try_from(id).is_ok_and(|id| id < offset);
        if offset < 0 {
            let keep = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            let surplus = self.queue.len().saturating_sub(keep);
            self.confirmed = self.queue.drain(..surplus).collect();
        } else if self.queue.iter().any(|queued| below(queued.id) && !queued.again) {
            let (gone, kept) = self.queue.drain(..).partition(|queued| below(queued.id) && !queued.again);
            (self.confirmed, self.queue) = (Vec::from_iter::<VecDeque<_>>(gone), kept);
        }
    }

    fn expire(&mut self) {
        let lifetime = self.press_lifetime;
        self.queue.retain(|queued| queued.update.get("callback_query").is_none() || queued.at.elapsed() < lifetime);
    }

    fn batch(&mut self, limit: usize) -> Vec<Value> {
        self.expire();
        let batch = self.queue.iter_mut().take(limit).map(|queued| {
            queued.again = false;
            queued.update.clone()
        });
        batch.collect()
    }

    /// The next update for the webhook, marked as under way.
    pub(crate) fn take(&mut self) -> Option<Queued> {
        self.expire();
        let queued = self.queue.iter_mut().find(|queued| !queued.in_flight)?;
        queued.in_flight = true;
        Some(queued.clone())
    }

    pub(crate) fn delivered(&mut self, id: u64) {
        if let Some(at) = self.queue.iter().position(|queued| queued.id == id) {
            self.confirmed = self.queue.remove(at).into_iter().collect();
        }
    }

    /// Nothing is under way any more.
    pub(crate) fn ground(&mut self) {
        for queued in &mut self.queue {
            queued.in_flight = false;
        }
    }

    /// Remembers which kinds are wanted, if the call says so.
    pub(crate) fn allow(&mut self, args: &Args) {
        if let Some(Value::Array(kinds)) = args.json("allowed_updates") {
            self.allowed = Some(kinds.iter().filter_map(|kind| kind.as_str().map(str::to_owned)).collect());
        }
    }
}

enum Poll {
    Answer(Outcome),
    Hang,
}

fn conflict(description: &str) -> Refused {
    Refused::new(409, &format!("Conflict: {description}"))
}

const OTHER: &str = "terminated by other getUpdates request; make sure that only one bot instance is running";

pub(crate) async fn poll(shared: &Arc<Shared>, args: &Args) -> Outcome {
    let limit = args.integer("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(100).clamp(1, 100);
    let offset = args.fields.get("offset").and_then(integer).unwrap_or(0);
    let seconds = args.integer("timeout").and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0);
    let timeout = Duration::from_secs(seconds).min(LONGEST_POLL);
    let me = shared.world.change(|world| {
        let updates = &mut world.updates;
        if updates.conflicts > 0 {
            updates.conflicts -= 1;
            return Err(conflict(OTHER));
        }
        if world.webhook.is_set() {
            let text =
                "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";
            return Err(conflict(text));
        }
        updates.confirm(offset);
        updates.allow(args);
        updates.poller += 1;
        Ok(updates.poller)
    })?;
    let came = shared.world.wait(timeout, |world| {
        if world.updates.hang {
            return Some(Poll::Hang);
        }
        if world.updates.poller != me {
            return Some(Poll::Answer(Err(conflict(OTHER))));
        }
        if world.webhook.is_set() {
            return Some(Poll::Answer(Err(conflict("terminated by setWebhook request"))));
        }
        let batch = world.updates.batch(limit);
        (!batch.is_empty()).then_some(Poll::Answer(Ok(Value::Array(batch))))
    });
    match came.await {
        Some(Poll::Answer(answer)) => answer,
        Some(Poll::Hang) => {
            // Ends when the client gives up, which drops this future, or with the simulator.
            shared.tasks.stop.cancelled().await;
            Ok(Value::Array(Vec::new()))
        }
        None => Ok(Value::Array(Vec::new())),
    }
}
