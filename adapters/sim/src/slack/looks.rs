//! What a test or a drill looks at: messages as people see them, calls, acknowledgements, and what is left over.

use std::time::Duration;

use super::{Ack, Author, Call, Edit, Message, Reaction, SlackSim};

impl SlackSim {
    /// The next message the bot posted in `channel` that nobody has looked at yet. Ephemeral ones don't count.
    ///
    /// # Panics
    /// If none comes in time, with what was seen.
    pub async fn next_message(&self, channel: &str) -> Message {
        let found = self.shared.world.wait(self.shared.config.patience, |world| {
            let new = |m: &&mut Message| {
                m.channel == channel && m.author == Author::Bot && !m.looked_at && m.ephemeral_to.is_none()
            };
            let message = world.messages.iter_mut().find(new)?;
            message.looked_at = true;
            Some(message.clone())
        });
        found.await.unwrap_or_else(|| self.give_up(&format!("a message of the bot in {channel}")))
    }

    /// As [`SlackSim::next_message`], for one that only `person` can see.
    pub async fn next_ephemeral(&self, person: &str) -> Message {
        let found = self.shared.world.wait(self.shared.config.patience, |world| {
            let new = |m: &&mut Message| !m.looked_at && m.ephemeral_to.as_deref() == Some(person);
            let message = world.messages.iter_mut().find(new)?;
            message.looked_at = true;
            Some(message.clone())
        });
        found.await.unwrap_or_else(|| self.give_up(&format!("an ephemeral message for {person}")))
    }

    /// Waits until the text of `ts` fulfils the predicate, and returns it.
    ///
    /// # Panics
    /// If it doesn't in time, with what was seen.
    pub async fn wait_for_text(&self, ts: &str, holds: impl Fn(&str) -> bool) -> String {
        let found = self.shared.world.wait(self.shared.config.patience, |world| {
            let message = world.messages.iter_mut().find(|m| m.ts == ts)?;
            message.looked_at = true;
            holds(message.text()).then(|| message.text().to_owned())
        });
        found.await.unwrap_or_else(|| self.give_up(&format!("the wanted text in {ts}")))
    }

    /// The text of a message once it has been edited and then left alone for `SlackConfig::settle`.
    /// Where the final text is known, [`SlackSim::wait_for_text`] is quicker and surer.
    pub async fn settled(&self, channel: &str, ts: &str) -> String {
        let edits = || {
            let mut world = self.shared.world.look();
            let message = world.messages.iter_mut().find(|m| m.ts == ts && m.channel == channel);
            message.map_or(0, |message| {
                message.looked_at = true;
                message.edits.len()
            })
        };
        let patience = self.shared.config.patience;
        if !self.shared.world.until(patience, |world| edited_beyond(world, ts, 1)).await {
            self.give_up(&format!("an edit of {ts}"));
        }
        loop {
            let before = edits();
            let more = |world: &super::World| edited_beyond(world, ts, before);
            if !self.shared.world.until(self.shared.config.settle, more).await {
                return self.message(ts).text().to_owned();
            }
        }
    }

    /// The message as it is now.
    pub fn message(&self, ts: &str) -> Message {
        let found = self.shared.world.look().messages.iter().find(|m| m.ts == ts).cloned();
        found.unwrap_or_else(|| self.give_up(&format!("message {ts}")))
    }

    /// What people see of a thread, parent first; without a thread the whole channel. Counts as looking.
    pub fn messages(&self, channel: &str, thread: Option<&str>) -> Vec<Message> {
        let mut world = self.shared.world.look();
        let visible = |m: &&mut Message| {
            m.channel == channel
                && !m.deleted
                && m.ephemeral_to.is_none()
                && thread.is_none_or(|thread| m.thread() == thread)
        };
        let mut messages: Vec<_> = world
            .messages
            .iter_mut()
            .filter(visible)
            .map(|message| {
                message.looked_at = true;
                message.clone()
            })
            .collect();
        messages.sort_by(|a, b| a.ts.cmp(&b.ts));
        messages
    }

    /// Every text that `ts` has had, the first included.
    pub fn edits(&self, ts: &str) -> Vec<Edit> {
        self.message(ts).edits
    }

    pub fn reactions(&self, ts: &str) -> Vec<Reaction> {
        self.message(ts).reactions
    }

    /// Waits until the reactions of `ts` have exactly these names, in this order.
    pub async fn wait_for_reactions(&self, ts: &str, names: &[&str]) {
        let holds = |world: &super::World| {
            let message = world.messages.iter().find(|m| m.ts == ts);
            message.is_some_and(|m| m.reactions.iter().map(|r| r.name.as_str()).eq(names.iter().copied()))
        };
        if !self.shared.world.until(self.shared.config.patience, holds).await {
            self.give_up(&format!("the reactions {names:?} on {ts}"));
        }
    }

    /// The calls of one method, oldest first.
    pub fn calls(&self, method: &str) -> Vec<Call> {
        self.shared.world.look().calls.iter().filter(|call| call.method == method).cloned().collect()
    }

    /// Every call, oldest first.
    pub fn all_calls(&self) -> Vec<Call> {
        self.shared.world.look().calls.clone()
    }

    /// Waits until `method` was called `count` times.
    pub async fn wait_for_calls(&self, method: &str, count: usize) -> Vec<Call> {
        let enough = |world: &super::World| world.calls.iter().filter(|call| call.method == method).count() >= count;
        if !self.shared.world.until(self.shared.config.patience, enough).await {
            self.give_up(&format!("{count} calls of {method}"));
        }
        self.calls(method)
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

    /// Waits until the bot has acknowledged everything that was sent to it so far.
    pub async fn heard(&self) {
        if !self.shared.lines.until(self.shared.config.patience, |lines| lines.unheard() == 0).await {
            self.give_up("every acknowledgement");
        }
    }

    /// How many events wait for their acknowledgement at this moment.
    pub fn unheard(&self) -> usize {
        self.shared.lines.look().unheard()
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

    /// Waits until at least `count` healthy connections are open.
    pub async fn connected(&self, count: usize) {
        let healthy =
            |lines: &super::Lines| lines.open.iter().filter(|line| !line.silent && !line.retiring).count() >= count;
        if !self.shared.lines.until(self.shared.config.patience, healthy).await {
            self.give_up(&format!("{count} connections, there are {}", self.connections()));
        }
    }

    /// What a story should not leave behind: messages nobody looked at, unknown methods, odd frames, lost events.
    pub fn unread(&self) -> Vec<String> {
        let mut left = Vec::new();
        {
            let world = self.shared.world.look();
            for message in &world.messages {
                if message.author == Author::Bot && !message.looked_at && !message.deleted {
                    left.push(format!("unread message in {}: {}", message.channel, message.text()));
                }
            }
            left.extend(world.oddities.iter().cloned());
        }
        let lines = self.shared.lines.look();
        left.extend(lines.oddities.iter().cloned());
        // Without any connection nobody was meant to hear them.
        if lines.was_open {
            left.extend(lines.lost.iter().map(|event| format!("never acknowledged: {event}")));
        }
        left
    }

    /// Texts of the bot's messages, at any time, beside which blocks stood that said something else.
    pub fn disagreeing(&self) -> Vec<String> {
        let world = self.shared.world.look();
        let edits = world.messages.iter().filter(|message| message.author == Author::Bot).flat_map(|m| &m.edits);
        edits.filter(|edit| !edit.blocks_agree()).map(|edit| edit.text.clone()).collect()
    }

    /// Time since the simulator started, the scale of `Edit::at` and `Call::at`.
    pub fn elapsed(&self) -> Duration {
        self.shared.world.look().started.elapsed()
    }

    fn give_up(&self, what: &str) -> ! {
        let seen = self.shared.world.look().summary();
        panic!("waited in vain for {what}; seen:\n{seen}")
    }
}

fn edited_beyond(world: &super::World, ts: &str, edits: usize) -> bool {
    world.messages.iter().any(|m| m.ts == ts && m.edits.len() > edits)
}
