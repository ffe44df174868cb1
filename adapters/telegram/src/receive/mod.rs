//! Updates in.

mod rooms;

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{ChannelState, Finding, Inbox, Refusal};

use crate::{TelegramConfig, api::Api};
pub(crate) use rooms::Rooms;

pub(crate) struct Receiver {}

impl Receiver {
    pub(crate) fn new(_: Arc<TelegramConfig>, _: Arc<Api>, _: Arc<Rooms>) -> Self {
        Self {}
    }

    pub(crate) async fn receive(
        &self,
        _: Inbox,
        stop: CancellationToken,
        state: &watch::Sender<ChannelState>,
    ) -> Result<(), Refusal> {
        state.send_replace(ChannelState::Connected);
        stop.cancelled().await;
        Ok(())
    }

    pub(crate) async fn webhook(&self, _: Request<Bytes>) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = http::StatusCode::NOT_FOUND;
        response
    }

    pub(crate) async fn doctor(&self) -> Vec<Finding> {
        Vec::new()
    }
}
