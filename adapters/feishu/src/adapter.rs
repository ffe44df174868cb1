//! One Feishu app as a [`ChannelAdapter`]: which part of the crate does what.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{
    Body, ChannelAdapter, ChannelId, ChannelState, ConversationId, Features, FileRef, Finding, Inbox, MessageId,
    Outbound, Overheard, ReceiveError, Refusal, SendError, Sign,
};

use crate::{
    BuildError, FeishuConfig,
    api::Api,
    features,
    receive::{Receiver, Threads},
    render,
};

pub struct FeishuAdapter {
    config: Arc<FeishuConfig>,
    features: Features,
    api: Arc<Api>,
    threads: Arc<Threads>,
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
        let api = Arc::new(Api::new(&config)?);
        let config = Arc::new(config);
        let threads = Arc::new(Threads::new(config.notes.clone()));
        Ok(Self {
            features: features::features(config.reply_mode),
            receiver: Receiver::new(config.clone(), api.clone(), threads.clone()),
            config,
            api,
            threads,
            state: watch::Sender::new(ChannelState::Connecting),
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
        self.api.quota.settle().await;
        let received = self.receiver.receive(inbox, stop, &self.state).await;
        self.api.quota.settle().await;
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
        let _ = (message, &self.threads);
        Err(SendError::Refused(Refusal::unsupported("not built yet")))
    }

    async fn webhook(&self, request: Request<Bytes>, _: &Inbox) -> Response<Bytes> {
        self.receiver.webhook(request).await
    }

    async fn thread(&self, of: &ConversationId, limit: usize) -> Result<Vec<Overheard>, SendError> {
        let _ = (of, limit);
        Ok(Vec::new())
    }

    async fn fetch(&self, of: &ConversationId, file: &FileRef, limit: usize) -> Result<Bytes, SendError> {
        let _ = (of, file, limit);
        Err(SendError::Refused(Refusal::unsupported("not built yet")))
    }

    async fn react(&self, to: &MessageId, sign: Sign) -> Result<(), SendError> {
        let _ = (to, sign);
        Ok(())
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        vec![("calls_this_month", self.api.quota.this_month())]
    }

    fn measure(&self, body: &Body) -> usize {
        self.features.unit.measure(&render::post(body).to_string())
    }

    fn mention(&self, person: &str) -> String {
        render::mention(person)
    }

    async fn doctor(&self) -> Vec<Finding> {
        self.receiver.doctor().await
    }
}
