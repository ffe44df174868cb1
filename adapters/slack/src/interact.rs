//! Buttons and slash commands: what a person did, and how the sentence for her alone gets back to her. What the sentence
//! says is the coordinator's.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};
use tracing::{debug, warn};
use url::Url;
use watchfloor_channel::{Act, Aside, Author, ChannelId, ConversationId, MessageId};

use crate::{
    accounts::Account,
    arrivals::Shared,
    errors::CallError,
    hosts::{Hosts, Trust},
    identity::{self, Identity},
    render,
};

/// The coordinator answers within a moment; a person waits, and Slack gives it three seconds in all.
const SENTENCE: Duration = Duration::from_secs(2);
/// Follow-ups under way at the same time, and how many a minute may begin: who clicks like mad isn't answered each time.
const AT_ONCE: usize = 16;
const A_MINUTE: u32 = 60;

/// What a person did, and where else she can be answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) aside: Aside,
    /// Given by Slack for half an hour and five uses. Works where we aren't in the channel. Never log it.
    response_url: Option<String>,
}

/// `None`: no click on a button of a message.
fn click(channel: &ChannelId, payload: &Value, own: &Identity) -> Option<Asked> {
    if text(payload, "/type") != Some("block_actions") {
        return None;
    }
    let room = text(payload, "/channel/id").or_else(|| text(payload, "/container/channel_id"))?;
    let message = text(payload, "/container/message_ts").or_else(|| text(payload, "/message/ts"))?;
    let thread = text(payload, "/container/thread_ts").or_else(|| text(payload, "/message/thread_ts"));
    let name = text(payload, "/user/name").or_else(|| text(payload, "/user/username"));
    Some(Asked {
        aside: Aside {
            conversation: conversation(channel, own.spell(room), thread),
            author: Author {
                is_outsider: own.may_click_from_outside(text(payload, "/user/team_id")),
                ..person(own.spell(text(payload, "/user/id")?), name)
            },
            act: Act::Click {
                message: MessageId { room: own.spell(room), id: message.to_owned() },
                action: text(payload, "/actions/0/action_id")?.to_owned(),
                value: text(payload, "/actions/0/value").unwrap_or_default().to_owned(),
            },
        },
        response_url: text(payload, "/response_url").map(str::to_owned),
    })
}

/// `None`: not the fields of a command.
fn command(channel: &ChannelId, fields: &Value, own: &Identity) -> Option<Asked> {
    Some(Asked {
        aside: Aside {
            conversation: conversation(channel, own.spell(text(fields, "/channel_id")?), None),
            author: Author {
                // A colleague of another workspace names the organisation too.
                is_outsider: own.may_click_from_outside(text(fields, "/team_id"))
                    && own.may_click_from_outside(text(fields, "/enterprise_id").or_else(|| text(fields, "/team_id"))),
                ..person(own.spell(text(fields, "/user_id")?), text(fields, "/user_name"))
            },
            act: Act::Command {
                name: text(fields, "/command")?.to_owned(),
                text: text(fields, "/text").unwrap_or_default().to_owned(),
                us: own.spell(&own.user_id),
            },
        },
        response_url: text(fields, "/response_url").map(str::to_owned),
    })
}

/// What it would be as either of the two.
#[cfg(test)]
pub(crate) fn both(channel: &ChannelId, payload: &Value, own: &Identity) -> Vec<Asked> {
    [click(channel, payload, own), command(channel, payload, own)].into_iter().flatten().collect()
}

/// What an acknowledgement of a command may carry.
pub(crate) fn for_her_alone(sentence: &str) -> Value {
    json!({"response_type": "ephemeral", "text": render::plain(sentence)})
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer)?.as_str().filter(|text| !text.is_empty())
}

fn conversation(channel: &ChannelId, room: String, thread: Option<&str>) -> ConversationId {
    let thread = thread.unwrap_or_default().to_owned();
    ConversationId { channel: channel.clone(), room, thread }
}

fn person(id: String, name: Option<&str>) -> Author {
    Author { id, name: name.map(str::to_owned), is_bot: false, is_self: false, is_outsider: false }
}

/// How many follow-ups may be made.
pub(crate) struct Allowance {
    room: Arc<Semaphore>,
    /// When the minute began, and how many began in it.
    minute: Mutex<(Instant, u32)>,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { room: Arc::new(Semaphore::new(AT_ONCE)), minute: Mutex::new((Instant::now(), 0)) }
    }
}

impl Allowance {
    fn take(&self) -> Option<tokio::sync::OwnedSemaphorePermit> {
        let place = self.room.clone().try_acquire_owned().ok()?;
        let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        if minute.0.elapsed() >= Duration::from_secs(60) {
            *minute = (Instant::now(), 0);
        }
        minute.1 += 1;
        (minute.1 <= A_MINUTE).then_some(place)
    }
}

impl Shared {
    /// Anything but a click is acknowledged and no more. The acknowledgement is the caller's, and comes first.
    pub(crate) async fn interaction(self: &Arc<Self>, payload: &Value) {
        let asked = self
            .accounts
            .of_interaction(payload)
            .and_then(|(account, own)| Some((account.clone(), click(&self.config.id, payload, own)?)));
        match asked {
            Some((account, asked)) => self.follow_up(account, asked),
            None => {
                let kind = text(payload, "/type").unwrap_or("interaction");
                self.once(kind, "a kind of interaction we don't use; acknowledged").await;
            }
        }
    }

    /// `None`: not the fields of a command, or of a workspace that isn't ours.
    pub(crate) fn command(&self, fields: &Value) -> Option<(Arc<Account>, Asked)> {
        let (account, own) = self.accounts.of_interaction(fields)?;
        Some((account.clone(), command(&self.config.id, fields, own)?))
    }

    pub(crate) async fn sentence(&self, aside: Aside) -> Option<String> {
        let sentence = timeout(SENTENCE, self.inbox.aside(aside)).await.ok();
        if sentence.is_none() {
            warn!(channel.id = %self.config.id, "a click or a command found no answer in time");
        }
        sentence.filter(|sentence| !sentence.is_empty())
    }

    /// Shows her the sentence by a call of its own. Nothing depends on it: she can click again.
    pub(crate) fn follow_up(self: &Arc<Self>, account: Arc<Account>, asked: Asked) {
        let Some(place) = self.follow_ups.take() else {
            debug!(channel.id = %self.config.id, "too many clicks; this one is left unanswered");
            return;
        };
        let shared = self.clone();
        self.deliveries.spawn(async move {
            let _place = place;
            shared.give_up.run_until_cancelled(shared.tell(&account, asked)).await;
        });
    }

    async fn tell(&self, account: &Account, asked: Asked) {
        let Asked { mut aside, response_url } = asked;
        if let Ok(own) = account.identity().await {
            account.names.vouch(&mut aside.author, own).await;
        }
        let (at, person) = (aside.conversation.clone(), aside.author.id.clone());
        let Some(sentence) = self.sentence(aside).await else { return };
        let (room, person) = (identity::split(&at.room).1, identity::split(&person).1);
        let mut request = json!({"channel": room, "user": person, "text": render::plain(&sentence)});
        if !at.thread.is_empty() {
            request["thread_ts"] = json!(at.thread);
        }
        let told = match account.api.post::<Value>("chat.postEphemeral", &request).await.map(|_| ()) {
            // It may have been shown.
            Ok(()) | Err(CallError::Unclear(_)) => return,
            Err(error) => match response_url.and_then(|url| self.trusted(&url)) {
                Some(url) => self.api.respond(&url, &render::plain(&sentence)).await,
                None => Err(error),
            },
        };
        if let Err(error) = told {
            debug!(channel.id = %self.config.id, room = at.room, %error, "a person could not be answered");
        }
    }

    /// An address from a payload is called only if it is Slack's own.
    fn trusted(&self, url: &str) -> Option<Url> {
        let url = Url::parse(url).ok()?;
        (Hosts::new(&self.config.api_url).trust(&url) == Trust::Token).then_some(url)
    }
}

#[cfg(test)]
mod tests;
