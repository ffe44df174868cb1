use proptest::prelude::*;
use serde_json::json;

use super::*;

fn own() -> Identity {
    Identity { user_id: "U0BOT".into(), bot_id: Some("B0BOT".into()), team: "T0EXAMPLE1".into(), ..Identity::default() }
}

fn read(event: Value) -> Option<Inbound> {
    let payload = json!({
        "token": "legacy", "team_id": "T0EXAMPLE1", "api_app_id": "A0EXAMPLE1", "type": "event_callback",
        "event_id": "Ev0EXAMPLE1", "event_time": 1_767_225_600, "event": event,
    });
    inbound(&ChannelId::new("slack"), &payload, &own())
}

fn mention() -> Value {
    json!({"type": "app_mention", "user": "U0ALICE", "text": "<@U0BOT> why is checkout slow?", "ts": "1767225600.000200",
        "thread_ts": "1767225500.000100", "channel": "C0OPS", "team": "T0EXAMPLE1", "client_msg_id": "c0000000-1",
        "event_ts": "1767225600.000200"})
}

fn alice() -> Author {
    Author { id: "U0ALICE".into(), name: None, is_bot: false, is_self: false, is_outsider: false }
}

#[test]
fn a_mention_in_a_thread_is_read_whole() {
    let expected = Inbound {
        conversation: ConversationId {
            channel: ChannelId::new("slack"),
            room: "C0OPS".into(),
            thread: "1767225500.000100".into(),
        },
        message_key: "C0OPS/1767225600.000200".into(),
        event_id: Some("Ev0EXAMPLE1".into()),
        message: MessageId { room: "C0OPS".into(), id: "1767225600.000200".into() },
        kind: InboundKind::Message,
        author: alice(),
        text: "why is checkout slow?".into(),
        addressed: Addressed::Mention,
        opens_with_other: false,
        private: false,
        starts_thread: false,
        command: None,
        room_now: None,
        files: vec![],
        sent_at: 1_767_225_600_000,
    };
    assert_eq!(read(mention()), Some(expected));
}

#[test]
fn a_mention_and_its_twin_share_their_key_and_their_conversation() {
    let mut twin = mention();
    twin["type"] = json!("message");
    twin["channel_type"] = json!("channel");
    assert_eq!(read(twin), read(mention()));
}

#[test]
fn the_first_message_of_a_thread_names_the_thread() {
    for thread_ts in [json!(null), json!("1767225600.000200")] {
        let mut event = mention();
        event["thread_ts"] = thread_ts;
        let read = read(event).unwrap();
        assert_eq!((read.conversation.thread.as_str(), read.starts_thread), ("1767225600.000200", true));
    }
}

#[test]
fn the_top_level_of_a_private_chat_is_one_conversation_and_a_thread_inside_another() {
    let event = json!({"type": "message", "user": "U0ALICE", "text": "status of incident 42?", "ts": "1767225700.000300",
        "channel": "D0ALICE", "channel_type": "im", "team": "T0EXAMPLE1", "event_ts": "1767225700.000300"});
    let top = read(event.clone()).unwrap();
    assert_eq!((top.conversation.thread.as_str(), top.addressed, top.private), ("", Addressed::Direct, true));
    let mut inside = event;
    inside["thread_ts"] = json!("1767225600.000100");
    assert_eq!(read(inside).unwrap().conversation.thread, "1767225600.000100");
}

#[test]
fn other_peoples_talk_is_overheard() {
    let read = read(json!({"type": "message", "user": "U0BOB", "text": "<@U0ALICE> also seeing it in eu-west",
        "ts": "1767225800.000400", "thread_ts": "1767225500.000100", "channel": "C0OPS", "channel_type": "channel"}))
    .unwrap();
    assert_eq!((read.addressed, read.opens_with_other), (Addressed::Overheard, true));
    assert_eq!(read.text, "@U0ALICE also seeing it in eu-west");
}

fn change() -> Value {
    json!({"type": "message", "subtype": "message_changed", "hidden": true, "channel": "C0OPS", "channel_type": "channel",
        "ts": "1767225900.000500", "event_ts": "1767225900.000500",
        "message": {"type": "message", "user": "U0ALICE", "text": "<@U0BOT> why is checkout slow in eu?",
            "ts": "1767225600.000200", "thread_ts": "1767225500.000100",
            "edited": {"user": "U0ALICE", "ts": "1767225899.000000"}},
        "previous_message": {"type": "message", "user": "U0ALICE", "text": "<@U0BOT> why is checkout slow?",
            "ts": "1767225600.000200", "thread_ts": "1767225500.000100"}})
}

#[test]
fn a_persons_change_is_an_edit_of_the_inner_message() {
    let read = read(change()).unwrap();
    assert_eq!(read.kind, InboundKind::Edit);
    assert_eq!(read.message_key, "C0OPS/1767225600.000200");
    assert_eq!(read.message.id, "1767225600.000200");
    assert_eq!(read.conversation.thread, "1767225500.000100");
    assert_eq!(read.text, "why is checkout slow in eu?");
    assert_eq!(read.author, alice());
}

#[test]
fn a_changed_mention_told_as_mention_is_an_edit_too() {
    let mut event = mention();
    event["edited"] = json!({"user": "U0ALICE", "ts": "1767225899.000000"});
    assert_eq!(read(event).unwrap().kind, InboundKind::Edit);
}

#[test]
fn previews_counters_and_our_own_edits_are_nothing() {
    let mut preview = change();
    preview["message"]["text"] = preview["previous_message"]["text"].clone();
    let mut unmarked = change();
    unmarked["message"].as_object_mut().unwrap().remove("edited");
    let mut ours = change();
    ours["message"]["user"] = json!("U0BOT");
    let mut by_bot_id = change();
    by_bot_id["previous_message"]["bot_id"] = json!("B0BOT");
    for event in [preview, unmarked, ours, by_bot_id] {
        assert_eq!(read(event.clone()), None, "{event}");
    }
}

#[test]
fn a_removed_message_is_named_by_what_it_was() {
    let before = read(change()).unwrap();
    let mut removed = change();
    removed["subtype"] = json!("message_deleted");
    let mut buried = change();
    buried["message"]["subtype"] = json!("tombstone");
    for event in [removed, buried] {
        let read = read(event).unwrap();
        assert_eq!((read.kind, read.author), (InboundKind::Deleted, alice()));
        assert_eq!((read.message_key, read.conversation), (before.message_key.clone(), before.conversation.clone()));
    }
    let mut ours = change();
    ours["subtype"] = json!("message_deleted");
    ours["previous_message"]["bot_id"] = json!("B0BOT");
    assert_eq!(read(ours), None);
}

#[test]
fn our_own_posts_are_known_by_any_of_our_ids() {
    for (field, value) in [
        ("user", json!("U0BOT")),
        ("bot_id", json!("B0BOT")),
        ("app_id", json!("A0EXAMPLE1")),
        ("bot_profile", json!({"app_id": "A0EXAMPLE1"})),
    ] {
        let mut event = mention();
        event["user"] = json!(null);
        event[field] = value;
        assert!(read(event).unwrap().author.is_self, "{field}");
    }
}

#[test]
fn an_alert_bot_is_a_bot_and_its_attachment_is_its_text() {
    let read = read(json!({"type": "message", "subtype": "bot_message", "bot_id": "B0ALERT", "username": "alerts",
        "text": "", "ts": "1767226100.000700", "channel": "C0OPS", "channel_type": "channel",
        "attachments": [{"id": "not a number", "title": "[FIRING:1] HighErrorRate", "text": "5xx at 12 %"}]}))
    .unwrap();
    assert_eq!(
        read.author,
        Author { id: "B0ALERT".into(), name: Some("alerts".into()), is_bot: true, is_self: false, is_outsider: false }
    );
    assert_eq!(read.text, "[FIRING:1] HighErrorRate\n5xx at 12 %");
}

#[test]
fn a_mention_with_a_file_keeps_the_file() {
    let read =
        read(json!({"type": "message", "subtype": "file_share", "user": "U0ALICE", "text": "<@U0BOT> log attached",
        "ts": "1767226200.000800", "channel": "C0OPS", "channel_type": "channel",
        "files": [{"id": "F0LOG", "name": "checkout.log", "mimetype": "text/plain", "size": 5120, "mode": "snippet",
            "url_private_download": "https://files.slack.com/F0LOG"}, {"id": "F0GONE", "mode": "tombstone"}]}))
        .unwrap();
    assert_eq!(read.addressed, Addressed::Mention);
    assert_eq!(
        read.files,
        [FileRef {
            id: "F0LOG".into(),
            name: "checkout.log".into(),
            media_type: "text/plain".into(),
            bytes: 5120,
            url: Some("https://files.slack.com/F0LOG".into()),
        }]
    );
}

#[test]
fn what_no_conversation_can_use_is_nothing() {
    for event in [
        json!({"type": "message", "subtype": "channel_join", "user": "U0ALICE", "text": "x", "ts": "1.0", "channel": "C0"}),
        json!({"type": "message", "subtype": "message_deleted", "channel": "C0OPS", "ts": "1.0", "deleted_ts": "0.9"}),
        json!({"type": "reaction_added", "user": "U0ALICE"}),
        json!({"type": "app_mention", "user": "U0ALICE", "text": "no ts", "channel": "C0OPS"}),
        json!({"type": "app_mention", "user": "U0ALICE", "text": "no channel", "ts": "1.0"}),
        json!("odd"),
    ] {
        assert_eq!(read(event.clone()), None, "{event}");
    }
    let limited = json!({"type": "app_rate_limited", "minute_rate_limited": 1, "team_id": "T0EXAMPLE1"});
    assert_eq!(inbound(&ChannelId::new("slack"), &limited, &own()), None);
    assert_eq!(name(&limited), "app_rate_limited");
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[<>@!|`U0BOT .0-9]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("type|text|elements|ts|user|edited|title", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_a_field_holds_the_event_is_read_or_left(field in 0_usize..14, value in anything(), edited in any::<bool>()) {
        let fields = ["type", "subtype", "user", "text", "ts", "thread_ts", "channel", "channel_type", "attachments",
            "blocks", "files", "edited", "message", "previous_message"];
        let mut event = if edited { change() } else { mention() };
        event[fields[field]] = value;
        read(event);
    }
}
