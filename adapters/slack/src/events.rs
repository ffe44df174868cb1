//! From an event to an [`Inbound`]. Pure: what it means for a turn is decided by the coordinator, what we are called is
//! handed in.

use serde::Deserialize;
use serde_json::Value;
use watchfloor_channel::{
    Addressed, Author, ChannelId, ConversationId, FileRef, Inbound, InboundKind, MessageId, Overheard,
};

use crate::{
    content,
    identity::Identity,
    text_in,
    wire::{Callback, File, Message},
};

/// `None`: nothing a conversation could use.
pub(crate) fn inbound(channel: &ChannelId, payload: &Value, own: &Identity) -> Option<Inbound> {
    let callback = Callback::deserialize(payload).ok()?;
    if callback.kind != "event_callback" {
        return None;
    }
    let own = Identity { app_id: callback.api_app_id.clone().or_else(|| own.app_id.clone()), ..own.clone() };
    let event = &callback.event;
    let (message, kind) = match (event.kind.as_str(), event.subtype.as_deref()) {
        // Changing a message that mentions us repeats its mention, marked as edited.
        ("app_mention", _) if event.edited.is_some() => (event, InboundKind::Edit),
        ("app_mention", _) => (event, InboundKind::Message),
        ("message", Some("message_deleted")) => (removed(event, &own)?, InboundKind::Deleted),
        ("message", Some("message_changed")) if is_buried(event) => (removed(event, &own)?, InboundKind::Deleted),
        ("message", Some("message_changed")) => (changed_by_a_person(event, &own)?, InboundKind::Edit),
        ("message", _) if says_something(event) => (event, InboundKind::Message),
        _ => return None,
    };
    let sent_at = text_in::millis(&message.ts)?;
    let room = event.channel.clone();
    if room.is_empty() {
        return None;
    }
    let private = event.channel_type.as_deref().map_or_else(|| room.starts_with('D'), |kind| kind == "im");
    let reply_to = message.thread_ts.clone().filter(|parent| *parent != message.ts);
    let thread = match (&reply_to, private) {
        (Some(parent), _) => parent.clone(),
        // The top level of a private chat is one conversation.
        (None, true) => String::new(),
        (None, false) => message.ts.clone(),
    };
    let addressed = if private {
        Addressed::Direct
    } else if event.kind == "app_mention" || text_in::mentions(&message.text, &own.user_id) {
        Addressed::Mention
    } else {
        Addressed::Overheard
    };
    let message_key = message_key(&room, &message.ts);
    let room = own.spell(&room);
    Some(Inbound {
        conversation: ConversationId { channel: channel.clone(), room: room.clone(), thread },
        message_key,
        event_id: callback.event_id,
        message: MessageId { room, id: message.ts.clone() },
        kind,
        author: author(message, &own, callback.is_ext_shared_channel),
        text: without_address(message, &own),
        addressed,
        opens_with_other: text_in::opens_with(&message.text).is_some_and(|user| user != own.user_id),
        private,
        starts_thread: reply_to.is_none(),
        command: None,
        room_now: None,
        files: files(message, &own),
        sent_at,
    })
}

/// An earlier message of a thread.
pub(crate) fn overheard(message: &Message, room: &str, own: &Identity) -> Option<Overheard> {
    if !says_something(message) {
        return None;
    }
    let text = content::text(message, &own.user_id);
    let files = files(message, own);
    let names = files.iter().map(|file| format!("[file {}]", file.name));
    let text = [text].into_iter().chain(names).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    Some(Overheard {
        message_key: message_key(room, &message.ts),
        author: author(message, own, None),
        text,
        files,
        sent_at: text_in::millis(&message.ts)?,
    })
}

/// The app was removed from the workspace, or the bot's token is void.
pub(crate) fn signs_out(payload: &Value) -> bool {
    let Some(event) = payload.get("event") else { return false };
    match event.get("type").and_then(Value::as_str) {
        Some("app_uninstalled") => true,
        // People's tokens are in another list.
        Some("tokens_revoked") => {
            let bots = event.pointer("/tokens/bot").and_then(Value::as_array);
            bots.is_some_and(|bots| !bots.is_empty())
        }
        _ => false,
    }
}

/// What an event calls itself, for one log line a kind.
pub(crate) fn name(payload: &Value) -> String {
    let part = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let event = payload.get("event");
    [part(payload.get("type")), part(event.and_then(|e| e.get("type"))), part(event.and_then(|e| e.get("subtype")))]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("/")
}

/// Without the team: a room that workspaces or organisations share has one id in all of them, and what is said there may
/// come once for each. No two rooms have a message of the same microsecond and the same id otherwise.
fn message_key(room: &str, ts: &str) -> String {
    format!("{room}/{ts}")
}

/// An allow-list, since the set of subtypes is open.
fn says_something(message: &Message) -> bool {
    matches!(message.subtype.as_deref(), None | Some("file_share" | "thread_broadcast" | "me_message" | "bot_message"))
}

/// Link previews, reply counters and our own edits look the same but for these marks.
fn changed_by_a_person<'a>(event: &'a Message, own: &Identity) -> Option<&'a Message> {
    let (after, before) = (event.message.as_deref()?, event.previous_message.as_deref());
    let edited = after.edited.is_some() && before.is_none_or(|before| before.text != after.text);
    let ours = own.wrote(after) || before.is_some_and(|before| own.wrote(before));
    (edited && !ours && says_something(after)).then_some(after)
}

/// A message with replies is not removed but replaced by a stone.
fn is_buried(event: &Message) -> bool {
    event.message.as_ref().is_some_and(|message| message.subtype.as_deref() == Some("tombstone"))
}

fn removed<'a>(event: &'a Message, own: &Identity) -> Option<&'a Message> {
    let before = event.previous_message.as_deref()?;
    (!own.wrote(before) && says_something(before)).then_some(before)
}

fn author(message: &Message, own: &Identity, shared: Option<bool>) -> Author {
    let not_empty = |name: &&String| !name.is_empty();
    let name = [
        &message.user_profile.display_name,
        &message.user_profile.real_name,
        &message.username,
        &message.bot_profile.name,
    ]
    .into_iter()
    .find_map(|name| name.as_ref().filter(not_empty));
    Author {
        id: own.spell(message.user.as_deref().or(message.bot_id.as_deref()).unwrap_or_default()),
        name: name.cloned(),
        is_bot: message.bot_id.is_some()
            || message.subtype.as_deref() == Some("bot_message")
            || message.user.as_deref() == Some("USLACKBOT"),
        is_self: own.wrote(message),
        is_outsider: own.may_be_outsider(message, shared),
    }
}

/// "@us: why?" leaves "why?".
fn without_address(message: &Message, own: &Identity) -> String {
    let text = content::text(message, &own.user_id);
    if text_in::opens_with(&message.text) == Some(own.user_id.as_str()) {
        return text.trim_start_matches([':', ',']).trim_start().to_owned();
    }
    text
}

fn files(message: &Message, own: &Identity) -> Vec<FileRef> {
    let spelled = |file: FileRef| FileRef { id: own.spell(&file.id), ..file };
    message.files.iter().filter_map(file).map(spelled).collect()
}

fn file(file: &File) -> Option<FileRef> {
    if file.id.is_empty() || matches!(file.mode.as_str(), "tombstone" | "hidden_by_limit") {
        return None;
    }
    Some(FileRef {
        id: file.id.clone(),
        name: file.name.clone(),
        media_type: file.mimetype.clone(),
        bytes: file.size,
        // Of a partner's file the address is told on request only.
        url: match file.file_access.as_str() {
            "check_file_info" => None,
            _ => file.url_private_download.clone().or_else(|| file.url_private.clone()),
        },
    })
}

#[cfg(test)]
mod tests;
