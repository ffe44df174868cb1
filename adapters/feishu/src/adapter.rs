//! One Feishu app as a [`ChannelAdapter`]: which part of the crate does what.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::Response;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{
    Body, ChannelAdapter, ChannelId, ChannelState, ConversationId, Features, FileRef, Finding, Inbox, MessageId,
    Operation, Outbound, Overheard, ReceiveError, RefusalKind, SendError, Sign, text::Size,
};

use crate::{
    BuildError, FeishuConfig, ReplyMode,
    api::Api,
    call::{Call, Request},
    errors::CallError,
    features, files,
    history::History,
    names::Names,
    outgoing::{Outgoing, measure},
    receive::{Receiver, Threads},
    render::{self, Form},
};

pub struct FeishuAdapter {
    config: Arc<FeishuConfig>,
    features: Features,
    api: Arc<Api>,
    outgoing: Outgoing,
    history: History,
    names: Arc<Names>,
    receiver: Receiver,
    state: watch::Sender<ChannelState>,
}

impl std::fmt::Debug for FeishuAdapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FeishuAdapter").field("id", &self.config.id).finish_non_exhaustive()
    }
}

impl FeishuAdapter {
    pub fn new(config: FeishuConfig) -> Result<Self, BuildError> {
        let state = watch::Sender::new(ChannelState::Connecting);
        let api = Arc::new(Api::new(&config, state.clone())?);
        let config = Arc::new(config);
        let threads = Arc::new(Threads::new(config.notes.clone()));
        let names = Arc::new(Names::new());
        Ok(Self {
            features: features::features(config.reply_mode),
            outgoing: Outgoing::new(&config, api.clone(), threads.clone()),
            receiver: Receiver::new(config.clone(), api.clone(), threads.clone(), names.clone()),
            history: History::new(api.clone(), threads),
            names,
            config,
            api,
            state,
        })
    }
}

#[async_trait]
impl ChannelAdapter for FeishuAdapter {
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
        self.api.quota.begin().await;
        let received = self.receiver.receive(inbox, stop, &self.state).await;
        self.api.quota.end().await;
        match received {
            Ok(()) => {
                self.state.send_replace(ChannelState::Off("stopped".to_owned()));
                Ok(())
            }
            Err(refusal) => {
                tracing::warn!(channel.id = %self.config.id, code = refusal.code, remedy = refusal.remedy, "Feishu is off");
                self.state.send_replace(ChannelState::Off(refusal.remedy.clone()));
                Err(ReceiveError::Refused(refusal))
            }
        }
    }

    async fn send(&self, message: &Outbound) -> Result<MessageId, SendError> {
        match &message.operation {
            Operation::Post(key) => self.outgoing.post(message, &key.0).await,
            Operation::Edit(edited) => self.outgoing.edit(edited, &message.body).await.map(|()| edited.clone()),
            Operation::Delete(deleted) => self.outgoing.delete(deleted).await.map(|()| deleted.clone()),
        }
    }

    async fn webhook(&self, request: http::Request<Bytes>, _: &Inbox) -> Response<Bytes> {
        self.receiver.webhook(request).await
    }

    async fn thread(&self, of: &ConversationId, limit: usize) -> Result<Vec<Overheard>, SendError> {
        let Some(container) = self.history.container(of).await? else { return Ok(Vec::new()) };
        let own = self.api.identity().await.map_err(CallError::of_read)?;
        let mut messages = self.history.read(&container, limit, &own).await?;
        self.names.name_all(&self.api, messages.iter_mut().map(|message| &mut message.author)).await;
        Ok(messages)
    }

    async fn fetch(&self, _: &ConversationId, file: &FileRef, limit: usize) -> Result<Bytes, SendError> {
        files::fetch(&self.api, file, limit).await
    }

    async fn react(&self, to: &MessageId, sign: Sign) -> Result<(), SendError> {
        let emoji = match sign {
            Sign::Taken => "OnIt",
            Sign::Done => "DONE",
        };
        let request = json!({"reaction_type": {"emoji_type": emoji}});
        let request = Request::messages([to.id.as_str(), "reactions"]).json(request);
        match self.api.call::<Value>(Call::React, request).await {
            // A sign is nice to have.
            Err(CallError::Refused(refusal))
                if matches!(refusal.kind, RefusalKind::MessageGone | RefusalKind::Unsupported) =>
            {
                Ok(())
            }
            done => done.map(drop).map_err(CallError::of_write),
        }
    }

    /// Feishu opens the chat with the first message to the person.
    async fn private_chat(&self, person: &str) -> Result<ConversationId, SendError> {
        Ok(ConversationId { channel: self.config.id.clone(), room: person.to_owned(), thread: String::new() })
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        let mut figures = vec![("calls_this_month", self.api.quota.this_month())];
        figures.extend(self.receiver.figures());
        figures
    }

    fn measure(&self, body: &Body) -> Size {
        match (body, self.config.reply_mode) {
            (Body::Ask(_), _) | (_, ReplyMode::Card) => measure(body, Form::Card),
            (_, ReplyMode::Text) => measure(body, Form::Post),
            // A room may turn from one to the other.
            (_, ReplyMode::Auto) => measure(body, Form::Post).or(measure(body, Form::Card)),
        }
    }

    fn mention(&self, person: &str) -> String {
        render::mention(person)
    }

    async fn doctor(&self, rooms: &[String]) -> Vec<Finding> {
        self.receiver.doctor(rooms).await
    }
}
