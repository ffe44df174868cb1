//! What a message points at: the one that it quotes, and the ones that it passes on. Each is asked for once and within a
//! moment; the question goes on without it.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;
use tracing::debug;
use watchfloor_channel::FileRef;

use super::{
    content,
    mentions::{self, Mentions},
    wire::text,
};
use crate::{
    api::Api,
    call::{Call, Request},
    identity::Identity,
};

/// Feishu waits three seconds for an event, and the store wants some of them.
const MOMENT: Duration = Duration::from_millis(1200);
const MOST_CHILDREN: usize = 50;

#[derive(Debug, Default)]
pub(super) struct More {
    pub(super) texts: Vec<String>,
    pub(super) files: Vec<FileRef>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Items {
    items: Vec<Value>,
}

pub(super) async fn fetch(api: &Api, kind: &str, message_id: &str, quoted: Option<&str>, own: &Identity) -> More {
    let mut more = More::default();
    let is_forward = kind == "merge_forward";
    let ask = async |id: Option<&str>| match id {
        Some(id) => get(api, id).await,
        None => Vec::new(),
    };
    let (children, items) = tokio::join!(ask(is_forward.then_some(message_id)), ask(quoted));
    if is_forward {
        let children = children.iter().filter(|item| text(item, "/message_id") != message_id).take(MOST_CHILDREN);
        let mut lines = vec!["[forwarded messages]".to_owned()];
        // Their files are not handed out.
        lines.extend(children.filter_map(|child| Some(quote(child, own)?.0)));
        more.texts.push(lines.join("\n"));
    }
    if let Some(quoted) = quoted {
        let found = items.iter().find(|item| text(item, "/message_id") == quoted);
        if let Some((said, files)) = found.and_then(|item| quote(item, own)) {
            more.texts.push(format!("[quoted message]\n{said}"));
            more.files.extend(files);
        }
    }
    more
}

async fn get(api: &Api, message_id: &str) -> Vec<Value> {
    let request = Request::messages([message_id]).query("card_msg_content_type", "user_card_content");
    match timeout(MOMENT, api.call::<Items>(Call::Message, request)).await {
        Ok(Ok(found)) => found.items,
        Ok(Err(error)) => {
            debug!(message.id = message_id, %error, "a message that is pointed at can't be read");
            Vec::new()
        }
        Err(_) => {
            debug!(message.id = message_id, "a message that is pointed at was not read in time");
            Vec::new()
        }
    }
}

/// As a message that is read again looks. `None`: it says nothing, or was taken back.
fn quote(item: &Value, own: &Identity) -> Option<(String, Vec<FileRef>)> {
    let kind = text(item, "/msg_type");
    if matches!(kind, "" | "system") || item.get("deleted").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let mentions = Mentions::of(item.get("mentions"));
    let said = content::said(kind, text(item, "/body/content"), &mentions, text(item, "/message_id"));
    // A quote keeps whom it addressed: only we see that it was us.
    let text_said = mentions::write(&said.pieces, "");
    if text_said.is_empty() && said.files.is_empty() {
        return None;
    }
    let names = said.files.iter().map(|file| format!("[file {}]", file.name));
    let lines: Vec<_> = text_said.lines().map(str::to_owned).chain(names).map(|line| format!("> {line}")).collect();
    let who = match text(item, "/sender/id") {
        id if id == own.app_id || id == own.open_id => format!("@{}", own.name),
        id => format!("@{id}"),
    };
    Some((format!("{who}:\n{}", lines.join("\n")), said.files))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn own() -> Identity {
        Identity { open_id: "ou_bot".into(), app_id: "cli_1".into(), name: "Bot".into(), is_active: true }
    }

    #[test]
    fn a_message_that_is_read_again_becomes_a_quote() {
        let item = json!({"message_id": "om_1", "msg_type": "post", "sender": {"id": "ou_alice", "id_type": "open_id"},
            "body": {"content": json!({"title": "", "content": [[{"tag": "at", "user_id": "@_user_1"},
                {"tag": "text", "text": " p99 is up"}], [{"tag": "img", "image_key": "img_1"}]]}).to_string()},
            "mentions": [{"key": "@_user_1", "id": "ou_wei", "id_type": "open_id", "name": "Wei"}]});
        let (said, files) = quote(&item, &own()).unwrap();
        assert_eq!(said, "@ou_alice:\n> @Wei (ou_wei) p99 is up\n> [file image]");
        assert_eq!(files.iter().map(|file| file.id.as_str()).collect::<Vec<_>>(), ["om_1/img_1"]);
        let recalled = json!({"message_id": "om_1", "msg_type": "text", "deleted": true,
            "body": {"content": "This message was recalled"}});
        assert_eq!(quote(&recalled, &own()), None);
        assert_eq!(quote(&json!(7), &own()), None);
    }
}
