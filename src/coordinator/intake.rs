//! Decides whether we act on a message, and writes it down before the platform is told that we have it. Relevance comes
//! first: a message that isn't for us claims no key, so that its twin, or an edit that adds the mention, still can.

mod commands;
mod left_alone;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use watchfloor_channel::{
    Act, Addressed, Aside, Body, ConversationId, Deliver, DeliveryKey, Inbound, InboundKind, InboxError, Operation,
    Outbound, Urgency, Verdict,
};

use super::{
    Channel, Router, Services,
    access::{Admission, ThreadFollow},
    command::{self, Command},
};
use crate::{
    store::{Claim, InboxKind, NewInbox, StoreError},
    wording,
};

/// How much of what was typed behind a command is given back.
const COMMAND_CHARS: usize = 1_000;
/// A refused person is told once in this time.
const REFUSAL_EVERY_MS: i64 = 60 * 60 * 1000;
/// People and rooms whose refusal is remembered.
const REMEMBERED: usize = 4096;

#[derive(Debug)]
pub struct Intake {
    services: Arc<Services>,
    router: Router,
    refusals: Refusals,
    /// Commands that were explained.
    explained: Refusals,
    /// What people of other organisations asked so far.
    outsiders: AtomicU64,
    /// Late messages that were skipped so far, and what bots said beyond their turns.
    skipped: AtomicU64,
    cut_short: AtomicU64,
}

/// What a message is to us.
#[derive(Debug, PartialEq, Eq)]
enum Relevance {
    Addressed,
    /// Said where we take part, but not to us.
    Context,
    Nothing,
}

impl Intake {
    pub fn new(services: Arc<Services>, router: Router) -> Self {
        Self {
            services,
            router,
            refusals: Refusals::default(),
            explained: Refusals::default(),
            outsiders: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            cut_short: AtomicU64::new(0),
        }
    }

    async fn relevance(
        &self,
        inbound: &Inbound,
        channel: &Channel,
        admission: Admission,
    ) -> Result<Relevance, StoreError> {
        let at = &inbound.conversation;
        let is_outsider = admission == Admission::Outsider;
        if inbound.addressed != Addressed::Overheard && !is_outsider {
            return Ok(Relevance::Addressed);
        }
        let store = &self.services.store;
        let known = store.sessions().find(at.channel.as_str(), &at.room, &at.thread, "").await?.is_some();
        // Only a mention makes an edit news: following a thread is about what is said in it now. Who may not ask, or is
        // a bot, isn't followed either; a room without threads would be followed for ever.
        let may_follow = admission == Admission::Welcome
            && !inbound.author.is_bot
            && inbound.kind == InboundKind::Message
            && !inbound.opens_with_other;
        let follows = may_follow
            && match channel.access.thread_follow {
                _ if !channel.access.require_mention => true,
                _ if at.thread.is_empty() => false,
                ThreadFollow::Mention => false,
                ThreadFollow::All => known,
                ThreadFollow::Asker => {
                    store.inbox().has_mentioned(at.channel.as_str(), &at.room, &at.thread, &inbound.author.id).await?
                }
            };
        Ok(match (follows, known) {
            (true, _) => Relevance::Addressed,
            (false, true) => Relevance::Context,
            (false, false) => Relevance::Nothing,
        })
    }

    async fn decide(&self, inbound: Inbound) -> Result<Verdict, StoreError> {
        let at = &inbound.conversation;
        let Some(channel) = self.services.channels.get(&at.channel) else { return Ok(Verdict::Ignored) };
        // Our own messages come first, in every kind of room: whatever follows may answer.
        if inbound.author.is_self {
            return Ok(Verdict::Ignored);
        }
        if inbound.kind == InboundKind::Deleted {
            return self.retract(inbound).await;
        }
        let (room, now) = (&at.room, inbound.room_now.as_deref());
        let admission = channel.access.admits(inbound.private, room, now, &inbound.author);
        if admission == Admission::RoomClosed {
            self.log_closed_room(&inbound);
            return Ok(Verdict::Ignored);
        }
        if admission == Admission::Outsider {
            // They get no answer at all: not even a refusal is for another organisation.
            if inbound.addressed != Addressed::Overheard {
                self.log_outsider(at, &inbound.author.id);
            }
        }
        match self.relevance(&inbound, channel, admission).await? {
            Relevance::Nothing => return Ok(Verdict::Ignored),
            Relevance::Context => {
                // A message that was answered stays what it was, also when somebody edits the mention away.
                if !self.services.store.inbox().seen(at.channel.as_str(), &inbound.message_key).await? {
                    let row = self.row(&inbound, InboxKind::Overheard);
                    self.services.store.inbox().overhear(&row, self.services.limits.history_limit).await?;
                }
                return Ok(Verdict::Ignored);
            }
            Relevance::Addressed => {}
        }
        if admission == Admission::PersonUnknown {
            self.refuse(&inbound, channel);
            return Ok(Verdict::Ignored);
        }
        let kind = match command::of(&inbound) {
            Some(Command::Stop) => InboxKind::Stop,
            _ => InboxKind::Message,
        };
        if kind == InboxKind::Message && self.is_left_alone(&inbound, channel).await? {
            return Ok(Verdict::Ignored);
        }
        if let Some(Command::Other(name)) = command::of(&inbound) {
            self.explain(&inbound, &name, channel);
            return Ok(Verdict::Ignored);
        }
        let row = self.row(&inbound, kind);
        let row = if kind == InboxKind::Stop && inbound.kind == InboundKind::Edit {
            self.changed_to_stop(row).await?
        } else {
            row
        };
        match self.services.store.inbox().claim(&row).await? {
            Claim::Taken { .. } => {
                self.router.wake(at);
                Ok(Verdict::Taken)
            }
            Claim::Duplicate => {
                if !inbound.files.is_empty() && inbound.kind == InboundKind::Message {
                    let files = serde_json::to_string(&inbound.files).unwrap_or_default();
                    self.services.store.inbox().add_files(at.channel.as_str(), &inbound.message_key, &files).await?;
                }
                // Perhaps claimed by an attempt that never heard so, and then nobody was woken.
                self.router.open(at);
                Ok(Verdict::Duplicate)
            }
        }
    }

    /// A question that becomes a stop ends what it began, so it is claimed a second time. A stop that is edited says nothing
    /// new: platforms report edits that changed no word, also long after.
    async fn changed_to_stop(&self, row: NewInbox) -> Result<NewInbox, StoreError> {
        let before = self.services.store.inbox().claimed_as(&row.channel, &row.message_key).await?;
        let was_question = before == Some(InboxKind::Message);
        Ok(if was_question { NewInbox { message_key: format!("{}/stop", row.message_key), ..row } } else { row })
    }

    /// Who takes a question back wants no answer. Only what we took can be taken back.
    async fn retract(&self, inbound: Inbound) -> Result<Verdict, StoreError> {
        let at = &inbound.conversation;
        let inbox = self.services.store.inbox();
        inbox.unhear(at.channel.as_str(), &inbound.message_key).await?;
        if !inbox.seen(at.channel.as_str(), &inbound.message_key).await? {
            return Ok(Verdict::Ignored);
        }
        let row = self.row(&inbound, InboxKind::Retraction);
        // The key itself is the message's claim. What she took back is not kept a second time.
        let row = NewInbox { message_key: format!("{}/deleted", row.message_key), text: String::new(), ..row };
        Ok(match inbox.claim(&row).await? {
            Claim::Taken { .. } => {
                self.router.wake(at);
                Verdict::Taken
            }
            Claim::Duplicate => Verdict::Duplicate,
        })
    }

    fn row(&self, inbound: &Inbound, kind: InboxKind) -> NewInbox {
        let at = &inbound.conversation;
        NewInbox {
            channel: at.channel.as_str().to_owned(),
            message_key: inbound.message_key.clone(),
            event_id: inbound.event_id.clone(),
            kind,
            room: at.room.clone(),
            thread: at.thread.clone(),
            author_id: inbound.author.id.clone(),
            author_name: inbound.author.name.clone(),
            text: inbound.text.clone(),
            payload: serde_json::to_string(inbound).unwrap_or_default(),
            sent_at: inbound.sent_at,
            received_at: self.services.now(),
        }
    }

    fn log_closed_room(&self, inbound: &Inbound) {
        let at = &inbound.conversation;
        // A private chat is closed by the channel's policy, not by a list.
        if inbound.addressed == Addressed::Overheard || inbound.private {
            return;
        }
        let now = inbound.room_now.as_ref().unwrap_or(&at.room);
        if self.refusals.first_in_a_while(&format!("room {}/{}", at.channel, at.room), self.services.now()) {
            tracing::warn!(
                channel.id = %at.channel,
                room = %at.room,
                room.now = %now,
                "mentioned in a room that isn't served; to serve it, add \"{now}\" to allow_rooms of channel {:?}",
                at.channel.as_str(),
            );
        }
    }

    fn log_outsider(&self, at: &ConversationId, person: &str) {
        let ignored = self.outsiders.fetch_add(1, Ordering::Relaxed) + 1;
        let key = format!("outsider {}/{}/{person}", at.channel, at.room);
        if self.refusals.first_in_a_while(&key, self.services.now()) {
            tracing::warn!(
                channel.id = %at.channel,
                room = %at.room,
                person,
                ignored,
                "ignored somebody who is not, or can't be shown to be, of our organisation"
            );
        }
    }

    /// One line an hour for each person and room. Costs nothing if it gets lost: the person asks again.
    fn refuse(&self, inbound: &Inbound, channel: &Channel) {
        let at = &inbound.conversation;
        let person = format!("{}/{}/{}", at.channel, at.room, inbound.author.id);
        if inbound.author.is_bot || !self.refusals.first_in_a_while(&person, self.services.now()) {
            return;
        }
        tracing::warn!(
            channel.id = %at.channel,
            room = %at.room,
            person = %inbound.author.id,
            "refused a person; to admit, add \"{}\" to allow_from of channel {:?}",
            inbound.author.id,
            at.channel.as_str(),
        );
        let adapter = channel.outlet.adapter();
        let admins: Vec<_> = channel.access.admins.iter().map(|id| adapter.mention(id)).collect();
        let whom = if admins.is_empty() { wording::operators() } else { admins.join(", ") };
        self.say(inbound, channel, "refusal", wording::not_allowed(&whom));
    }

    /// One sentence beneath a message that becomes no turn. Tried once; if it gets lost, the person asks again.
    fn say(&self, to: &Inbound, channel: &Channel, what: &'static str, sentence: String) {
        let line = Outbound {
            conversation: to.conversation.clone(),
            question: Some(to.message.clone()),
            operation: Operation::Post(DeliveryKey(format!("{what}-{}", to.message_key))),
            body: Body::Plain(sentence),
            urgency: Urgency::Interim,
        };
        let outlet = channel.outlet.clone();
        self.router.spawn(async move {
            if let Err(error) = outlet.send(&line).await {
                tracing::warn!(channel.id = %line.conversation.channel, what, %error, "a sentence could not be posted");
            }
        });
    }
}

/// When something was last said or logged that is worth saying once in a while.
#[derive(Debug, Default)]
struct Refusals(Mutex<HashMap<String, i64>>);

impl Refusals {
    fn first_in_a_while(&self, key: &str, now: i64) -> bool {
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= REMEMBERED {
            refused.retain(|_, at| now - *at < REFUSAL_EVERY_MS);
            if refused.len() >= REMEMBERED {
                return false;
            }
        }
        match refused.get(key) {
            Some(at) if now - at < REFUSAL_EVERY_MS => false,
            _ => {
                refused.insert(key.to_owned(), now);
                true
            }
        }
    }
}

#[async_trait]
impl Deliver for Intake {
    async fn deliver(&self, inbound: Inbound) -> Result<Verdict, InboxError> {
        self.decide(inbound).await.map_err(|error| {
            tracing::error!(%error, "a message could not be written down; the platform will deliver it again");
            InboxError(error.to_string())
        })
    }

    async fn aside(&self, aside: Aside) -> String {
        if aside.author.is_outsider {
            self.log_outsider(&aside.conversation, &aside.author.id);
            return String::new();
        }
        match aside.act {
            Act::Click { .. } => wording::button_expired(),
            Act::Command { text, us, .. } => {
                let channel = self.services.channels.get(&aside.conversation.channel);
                let mention = channel.map(|channel| channel.outlet.adapter().mention(&us)).unwrap_or_default();
                wording::command_help(&mention, &watchfloor_channel::text::one_line(&text, COMMAND_CHARS))
            }
        }
    }
}

#[cfg(test)]
mod tests;
