//! Reads a conversation back, where the app may. In groups that takes a scope that a company may not want to grant: then there
//! is nothing to read, which is said once and is no error.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde::Deserialize;
use serde_json::Value;
use watchfloor_channel::{Author, ConversationId, Overheard, RefusalKind, SendError};

use crate::{
    api::Api,
    call::{Call, Request},
    errors::CallError,
    identity::Identity,
    receive::{self, Threads},
};

/// Feishu's limit for one page.
const PAGE: usize = 50;
const PAGES: usize = 10;

pub(crate) struct History {
    api: Arc<Api>,
    threads: Arc<Threads>,
    told: AtomicBool,
}

/// What Feishu lists messages of.
pub(crate) struct Container {
    kind: &'static str,
    id: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Page {
    items: Vec<Value>,
    has_more: bool,
    page_token: String,
}

impl History {
    pub(crate) fn new(api: Arc<Api>, threads: Arc<Threads>) -> Self {
        Self { api, threads, told: AtomicBool::new(false) }
    }

    /// `None`: Feishu keeps no list of it. Quotes in an ordinary group are messages among others.
    pub(crate) async fn container(&self, of: &ConversationId) -> Result<Option<Container>, SendError> {
        let topic = self.threads.topic(of).await.map_err(|error| SendError::Unavailable(error.to_string()))?;
        Ok(match topic {
            Some(id) => Some(Container { kind: "thread", id }),
            // A private chat, which Feishu lists under its own name only.
            None if of.thread.is_empty() && of.room.starts_with("oc_") => {
                Some(Container { kind: "chat", id: of.room.clone() })
            }
            None => None,
        })
    }

    /// The newest messages, oldest first.
    pub(crate) async fn read(&self, of: &Container, limit: usize, own: &Identity) -> Result<Vec<Overheard>, SendError> {
        let mut items = Vec::new();
        let mut token = String::new();
        for _ in 0..PAGES {
            let mut request = Request::messages([])
                .query("container_id_type", of.kind)
                .query("container_id", of.id.as_str())
                .query("sort_type", "ByCreateTimeDesc")
                .query("page_size", limit.clamp(1, PAGE).to_string());
            if !token.is_empty() {
                request = request.query("page_token", token);
            }
            let page: Page = match self.api.call(Call::History, request).await {
                Ok(page) => page,
                Err(error @ CallError::Refused(_)) if error.kind() != Some(RefusalKind::Credentials) => {
                    self.tell(&error);
                    break;
                }
                Err(error) => return Err(error.of_read()),
            };
            let (more, next) = (page.has_more, page.page_token);
            items.extend(page.items);
            if items.len() >= limit || !more || next.is_empty() {
                break;
            }
            token = next;
        }
        // Of which company we are, nobody but our own messages tells.
        let text = |item: &Value, pointer: &str| item.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let ours = items.iter().find(|item| text(item, "/sender/id").as_ref() == Some(&own.app_id));
        let tenant = ours.and_then(|item| text(item, "/sender/tenant_key"));
        let readable = items.iter().filter_map(|item| overheard(item, own, tenant.as_deref()));
        let mut found: Vec<_> = readable.take(limit).collect();
        found.reverse();
        Ok(found)
    }

    fn tell(&self, error: &CallError) {
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::info!(%error, "earlier messages can't be read; questions are answered without them");
        }
    }
}

/// `None`: not readable, recalled, or nothing that a person would call a message.
fn overheard(item: &Value, own: &Identity, tenant: Option<&str>) -> Option<Overheard> {
    let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let message_key = Some(text("/message_id")).filter(|id| !id.is_empty())?.to_owned();
    let is_left_out = item.get("deleted") == Some(&Value::Bool(true)) || text("/msg_type") == "system";
    if is_left_out {
        return None;
    }
    let id = text("/sender/id").to_owned();
    let is_bot = text("/sender/sender_type") != "user";
    let is_self = !id.is_empty() && (id == own.app_id || id == own.open_id);
    let is_outsider = tenant.is_some_and(|tenant| text("/sender/tenant_key") != tenant);
    let author = Author { id, name: None, is_bot, is_self, is_outsider };
    let (text, files) = receive::readable(item, &own.open_id);
    let sent_at = item.get("create_time").and_then(Value::as_str).and_then(|millis| millis.parse().ok()).unwrap_or(0);
    Some(Overheard { message_key, author, text, files, sent_at })
}
