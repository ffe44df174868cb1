//! One Slack account as a [`ChannelAdapter`]: which calls make up a post, an edit, a look-up.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{info, warn};
use watchfloor_channel::{
    Body, ChannelAdapter, ChannelId, ChannelState, ConversationId, DeliveryKey, Features, FileRef, Finding, Inbox,
    MessageId, Operation, Outbound, Overheard, Quota, ReceiveError, Refusal, RefusalKind, SendError, Sign, TextUnit,
    backoff::Backoff,
};

use crate::{
    BuildError, SlackConfig,
    api::Api,
    errors::{self, CallError},
    events::Identity,
    files::Files,
    history,
    link::Shared,
    names::Names,
    render, socket,
    wire::{Account, Opened, Posted},
};

/// Slack's own limit for a text that can be edited, in UTF-16 units after escaping. [`Features::max_text`] stays below.
const MAX_TEXT: usize = 4_000;

/// How long deliveries may still write down what they hold when receiving ends.
const LAST_DELIVERIES: Duration = Duration::from_millis(150);

pub struct SlackAdapter {
    config: Arc<SlackConfig>,
    features: Features,
    api: Arc<Api>,
    names: Arc<Names>,
    files: Files,
    state: watch::Sender<ChannelState>,
    account: OnceCell<Known>,
}

/// What `auth.test` told.
struct Known {
    identity: Identity,
    team: String,
}

impl std::fmt::Debug for SlackAdapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SlackAdapter").field("id", &self.config.id).finish_non_exhaustive()
    }
}

impl SlackAdapter {
    pub fn new(config: SlackConfig) -> Result<Self, BuildError> {
        let api = Arc::new(Api::new(&config)?);
        Ok(Self {
            features: features(&config),
            names: Arc::new(Names::new(api.clone())),
            files: Files::new(&api, &config)?,
            config: Arc::new(config),
            api,
            state: watch::Sender::new(ChannelState::Connecting),
            account: OnceCell::new(),
        })
    }

    async fn account(&self) -> Result<&Known, CallError> {
        self.account
            .get_or_try_init(|| async {
                let account: Account = self.api.get("auth.test", &[]).await?;
                if account.user_id.is_empty() {
                    return Err(CallError::Unclear("auth.test names no user".to_owned()));
                }
                info!(channel.id = %self.config.id, user = account.user_id, team = account.team_id, "signed in to Slack");
                let identity = Identity { user_id: account.user_id, bot_id: account.bot_id, app_id: None };
                Ok(Known { identity, team: account.team_id })
            })
            .await
    }

    /// Nothing can be told apart from our own messages before we know our ids.
    async fn sign_in(&self, stop: &CancellationToken) -> Result<Option<Identity>, Refusal> {
        let mut backoff = Backoff::new(self.config.reconnect.first, self.config.reconnect.longest);
        loop {
            let tried = stop.run_until_cancelled(self.account()).await;
            let error = match tried {
                None => return Ok(None),
                Some(Ok(known)) => return Ok(Some(known.identity.clone())),
                Some(Err(CallError::Refused(refusal))) if errors::is_fatal(&refusal) => return Err(refusal),
                Some(Err(error)) => error,
            };
            let at_least = if let CallError::RateLimited(wait) = error { wait } else { Duration::ZERO };
            warn!(channel.id = %self.config.id, %error, "can't sign in to Slack yet");
            self.state.send_replace(ChannelState::Disconnected(error.to_string()));
            let wait = backoff.next(&mut rand::rng()).max(at_least);
            if stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return Ok(None);
            }
        }
    }

    async fn post(&self, to: &ConversationId, key: &DeliveryKey, text: &str) -> Result<MessageId, SendError> {
        let mut request = json!({
            "channel": to.room,
            "text": text,
            "unfurl_links": false,
            "unfurl_media": false,
            "metadata": {"event_type": history::EVENT_TYPE, "event_payload": {"key": key.0}},
        });
        if !to.thread.is_empty() {
            request["thread_ts"] = json!(to.thread);
        }
        let posted: Posted = self.api.post("chat.postMessage", &request).await.map_err(CallError::of_write)?;
        if posted.ts.is_empty() {
            return Err(SendError::Uncertain("the answer does not name the message".to_owned()));
        }
        if let Some(warning) = &posted.warning {
            warn!(channel.id = %self.config.id, warning, "Slack took the message with a warning");
        }
        let room = if posted.channel.is_empty() { to.room.clone() } else { posted.channel };
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
        let request = json!({"channel": message.room, "ts": message.id, "text": text});
        let _: Value = self.api.post("chat.update", &request).await.map_err(CallError::of_write)?;
        Ok(())
    }

    async fn delete(&self, message: &MessageId) -> Result<(), SendError> {
        let request = json!({"channel": message.room, "ts": message.id});
        match self.api.post::<Value>("chat.delete", &request).await {
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
        let received = async {
            let Some(identity) = self.sign_in(&stop).await? else { return Ok(()) };
            let shared = Arc::new(Shared {
                api: self.api.clone(),
                config: self.config.clone(),
                identity,
                names: self.names.clone(),
                inbox,
                stop,
                deliveries: deliveries.clone(),
                give_up: give_up.clone(),
                kinds: Mutex::new(HashSet::new()),
                crowded: AtomicBool::new(false),
            });
            socket::keep_open(shared, &self.state).await
        };
        let received = Box::pin(received).await;
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
            Operation::Post(key) if let Body::File(file) = &message.body => {
                self.files.upload(&self.api, &message.conversation, key, file).await
            }
            Operation::Edit(_) if matches!(message.body, Body::File(_)) => {
                Err(SendError::Refused(Refusal::unsupported("a message can't become a file")))
            }
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
        let found = history::find(&self.api, conversation, delivery).await?;
        if found.is_some() || conversation.thread.is_empty() {
            return Ok(found);
        }
        // Posted under a deleted message? Then it lies in the channel.
        let room = ConversationId { thread: String::new(), ..conversation.clone() };
        match history::find(&self.api, &room, delivery).await? {
            Some(stray) => Err(self.take_back(&stray).await),
            None => Ok(None),
        }
    }

    async fn thread(&self, of: &ConversationId, limit: usize) -> Result<Vec<Overheard>, SendError> {
        let known = self.account().await.map_err(CallError::of_read)?;
        let mut messages = history::thread(&self.api, of, limit, &known.team, &known.identity).await?;
        self.names.name_all(messages.iter_mut().map(|message| &mut message.author)).await;
        Ok(messages)
    }

    async fn fetch(&self, _: &ConversationId, file: &FileRef, limit: usize) -> Result<Bytes, SendError> {
        self.files.fetch(&self.api, file, limit).await
    }

    async fn react(&self, to: &MessageId, sign: Sign) -> Result<(), SendError> {
        let name = match sign {
            Sign::Taken => "eyes",
            Sign::Done => "white_check_mark",
        };
        let request = json!({"channel": to.room, "timestamp": to.id, "name": name});
        match self.api.post::<Value>("reactions.add", &request).await {
            Err(error) if !error.has_code("already_reacted") => Err(error.of_write()),
            _ => Ok(()),
        }
    }

    fn measure(&self, body: &Body) -> usize {
        self.features.unit.measure(&render::body(body))
    }

    fn mention(&self, person: &str) -> String {
        render::mention(person)
    }

    async fn doctor(&self) -> Vec<Finding> {
        let bot = self.api.get::<Account>("auth.test", &[]).await;
        let app = self.api.open_connection::<Opened>().await;
        vec![
            finding("the bot token is accepted", bot.err()),
            finding("the app token opens Socket Mode connections", app.err()),
        ]
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
        files: true,
        reactions: true,
        finds_posts: true,
    }
}
