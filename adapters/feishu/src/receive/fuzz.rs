//! Whatever comes in, nothing breaks: frames and events that are nearly right, for a moment in each run and for as long as
//! they are told to.

use std::time::Duration;

use proptest::{prelude::*, test_runner::TestCaseError};
use prost::Message;
use serde_json::{Value, json};
use watchfloor_channel::ChannelId;

use super::{
    content, crypto,
    events::{self, Heard},
    frames::{Answer, Frame},
    mentions::{self, Mentions},
    parts::{Joined, Parts},
    vectors::{all, bytes, text},
};
use crate::fuzzing::fuzz;

const US: &str = "ou_bot";

/// A frame of the official clients with some bytes changed, taken out or put in.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let originals: Vec<Vec<u8>> = all("frames").iter().map(|vector| bytes(text(vector, "hex")).to_vec()).collect();
    let change = (any::<prop::sample::Index>(), any::<u8>(), 0..3_u8);
    let near =
        (prop::sample::select(originals), prop::collection::vec(change, 0..6)).prop_map(|(mut frame, changes)| {
            for (at, byte, how) in changes {
                let at = at.index(frame.len() + 1);
                match (how, frame.get_mut(at)) {
                    (0, Some(there)) => *there = byte,
                    (1, Some(_)) => _ = frame.remove(at),
                    _ => frame.insert(at, byte),
                }
            }
            frame
        });
    prop_oneof![4 => near, 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

fn frames_are_read(came: Vec<Vec<u8>>) -> Result<(), TestCaseError> {
    let mut parts = Parts::default();
    for bytes in came {
        let Some(frame) = Frame::read(bytes.into()) else { continue };
        let again = Frame::read(frame.encode_to_vec().into());
        prop_assert_eq!(again.as_ref(), Some(&frame));
        let (id, payload) = (frame.header("message_id").unwrap_or_default(), frame.payload.clone().unwrap_or_default());
        let size = payload.len();
        let joined = parts.take(id, frame.header("sum"), frame.header("seq"), payload, tokio::time::Instant::now());
        if let Joined::Whole(whole) = joined {
            prop_assert!(frame.header("sum").is_some_and(|sum| sum != "1") || whole.len() == size);
            let answer = frame.clone().answered(&Answer::Taken, Duration::ZERO);
            let same = (answer.seq_id, answer.log_id, answer.service, answer.headers.len());
            prop_assert_eq!(same, (frame.seq_id, frame.log_id, frame.service, frame.headers.len() + 1));
        }
    }
    Ok(())
}

/// Words of the platform in any order, at any depth.
fn words() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        3 => prop::sample::select(vec!["", "p2p", "group", "text", "post", "interactive", "system", "file", "user", US, "om_1",
            "omt_1", "@_user_1", "@_user_10 @_user_1", "@_all", "1767225600100", "{\"text\":\"@_user_1 hi\"}", "[[]]", "{}"])
        .prop_map(str::to_owned),
        1 => ".{0,12}",
    ];
    let leaf = prop_oneof![
        4 => text.prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "tag",
        "text",
        "content",
        "title",
        "elements",
        "user_id",
        "key",
        "id",
        "open_id",
        "name",
        "zh_cn",
        "post",
        "image_key",
        "file_key",
        "content_v2",
        "href",
        "user_dsl",
        "action",
        "value",
        "mentions",
    ]);
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..5)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// An event whose parts are exchanged for others.
fn nearly_events() -> impl Strategy<Value = Value> {
    let places = [
        "",
        "/header",
        "/header/app_id",
        "/header/event_type",
        "/header/tenant_key",
        "/event",
        "/event/sender",
        "/event/sender/sender_id",
        "/event/message",
        "/event/message/message_id",
        "/event/message/chat_type",
        "/event/message/message_type",
        "/event/message/content",
        "/event/message/mentions",
        "/event/message/mentions/0",
        "/event/message/mentions/0/id",
        "/event/message/mentions/0/key",
        "/event/message/create_time",
        "/event/message/thread_id",
        "/event/message/root_id",
        "/event/context",
        "/event/action",
        "/event/action/value",
        "/event/operator",
    ];
    let changes = prop::collection::vec((prop::sample::select(places.to_vec()), words(), any::<bool>()), 0..6);
    let kinds = prop::sample::select(vec![events::MESSAGE, events::RECALLED, events::CLICK, "novelty"]);
    (kinds, changes).prop_map(|(kind, changes)| {
        let mut event = json!({"schema": "2.0",
            "header": {"event_id": "e", "event_type": kind, "app_id": "cli_1", "tenant_key": "t"},
            "event": {"sender": {"sender_id": {"open_id": "ou_alice"}, "sender_type": "user", "tenant_key": "t"},
                "message": {"message_id": "om_1", "chat_id": "oc_1", "chat_type": "group", "message_type": "text",
                    "content": "{\"text\":\"@_user_1 why?\"}", "create_time": "1767225600100", "root_id": "", "thread_id": "",
                    "mentions": [{"key": "@_user_1", "id": {"open_id": US}, "name": "Bot"}]},
                "operator": {"open_id": "ou_alice", "tenant_key": "t"}, "action": {"value": {"action": "a", "value": "v"}},
                "context": {"open_message_id": "om_1", "open_chat_id": "oc_1"}}});
        for (place, value, in_string) in changes {
            // What is nested in a string is nested as JSON.
            let value = if in_string { value.to_string().into() } else { value };
            if let Some(part) = event.pointer_mut(place) {
                *part = value;
            }
        }
        event
    })
}

fn events_are_read(event: &Value) -> Result<(), TestCaseError> {
    let kind = events::name(event);
    events::is_for(event, "cli_1");
    events::is_damaged(event, kind);
    events::recalled(event);
    if let Some(aside) = events::click(&ChannelId::new("feishu"), event) {
        prop_assert!(!aside.conversation.room.is_empty());
    }
    let Some(heard) = Heard::of(event) else { return Ok(()) };
    prop_assert!(!heard.message_id.is_empty() && !heard.room.is_empty());
    let prefix = format!("{}/", heard.message_id);
    prop_assert!(heard.said.files.iter().all(|file| file.id.starts_with(&prefix)));
    // Only what stands in the list of mentions is one, whatever the text says.
    let listed = event.pointer("/event/message/mentions").is_some_and(|list| list.to_string().contains(US));
    prop_assert!(listed || !heard.mentions.name(US));
    let said = mentions::write(&heard.said.pieces, US);
    prop_assert_eq!(said.trim(), said.as_str());
    mentions::opens_with_other(&heard.said.pieces, US);
    Ok(())
}

fn contents_are_read(content: &Value) -> Result<(), TestCaseError> {
    let list = Mentions::of(content.get("mentions"));
    for kind in ["text", "post", "interactive", "file", "todo", "novelty"] {
        content::said(kind, &content.to_string(), &list, "om_1");
    }
    crypto::decrypt("key", content.as_str().unwrap_or_default());
    Ok(())
}

/// One law after the other, until the time is up.
#[test]
#[ignore = "runs for WATCHFLOOR_FUZZ_SECONDS"]
fn fuzz_what_comes_in() {
    fuzz(|runner| {
        runner().run(&prop::collection::vec(frames(), 0..6), frames_are_read).unwrap();
        runner().run(&nearly_events(), |event| events_are_read(&event)).unwrap();
        runner().run(&words(), |content| contents_are_read(&content)).unwrap();
    });
}

proptest! {
    #[test]
    fn frames_that_are_nearly_right_break_nothing(came in prop::collection::vec(frames(), 0..6)) {
        frames_are_read(came)?;
    }

    #[test]
    fn events_that_are_nearly_right_break_nothing(event in nearly_events()) {
        events_are_read(&event)?;
    }

    #[test]
    fn contents_of_any_shape_break_nothing(content in words()) {
        contents_are_read(&content)?;
    }
}
