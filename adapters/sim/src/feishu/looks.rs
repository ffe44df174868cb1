//! What a test or a drill looks at: messages as people see them, calls, acknowledgements, and what is left over.

use std::time::Duration;

use super::{Ack, Author, Call, Edit, FeishuSim, Message, Reaction, delivery::Lines, world::World};

impl FeishuSim {
    /// The next message the bot posted in `chat` that nobody has looked at yet.
    ///
    /// # Panics
    /// If none comes in time, with what was seen.
    pub async fn next_message(&self, chat: &str) -> Message {
        let found = self.shared.world.wait(self.shared.config.patience, |world| {
            let new = |m: &&mut Message| m.chat == chat && m.author == Author::Bot && !m.looked_at;
            let message = world.messages.iter_mut().find(new)?;
            message.looked_at = true;
            Some(message.clone())
        });
        found.await.unwrap_or_else(|| self.give_up(&format!("a message of the bot in {chat}")))
    }

    /// Waits until the text of `id` fulfils the predicate, and returns it.
    ///
    /// # Panics
    /// If it doesn't in time, with what was seen.
    pub async fn wait_for_text(&self, id: &str, holds: impl Fn(&str) -> bool) -> String {
        let found = self.shared.world.wait(self.shared.config.patience, |world| {
            let message = world.message_mut(id)?;
            message.looked_at = true;
            Some(message.text()).filter(|text| holds(text))
        });
        found.await.unwrap_or_else(|| self.give_up(&format!("the wanted text in {id}")))
    }

    /// The text of a message once it has been edited and then left alone for `FeishuConfig::settle`.
    /// Where the final text is known, [`FeishuSim::wait_for_text`] is quicker and surer.
    pub async fn settled(&self, id: &str) -> String {
        let beyond = |world: &World, edits: usize| world.message(id).is_some_and(|m| m.edits.len() > edits);
        if !self.shared.world.until(self.shared.config.patience, |world| beyond(world, 1)).await {
            self.give_up(&format!("an edit of {id}"));
        }
        loop {
            let before = self.message(id).edits.len();
            if !self.shared.world.until(self.shared.config.settle, |world| beyond(world, before)).await {
                return self.message(id).text();
            }
        }
    }

    /// The message as it is now. Counts as looking.
    pub fn message(&self, id: &str) -> Message {
        let found = self.shared.world.look().message_mut(id).map(|message| {
            message.looked_at = true;
            message.clone()
        });
        found.unwrap_or_else(|| self.give_up(&format!("message {id}")))
    }

    /// What people see of a chat, oldest first. Counts as looking.
    pub fn messages(&self, chat: &str) -> Vec<Message> {
        let mut world = self.shared.world.look();
        let visible = world.messages.iter_mut().filter(|m| m.chat == chat && !m.recalled);
        let mut messages: Vec<_> = visible
            .map(|message| {
                message.looked_at = true;
                message.clone()
            })
            .collect();
        messages.sort_by_key(|message| message.created);
        messages
    }

    /// Every content that `id` has had, the first included.
    pub fn edits(&self, id: &str) -> Vec<Edit> {
        self.message(id).edits
    }

    pub fn reactions(&self, id: &str) -> Vec<Reaction> {
        self.message(id).reactions
    }

    /// The calls of one name, oldest first.
    pub fn calls(&self, name: &str) -> Vec<Call> {
        self.shared.world.look().calls.iter().filter(|call| call.name == name).cloned().collect()
    }

    /// Every call, oldest first.
    pub fn all_calls(&self) -> Vec<Call> {
        self.shared.world.look().calls.clone()
    }

    /// Waits until `name` was called `count` times.
    pub async fn wait_for_calls(&self, name: &str, count: usize) -> Vec<Call> {
        let enough = |world: &World| world.calls.iter().filter(|call| call.name == name).count() >= count;
        if !self.shared.world.until(self.shared.config.patience, enough).await {
            self.give_up(&format!("{count} calls of {name}"));
        }
        self.calls(name)
    }

    /// Waits until `name` was answered `count` times.
    pub async fn wait_for_answers(&self, name: &str, count: usize) -> Vec<Call> {
        let answered = |call: &&Call| call.name == name && call.http.is_some();
        let enough = |world: &World| world.calls.iter().filter(answered).count() >= count;
        if !self.shared.world.until(self.shared.config.patience, enough).await {
            self.give_up(&format!("{count} answers to {name}"));
        }
        self.calls(name)
    }

    /// Calls that count in the monthly quota.
    pub fn call_count(&self) -> u64 {
        self.shared.world.look().counted
    }

    pub fn acks(&self) -> Vec<Ack> {
        self.shared.lines.look().acks.clone()
    }

    /// Waits for `count` acknowledgements.
    pub async fn wait_for_acks(&self, count: usize) -> Vec<Ack> {
        if !self.shared.lines.until(self.shared.config.patience, |lines| lines.acks.len() >= count).await {
            self.give_up(&format!("{count} acknowledgements, there are {:?}", self.acks()));
        }
        self.acks()
    }

    /// Ids of events that wait for their acknowledgement at this moment.
    pub fn unacked(&self) -> Vec<String> {
        self.shared.lines.look().unacked()
    }

    /// Waits until the bot has acknowledged everything that was sent to it so far.
    pub async fn heard(&self) {
        if !self.shared.lines.until(self.shared.config.patience, |lines| lines.unacked().is_empty()).await {
            self.give_up(&format!("every acknowledgement, {:?} are missing", self.unacked()));
        }
    }

    /// Ids of events that were never acknowledged, after all redeliveries.
    pub fn lost(&self) -> Vec<String> {
        self.shared.lines.look().lost.clone()
    }

    /// Waits until `count` events are lost for good.
    pub async fn wait_for_lost(&self, count: usize) -> Vec<String> {
        if !self.shared.lines.until(self.shared.config.patience, |lines| lines.lost.len() >= count).await {
            self.give_up(&format!("{count} lost events"));
        }
        self.lost()
    }

    pub fn connections(&self) -> usize {
        self.shared.lines.look().open.len()
    }

    /// How many connections there have been.
    pub fn connections_so_far(&self) -> u64 {
        self.shared.lines.look().opened
    }

    /// How many pings came.
    pub fn pings(&self) -> usize {
        self.shared.lines.look().pings
    }

    /// Waits until `count` pings have come.
    pub async fn wait_for_pings(&self, count: usize) {
        if !self.shared.lines.until(self.shared.config.patience, |lines| lines.pings >= count).await {
            self.give_up(&format!("{count} pings, there were {}", self.pings()));
        }
    }

    /// Waits until at least `count` healthy connections are open.
    pub async fn connected(&self, count: usize) {
        let healthy = |lines: &Lines| lines.open.iter().filter(|line| !line.silent).count() >= count;
        if !self.shared.lines.until(self.shared.config.patience, healthy).await {
            self.give_up(&format!("{count} connections, there are {}", self.connections()));
        }
    }

    /// What the bot did that a real tenant would not have liked: odd frames, acknowledgements that echo too little,
    /// unknown calls, posts without `uuid`.
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints = self.shared.world.look().complaints.clone();
        complaints.extend(self.shared.lines.look().complaints.iter().cloned());
        complaints
    }

    /// What a story should not leave behind: messages nobody looked at, complaints, lost events.
    pub fn unread(&self) -> Vec<String> {
        let mut left = self.complaints();
        let world = self.shared.world.look();
        let unread = |m: &&Message| m.author == Author::Bot && !m.looked_at && !m.recalled;
        left.extend(
            world.messages.iter().filter(unread).map(|m| format!("unread message in {}: {}", m.chat, m.text())),
        );
        drop(world);
        let lines = self.shared.lines.look();
        left.extend(lines.lost.iter().map(|event| format!("never acknowledged: {event}")));
        left
    }

    /// Time since the simulator started, the scale of `Edit::at` and `Call::at`.
    pub fn elapsed(&self) -> Duration {
        self.shared.world.look().started.elapsed()
    }

    pub(super) fn give_up(&self, what: &str) -> ! {
        let seen = self.shared.world.look().summary();
        panic!("waited in vain for {what}; seen:\n{seen}")
    }
}
