//! What Slack tells an app: the inner event objects and their envelope. Pure: who gets them and when is `delivery`'s.

use serde_json::{Map, Value, json};

use super::{
    APP_ID, Team,
    message::{Author, Message},
    world::{Channel, ChannelKind},
};

/// `message` events for a new message: always, where the bot is a member.
pub(crate) fn posted(message: &Message, channel: &Channel) -> Value {
    let mut event = message.wire();
    event.insert("channel".into(), message.channel.as_str().into());
    event.insert("channel_type".into(), channel.kind.wire().into());
    event.insert("event_ts".into(), message.ts.as_str().into());
    Value::Object(event)
}

/// `app_mention`, if it mentions the bot, was not written by it and the place is no DM.
pub(crate) fn mentioned(message: &Message, channel: &Channel, event_ts: &str) -> Option<Value> {
    let mentioned = channel.teams.iter().any(|team| message.text().contains(&team.mention()))
        && message.author != Author::Bot
        && channel.kind != ChannelKind::Direct
        && channel.bot_is_in;
    mentioned.then(|| {
        let mut event = message.wire();
        event.remove("subtype");
        event.insert("type".into(), "app_mention".into());
        event.insert("channel".into(), message.channel.as_str().into());
        event.insert("event_ts".into(), event_ts.into());
        Value::Object(event)
    })
}

pub(crate) fn changed(before: Map<String, Value>, after: &Message, channel: &Channel, ts: &str) -> Value {
    json!({"type": "message", "subtype": "message_changed", "hidden": true, "channel": after.channel,
        "channel_type": channel.kind.wire(), "ts": ts, "event_ts": ts,
        "message": after.wire(), "previous_message": before})
}

pub(crate) fn deleted(gone: &Message, channel: &Channel, ts: &str) -> Value {
    json!({"type": "message", "subtype": "message_deleted", "hidden": true, "channel": gone.channel,
        "channel_type": channel.kind.wire(), "ts": ts, "event_ts": ts, "deleted_ts": gone.ts,
        "previous_message": gone.wire()})
}

/// A deleted parent whose replies keep the thread alive.
pub(crate) fn buried(gone: &Message, channel: &Channel, ts: &str) -> Value {
    json!({"type": "message", "subtype": "message_changed", "hidden": true, "channel": gone.channel,
        "channel_type": channel.kind.wire(), "ts": ts, "event_ts": ts,
        "message": tombstone(gone), "previous_message": gone.wire()})
}

pub(crate) fn tombstone(gone: &Message) -> Value {
    json!({"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "hidden": true,
        "text": "This message was deleted.", "ts": gone.ts, "thread_ts": gone.ts})
}

/// The object that both transports carry.
pub(crate) fn callback(event: &Value, event_id: &str, event_time: u64, to: &Team, ext_shared: bool) -> Value {
    let team = if to.org_wide { Value::Null } else { to.id.as_str().into() };
    json!({"token": "legacy", "team_id": team, "context_team_id": team, "context_enterprise_id": to.enterprise,
        "api_app_id": APP_ID, "type": "event_callback", "event_id": event_id, "event_time": event_time,
        "event_context": format!("4-{event_id}"), "is_ext_shared_channel": ext_shared,
        "authorizations": [{"enterprise_id": to.enterprise, "team_id": team, "user_id": to.bot_user, "is_bot": true,
            "is_enterprise_install": to.org_wide}],
        "event": event})
}

/// The rich text block that the desktop client adds to what a person writes.
pub(crate) fn rich_text(text: &str, block_id: u64) -> Value {
    let mut elements = Vec::new();
    let mut rest = text;
    while let Some((before, user, after)) = split_mention(rest) {
        if !before.is_empty() {
            elements.push(json!({"type": "text", "text": before}));
        }
        elements.push(json!({"type": "user", "user_id": user}));
        rest = after;
    }
    if !rest.is_empty() {
        elements.push(json!({"type": "text", "text": rest}));
    }
    json!([{"type": "rich_text", "block_id": format!("b{block_id}"),
        "elements": [{"type": "rich_text_section", "elements": elements}]}])
}

fn split_mention(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("<@")?;
    let (user, after) = rest.split_once('>')?;
    Some((before, user, after))
}
