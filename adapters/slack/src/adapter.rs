//! One Slack account as a [`ChannelAdapter`]: which calls make up a post, an edit, a look-up.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::warn;
use watchfloor_channel::{
    Body, ChannelAdapter, ChannelId, ChannelState, ConversationId, DeliveryKey, Features, Finding, Inbox, MessageId,
    Operation, Outbound, Overheard, Quota, ReceiveError, RefusalKind, SendError, Sign, TextUnit,
};

use crate::{
    BuildError, SlackConfig,
    accounts::Accounts,
    api::Api,
    errors::{self, CallError},
    history, identity,
    link::Shared,
    render, socket,
    wire::{AuthTest, Opened, Posted},
};

/// Slack's own limit for a text that can be edited, in UTF-16 units after escaping. [`Features::max_text`] stays below.
const MAX_TEXT: usize = 4_000;

/// How long deliveries may still write down what they hold when receiving ends.
const LAST_DELIVERIES: Duration = Duration::from_millis(150);

pub struct SlackAdapter {
    config: Arc<SlackConfig>,
    features: Features,
    api: Arc<Api>,
    accounts: Arc<Accounts>,
    state: watch::Sender<ChannelState>,
}

impl std::fmt::Debug for SlackAdapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SlackAdapter").field("id", &self.config.id).finish_non_exhaustive()
    }
}

impl SlackAdapter {
    pub fn new(config: SlackConfig) -> Result<Self, BuildError> {
        let api = Arc::new(Api::new(&config)?);
        let config = Arc::new(config);
        Ok(Self {
            features: features(&config),
            accounts: Arc::new(Accounts::new(config.clone(), api.clone())),
            config,
            api,
            state: watch::Sender::new(ChannelState::Connecting),
        })
    }

    async fn post(&self, to: &ConversationId, key: &DeliveryKey, text: &str) -> Result<MessageId, SendError> {
        let (account, room) = self.accounts.of_room(&to.room).await?;
        let mut request = json!({
            "channel": room,
            "text": text,
            "unfurl_links": false,
            "unfurl_media": false,
            "metadata": {"event_type": history::EVENT_TYPE, "event_payload": {"key": key.0}},
        });
        if !to.thread.is_empty() {
            request["thread_ts"] = json!(to.thread);
        }
        let posted: Posted = account.api.post("chat.postMessage", &request).await.map_err(CallError::of_write)?;
        if posted.ts.is_empty() {
            return Err(SendError::Uncertain("the answer does not name the message".to_owned()));
        }
        if let Some(warning) = &posted.warning {
            warn!(channel.id = %self.config.id, warning, "Slack took the message with a warning");
        }
        let room = if posted.channel.is_empty() { room } else { &posted.channel };
        let room = identity::spell(identity::split(&to.room).0, room);
        let message = MessageId { room, id: posted.ts };
        // Where the thread's first message was deleted, the post lands in the channel, for everybody to see.
        if !to.thread.is_empty() && posted.message.is_some_and(|message| message.thread_ts.is_none()) {
            return Err(self.take_back(&message).await);
        }
        Ok(message)
    }

    async fn take_back(&self, stray: &MessageId) -> SendError {
        if let Err(error) = self.delete(stray).await {
            warn!(channel.id = %self.config.id, message.id = stray.id, %error, "a stray message could not be removed");
        }
        SendError::Refused(errors::thread_gone())
    }

    /// Text alone: it also clears the blocks a message may have.
    async fn edit(&self, message: &MessageId, text: &str) -> Result<(), SendError> {
        let (account, room) = self.accounts.of_room(&message.room).await?;
        let request = json!({"channel": room, "ts": message.id, "text": text});
        let _: Value = account.api.post("chat.update", &request).await.map_err(CallError::of_write)?;
        Ok(())
    }

    async fn delete(&self, message: &MessageId) -> Result<(), SendError> {
        let (account, room) = self.accounts.of_room(&message.room).await?;
        let request = json!({"channel": room, "ts": message.id});
        match account.api.post::<Value>("chat.delete", &request).await {
            Err(error) if !error.has_code("message_not_found") => Err(error.of_write()),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl ChannelAdapter for SlackAdapter {
    fn id(&self) -> &ChannelId {
        &self.config.id
    }

    fn features(&self) -> &Features {
        &self.features
    }

    fn state(&self) -> watch::Receiver<ChannelState> {
        self.state.subscribe()
    }

    async fn receive(&self, inbox: Inbox, stop: CancellationToken) -> Result<(), ReceiveError> {
        self.state.send_replace(ChannelState::Connecting);
        let give_up = CancellationToken::new();
        let _dropped = give_up.clone().drop_guard();
        let deliveries = TaskTracker::new();
        self.accounts.start_over();
        let connection = watch::Sender::new(ChannelState::Connecting);
        let open = async {
            let Some(signed_in) = stop.run_until_cancelled(self.accounts.any_signed_in()).await else { return Ok(()) };
            signed_in?;
            let shared = Arc::new(Shared {
                api: self.api.clone(),
                config: self.config.clone(),
                accounts: self.accounts.clone(),
                inbox,
                stop: stop.clone(),
                deliveries: deliveries.clone(),
                give_up: give_up.clone(),
                kinds: Mutex::new(HashSet::new()),
                crowded: AtomicBool::new(false),
            });
            socket::keep_open(shared, &connection).await
        };
        let received = tokio::select! {
            received = Box::pin(open) => received,
            never = self.accounts.tend(connection.subscribe(), &self.state) => match never {},
        };
        deliveries.close();
        if tokio::time::timeout(LAST_DELIVERIES, deliveries.wait()).await.is_err() {
            give_up.cancel();
            deliveries.wait().await;
        }
        match received {
            Ok(()) => {
                self.state.send_replace(ChannelState::Off("stopped".to_owned()));
                Ok(())
            }
            Err(refusal) => {
                warn!(channel.id = %self.config.id, code = refusal.code, remedy = refusal.remedy, "Slack is off");
                self.state.send_replace(ChannelState::Off(refusal.remedy.clone()));
                Err(ReceiveError::Refused(refusal))
            }
        }
    }

    async fn send(&self, message: &Outbound) -> Result<MessageId, SendError> {
        let text = || {
            let text = render::body(&message.body);
            if text.trim().is_empty() {
                let refusal = errors::refused(RefusalKind::Content, "no_text", "there is nothing to show");
                return Err(SendError::Refused(refusal));
            }
            // A longer post would be cut silently, a longer edit refused.
            if TextUnit::Utf16.measure(&text) > MAX_TEXT {
                let refusal =
                    errors::refused(RefusalKind::TooLong, "msg_too_long", "the text is too long for one message");
                return Err(SendError::Refused(refusal));
            }
            Ok(text)
        };
        match &message.operation {
            Operation::Post(key) => self.post(&message.conversation, key, &text()?).await,
            Operation::Edit(edited) => self.edit(edited, &text()?).await.map(|()| edited.clone()),
            Operation::Delete(deleted) => self.delete(deleted).await.map(|()| deleted.clone()),
        }
    }

    async fn find(
        &self,
        conversation: &ConversationId,
        delivery: &DeliveryKey,
    ) -> Result<Option<MessageId>, SendError> {
        let (account, room) = self.accounts.of_room(&conversation.room).await?;
        let spelled = |found: MessageId| MessageId { room: conversation.room.clone(), ..found };
        let at = ConversationId { room: room.to_owned(), ..conversation.clone() };
        let found = history::find(&account.api, &at, delivery).await?;
        if found.is_some() || conversation.thread.is_empty() {
            return Ok(found.map(spelled));
        }
        // Posted under a deleted message? Then it lies in the channel.
        let room = ConversationId { thread: String::new(), ..at };
        match history::find(&account.api, &room, delivery).await?.map(spelled) {
            Some(stray) => Err(self.take_back(&stray).await),
            None => Ok(None),
        }
    }

    async fn thread(&self, of: &ConversationId, limit: usize) -> Result<Vec<Overheard>, SendError> {
        let (account, room) = self.accounts.of_room(&of.room).await?;
        let own = account.identity().await.map_err(CallError::of_read)?;
        let at = ConversationId { room: room.to_owned(), ..of.clone() };
        let mut messages = history::thread(&account.api, &at, limit, own).await?;
        account.names.name_all(messages.iter_mut().map(|message| &mut message.author), own).await;
        Ok(messages)
    }

    async fn react(&self, to: &MessageId, sign: Sign) -> Result<(), SendError> {
        let name = match sign {
            Sign::Taken => "eyes",
            Sign::Done => "white_check_mark",
        };
        let (account, room) = self.accounts.of_room(&to.room).await?;
        let request = json!({"channel": room, "timestamp": to.id, "name": name});
        match account.api.post::<Value>("reactions.add", &request).await {
            Err(error) if !error.has_code("already_reacted") => Err(error.of_write()),
            _ => Ok(()),
        }
    }

    fn measure(&self, body: &Body) -> usize {
        self.features.unit.measure(&render::body(body))
    }

    fn mention(&self, person: &str) -> String {
        render::mention(identity::split(person).1)
    }

    async fn doctor(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (nth, (label, account)) in self.accounts.all().enumerate() {
            let bot = account.api.get::<AuthTest>("auth.test", &[]).await;
            let of = if nth > 0 { format!(" of {label}") } else { String::new() };
            findings.push(finding(&format!("the bot token{of} is accepted"), bot.err()));
        }
        let app = self.api.open_connection::<Opened>().await;
        findings.push(finding("the app token opens Socket Mode connections", app.err()));
        findings
    }
}

fn finding(what: &str, error: Option<CallError>) -> Finding {
    Finding {
        ok: error.is_none(),
        what: what.to_owned(),
        remedy: error.map(|error| match error {
            CallError::Refused(refusal) => refusal.remedy,
            error => error.to_string(),
        }),
    }
}

fn features(config: &SlackConfig) -> Features {
    let per_minute =
        |count: u32, least: u32| Quota { count, per: Duration::from_secs(60), burst: (count / 20).max(least) };
    Features {
        // Rendering adds boundaries and escapes that a splitter can't foresee to the last character.
        max_text: 3_900,
        unit: TextUnit::Utf16,
        edits: true,
        edit_budget: None,
        min_edit_gap: Duration::from_secs(3),
        posts: per_minute(config.posts_per_minute, 3),
        account_edits: per_minute(config.edits_per_minute, 10),
        threads: true,
        buttons: false,
        files: false,
        reactions: true,
        finds_posts: true,
    }
}
