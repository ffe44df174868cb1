use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use watchfloor_channel::{Addressed, ShortMemory};

use super::*;
use crate::receive::{rooms::Rooms, threads::Threads};

fn own() -> Own {
    Own { id: 6000, username: "ops_bot".into() }
}

fn read(message: Value) -> Option<Inbound> {
    let notes: Arc<ShortMemory> = Arc::default();
    let threads = Threads::new(notes.clone(), Arc::new(Rooms::new(notes)));
    let message: Message = serde_json::from_value(message).unwrap();
    let place = futures::executor::block_on(threads.place(&message)).unwrap();
    inbound(&ChannelId::new("telegram"), &message, InboundKind::Message, &own(), &place).map(Piece::alone)
}

fn alice() -> Value {
    json!({"id": 5001, "is_bot": false, "first_name": "Alice", "username": "alice_ops", "language_code": "en"})
}

fn ops() -> Value {
    json!({"id": -1_001_234_567_890_i64, "title": "Ops", "type": "supergroup"})
}

fn mention() -> Value {
    json!([{"type": "mention", "offset": 0, "length": 8}])
}

fn said(text: &str, more: Value) -> Value {
    let mut message = json!({"message_id": 501, "from": alice(), "chat": ops(), "date": 1_767_225_600, "text": text});
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

fn text(message: Value) -> String {
    read(message).unwrap().text
}

#[test]
fn a_mention_in_a_topic_is_read_whole() {
    let message = json!({"message_id": 501, "message_thread_id": 77, "is_topic_message": true, "from": alice(),
        "chat": {"id": -1_001_234_567_890_i64, "title": "Ops", "is_forum": true, "type": "supergroup"}, "date": 1_767_225_600,
        "reply_to_message": {"message_id": 77, "message_thread_id": 77, "is_topic_message": true, "date": 1_767_225_000,
            "from": {"id": 6000, "is_bot": true, "first_name": "Ops bot"}, "chat": ops(),
            "forum_topic_created": {"name": "Checkout", "icon_color": 7_322_096}},
        "text": "🔥🔥 @ops_bot 支付失败", "entities": [{"type": "mention", "offset": 5, "length": 8}]});
    let expected = Inbound {
        conversation: ConversationId {
            channel: ChannelId::new("telegram"),
            room: "-1001234567890".into(),
            thread: "t77".into(),
        },
        message_key: "-1001234567890/501".into(),
        event_id: None,
        message: MessageId { room: "-1001234567890".into(), id: "501".into() },
        kind: InboundKind::Message,
        author: Author {
            id: "5001".into(),
            name: Some("Alice".into()),
            is_bot: false,
            is_self: false,
            is_outsider: false,
        },
        text: "🔥🔥 支付失败".into(),
        addressed: Addressed::Mention,
        opens_with_other: false,
        private: false,
        starts_thread: false,
        files: vec![],
        command: None,
        room_now: None,
        sent_at: 1_767_225_600_000,
    };
    assert_eq!(read(message), Some(expected));
}

#[test]
fn a_private_message_is_for_us() {
    let read =
        read(json!({"message_id": 12, "from": alice(), "chat": {"id": 5001, "first_name": "Alice", "type": "private"},
        "date": 1_767_225_700, "text": "status of incident 42?"}))
        .unwrap();
    assert_eq!((read.addressed, read.private, read.conversation.thread.as_str()), (Addressed::Direct, true, ""));
    assert_eq!((read.conversation.room.as_str(), read.text.as_str()), ("5001", "status of incident 42?"));
}

#[test]
fn the_author_is_who_an_access_list_would_name() {
    let author = |more: Value| {
        let author = read(said("hello", more)).unwrap().author;
        (author.id, author.name.unwrap_or_default(), author.is_bot, author.is_self)
    };
    let anonymous =
        json!({"id": 1_087_968_824, "is_bot": true, "first_name": "Group", "username": "GroupAnonymousBot"});
    let channel = json!({"id": -1_005_550_001_i64, "title": "Alerts", "type": "channel"});
    let as_channel = json!({"id": 136_817_688, "is_bot": true, "first_name": "Channel"});
    for (more, id, name, is_bot, is_self) in [
        (json!({"from": {"id": 5002, "first_name": "Bob", "last_name": "Ray"}}), "5002", "Bob Ray", false, false),
        (json!({"from": {"id": 7000, "is_bot": true, "first_name": "Alerts"}}), "7000", "Alerts", true, false),
        (json!({"from": {"id": 6000, "is_bot": true, "first_name": "Ops bot"}}), "6000", "Ops bot", true, true),
        (
            json!({"from": anonymous, "sender_chat": ops(), "author_signature": "lead"}),
            "1087968824",
            "lead",
            false,
            false,
        ),
        (json!({"from": as_channel, "sender_chat": channel}), "-1005550001", "Alerts", false, false),
        (
            json!({"from": {"id": 777_000}, "sender_chat": channel, "is_automatic_forward": true}),
            "-1005550001",
            "Alerts",
            true,
            false,
        ),
        (json!({"from": null}), "", "", false, false),
    ] {
        assert_eq!(author(more), (id.to_owned(), name.to_owned(), is_bot, is_self));
    }
}

#[test]
fn what_somebody_else_said_comes_along_with_a_reply_to_it() {
    let alert = json!({"message_id": 400, "from": {"id": 7000, "is_bot": true, "first_name": "Alerts"}, "chat": ops(),
        "text": "[FIRING:1] HighErrorRate\nrunbook", "entities": [{"type": "text_link", "offset": 25, "length": 7,
            "url": "https://example.org/r"}], "document": {"file_id": "F1", "file_name": "graph.png", "file_size": 9}});
    let reply =
        said("@ops_bot why?", json!({"entities": mention(), "message_thread_id": 400, "reply_to_message": alert}));
    let seen = read(reply.clone()).unwrap();
    assert_eq!(seen.text, "why?\n\nIn reply to Alerts:\n> [FIRING:1] HighErrorRate\n> runbook (https://example.org/r)");
    assert_eq!(seen.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["graph.png"]);
    assert_eq!(seen.conversation.thread, "m400");
    let mut marked = reply.clone();
    marked["quote"] = json!({"text": "HighErrorRate", "position": 11});
    assert_eq!(text(marked), "why?\n\nIn reply to Alerts:\n> HighErrorRate");
    let mut ours = reply.clone();
    ours["reply_to_message"]["from"] = json!({"id": 6000, "is_bot": true, "first_name": "Ops bot"});
    assert_eq!(text(ours), "why?");
    let mut bare = reply.clone();
    bare["text"] = json!("@ops_bot");
    assert!(text(bare).starts_with("In reply to Alerts:\n> "));
    for stop in ["@ops_bot stop", "@ops_bot Stop!", "@ops_bot /stop"] {
        let mut stopping = reply.clone();
        stopping["text"] = json!(stop);
        assert!(!text(stopping).contains('\n'), "{stop}");
    }
}

#[test]
fn a_command_is_never_a_piece_of_what_went_before() {
    let begins = |text: &str, more: Value| {
        let threads = Threads::new(Arc::<ShortMemory>::default(), Arc::new(Rooms::new(Arc::<ShortMemory>::default())));
        let message: Message = serde_json::from_value(said(text, more)).unwrap();
        let place = futures::executor::block_on(threads.place(&message)).unwrap();
        inbound(&ChannelId::new("telegram"), &message, InboundKind::Message, &own(), &place).unwrap().begins
    };
    let bare = json!({"entities": [{"type": "bot_command", "offset": 0, "length": 5}]});
    assert!(
        begins("/stop", bare) && begins("Stop!", json!({})) && begins("@ops_bot x", json!({"entities": mention()}))
    );
    assert!(!begins("the rest of it", json!({})));
}

#[test]
fn a_forwarded_message_says_so_and_commands_nothing() {
    let origin = json!({"type": "user", "sender_user": {"id": 5002, "first_name": "Bob"}, "date": 1});
    assert_eq!(text(said("it is down", json!({"forward_origin": origin}))), "[forwarded from Bob]\nit is down");
    let command = said(
        "/restart",
        json!({"forward_origin": {"type": "hidden_user", "sender_user_name": "Eve"},
        "entities": [{"type": "bot_command", "offset": 0, "length": 8}]}),
    );
    assert_eq!(read(command).unwrap().command, None);
}

#[test]
fn files_of_every_kind_have_a_name() {
    let files = |more: Value| {
        let files = read(said("", more)).map(|read| read.files).unwrap_or_default();
        files.into_iter().map(|file| (file.id, file.name, file.media_type, file.bytes)).collect::<Vec<_>>()
    };
    let file = |id: &str, name: &str, media_type: &str, bytes| vec![(id.into(), name.into(), media_type.into(), bytes)];
    let log = json!({"file_name": "checkout.log", "mime_type": "text/plain", "file_id": "D", "file_size": 5120});
    assert_eq!(files(json!({"document": log})), file("D", "checkout.log", "text/plain", 5120));
    let photo = json!([{"file_id": "S", "file_size": 10}, {"file_id": "L", "file_size": 100}]);
    assert_eq!(files(json!({"photo": photo})), file("L", "photo-501.jpg", "image/jpeg", 100));
    let clip = json!({"file_id": "A"});
    assert_eq!(
        files(json!({"animation": clip, "document": {"file_id": "A"}})),
        file("A", "animation-501.mp4", "video/mp4", 0)
    );
    assert_eq!(files(json!({"voice": {"file_id": "V"}})), file("V", "voice-501.ogg", "audio/ogg", 0));
    assert_eq!(files(json!({"document": {"file_name": "no id"}})), []);
}

#[test]
fn a_message_without_words_and_files_is_nothing() {
    for more in [json!({"sticker": {}}), json!({"pinned_message": {}}), json!({"text": 7})] {
        assert_eq!(read(said("", more)), None);
    }
}

#[test]
fn words_of_a_shape_that_is_younger_than_this_code_are_read() {
    let rich = json!({"blocks": [{"type": "heading", "text": "Checkout"}, {"rows": [{"text": "is down"}]}]});
    assert_eq!(text(said("", json!({"rich_message": rich}))), "Checkout\nis down");
}

proptest! {
    #[test]
    fn any_message_is_read_without_panic(
        words in "[@/a-zé🔥 \n]{0,20}",
        offset in 0_usize..25,
        length in 0_usize..25,
        kind in prop::sample::select(vec!["mention", "bot_command", "text_link", "text_mention", "code"]),
        chat in prop::sample::select(vec!["private", "group", "supergroup", "channel", "?"]),
        date in any::<i64>(),
        id in any::<i32>(),
        thread in any::<Option<i32>>(),
    ) {
        let entities = json!([{"type": kind, "offset": offset, "length": length, "url": words, "user": {"id": id}}]);
        let message = json!({"message_id": id, "chat": {"id": date, "type": chat}, "date": date, "text": words,
            "entities": entities, "message_thread_id": thread, "is_topic_message": id % 2 == 0,
            "reply_to_message": {"message_id": 7, "text": words, "entities": entities}});
        read(message);
    }
}
