//! One Telegram bot as a [`ChannelAdapter`]: which calls make up a post, an edit, a removal.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::warn;
use watchfloor_channel::{
    Body, ChannelAdapter, ChannelId, ChannelState, ConversationId, Features, Finding, Inbox, MessageId, Outbound,
    Overheard, ReceiveError, Refusal, SendError, Sign,
};

use crate::{
    BuildError, TelegramConfig,
    api::Api,
    features,
    receive::{Receiver, Rooms},
    render,
};

pub struct TelegramAdapter {
    config: Arc<TelegramConfig>,
    features: Features,
    receiver: Receiver,
    state: watch::Sender<ChannelState>,
}

impl std::fmt::Debug for TelegramAdapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TelegramAdapter").field("id", &self.config.id).finish_non_exhaustive()
    }
}

impl TelegramAdapter {
    pub fn new(config: TelegramConfig) -> Result<Self, BuildError> {
        let api = Arc::new(Api::new(&config)?);
        let config = Arc::new(config);
        let rooms = Arc::new(Rooms::new(config.notes.clone()));
        Ok(Self {
            features: features::features(),
            receiver: Receiver::new(config.clone(), api, rooms),
            config,
            state: watch::Sender::new(ChannelState::Connecting),
        })
    }
}

#[async_trait]
impl ChannelAdapter for TelegramAdapter {
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
        match self.receiver.receive(inbox, stop, &self.state).await {
            Ok(()) => {
                self.state.send_replace(ChannelState::Off("stopped".to_owned()));
                Ok(())
            }
            Err(refusal) => {
                warn!(channel.id = %self.config.id, code = refusal.code, remedy = refusal.remedy, "Telegram is off");
                self.state.send_replace(ChannelState::Off(refusal.remedy.clone()));
                Err(ReceiveError::Refused(refusal))
            }
        }
    }

    async fn send(&self, _: &Outbound) -> Result<MessageId, SendError> {
        Err(SendError::Refused(Refusal::unsupported("not yet")))
    }

    async fn webhook(&self, request: Request<Bytes>, _: &Inbox) -> Response<Bytes> {
        self.receiver.webhook(request).await
    }

    async fn thread(&self, _: &ConversationId, _: usize) -> Result<Vec<Overheard>, SendError> {
        Ok(Vec::new())
    }

    async fn react(&self, _: &MessageId, _: Sign) -> Result<(), SendError> {
        Ok(())
    }

    fn is_private(&self, room: &str) -> bool {
        !room.starts_with('-')
    }

    fn measure(&self, body: &Body) -> usize {
        self.features.unit.measure(&render::plain(body.text()))
    }

    fn mention(&self, person: &str) -> String {
        format!("<@{person}>")
    }

    async fn doctor(&self) -> Vec<Finding> {
        self.receiver.doctor().await
    }
}
