//! One Slack account as a [`ChannelAdapter`]: which calls make up a post, an edit, a look-up.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::warn;
use watchfloor_channel::{
    Body, Budget, ChannelAdapter, ChannelId, ChannelState, ConversationId, Counted, DeliveryKey, Features, FileRef,
    Finding, Gaps, Inbox, MessageId, Operation, Outbound, Overheard, Quota, ReceiveError, Refusal, Repeats, Scope,
    SendError, Sign, text::Size,
};

use crate::{
    BuildError, SlackConfig, Transport,
    accounts::Accounts,
    api::Api,
    arrivals::Shared,
    doctor::Examination,
    errors::{self, CallError},
    files::Files,
    history, identity,
    outgoing::{self, Content, LIMITS},
    render, socket,
    webhook::{self, Door},
    wire::{Chat, Posted},
};

/// How long deliveries may still write down what they hold when receiving ends.
const LAST_DELIVERIES: Duration = Duration::from_millis(150);

pub struct SlackAdapter {
    config: Arc<SlackConfig>,
    features: Features,
    api: Arc<Api>,
    accounts: Arc<Accounts>,
    files: Files,
    state: watch::Sender<ChannelState>,
    /// `None`: events come over sockets.
    door: Option<Door>,
}

impl std::fmt::Debug for SlackAdapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SlackAdapter").field("id", &self.config.id).finish_non_exhaustive()
    }
}

impl SlackAdapter {
    pub fn new(config: SlackConfig) -> Result<Self, BuildError> {
        let api = Arc::new(Api::new(&config)?);
        let door = match &config.transport {
            Transport::Socket { .. } => None,
            Transport::Events { signing_secret, now } => {
                Some(Door::new(config.id.clone(), signing_secret.clone(), now.clone()))
            }
        };
        let config = Arc::new(config);
        Ok(Self {
            door,
            features: features(&config),
            accounts: Arc::new(Accounts::new(config.clone(), api.clone())),
            files: Files::new(&api, &config)?,
            config,
            api,
            state: watch::Sender::new(ChannelState::Connecting),
        })
    }

    async fn post(&self, to: &ConversationId, key: &DeliveryKey, content: &Content) -> Result<MessageId, SendError> {
        let (account, room) = self.accounts.of_room(&to.room).await?;
        let mut request = json!({
            "channel": room,
            "text": content.text,
            "unfurl_links": false,
            "unfurl_media": false,
            "metadata": {"event_type": history::EVENT_TYPE, "event_payload": {"key": key.0}},
        });
        let mut threaded = !to.thread.is_empty();
        if threaded {
            request["thread_ts"] = json!(to.thread);
        }
        let mut posted: Result<Posted, _> = content.call(&account.api, "chat.postMessage", request.clone()).await;
        // Where a channel has no threads, everything is said to everybody, and so was the question.
        if threaded && posted.as_ref().is_err_and(|error| error.has_code("restricted_action_non_threadable_channel")) {
            threaded = false;
            history::mark_unthreaded(&mut request);
            posted = content.call(&account.api, "chat.postMessage", request).await;
        }
        let posted = posted.map_err(CallError::of_write)?;
        if posted.ts.is_empty() {
            return Err(SendError::Uncertain("the answer does not name the message".to_owned()));
        }
        let room = if posted.channel.is_empty() { room } else { &posted.channel };
        let room = identity::spell(identity::split(&to.room).0, room);
        let message = MessageId { room, id: posted.ts };
        // Where the thread's first message was deleted, the post lands in the channel, for everybody to see.
        if threaded && posted.message.is_some_and(|message| message.thread_ts.is_none()) {
            self.take_back(&message).await;
            return Err(SendError::Refused(errors::thread_gone()));
        }
        if posted.warning.is_some_and(|warning| warning.contains("message_truncated")) {
            self.take_back(&message).await;
            return Err(SendError::Refused(errors::cut_short()));
        }
        Ok(message)
    }

    async fn take_back(&self, stray: &MessageId) {
        if let Err(error) = self.delete(stray).await {
            warn!(channel.id = %self.config.id, message.id = stray.id, %error, "a stray message could not be removed");
        }
    }

    /// Text alone also clears the blocks a message may have.
    async fn edit(&self, message: &MessageId, content: &Content) -> Result<(), SendError> {
        let (account, room) = self.accounts.of_room(&message.room).await?;
        let request = json!({"channel": room, "ts": message.id, "text": content.text});
        let _: Value = content.call(&account.api, "chat.update", request).await.map_err(CallError::of_write)?;
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
        self.accounts.start_over();
        let connection = watch::Sender::new(ChannelState::Connecting);
        // Ends with `stop`, or when no workspace takes our token any more.
        let connected = stop.child_token();
        let open = async {
            let signed_in = connected.run_until_cancelled(self.accounts.any_signed_in()).await;
            let Some(signed_in) = signed_in else { return Ok(()) };
            signed_in?;
            let (api, config, accounts) = (self.api.clone(), self.config.clone(), self.accounts.clone());
            let shared = Arc::new(Shared::new(api, config, accounts, inbox, connected.clone()));
            let _dropped = shared.give_up.clone().drop_guard();
            let received = match &self.door {
                None => socket::keep_open(shared.clone(), &connection).await,
                Some(door) => {
                    door.keep_open(shared.clone(), &connection).await;
                    Ok(())
                }
            };
            shared.deliveries.close();
            if tokio::time::timeout(LAST_DELIVERIES, shared.deliveries.wait()).await.is_err() {
                shared.give_up.cancel();
                shared.deliveries.wait().await;
            }
            received
        };
        let mut open = Box::pin(open);
        let received = tokio::select! {
            received = &mut open => received,
            refusal = self.accounts.all_out() => {
                connected.cancel();
                open.await.and(Err(refusal))
            }
            never = self.accounts.tend(connection.subscribe(), &self.state) => match never {},
        };
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
        match &message.operation {
            Operation::Post(key) if let Body::File(file) = &message.body => {
                let (account, at) = self.accounts.of_conversation(&message.conversation).await?;
                let posted = self.files.upload(&account.api, &at, key, file).await?;
                Ok(MessageId { room: message.conversation.room.clone(), ..posted })
            }
            Operation::Edit(_) if matches!(message.body, Body::File(_)) => {
                Err(SendError::Refused(Refusal::unsupported("a message can't become a file")))
            }
            Operation::Post(key) => self.post(&message.conversation, key, &Content::of(&message.body)?).await,
            Operation::Edit(edited) => self.edit(edited, &Content::of(&message.body)?).await.map(|()| edited.clone()),
            Operation::Delete(deleted) => self.delete(deleted).await.map(|()| deleted.clone()),
        }
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        self.door.iter().map(|door| ("refused_requests", door.refused())).collect()
    }

    async fn webhook(&self, request: Request<Bytes>, _: &Inbox) -> Response<Bytes> {
        match &self.door {
            Some(door) => door.answer(request).await,
            None => webhook::status(StatusCode::NOT_FOUND),
        }
    }

    async fn find(
        &self,
        conversation: &ConversationId,
        delivery: &DeliveryKey,
    ) -> Result<Option<MessageId>, SendError> {
        let (account, at) = self.accounts.of_conversation(conversation).await?;
        let spelled = |found: MessageId| MessageId { room: conversation.room.clone(), ..found };
        let found = history::find(&account.api, &at, delivery).await?;
        if found.is_some() || conversation.thread.is_empty() {
            return Ok(found.map(|found| spelled(found.id)));
        }
        // Posted under a deleted message? Then it lies in the channel.
        let room = ConversationId { thread: String::new(), ..at };
        match history::find(&account.api, &room, delivery).await? {
            Some(found) if found.unthreaded => Ok(Some(spelled(found.id))),
            Some(stray) => {
                self.take_back(&spelled(stray.id)).await;
                Err(SendError::Refused(errors::thread_gone()))
            }
            None => Ok(None),
        }
    }

    async fn thread(&self, of: &ConversationId, limit: usize) -> Result<Vec<Overheard>, SendError> {
        let (account, at) = self.accounts.of_conversation(of).await?;
        let own = account.identity().await.map_err(CallError::of_read)?;
        let mut messages = history::thread(&account.api, &at, limit, own).await?;
        account.names.name_all(messages.iter_mut().map(|message| &mut message.author), own).await;
        Ok(messages)
    }

    async fn fetch(&self, of: &ConversationId, file: &FileRef, limit: usize) -> Result<Bytes, SendError> {
        let (account, _) = self.accounts.of_room(&of.room).await?;
        let file = FileRef { id: identity::split(&file.id).1.to_owned(), ..file.clone() };
        self.files.fetch(&account.api, &file, limit).await
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

    async fn private_chat(&self, person: &str) -> Result<ConversationId, SendError> {
        let (account, person_there) = self.accounts.of_room(person).await?;
        let request = json!({"users": person_there});
        let opened: Chat = account.api.post("conversations.open", &request).await.map_err(CallError::of_read)?;
        if opened.channel.id.is_empty() {
            return Err(SendError::Unavailable("the answer names no chat".to_owned()));
        }
        let room = identity::spell(identity::split(person).0, &opened.channel.id);
        Ok(ConversationId { channel: self.config.id.clone(), room, thread: String::new() })
    }

    fn measure(&self, body: &Body) -> Size {
        outgoing::size(&render::body(body))
    }

    fn mention(&self, person: &str) -> String {
        render::mention(identity::split(person).1)
    }

    async fn doctor(&self, rooms: &[String]) -> Vec<Finding> {
        Examination { config: &self.config, api: &self.api, accounts: &self.accounts, client: &self.files.client }
            .look(rooms)
            .await
    }
}

fn features(config: &SlackConfig) -> Features {
    let per_minute =
        |count: u32, least: u32| Quota { count, per: Duration::from_secs(60), burst: (count / 20).max(least) };
    let (posts, edits) = (per_minute(config.posts_per_minute, 3), per_minute(config.edits_per_minute, 10));
    Features {
        limits: LIMITS,
        edits: true,
        edit_budget: None,
        edit_gaps: Gaps::constant(Duration::from_secs(3)),
        budgets: vec![
            Budget { counts: Counted::Posts, scope: Scope::Room, quota: posts },
            Budget { counts: Counted::Edits, scope: Scope::Account, quota: edits },
        ],
        threads: true,
        buttons: true,
        files: true,
        reactions: true,
        typing: None,
        repeats: Repeats::LookedUp,
    }
}
