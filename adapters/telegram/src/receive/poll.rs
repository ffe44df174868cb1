//! Long polling: updates are taken in their order, and the offset, which lets Telegram forget, follows what is durable. What
//! an update means is left to `arrivals`.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};
use tracing::{debug, warn};
use watchfloor_channel::{ChannelState, Note, Refusal, backoff::Backoff};

use super::{
    arrivals::{Fault, Read, Shared},
    gather::{Gather, Whole},
    line::Line,
    trouble::Trouble,
    updates,
};
use crate::{api::Api, errors::CallError};

const OFFSET: &str = "offset";
const LIMIT: usize = 100;
/// What is being written when we are asked to stop may still come to its end.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// After a week without updates their numbers begin anew, perhaps below what we have confirmed. By then there is nothing left
/// that could come twice.
const QUIET: Duration = Duration::from_secs(6 * 24 * 60 * 60);
/// An answer that brings nothing and comes faster than this was not waited for.
const AT_ONCE: Duration = Duration::from_millis(500);

/// Runs until `shared.stop`, or until Telegram says what no retry can mend.
pub(crate) async fn run(
    shared: &Arc<Shared>,
    poll_timeout: Duration,
    state: &watch::Sender<ChannelState>,
) -> Result<(), Refusal> {
    let mut trouble = Trouble::new(&shared.config, state, shared.stop.clone());
    let mut poller = Poller {
        shared: shared.clone(),
        fresh: None,
        offset: None,
        latest: Instant::now(),
        line: Line::default(),
        gather: Gather::new(shared.config.gather),
    };
    match poller.go(poll_timeout, &mut trouble).await {
        Ok(()) | Err(End::Stop) => Ok(()),
        Err(End::Refused(refusal)) => Err(refusal),
    }
}

enum End {
    Stop,
    Refused(Refusal),
}

struct Poller {
    shared: Arc<Shared>,
    /// Replaces the channel's own connections once one of them hung.
    fresh: Option<Api>,
    offset: Option<i64>,
    /// When there was something to tell.
    latest: Instant,
    line: Line,
    /// With the ids of the updates.
    gather: Gather<i64>,
}

impl Poller {
    async fn go(&mut self, poll_timeout: Duration, trouble: &mut Trouble<'_>) -> Result<(), End> {
        let notes = self.shared.config.notes.clone();
        let known = self.stored(|| async { Ok(notes.read(OFFSET).await?) }).await?;
        self.offset = known.ok().flatten().and_then(|offset| offset.parse().ok());
        // The first one only tells that Telegram is there; so does the first one after trouble.
        let mut wait = Duration::ZERO;
        loop {
            if let Some(due) = self.gather.next_due() {
                self.or_stop(sleep_until(due)).await?;
                // The pieces that came meanwhile stand behind what is not confirmed yet.
                wait = Duration::ZERO;
            }
            let asked = Instant::now();
            let stop = self.shared.stop.clone();
            match stop.run_until_cancelled(self.poll(wait)).await.ok_or(End::Stop)? {
                Ok(batch) => {
                    trouble.is_over();
                    let at_once = !wait.is_zero() && asked.elapsed() < AT_ONCE;
                    let before = self.offset;
                    wait = poll_timeout;
                    if !batch.is_empty() {
                        self.latest = Instant::now();
                    }
                    for update in batch {
                        // The rest comes again.
                        if self.shared.stop.is_cancelled() {
                            break;
                        }
                        self.take_raw(&update).await?;
                    }
                    self.take_due().await?;
                    self.confirm().await?;
                    if at_once && self.offset == before && self.gather.next_due().is_none() {
                        self.or_stop(sleep(self.shared.config.reconnect.first)).await?;
                    }
                }
                Err(error) => {
                    wait = Duration::ZERO;
                    if matches!(error, CallError::Unclear(_)) {
                        self.fresh = Api::new(&self.shared.config).ok();
                    }
                    self.take_due().await?;
                    self.confirm().await?;
                    if !trouble.with(error).await.map_err(End::Refused)? {
                        return Err(End::Stop);
                    }
                }
            }
        }
    }

    async fn poll(&self, wait: Duration) -> Result<Vec<Box<RawValue>>, CallError> {
        let mut request = json!({"limit": LIMIT, "timeout": wait.as_secs(), "allowed_updates": updates::KINDS});
        if let Some(offset) = self.offset.filter(|_| self.latest.elapsed() < QUIET) {
            request["offset"] = offset.into();
        }
        let api = self.fresh.as_ref().unwrap_or(&self.shared.api);
        api.raw("getUpdates", &request, wait + self.shared.config.inbound_deadline).await
    }

    /// Each is read for itself, so that one that can't be read does not spoil the others.
    async fn take_raw(&mut self, raw: &RawValue) -> Result<(), End> {
        #[derive(Deserialize)]
        struct Named {
            update_id: i64,
        }
        if let Ok(update) = serde_json::from_str(raw.get()) {
            return self.take(update).await;
        }
        let id = serde_json::from_str::<Named>(raw.get()).ok().map(|named| named.update_id);
        if id.is_none_or(|id| self.line.came(id)) {
            self.set_aside(id, raw.get(), "it is not readable").await?;
            id.into_iter().for_each(|id| self.line.done(id));
        }
        Ok(())
    }

    async fn take(&mut self, update: Value) -> Result<(), End> {
        let Some(id) = update.get("update_id").and_then(Value::as_i64) else {
            return self.set_aside(None, &update, "it has no id").await;
        };
        if !self.line.came(id) {
            return Ok(());
        }
        let shared = self.shared.clone();
        match self.stored(|| shared.read(&update)).await? {
            Ok(Read::Message(piece)) => {
                for whole in self.gather.offer(piece.with(id), Instant::now()) {
                    self.deliver(whole).await?;
                }
                return Ok(());
            }
            Ok(Read::Edit(edited)) => {
                if !self.gather.edit(&edited) {
                    let edited = edited.alone();
                    if let Err(why) = self.stored(|| shared.hand_over(edited.clone())).await? {
                        self.set_aside(Some(id), &update, why).await?;
                    }
                }
            }
            Ok(Read::Press(press)) => {
                let pressed = shared.guarded(async {
                    shared.pressed(*press).await;
                    Ok(())
                });
                if let Err(Fault::Hopeless(why)) = self.or_stop(pressed).await? {
                    self.set_aside(Some(id), &update, why).await?;
                }
            }
            Ok(Read::Nothing) => {}
            Err(why) => self.set_aside(Some(id), &update, why).await?,
        }
        self.line.done(id);
        Ok(())
    }

    async fn take_due(&mut self) -> Result<(), End> {
        for whole in self.gather.due(Instant::now()) {
            self.deliver(whole).await?;
        }
        Ok(())
    }

    async fn deliver(&mut self, whole: Whole<i64>) -> Result<(), End> {
        let shared = self.shared.clone();
        if let Err(why) = self.stored(|| shared.deliver(&whole)).await? {
            self.set_aside(whole.tickets.first().copied(), &whole.inbound, why).await?;
        }
        for update in whole.tickets {
            self.line.done(update);
        }
        Ok(())
    }

    async fn set_aside(
        &self,
        id: Option<i64>,
        update: &(impl Serialize + Sync + ?Sized),
        why: &'static str,
    ) -> Result<(), End> {
        let _ = self.stored(|| self.shared.set_aside(id, update, why)).await?;
        Ok(())
    }

    async fn confirm(&mut self) -> Result<(), End> {
        let Some(offset) = self.line.confirm() else { return Ok(()) };
        let notes = self.shared.config.notes.clone();
        let written = self
            .stored(|| {
                let note = [Note::always(OFFSET, offset.to_string())];
                let notes = notes.clone();
                async move { Ok(notes.write(&note).await?) }
            })
            .await?;
        if written.is_ok() {
            self.offset = Some(offset);
        }
        Ok(())
    }

    /// Repeats it until the store took it. What fails for another reason gets a second chance, and then a reason.
    async fn stored<T, F>(&self, work: impl Fn() -> F) -> Result<Result<T, &'static str>, End>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let reconnect = &self.shared.config.reconnect;
        let mut backoff = Backoff::new(reconnect.first, reconnect.longest);
        let mut is_second = false;
        loop {
            let done = tokio::select! {
                biased;
                done = self.shared.guarded(work()) => done,
                () = async { self.shared.stop.cancelled().await; sleep(LAST_WORDS).await } => return Err(End::Stop),
            };
            match done {
                Ok(done) => return Ok(Ok(done)),
                Err(Fault::Store(why)) => {
                    let wait = backoff.next(&mut rand::rng());
                    warn!(channel.id = %self.shared.config.id, why, "an update is not confirmed: it is not written down yet");
                    self.or_stop(sleep(wait)).await?;
                }
                Err(Fault::Hopeless(why)) if is_second => return Ok(Err(why)),
                Err(Fault::Hopeless(why)) => {
                    debug!(channel.id = %self.shared.config.id, why, "an update is tried a second time");
                    is_second = true;
                }
            }
        }
    }

    async fn or_stop<T>(&self, work: impl Future<Output = T>) -> Result<T, End> {
        self.shared.stop.run_until_cancelled(work).await.ok_or(End::Stop)
    }
}
