//! What a test or a drill looks at: messages as people see them, calls, and what is left over.

use std::time::Duration;

use serde_json::Value;

use super::{Action, Author, Call, CallbackAnswer, Message, TelegramSim, Version, WebhookAnswer, world::World};

impl TelegramSim {
    /// The next message the bot sent to `chat` that nobody has looked at yet.
    ///
    /// # Panics
    /// If none comes in time, with what was seen.
    pub async fn next_message(&self, chat: i64) -> Message {
        let found = self.shared.world.wait(self.shared.config.patience, |world| {
            let new = |m: &&mut Message| m.chat == chat && m.author == Author::Bot && !m.looked_at;
            let message = world.messages.iter_mut().find(new)?;
            message.looked_at = true;
            Some(message.clone())
        });
        found.await.unwrap_or_else(|| self.give_up(&format!("a message of the bot in {chat}")))
    }

    /// Waits until the text of a message fulfils the predicate, and returns it.
    ///
    /// # Panics
    /// If it doesn't in time, with what was seen.
    pub async fn wait_for_text(&self, chat: i64, id: i64, holds: impl Fn(&str) -> bool) -> String {
        let found = self.shared.world.wait(self.shared.config.patience, |world| {
            let message = world.messages.iter_mut().find(|m| m.chat == chat && m.id == id)?;
            message.looked_at = true;
            holds(message.text()).then(|| message.text().to_owned())
        });
        found.await.unwrap_or_else(|| self.give_up(&format!("the wanted text in {chat} {id}")))
    }

    /// The text of a message once it has been edited and then left alone for `TelegramConfig::settle`.
    /// Where the final text is known, [`TelegramSim::wait_for_text`] is quicker and surer.
    pub async fn settled(&self, chat: i64, id: i64) -> String {
        let beyond = |world: &World, edits: usize| {
            world.messages.iter().any(|m| m.chat == chat && m.id == id && m.edits.len() > edits)
        };
        if !self.shared.world.until(self.shared.config.patience, |world| beyond(world, 1)).await {
            self.give_up(&format!("an edit of {chat} {id}"));
        }
        loop {
            let before = self.edits(chat, id).len();
            if !self.shared.world.until(self.shared.config.settle, |world| beyond(world, before)).await {
                return self.message(chat, id).text().to_owned();
            }
        }
    }

    /// The message as it is now, deleted or not. Counts as looking.
    pub fn message(&self, chat: i64, id: i64) -> Message {
        let found = {
            let mut world = self.shared.world.look();
            world.messages.iter_mut().find(|m| m.chat == chat && m.id == id).map(|message| {
                message.looked_at = true;
                message.clone()
            })
        };
        found.unwrap_or_else(|| self.give_up(&format!("message {id} in {chat}")))
    }

    /// What people see of a chat, oldest first. Counts as looking.
    pub fn messages(&self, chat: i64) -> Vec<Message> {
        let mut world = self.shared.world.look();
        let visible = world.messages.iter_mut().filter(|m| m.chat == chat && !m.deleted);
        let looked = visible.map(|message| {
            message.looked_at = true;
            message.clone()
        });
        looked.collect()
    }

    /// Every version of a message, the first included.
    pub fn edits(&self, chat: i64, id: i64) -> Vec<Version> {
        self.message(chat, id).edits
    }

    /// The calls of one method, spelled in any case, oldest first.
    pub fn calls(&self, method: &str) -> Vec<Call> {
        let world = self.shared.world.look();
        world.calls.iter().filter(|call| call.method.eq_ignore_ascii_case(method)).cloned().collect()
    }

    /// All calls but `getUpdates`, oldest first.
    pub fn all_calls(&self) -> Vec<Call> {
        let world = self.shared.world.look();
        world.calls.iter().filter(|call| !call.method.eq_ignore_ascii_case("getUpdates")).cloned().collect()
    }

    /// Waits until `method` was called `count` times.
    pub async fn wait_for_calls(&self, method: &str, count: usize) -> Vec<Call> {
        let enough =
            |world: &World| world.calls.iter().filter(|call| call.method.eq_ignore_ascii_case(method)).count() >= count;
        if !self.shared.world.until(self.shared.config.patience, enough).await {
            self.give_up(&format!("{count} calls of {method}"));
        }
        self.calls(method)
    }

    /// Updates that the bot has not confirmed.
    pub fn unread(&self) -> Vec<Value> {
        self.shared.world.look().updates.waiting()
    }

    /// Waits until the bot has confirmed every update so far.
    pub async fn heard(&self) {
        let patience = self.shared.config.patience;
        if !self.shared.world.until(patience, |world| world.updates.waiting().is_empty()).await {
            self.give_up(&format!("the confirmation of {:#?}", self.unread()));
        }
    }

    /// Messages of the bot that nobody has looked at: what a story should not leave behind.
    pub fn unseen(&self) -> Vec<String> {
        let world = self.shared.world.look();
        let unseen = world.messages.iter().filter(|m| m.author == Author::Bot && !m.looked_at && !m.deleted);
        unseen.map(|message| format!("unseen message in {}: {}", message.chat, message.text())).collect()
    }

    /// Mistakes of the bot: markup that can't be parsed, entities that were dropped, methods that don't exist, …
    pub fn complaints(&self) -> Vec<String> {
        self.shared.world.look().complaints.clone()
    }

    /// How the bot answered presses.
    pub fn answers(&self) -> Vec<CallbackAnswer> {
        self.shared.world.look().callbacks.answers.clone()
    }

    /// Presses that the bot has not answered.
    pub fn unanswered(&self) -> Vec<String> {
        self.shared.world.look().callbacks.open()
    }

    /// Waits for the answer to a press.
    pub async fn wait_for_answer(&self, query: &str) -> CallbackAnswer {
        let found = self.shared.world.wait(self.shared.config.patience, |world| {
            world.callbacks.answers.iter().find(|answer| answer.query == query).cloned()
        });
        found.await.unwrap_or_else(|| self.give_up(&format!("the answer to the press {query}")))
    }

    /// The command menus that the bot has set: scope with language, and commands.
    pub fn commands(&self) -> Vec<(String, Value)> {
        self.shared.world.look().commands.clone().into_iter().collect()
    }

    /// Messages in which the bot sent a file.
    pub fn sent_files(&self) -> Vec<Message> {
        let world = self.shared.world.look();
        world.messages.iter().filter(|m| m.author == Author::Bot && m.file.is_some()).cloned().collect()
    }

    /// Paths of files that were fetched.
    pub fn downloads(&self) -> Vec<String> {
        self.shared.world.look().downloads.clone()
    }

    pub fn actions(&self) -> Vec<Action> {
        self.shared.world.look().actions.clone()
    }

    /// Waits for `count` chat actions.
    pub async fn wait_for_actions(&self, count: usize) -> Vec<Action> {
        if !self.shared.world.until(self.shared.config.patience, |world| world.actions.len() >= count).await {
            self.give_up(&format!("{count} chat actions"));
        }
        self.actions()
    }

    /// How the webhook answered, whether the sender saw it or not.
    pub fn webhook_answers(&self) -> Vec<WebhookAnswer> {
        self.shared.world.look().webhook.answers.clone()
    }

    /// Waits for `count` deliveries to the webhook, failed ones included.
    pub async fn wait_for_webhook_answers(&self, count: usize) -> Vec<WebhookAnswer> {
        if !self.shared.world.until(self.shared.config.patience, |world| world.webhook.answers.len() >= count).await {
            self.give_up(&format!("{count} deliveries, there are {:?}", self.webhook_answers()));
        }
        self.webhook_answers()
    }

    /// Time since the simulator started, the scale of `Version::at` and `Call::at`.
    pub fn elapsed(&self) -> Duration {
        self.shared.world.look().started.elapsed()
    }

    fn give_up(&self, what: &str) -> ! {
        let seen = self.shared.world.look().summary();
        panic!("waited in vain for {what}; seen:\n{seen}")
    }
}
