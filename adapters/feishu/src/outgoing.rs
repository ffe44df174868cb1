//! Posts: as a reply to the question where that can be, else to what stands in the conversation, else to the room; in the
//! room's form, else in a plainer one. A refusal is a sure no, so one key serves all of these tries.

mod buttons;
mod content;
mod edit;
mod files;
mod forms;
mod shown;

use std::{
    collections::{VecDeque, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use moka::sync::Cache;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use watchfloor_channel::{Body, ConversationId, MessageId, Now, Outbound, RefusalKind, SendError};

use crate::{
    FeishuConfig,
    api::Api,
    call::{Call, Request},
    errors::{self, CallError},
    receive::{Threads, is_person},
    render::Form,
};

pub(crate) use content::measure;
use content::{Content, form_of, is_about_form, plainer};
use forms::Forms;

/// How long Feishu knows a post by its key.
pub(crate) const MERGED: Duration = Duration::from_secs(3_600);
/// Feishu's limit for a key.
const LONGEST_KEY: usize = 50;
const REMEMBERED: u64 = 10_000;
/// Between Feishu's and ours, in milliseconds.
const CLOCKS_DIFFER: i64 = 2_000;

pub(crate) struct Outgoing {
    api: Arc<Api>,
    threads: Arc<Threads>,
    forms: Forms,
    now: Now,
    /// What was tried under a key: Feishu answers the same key with the same message, whatever we want to say by now.
    tried: Cache<String, Tried>,
    /// The file that a delivery became, by its key.
    uploaded: Cache<String, files::Uploaded>,
    /// Whether a message to the room itself would open a topic.
    topics: Cache<String, bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Tried {
    content: u64,
    form: Form,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Chat {
    chat_mode: String,
    group_message_type: String,
}

/// A message of ours that stands there, as Feishu describes it.
struct Placed {
    message: MessageId,
    form: Option<Form>,
    created: Option<i64>,
    content: String,
}

/// What became of a post under its key.
enum Put {
    Shown(MessageId),
    /// The key brought back an older message, which can't be made to say this.
    Stuck(MessageId, SendError),
}

/// Where a post can go: messages to reply to, best first.
struct Places<'a> {
    at: &'a ConversationId,
    replies: VecDeque<String>,
}

impl Outgoing {
    pub(crate) fn new(config: &FeishuConfig, api: Arc<Api>, threads: Arc<Threads>) -> Self {
        Self {
            api,
            threads,
            forms: Forms::new(config.reply_mode, config.notes.clone()),
            now: config.now.clone(),
            tried: for_an_hour(),
            uploaded: for_an_hour(),
            topics: for_an_hour(),
        }
    }

    pub(crate) async fn post(&self, message: &Outbound, key: &str) -> Result<MessageId, SendError> {
        let key = shortened(key);
        let _under_way = self.threads.posting(&message.conversation.room);
        let mut places = self.places(message).await?;
        match &message.body {
            Body::File(file) => self.post_file(&mut places, &key, file).await,
            body => self.post_body(&mut places, &key, body).await,
        }
    }

    async fn post_body(&self, places: &mut Places<'_>, key: &str, body: &Body) -> Result<MessageId, SendError> {
        let mut stuck = None;
        let mut key = key.to_owned();
        loop {
            match self.post_once(places, &key, body).await? {
                Put::Shown(message) => {
                    if let Some(old) = stuck
                        && let Err(error) = self.delete(&old).await
                    {
                        tracing::warn!(message.id = old.id, %error, "a message that can't be edited stays");
                    }
                    return Ok(message);
                }
                Put::Stuck(message, why) if stuck.is_none() => {
                    tracing::warn!(message.id = message.id, %why, "what stands under this key stays as it is; another message is posted");
                    key = shortened(&format!("{key} in place of {}", message.id));
                    stuck = Some(message);
                }
                Put::Stuck(_, why) => return Err(why),
            }
        }
    }

    async fn post_once(&self, places: &mut Places<'_>, key: &str, body: &Body) -> Result<Put, SendError> {
        let mut form = match body {
            Body::Ask(_) => Form::Card,
            _ => self.forms.of_room(&places.at.room).await,
        };
        let started = self.now.millis();
        loop {
            let content = Content::of(body, form)?;
            let now = Tried { content: hash(&content), form };
            let before = self.tried.get(key);
            // Before the call: whoever waits for it may lose patience.
            self.tried.insert(key.to_owned(), before.unwrap_or(now));
            match self.place(places, key, content.kind, &content.text).await {
                Ok(placed) => {
                    let form = placed.form.unwrap_or(form);
                    let message = placed.message;
                    self.forms.remember(&message.id, form).await;
                    let tried_otherwise = before.is_some_and(|before| before.form == form && before != now);
                    // An earlier process may have tried, too.
                    let is_older = placed.created.is_some_and(|created| created + CLOCKS_DIFFER < started);
                    if tried_otherwise || (is_older && !shown::is_same(&placed.content, &content.text)) {
                        match self.edit_in(form, &message, body).await {
                            Err(error) if stays_as_it_is(&error) => return Ok(Put::Stuck(message, error)),
                            edited => edited?,
                        }
                    }
                    self.tried.insert(key.to_owned(), Tried { form, ..now });
                    return Ok(Put::Shown(message));
                }
                Err(error) => {
                    let surely_not = !matches!(error, CallError::Unclear(_));
                    if surely_not && before.is_none() {
                        self.tried.invalidate(key);
                    }
                    match plainer(form).filter(|_| is_about_form(&error)) {
                        Some(plainer) => {
                            tracing::warn!(room = places.at.room, %error, "said again in a plainer form");
                            form = plainer;
                        }
                        None => return Err(error.of_write()),
                    }
                }
            }
        }
    }

    /// Posts at the first place that exists.
    async fn place(&self, places: &mut Places<'_>, key: &str, kind: &str, content: &str) -> Result<Placed, CallError> {
        while let Some(target) = places.replies.front() {
            let request = json!({"content": content, "msg_type": kind, "uuid": key});
            let request = Request::messages([target.as_str(), "reply"]).json(request);
            match self.api.call::<Value>(Call::Reply, request).await {
                Err(error) if error.kind() == Some(RefusalKind::MessageGone) => {
                    tracing::info!(message.id = target, %error, "the message to answer is gone");
                    places.replies.pop_front();
                }
                posted => return self.posted(places.at, &posted?).await,
            }
        }
        if self.is_topic(places.at).await? {
            let refusal = errors::refused(RefusalKind::ThreadGone, "thread_gone", "the topic's messages were recalled");
            return Err(CallError::Refused(refusal));
        }
        let room = &places.at.room;
        let receiver = if is_person(room) { "open_id" } else { "chat_id" };
        let request = json!({"receive_id": room, "content": content, "msg_type": kind, "uuid": key});
        let request = Request::messages([]).query("receive_id_type", receiver).json(request);
        let posted = self.api.call::<Value>(Call::Send, request).await?;
        self.posted(places.at, &posted).await
    }

    /// Its name is all that we need: whatever else is missing or odd, the message stands there.
    async fn posted(&self, at: &ConversationId, posted: &Value) -> Result<Placed, CallError> {
        let text = |pointer: &str| posted.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let id = text("/message_id");
        if id.is_empty() {
            return Err(CallError::Unclear("the answer does not name the message".to_owned()));
        }
        self.threads.posted(at, id, Some(text("/thread_id")).filter(|thread| !thread.is_empty())).await;
        Ok(Placed {
            message: MessageId { room: at.room.clone(), id: id.to_owned() },
            form: form_of(text("/msg_type")),
            created: text("/create_time").parse().ok(),
            content: text("/body/content").to_owned(),
        })
    }

    async fn places<'a>(&self, message: &'a Outbound) -> Result<Places<'a>, SendError> {
        let at = &message.conversation;
        let mut replies = VecDeque::new();
        if let Some(question) = message.question.as_ref().filter(|question| question.room == at.room) {
            replies.push_back(question.id.clone());
        }
        match self.threads.anchor(at).await {
            Ok(anchor) => replies.extend(anchor),
            // The question is a place as good.
            Err(error) if !replies.is_empty() => tracing::warn!(%error, "a conversation's messages can't be read"),
            Err(error) => return Err(SendError::Unavailable(error.to_string())),
        }
        if at.thread.starts_with("om_") {
            replies.push_back(at.thread.clone());
        }
        replies.retain(|target| target.starts_with("om_"));
        let mut seen = std::collections::HashSet::new();
        replies.retain(|target| seen.insert(target.clone()));
        Ok(Places { at, replies })
    }

    /// A message to the room would stand outside of the conversation, or open a topic of its own. Only asked when nothing of
    /// the conversation is left to reply to.
    async fn is_topic(&self, at: &ConversationId) -> Result<bool, CallError> {
        if at.thread.is_empty() || is_person(&at.room) {
            return Ok(false);
        }
        if matches!(self.threads.topic(at).await, Ok(Some(_))) {
            return Ok(true);
        }
        if let Some(known) = self.topics.get(&at.room) {
            return Ok(known);
        }
        let request = Request::to(["open-apis", "im", "v1", "chats", at.room.as_str()]);
        let chat: Chat = match self.api.call(Call::Chat, request).await {
            Ok(chat) => chat,
            // Without the scope to ask, it is taken for an ordinary group.
            Err(CallError::Refused(_)) => return Ok(false),
            Err(error) => return Err(error.before_the_call()),
        };
        let is_topic = chat.chat_mode == "topic" || chat.group_message_type == "thread";
        self.topics.insert(at.room.clone(), is_topic);
        Ok(is_topic)
    }
}

fn stays_as_it_is(error: &SendError) -> bool {
    let for_good = |kind| matches!(kind, RefusalKind::NotEditable | RefusalKind::MessageGone);
    matches!(error, SendError::Refused(refusal) if for_good(refusal.kind))
}

fn for_an_hour<V: Clone + Send + Sync + 'static>() -> Cache<String, V> {
    Cache::builder().max_capacity(REMEMBERED).time_to_live(MERGED).build()
}

fn hash(content: &Content) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.text.hash(&mut hasher);
    hasher.finish()
}

fn shortened(key: &str) -> String {
    match key.len() {
        0..=LONGEST_KEY => key.to_owned(),
        _ => Sha256::digest(key).iter().take(20).map(|byte| format!("{byte:02x}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_feishu_finds_too_long_is_shortened_the_same_way_each_time() {
        let long = "k".repeat(51);
        assert_eq!(shortened(&long), shortened(&long));
        assert_ne!(shortened(&long), shortened(&"k".repeat(52)));
        assert!(shortened(&long).len() <= LONGEST_KEY);
        assert_eq!(shortened(&"k".repeat(50)), "k".repeat(50));
    }
}
