//! Keeps the placeholder current: newest view, spaced edits, within the platform's budget. The answer is `answer`'s.

use std::{
    ops::ControlFlow::{self, Break, Continue},
    sync::atomic::Ordering,
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{Body, MessageId, Operation, Refusal, RefusalKind, Urgency};

use super::{
    super::{
        control::{Control, Why},
        outlet::Undelivered,
        view::View,
    },
    Owed, Placed, ReplyError, Route,
    spacing::{spent, stretch},
};

/// How long the answer waits for a placeholder that is still being posted.
const PLACEHOLDER_GRACE: Duration = Duration::from_secs(10);
/// After an interim edit for which there was no room.
const RETRY: Duration = Duration::from_secs(1);
/// After several in a row that did not get through: a platform that is away is left alone.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// Of a platform's edits of one message, kept for the answer and its repetitions.
const KEPT_EDITS: u32 = 3;
/// How often in a turn a message that can't be edited any more gives its place to another one.
const REPLACEMENTS: u32 = 2;

pub(super) struct Keeper {
    pub route: Route,
    pub views: watch::Receiver<View>,
    pub shown: watch::Sender<u64>,
    pub enough: CancellationToken,
    pub control: Control,
}

/// What the platform shows, as far as we know.
struct Screen {
    message: MessageId,
    text: String,
    urgent: u64,
    since: Instant,
    /// Interim edits so far, as far as we know: the platform counts those, too, of which we got no answer.
    edits: u32,
    /// Edits in a row that did not get through.
    misses: u32,
}

impl Keeper {
    pub(super) async fn run(self, placeholder: Owed) {
        let (route, enough) = (self.route.clone(), self.enough.clone());
        tokio::join!(self.keep(placeholder), route.show_typing(&enough));
    }

    async fn keep(mut self, placeholder: Owed) {
        let began = self.began(&placeholder);
        let view = self.views.borrow_and_update().clone();
        let text = view.render();
        let body = Body::Markdown(text.clone());
        let placed = match self.in_time(self.route.place(&placeholder, &body)).await {
            Some(Ok(placed)) => placed,
            Some(Err(error)) => {
                if let Some(refusal) = error.refusal() {
                    return self.give_up(refusal.clone());
                }
                // The answer tries again; until then there is nothing to keep current.
                tracing::warn!(conversation.id = %self.route.conversation, %error, "no placeholder yet");
                return;
            }
            None => return,
        };
        let (edits, budget) = {
            let features = self.route.outlet.features();
            (features.edits, features.edit_budget)
        };
        let most = budget.map_or(u32::MAX, |budget| budget.saturating_sub(KEPT_EDITS));
        let mut screen = self.screen(placed, text, &view, most, began);
        if !edits {
            return;
        }
        let _viewer = self.route.outlet.viewer(&self.route.conversation.room);
        let mut replacements = REPLACEMENTS;
        while let Some(refusal) = self.keep_current(&mut screen, most, began).await
            && replacements > 0
        {
            replacements -= 1;
            let view = self.views.borrow_and_update().clone();
            let text = view.render();
            let body = Body::Markdown(text.clone());
            let old = screen.message.clone();
            match self.in_time(self.route.replace(&placeholder, old, &body)).await {
                Some(Ok(placed)) => screen = self.screen(placed, text, &view, most, began),
                Some(Err(error)) => {
                    tracing::warn!(turn.id = %self.route.turn_id, %error, "no message takes the place of one that can't be edited: {refusal}");
                    if let Some(refusal) = error.refusal() {
                        let _: ControlFlow<()> = self.refused(refusal.clone());
                    }
                    return;
                }
                None => return,
            }
        }
    }

    /// A post, as long as the answer can wait for it. The answer looks for what was left under way before it posts.
    async fn in_time(
        &self,
        post: impl Future<Output = Result<Placed, ReplyError>>,
    ) -> Option<Result<Placed, ReplyError>> {
        tokio::select! {
            placed = post => Some(placed),
            () = self.patience() => {
                self.route.unsure.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    /// A placeholder of an earlier process is as old as its row.
    fn began(&self, placeholder: &Owed) -> Instant {
        let now = Instant::now();
        let age = placeholder.since.map(|since| self.route.services.now().saturating_sub(since));
        let age = age.and_then(|age| u64::try_from(age).ok()).map(Duration::from_millis);
        age.and_then(|age| now.checked_sub(age)).unwrap_or(now)
    }

    /// A message that was posted with this view, or found with an older one.
    fn screen(&mut self, placed: Placed, text: String, view: &View, most: u32, began: Instant) -> Screen {
        let since = Instant::now();
        let mut screen = Screen { message: placed.id, text, urgent: view.urgent, since, edits: 0, misses: 0 };
        if placed.fresh {
            self.shown.send_replace(view.version);
        } else {
            // It shows what an earlier process said last, edited as often as the spacing let it. One more edit says that we
            // are back.
            screen.text.clear();
            screen.urgent = 0;
            if most != u32::MAX {
                let gaps = self.route.outlet.features().edit_gaps;
                screen.edits = spent(gaps, began.elapsed()).min(most.saturating_sub(1));
                screen.since = began;
            }
            self.views.mark_changed();
        }
        screen
    }

    /// The answer is there: a post in flight may still arrive, a platform that makes us wait may not hold it up.
    async fn patience(&self) {
        self.enough.cancelled().await;
        sleep(PLACEHOLDER_GRACE).await;
    }

    /// Until there is an answer, or no edit left for it. Some: the message can't be edited any more, and another one could.
    async fn keep_current(&mut self, screen: &mut Screen, most: u32, began: Instant) -> Option<Refusal> {
        while screen.edits < most {
            // Half of a limited number is spaced, whatever is urgent: the message must stay alive to the end.
            let hurry = screen.edits < most / 2;
            let gap = self.gap(screen.edits, most, began);
            if self.next_view(screen, hurry, gap).await.is_break() {
                return None;
            }
            let view = self.views.borrow_and_update().clone();
            let text = view.render();
            if text != screen.text {
                let edit = Operation::Edit(screen.message.clone());
                let edit = self.route.message(edit, Body::Markdown(text.clone()), Urgency::Interim);
                let sent = self.route.outlet.send(&edit).await;
                screen.since = Instant::now();
                match sent {
                    Ok(_) => (screen.edits, screen.misses) = (screen.edits + 1, 0),
                    Err(error @ (Undelivered::Dropped | Undelivered::Late(_) | Undelivered::InDoubt(_))) => {
                        screen.edits += u32::from(matches!(error, Undelivered::InDoubt(_)));
                        let wait = match error {
                            Undelivered::Dropped => RETRY,
                            _ => RETRY.saturating_mul(1 << screen.misses.min(5)).min(LONGEST_RETRY),
                        };
                        screen.misses += u32::from(!matches!(error, Undelivered::Dropped));
                        // The picture is still owed: look again after a while, also if nothing changes until then.
                        self.views.mark_changed();
                        tokio::select! {
                            () = sleep(wait) => continue,
                            () = self.enough.cancelled() => return None,
                        }
                    }
                    Err(Undelivered::Refused(refusal)) if refusal.kind == RefusalKind::NotEditable => {
                        tracing::info!(turn.id = %self.route.turn_id, %refusal, "the placeholder can't be edited any more; another message takes its place");
                        return Some(refusal);
                    }
                    Err(Undelivered::Refused(refusal)) => {
                        if self.refused(refusal).is_break() {
                            return None;
                        }
                        // Not this text, but perhaps the next.
                        screen.edits += 1;
                        (screen.text, screen.urgent) = (text, view.urgent);
                        continue;
                    }
                }
                screen.text = text;
            }
            screen.urgent = view.urgent;
            self.shown.send_replace(view.version);
        }
        None
    }

    /// Of a limited number of edits some must be left for the end, however far that is.
    fn gap(&self, edits: u32, most: u32, began: Instant) -> Duration {
        let gap = self.route.outlet.edit_gap(&self.route.conversation.room, edits);
        if most == u32::MAX {
            return gap;
        }
        let (gaps, limit) = (self.route.outlet.features().edit_gaps, self.route.services.limits.turn_timeout);
        gap.max(stretch(gaps, edits, most, began.elapsed(), limit))
    }

    /// Waits for something new, then for the gap between edits, unless something urgent is or becomes part of it.
    async fn next_view(&mut self, screen: &Screen, hurry: bool, gap: Duration) -> ControlFlow<()> {
        tokio::select! {
            biased;
            () = self.enough.cancelled() => return Break(()),
            changed = self.views.changed() => if changed.is_err() { return Break(()) },
        }
        let due = screen.since + gap;
        while !hurry || self.views.borrow().urgent <= screen.urgent {
            tokio::select! {
                biased;
                () = self.enough.cancelled() => return Break(()),
                () = sleep_until(due) => break,
                changed = self.views.changed() => if changed.is_err() { break },
            }
        }
        if self.enough.is_cancelled() { Break(()) } else { Continue(()) }
    }

    fn refused(&self, refusal: Refusal) -> ControlFlow<()> {
        tracing::warn!(turn.id = %self.route.turn_id, %refusal, "the placeholder can't be edited");
        match refusal.kind {
            RefusalKind::TooLong | RefusalKind::Content => Continue(()),
            RefusalKind::Credentials | RefusalKind::Room | RefusalKind::ThreadGone => {
                self.give_up(refusal);
                Break(())
            }
            _ => Break(()),
        }
    }

    /// Nobody could see what the turn finds.
    fn give_up(&self, refusal: Refusal) {
        let at = &self.route.conversation;
        tracing::error!(conversation.id = %at, code = %refusal.code, "nothing can be shown here: {}", refusal.remedy);
        self.control.stop(Why::CantPost(refusal));
    }
}
