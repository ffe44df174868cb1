//! Whatever comes in, nothing breaks: updates that are nearly right, for a moment in each run and for as long as they are
//! told to.

use std::sync::Arc;

use proptest::{prelude::*, test_runner::TestCaseError};
use serde::Deserialize;
use serde_json::{Value, json};
use watchfloor_channel::{ChannelId, InboundKind, ShortMemory};

use super::{
    messages,
    rooms::Rooms,
    text_in::Own,
    threads::Threads,
    updates::{self, Message, Update},
};
use crate::{fuzzing::fuzz, keyboard};

const US: i64 = 6_000;

fn own() -> Own {
    Own { id: US, username: "ops_bot".into() }
}

/// Words of the platform in any order, at any depth.
fn words() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        3 => prop::sample::select(vec!["", "private", "group", "supergroup", "channel", "mention", "text_mention", "bot_command",
            "text_link", "@ops_bot why?", "🔥🔥 @ops_bot 支付失败", "/stop@ops_bot", "/new", "stop", "ops_bot", "approve:7", ":"])
            .prop_map(str::to_owned),
        1 => ".{0,16}",
    ];
    let leaf = prop_oneof![
        4 => text.prop_map(Value::from),
        2 => prop::sample::select(vec![US, -4001, -1_001_234_567_890, 5001, 0, 1, 12, 77]).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "message_id",
        "chat",
        "id",
        "type",
        "from",
        "text",
        "caption",
        "entities",
        "offset",
        "length",
        "user",
        "url",
        "message_thread_id",
        "is_topic_message",
        "reply_to_message",
        "document",
        "file_id",
        "quote",
        "sender_chat",
        "forward_origin",
    ]);
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..5)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// An update whose parts are exchanged for others.
fn nearly_updates() -> impl Strategy<Value = Value> {
    let kinds = prop::sample::select(vec!["message", "edited_message", "callback_query", "my_chat_member", "novelty"]);
    let places = [
        "",
        "/message_id",
        "/from",
        "/from/id",
        "/chat",
        "/chat/id",
        "/chat/type",
        "/chat/is_forum",
        "/date",
        "/text",
        "/caption",
        "/entities",
        "/entities/0",
        "/entities/0/type",
        "/entities/0/offset",
        "/entities/0/length",
        "/entities/0/user",
        "/message_thread_id",
        "/is_topic_message",
        "/reply_to_message",
        "/reply_to_message/from",
        "/reply_to_message/text",
        "/quote",
        "/sender_chat",
        "/forward_origin",
        "/rich_message",
        "/document",
        "/photo",
        "/media_group_id",
        "/message",
        "/data",
    ];
    let changes = prop::collection::vec((prop::sample::select(places.to_vec()), words()), 0..6);
    (kinds, changes).prop_map(|(kind, changes)| {
        let mut body = json!({"message_id": 501, "from": {"id": 5001, "first_name": "Alice"},
            "chat": {"id": -1_001_234_567_890_i64, "type": "supergroup", "is_forum": false}, "date": 1_767_225_600,
            "text": "🔥 @ops_bot why?", "caption": null, "entities": [{"type": "mention", "offset": 3, "length": 8, "user": null}],
            "message_thread_id": null, "is_topic_message": false, "quote": null, "sender_chat": null, "forward_origin": null,
            "reply_to_message": {"message_id": 9, "from": {"id": US}, "chat": {"id": -1_001_234_567_890_i64}, "text": "x"},
            "rich_message": null, "document": {"file_id": "d"}, "photo": [], "media_group_id": null, "message": null,
            "data": "approve:7"});
        for (place, value) in changes {
            if let Some(part) = body.pointer_mut(place) {
                *part = value;
            }
        }
        json!({"update_id": 1, kind: body})
    })
}

fn message_is_read(message: &Message, kind: InboundKind) -> Result<(), TestCaseError> {
    let notes: Arc<ShortMemory> = Arc::default();
    let threads = Threads::new(notes.clone(), Arc::new(Rooms::new(notes)));
    let place = futures::executor::block_on(threads.place(message)).unwrap();
    let (id, chat) = (message.message_id, message.chat.id);
    let Some(piece) = messages::inbound(&ChannelId::new("telegram"), message, kind, &own(), &place) else {
        // Only what says nothing is left out.
        prop_assert!(message.text.is_empty() && message.caption.is_empty());
        return Ok(());
    };
    prop_assert_eq!(piece.inbound.message_key, format!("{chat}/{id}"));
    prop_assert!(!piece.inbound.conversation.room.is_empty());
    prop_assert!(crate::thread::Thread::parse(&piece.inbound.conversation.thread).is_some());
    prop_assert!(piece.inbound.files.iter().all(|file| !file.id.is_empty() && !file.name.is_empty()));
    Ok(())
}

fn update_is_read(update: &Value) -> Result<(), TestCaseError> {
    updates::kind_of(update);
    let Ok(parsed) = Update::deserialize(update) else {
        prop_assert!(!update.is_object());
        return Ok(());
    };
    for (message, kind) in [(parsed.message, InboundKind::Message), (parsed.edited_message, InboundKind::Edit)] {
        if let Some(message) = message {
            message_is_read(&message, kind)?;
        }
    }
    if let Some(press) = parsed.callback_query {
        let (action, value) = keyboard::read(&press.data);
        prop_assert!(action.len() + value.len() <= press.data.len());
    }
    Ok(())
}

#[test]
#[ignore = "runs for WATCHFLOOR_FUZZ_SECONDS"]
fn fuzz_what_comes_in() {
    fuzz(|runner| {
        runner().run(&nearly_updates(), |update| update_is_read(&update)).unwrap();
        runner().run(&words(), |update| update_is_read(&update)).unwrap();
    });
}

proptest! {
    #[test]
    fn updates_that_are_nearly_right_break_nothing(update in nearly_updates()) {
        update_is_read(&update)?;
    }

    #[test]
    fn updates_of_any_shape_break_nothing(update in words()) {
        update_is_read(&update)?;
    }
}
