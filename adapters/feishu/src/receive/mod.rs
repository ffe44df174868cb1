//! Receiving: events of either transport become inbound messages.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{ChannelState, Finding, Inbox, Refusal};

use crate::{FeishuConfig, api::Api};

mod threads;

pub(crate) use threads::Threads;

pub(crate) struct Receiver {
    config: Arc<FeishuConfig>,
    api: Arc<Api>,
    threads: Arc<Threads>,
}

impl Receiver {
    pub(crate) fn new(config: Arc<FeishuConfig>, api: Arc<Api>, threads: Arc<Threads>) -> Self {
        Self { config, api, threads }
    }

    pub(crate) async fn receive(
        &self,
        _inbox: Inbox,
        stop: CancellationToken,
        _state: &watch::Sender<ChannelState>,
    ) -> Result<(), Refusal> {
        let _ = (&self.config, &self.api, &self.threads);
        stop.cancelled().await;
        Ok(())
    }

    pub(crate) async fn webhook(&self, _request: Request<Bytes>) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = http::StatusCode::NOT_FOUND;
        response
    }

    pub(crate) async fn doctor(&self) -> Vec<Finding> {
        Vec::new()
    }
}
