//! The way in: Telegram's updates, by polling or by webhook, until they are durable. What goes out is the adapter's.

mod address;
mod addressee;
mod arrivals;
mod clicks;
mod commands;
mod doctor;
mod frame;
#[cfg(test)]
mod fuzz;
mod gather;
mod line;
mod membership;
mod messages;
mod poll;
mod rooms;
mod sign_in;
mod text_in;
mod threads;
mod trouble;
mod updates;
mod webhook;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;
use watchfloor_channel::{ChannelState, ConversationId, Finding, Inbox, MessageId, NotesError, Refusal};

use self::{
    arrivals::{Counts, Shared},
    threads::Threads,
    trouble::Trouble,
    webhook::Door,
};
pub(crate) use rooms::Rooms;

use crate::{Intake, TelegramConfig, api::Api};

/// What is under way when we are asked to stop may take this long.
const LAST_DELIVERIES: Duration = Duration::from_millis(800);
/// A post that stands in the chat must not look lost because its note takes long.
const NOTING: Duration = Duration::from_secs(5);

pub(crate) struct Receiver {
    config: Arc<TelegramConfig>,
    api: Arc<Api>,
    rooms: Arc<Rooms>,
    threads: Arc<Threads>,
    counts: Arc<Counts>,
    door: Option<Arc<Door>>,
}

impl Receiver {
    pub(crate) fn new(config: Arc<TelegramConfig>, api: Arc<Api>, rooms: Arc<Rooms>) -> Self {
        let counts = Arc::<Counts>::default();
        let door = match &config.intake {
            Intake::Polling { .. } => None,
            Intake::Webhook { secret_token, url } => {
                let (id, secret) = (config.id.clone(), secret_token.clone());
                Some(Arc::new(Door::new(id, secret, url.clone(), counts.clone(), config.gather)))
            }
        };
        let threads = Arc::new(Threads::new(config.notes.clone(), rooms.clone()));
        Self { config, api, rooms, threads, counts, door }
    }

    /// Until `stop`, or until Telegram says what no retry can mend.
    pub(crate) async fn receive(
        &self,
        inbox: Inbox,
        stop: CancellationToken,
        state: &watch::Sender<ChannelState>,
    ) -> Result<(), Refusal> {
        let mut trouble = Trouble::new(&self.config, state, stop.clone());
        let known = stop.run_until_cancelled(sign_in::until_known(&self.api, &mut trouble)).await;
        let Some(me) = known.transpose()?.flatten() else { return Ok(()) };
        if !me.1 {
            warn!(channel.id = %self.config.id, "{}", doctor::PRIVACY);
        }
        if let Err(error) = self.rooms.load().await {
            warn!(channel.id = %self.config.id, %error, "which groups have moved is not known yet");
        }
        let (config, api, rooms) = (self.config.clone(), self.api.clone(), self.rooms.clone());
        let (threads, counts) = (self.threads.clone(), self.counts.clone());
        let shared = Arc::new(Shared::new(config, api, rooms, threads, counts, inbox, stop, me));
        let _dropped = shared.give_up.clone().drop_guard();
        commands::register(&shared);
        let received = match (&self.door, &self.config.intake) {
            (Some(door), _) => door.keep_open(shared.clone(), state).await,
            (None, Intake::Polling { poll_timeout }) => poll::run(&shared, *poll_timeout, state).await,
            (None, Intake::Webhook { .. }) => Ok(()),
        };
        shared.deliveries.close();
        if timeout(LAST_DELIVERIES, shared.deliveries.wait()).await.is_err() {
            shared.give_up.cancel();
            shared.deliveries.wait().await;
        }
        received
    }

    pub(crate) async fn webhook(&self, request: Request<Bytes>) -> Response<Bytes> {
        match &self.door {
            Some(door) => door.answer(request).await,
            None => webhook::status(StatusCode::NOT_FOUND),
        }
    }

    /// To be told of each new message of ours: whoever answers it means its conversation.
    pub(crate) async fn posted(&self, conversation: &ConversationId, message: &MessageId) {
        let noted = timeout(NOTING, self.threads.posted(conversation, message)).await;
        let noted = noted.unwrap_or_else(|_| Err(NotesError("the store took too long".to_owned())));
        if let Err(error) = noted {
            warn!(channel.id = %self.config.id, %error, "to what conversation a message of ours belongs could not be noted");
        }
    }

    pub(crate) fn figures(&self) -> Vec<(&'static str, u64)> {
        let read = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        vec![("updates_set_aside", read(&self.counts.quarantined)), ("refused_requests", read(&self.counts.refused))]
    }

    pub(crate) async fn doctor(&self, rooms: &[String]) -> Vec<Finding> {
        doctor::findings(&self.config, &self.api, &self.rooms, rooms).await
    }
}
