//! The envelopes in which the platform tells what happened.

use serde_json::{Value, json};

use super::{
    APP_ID, BOT_OPEN_ID, TENANT_KEY, ThreadIds,
    message::{Author, Message, union_id},
    world::World,
};

/// Schema 2.0. The token is filled in where it is shown: over the long connection it is empty.
pub(crate) fn envelope(world: &mut World, kind: &str, event: Value) -> Value {
    let (event_id, created) = (world.fresh("ev"), world.stamp());
    json!({"schema": "2.0",
        "header": {"event_id": event_id, "event_type": kind, "create_time": created.to_string(), "token": "",
            "app_id": APP_ID, "tenant_key": TENANT_KEY},
        "event": event})
}

/// `im.message.receive_v1`.
pub(crate) fn received(world: &World, message: &Message) -> Value {
    let kind = world.chats.get(&message.chat).map_or("group", |chat| chat.kind.in_event());
    let with_thread = match world.thread_ids {
        ThreadIds::Always => true,
        ThreadIds::NotOnTheFirst => message.root.is_some(),
        ThreadIds::Never => false,
    };
    let (id, sender_type) = match &message.author {
        Author::Person(id) => (id.as_str(), "user"),
        Author::OtherBot(id) => (id.as_str(), "bot"),
        Author::Bot => (BOT_OPEN_ID, "bot"),
    };
    json!({"sender": {"sender_id": {"open_id": id, "union_id": union_id(id)}, "sender_type": sender_type,
            "tenant_key": world.tenant_of(id)},
        "message": message.in_event(kind, with_thread)})
}

/// The message an envelope is about.
pub(crate) fn about(envelope: &Value) -> Option<&str> {
    let event = &envelope["event"];
    event["message"]["message_id"].as_str().or(event["message_id"].as_str())
}

pub(crate) fn event_id(envelope: &Value) -> String {
    envelope["header"]["event_id"].as_str().unwrap_or_default().to_owned()
}
