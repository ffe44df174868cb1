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
    Owed, Route,
};

/// How long the answer waits for a placeholder that is still being posted.
const PLACEHOLDER_GRACE: Duration = Duration::from_secs(10);
/// After an interim edit for which there was no room.
const RETRY: Duration = Duration::from_secs(1);
/// Of a platform's edits of one message, kept for the answer and its repetitions.
const KEPT_EDITS: u32 = 3;

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
    /// Interim edits so far.
    edits: u32,
}

impl Keeper {
    pub(super) async fn run(mut self, placeholder: Owed) {
        let view = self.views.borrow_and_update().clone();
        let text = view.render();
        let body = Body::Markdown(text.clone());
        let placed = tokio::select! {
            placed = self.route.place(&placeholder, &body) => placed,
            () = self.patience() => {
                // The answer looks for it before it posts.
                self.route.unsure.store(true, Ordering::Relaxed);
                return;
            }
        };
        let placed = match placed {
            Ok(placed) => placed,
            Err(error) => {
                if let Some(refusal) = error.refusal() {
                    return self.give_up(refusal.clone());
                }
                // The answer tries again; until then there is nothing to keep current.
                tracing::warn!(conversation.id = %self.route.conversation, %error, "no placeholder yet");
                return;
            }
        };
        let mut screen = Screen { message: placed.id, text, urgent: view.urgent, since: Instant::now(), edits: 0 };
        if placed.fresh {
            self.shown.send_replace(view.version);
        } else {
            // It shows what an earlier process said last.
            screen.text.clear();
            screen.urgent = 0;
            self.views.mark_changed();
        }
        let features = self.route.outlet.features();
        if features.edits {
            let most = features.edit_budget.map_or(u32::MAX, |budget| budget.saturating_sub(KEPT_EDITS));
            self.keep_current(screen, most).await;
        }
    }

    /// The answer is there: a post in flight may still arrive, a platform that makes us wait may not hold it up.
    async fn patience(&self) {
        self.enough.cancelled().await;
        sleep(PLACEHOLDER_GRACE).await;
    }

    async fn keep_current(&mut self, mut screen: Screen, most: u32) {
        let _viewer = self.route.outlet.viewer(&self.route.conversation.room);
        while screen.edits < most {
            // Half of a limited number is spaced, whatever is urgent: the message must stay alive to the end.
            let hurry = screen.edits < most / 2;
            if self.next_view(&screen, hurry).await.is_break() {
                return;
            }
            let view = self.views.borrow_and_update().clone();
            let text = view.render();
            if text != screen.text {
                let edit = Operation::Edit(screen.message.clone());
                let edit = self.route.message(edit, Body::Markdown(text.clone()), Urgency::Interim);
                let sent = self.route.outlet.send(&edit).await;
                screen.since = Instant::now();
                match sent {
                    Ok(_) => screen.edits += 1,
                    Err(Undelivered::Dropped | Undelivered::Late(_)) => {
                        // The picture is still owed: look again after a while, also if nothing changes until then.
                        self.views.mark_changed();
                        tokio::select! {
                            () = sleep(RETRY) => continue,
                            () = self.enough.cancelled() => return,
                        }
                    }
                    Err(Undelivered::Refused(refusal)) => {
                        if self.refused(refusal).is_break() {
                            return;
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
    }

    /// Waits for something new, then for the gap between edits, unless something urgent is or becomes part of it.
    async fn next_view(&mut self, screen: &Screen, hurry: bool) -> ControlFlow<()> {
        tokio::select! {
            biased;
            () = self.enough.cancelled() => return Break(()),
            changed = self.views.changed() => if changed.is_err() { return Break(()) },
        }
        let due = screen.since + self.route.outlet.edit_gap(&self.route.conversation.room, screen.edits);
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
