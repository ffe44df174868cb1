//! From our text to what Feishu shows: the content of a post or of a card.

use serde_json::{Value, json};
use watchfloor_channel::{Ask, Body};

pub(crate) fn post(body: &Body) -> Value {
    json!({"zh_cn": {"title": "", "content": [[{"tag": "md", "text": body.text()}]]}})
}

pub(crate) fn card(body: &Body) -> Value {
    json!({
        "schema": "2.0",
        "config": {"update_multi": true},
        "body": {"elements": [{"tag": "markdown", "content": body.text()}]},
    })
}

pub(crate) fn plain(body: &Body) -> Value {
    json!({"text": body.text()})
}

pub(crate) fn ask(ask: &Ask) -> Value {
    json!({"text": ask.text})
}

pub(crate) fn mention(person: &str) -> String {
    format!("<at user_id=\"{person}\"></at>")
}
