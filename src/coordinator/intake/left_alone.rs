//! What is said to us and still not answered: messages that come too late for their channel, and the talk of two bots that
//! would never end. Both leave a line in the log, and stay context where we take part.

use std::sync::atomic::Ordering;

use watchfloor_channel::Inbound;

use super::Intake;
use crate::{
    coordinator::{Channel, late::LatePolicy},
    store::{InboxKind, StoreError},
};

/// Turns that bots may begin in one place before a person says something there.
pub(super) const BOT_TURNS: i64 = 5;
/// Where there are no threads, every alert of an alert bot lands in one place. There only what comes quickly is a loop.
const WITHOUT_THREADS_MS: i64 = 60 * 60 * 1000;

impl Intake {
    pub(super) async fn is_left_alone(&self, inbound: &Inbound, channel: &Channel) -> Result<bool, StoreError> {
        let at = &inbound.conversation;
        let (store, now) = (&self.services.store, self.services.now());
        let skips = channel.access.late.policy == LatePolicy::Skip;
        let late = channel.access.late.by(inbound, now).filter(|_| skips);
        let loops = late.is_none() && inbound.author.is_bot && self.bots_had_their_turns(inbound).await?;
        // What was taken in time stays taken, however often it comes again.
        if (late.is_none() && !loops) || store.inbox().seen(at.channel.as_str(), &inbound.message_key).await? {
            return Ok(false);
        }
        if let Some(by) = late {
            let skipped = self.skipped.fetch_add(1, Ordering::Relaxed) + 1;
            let (id, late_s) = (&inbound.message.id, by.as_secs());
            tracing::warn!(channel.id = %at.channel, room = %at.room, message.id = %id, late_s, skipped, "a message came too late and is skipped");
        } else {
            let dropped = self.cut_short.fetch_add(1, Ordering::Relaxed) + 1;
            let bot = &inbound.author.id;
            tracing::warn!(conversation.id = %at, bot, dropped, "bots began {BOT_TURNS} turns in a row here; until a person says something, they are not answered");
        }
        if store.sessions().find(at.channel.as_str(), &at.room, &at.thread, "").await?.is_some() {
            let row = self.row(inbound, InboxKind::Overheard);
            store.inbox().overhear(&row, self.services.limits.history_limit).await?;
        }
        Ok(true)
    }

    async fn bots_had_their_turns(&self, inbound: &Inbound) -> Result<bool, StoreError> {
        let at = &inbound.conversation;
        let since = if at.thread.is_empty() { self.services.now() - WITHOUT_THREADS_MS } else { 0 };
        let inbox = self.services.store.inbox();
        Ok(inbox.bot_turns_in_a_row(at.channel.as_str(), &at.room, &at.thread, since).await? >= BOT_TURNS)
    }
}
