//! Carries an event to whoever listens, again and again until it is acknowledged or given up.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::sync::oneshot;

use super::{Parcel, Undelivered, Verdict};
use crate::feishu::{
    Shared, events,
    webhook::{self, HttpFault},
};

impl Shared {
    /// Sends a new event, in the order of the calls.
    pub(crate) fn deliver(self: &Arc<Self>, envelope: Value) {
        self.world.change(|world| world.sent.push(envelope.clone()));
        self.deliver_as(envelope, 0);
    }

    pub(crate) fn deliver_as(self: &Arc<Self>, envelope: Value, attempt: u32) {
        let event_id = events::event_id(&envelope);
        let parcel = Parcel { envelope, callback: false };
        let opened = self.lines.change(|lines| {
            *lines.pending.entry(event_id.clone()).or_default() += 1;
            lines.opened
        });
        let first = self.send(&parcel, attempt);
        let shared = Arc::clone(self);
        let follow_up = async move {
            let lost = shared.follow_up(parcel, attempt, opened, first).await;
            shared.lines.change(|lines| {
                lines.settled(&event_id);
                lines.lost.extend(lost.then_some(event_id));
            });
        };
        let stop = self.tasks.stop.clone();
        self.tasks.tracker.spawn(async move { stop.run_until_cancelled_owned(follow_up).await });
    }

    /// Nothing if there is nobody to send it to.
    pub(crate) fn send(self: &Arc<Self>, parcel: &Parcel, attempt: u32) -> Option<oneshot::Receiver<Verdict>> {
        let (endpoint, fault, push_id, answer) = {
            let mut lines = self.lines.look();
            if !lines.http.on {
                drop(lines);
                return self.lines.change(|lines| lines.send(parcel, attempt));
            }
            let endpoint = lines.http.endpoint.clone()?;
            let push_id = format!("sim-push-{:06}", lines.next_id());
            let answer = lines.await_answer(push_id.clone(), parcel, attempt, 0, Vec::new());
            (endpoint, lines.http.faults.pop_front(), push_id, answer)
        };
        let (shared, callback, payload) = (Arc::clone(self), parcel.callback, webhook::payload(parcel, fault));
        let request = async move {
            let outcome = endpoint.post(&payload, attempt, true, fault).await;
            let lost = fault == Some(HttpFault::ResponseLost);
            shared.lines.change(|lines| lines.answered(&push_id, callback, outcome, lost));
        };
        let stop = self.tasks.stop.clone();
        self.tasks.tracker.spawn(async move { stop.run_until_cancelled_owned(request).await });
        Some(answer)
    }

    /// Whether it is lost in the end.
    async fn follow_up(
        self: &Arc<Self>,
        parcel: Parcel,
        mut attempt: u32,
        mut opened: u64,
        first: Option<oneshot::Receiver<Verdict>>,
    ) -> bool {
        let mut waits = self.config.redeliver_after.iter().copied();
        let mut verdict = self.verdict(first).await;
        while let Err(why) = verdict {
            // It doesn't age while nobody is connected.
            let nobody = why == Undelivered::Nobody && !self.lines.look().http.on;
            let wait = if nobody { Some(Duration::from_secs(86_400)) } else { waits.next() };
            let Some(wait) = wait else {
                let event_id = events::event_id(&parcel.envelope);
                tracing::warn!(event.id = event_id, "never acknowledged to the simulated Feishu");
                return true;
            };
            // A new connection gets at once what is unacknowledged.
            self.lines.until(wait, |lines| lines.opened > opened).await;
            opened = self.lines.look().opened;
            attempt += u32::from(!nobody);
            verdict = self.verdict(self.send(&parcel, attempt)).await;
        }
        false
    }

    pub(crate) async fn verdict(&self, under_way: Option<oneshot::Receiver<Verdict>>) -> Verdict {
        let Some(under_way) = under_way else { return Err(Undelivered::Nobody) };
        match tokio::time::timeout(self.config.ack_deadline, under_way).await {
            Ok(Ok(verdict)) => verdict,
            _ => Err(Undelivered::TimedOut),
        }
    }
}
