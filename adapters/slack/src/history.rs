//! Reads messages back: earlier ones of a thread, and the one that carries our mark. A page is read leniently and the
//! number of pages is bounded.

use std::collections::{HashSet, VecDeque};

use serde_json::{Value, json};
use watchfloor_channel::{ConversationId, DeliveryKey, MessageId, Overheard, RefusalKind, SendError};

use crate::{
    api::Api,
    errors::CallError,
    events,
    identity::Identity,
    upload,
    wire::{Message, Page},
};

/// The mark on what we post.
pub(crate) const EVENT_TYPE: &str = "watchfloor_delivery";

const PAGE: &str = "200";
/// Threads are listed oldest first, so the newest message is on the last page.
const PAGES_OF_THREAD: usize = 20;
/// Rooms are listed newest first, and we look for something recent.
const PAGES_OF_ROOM: usize = 3;

/// A post of ours that was found again.
pub(crate) struct Found {
    pub(crate) id: MessageId,
    /// Meant to stand outside the thread that it belongs to.
    pub(crate) unthreaded: bool,
}

/// Turns the request of a threaded post into one for the channel itself, and lets the mark say so.
pub(crate) fn mark_unthreaded(request: &mut Value) {
    if let Some(arguments) = request.as_object_mut() {
        arguments.remove("thread_ts");
    }
    request["metadata"]["event_payload"]["unthreaded"] = json!(true);
}

/// A thread that is gone holds nothing.
pub(crate) async fn find(api: &Api, of: &ConversationId, delivery: &DeliveryKey) -> Result<Option<Found>, SendError> {
    let mut pages = Pages::of(of);
    loop {
        let messages = match pages.next(api).await {
            Ok(Some(messages)) => messages,
            Ok(None) => break,
            Err(SendError::Refused(refusal)) if refusal.kind == RefusalKind::ThreadGone => break,
            Err(error) => return Err(error),
        };
        if let Some(found) = messages.iter().find(|message| is_marked(message, delivery)) {
            let unthreaded = found.metadata.event_payload.get("unthreaded") == Some(&Value::Bool(true));
            return Ok(Some(Found { id: MessageId { room: of.room.clone(), id: found.ts.clone() }, unthreaded }));
        }
    }
    if pages.cut_off && !of.thread.is_empty() {
        return Err(SendError::Unavailable("the thread is too long to look for one message".to_owned()));
    }
    Ok(None)
}

fn is_marked(message: &Message, delivery: &DeliveryKey) -> bool {
    let by_metadata = message.metadata.event_type == EVENT_TYPE
        && message.metadata.event_payload.get("key").and_then(|key| key.as_str()) == Some(delivery.0.as_str());
    by_metadata || message.files.iter().any(|file| upload::is_marked(file, delivery))
}

pub(crate) async fn thread(
    api: &Api,
    of: &ConversationId,
    limit: usize,
    own: &Identity,
) -> Result<Vec<Overheard>, SendError> {
    let mut pages = Pages::of(of);
    let mut seen = HashSet::new();
    let mut newest: VecDeque<Overheard> = VecDeque::new();
    while let Some(messages) = pages.next(api).await? {
        // Each page of a thread may begin with its first message again.
        let fresh = messages.iter().filter(|message| seen.insert(message.ts.clone()));
        let overheard = fresh.filter_map(|message| events::overheard(message, &of.room, own));
        if of.thread.is_empty() {
            overheard.for_each(|message| newest.push_front(message));
            if newest.len() >= limit {
                break;
            }
        } else {
            newest.extend(overheard);
            newest.drain(..newest.len().saturating_sub(limit));
        }
    }
    newest.drain(..newest.len().saturating_sub(limit));
    Ok(newest.into())
}

struct Pages<'a> {
    of: &'a ConversationId,
    cursor: Option<String>,
    left: usize,
    /// There was more than we were willing to read.
    cut_off: bool,
}

impl<'a> Pages<'a> {
    fn of(of: &'a ConversationId) -> Self {
        let left = if of.thread.is_empty() { PAGES_OF_ROOM } else { PAGES_OF_THREAD };
        Self { of, cursor: Some(String::new()), left, cut_off: false }
    }

    async fn next(&mut self, api: &Api) -> Result<Option<Vec<Message>>, SendError> {
        let Some(cursor) = self.cursor.take() else { return Ok(None) };
        if self.left == 0 {
            self.cut_off = true;
            return Ok(None);
        }
        self.left -= 1;
        let mut arguments = vec![("channel", self.of.room.as_str()), ("limit", PAGE), ("include_all_metadata", "true")];
        let method = if self.of.thread.is_empty() {
            "conversations.history"
        } else {
            arguments.push(("ts", self.of.thread.as_str()));
            "conversations.replies"
        };
        if !cursor.is_empty() {
            arguments.push(("cursor", cursor.as_str()));
        }
        let page: Page = api.get(method, &arguments).await.map_err(CallError::of_read)?;
        let next = page.response_metadata.next_cursor;
        self.cursor = (!next.is_empty()).then_some(next);
        Ok(Some(page.messages))
    }
}
