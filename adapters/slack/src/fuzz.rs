//! Whatever comes in, nothing breaks: frames, events and clicks that are nearly right, for a moment in each run and for as
//! long as they are told to.

use http::HeaderMap;
use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::{Value, json};
use watchfloor_channel::ChannelId;

use crate::{events, fuzzing::fuzz, identity::Identity, interact, signature, wire::Frame};

fn own() -> Identity {
    Identity { user_id: "U0BOT".into(), bot_id: Some("B0BOT".into()), team: "T0OURS".into(), ..Identity::default() }
}

/// Words of the platform in any order, at any depth.
fn words() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        3 => prop::sample::select(vec!["", "message", "app_mention", "message_changed", "message_deleted", "file_share",
            "tombstone", "im", "U0BOT", "U0ALICE", "B0BOT", "T0OURS", "C0OPS", "D0ALICE", "1767225600.000200", "1767225600",
            "<@U0BOT> why?", "<@U0BOT|bot> <!here> <https://e.org|x> &lt;@U0BOT&gt; `<@U0BOT>`", "<", "<@", "```", "check_file_info"])
            .prop_map(str::to_owned),
        1 => "[<>@!|&;`~^ \\n0-9.a-zU汉]{0,16}",
    ];
    let leaf = prop_oneof![
        4 => text.prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "type",
        "subtype",
        "user",
        "bot_id",
        "text",
        "ts",
        "thread_ts",
        "edited",
        "message",
        "files",
        "id",
        "name",
        "blocks",
        "elements",
        "attachments",
        "fields",
        "title",
        "value",
        "team",
    ]);
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..5)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// What Slack sends, with parts exchanged for others.
fn nearly(whole: Value, places: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let changes = prop::collection::vec((prop::sample::select(places.to_vec()), words()), 0..6);
    changes.prop_map(move |changes| {
        let mut whole = whole.clone();
        for (place, value) in changes {
            if let Some(part) = whole.pointer_mut(place) {
                *part = value;
            }
        }
        whole
    })
}

fn nearly_events() -> impl Strategy<Value = Value> {
    let said = json!({"type": "message", "subtype": null, "user": "U0ALICE", "bot_id": null, "text": "<@U0BOT> why?",
        "ts": "1767225600.000200", "thread_ts": "1767225500.000100", "edited": null, "blocks": [{"type": "rich_text"}],
        "files": [{"id": "F0", "name": "a.log", "mimetype": "text/plain", "size": 3, "url_private": "https://files.slack.com/a"}],
        "attachments": [{"title": "t", "text": "x", "fields": [{"title": "a", "value": "b"}]}], "user_profile": {"team": "T0OURS"}});
    let mut event = said.clone();
    for (key, value) in [
        ("channel", json!("C0OPS")),
        ("channel_type", json!("channel")),
        ("message", said.clone()),
        ("previous_message", said),
    ] {
        event[key] = value;
    }
    let payload = json!({"type": "event_callback", "event_id": "Ev0", "api_app_id": "A0", "team_id": "T0OURS",
        "is_ext_shared_channel": false, "authorizations": [{"team_id": "T0OURS"}], "event": event,
        "tokens": {"bot": ["U0BOT"]}});
    nearly(
        payload,
        &[
            "",
            "/type",
            "/event_id",
            "/api_app_id",
            "/is_ext_shared_channel",
            "/event",
            "/event/type",
            "/event/subtype",
            "/event/user",
            "/event/bot_id",
            "/event/text",
            "/event/ts",
            "/event/thread_ts",
            "/event/edited",
            "/event/channel",
            "/event/channel_type",
            "/event/message",
            "/event/message/subtype",
            "/event/message/edited",
            "/event/message/text",
            "/event/message/ts",
            "/event/previous_message",
            "/event/previous_message/text",
            "/event/files",
            "/event/files/0",
            "/event/blocks",
            "/event/blocks/0",
            "/event/attachments",
            "/event/attachments/0",
            "/event/attachments/0/fields",
            "/event/user_profile",
        ],
    )
}

fn nearly_clicks() -> impl Strategy<Value = Value> {
    let payload = json!({"type": "block_actions", "user": {"id": "U0ALICE", "name": "alice", "team_id": "T0OURS"},
        "channel": {"id": "C0OPS"}, "container": {"channel_id": "C0OPS", "message_ts": "1.2", "thread_ts": "1.1"},
        "message": {"ts": "1.2"}, "actions": [{"action_id": "a", "value": "v"}], "response_url": "https://hooks.slack.com/x",
        "command": "/watchfloor", "text": "why?", "channel_id": "C0OPS", "user_id": "U0ALICE", "team_id": "T0OURS"});
    nearly(
        payload,
        &[
            "",
            "/type",
            "/user",
            "/user/id",
            "/user/team_id",
            "/channel",
            "/channel/id",
            "/container",
            "/container/message_ts",
            "/message",
            "/actions",
            "/actions/0",
            "/actions/0/action_id",
            "/response_url",
            "/command",
            "/text",
            "/channel_id",
            "/user_id",
            "/team_id",
        ],
    )
}

fn event_is_read(payload: &Value) -> Result<(), TestCaseError> {
    events::name(payload);
    events::signs_out(payload);
    let Some(inbound) = events::inbound(&ChannelId::new("slack"), payload, &own()) else { return Ok(()) };
    prop_assert!(!inbound.conversation.room.is_empty() && !inbound.message.id.is_empty());
    prop_assert_eq!(inbound.message_key, format!("{}/{}", inbound.message.room, inbound.message.id));
    prop_assert_eq!(inbound.text.trim(), inbound.text.as_str());
    prop_assert!(inbound.files.iter().all(|file| !file.id.is_empty()));
    Ok(())
}

fn click_is_read(payload: &Value) -> Result<(), TestCaseError> {
    for asked in interact::both(&ChannelId::new("slack"), payload, &own()) {
        let aside = asked.aside;
        prop_assert!(!aside.conversation.room.is_empty() && !aside.author.id.is_empty());
    }
    Ok(())
}

/// Of a socket: any text. Over HTTP: nothing is believed that isn't signed.
fn bytes_are_read(bytes: &[u8]) -> Result<(), TestCaseError> {
    let _ = serde_json::from_slice::<Frame>(bytes);
    let headers = HeaderMap::from_iter(
        [("x-slack-signature", bytes), ("x-slack-request-timestamp", b"1767225600")].into_iter().filter_map(
            |(name, value)| Some((http::HeaderName::from_static(name), http::HeaderValue::from_bytes(value).ok()?)),
        ),
    );
    prop_assert!(signature::check(&"a-secret".into(), 1_767_225_600, &headers, bytes).is_err());
    Ok(())
}

fn nearly_frames() -> impl Strategy<Value = Vec<u8>> {
    let frame = json!({"type": "events_api", "envelope_id": "e", "payload": {"type": "event_callback"}, "retry_attempt": 0,
        "accepts_response_payload": false, "reason": "", "num_connections": 1});
    const PLACES: &[&str] =
        &["", "/type", "/envelope_id", "/payload", "/retry_attempt", "/accepts_response_payload", "/num_connections"];
    let frames = nearly(frame, PLACES).prop_map(|frame| frame.to_string().into_bytes());
    let cut = (frames, any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut frame, at, byte)| {
        let at = at.index(frame.len());
        frame[at] = byte;
        frame
    });
    prop_oneof![3 => cut, 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

/// One law after the other, until the time is up.
#[test]
#[ignore = "runs for WATCHFLOOR_FUZZ_SECONDS"]
fn fuzz_what_comes_in() {
    fuzz(|runner| {
        runner().run(&nearly_events(), |event| event_is_read(&event)).unwrap();
        runner().run(&nearly_clicks(), |click| click_is_read(&click)).unwrap();
        runner().run(&nearly_frames(), |bytes| bytes_are_read(&bytes)).unwrap();
    });
}

proptest! {
    #[test]
    fn events_that_are_nearly_right_break_nothing(event in nearly_events()) {
        event_is_read(&event)?;
    }

    #[test]
    fn clicks_and_commands_that_are_nearly_right_break_nothing(click in nearly_clicks()) {
        click_is_read(&click)?;
    }

    #[test]
    fn frames_that_are_nearly_right_break_nothing(bytes in nearly_frames()) {
        bytes_are_read(&bytes)?;
    }
}
