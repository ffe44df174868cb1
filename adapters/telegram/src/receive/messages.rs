//! From a message to an [`Inbound`]. Pure: where it belongs and who we are is handed in, what it means for a turn is decided
//! by the coordinator.

use serde_json::Value;
use watchfloor_channel::{Author, ChannelId, ConversationId, FileRef, Inbound, InboundKind, MessageId, text};

use super::{
    addressee::{self, Said},
    frame::Frame,
    gather::Piece,
    text_in::{self, Own},
    threads::Place,
    updates::{Media, Message},
};

/// The account behind which Telegram hides administrators who write as their group. To admit it is to admit all of them.
const ANONYMOUS_ADMIN: &str = "1087968824";
/// Characters of a quoted message that are given along.
const QUOTED: usize = 2_000;
/// How deep a text of a kind we don't know may nest before we stop looking.
const DEPTH: usize = 12;

/// `None`: it says nothing.
pub(crate) fn inbound(
    channel: &ChannelId,
    message: &Message,
    kind: InboundKind,
    own: &Own,
    place: &Place,
) -> Option<Piece<()>> {
    let rich = rich_words(message);
    let files = files(message);
    let (said, _) = message.said();
    if said.is_empty() && rich.is_empty() && files.is_empty() {
        return None;
    }
    let units = said.encode_utf16().count();
    let Said { text, addressed, opens_with_other, command, names_us } = addressee::read(message, own);
    let text = if said.is_empty() { rich } else { text };
    // Who passes a command on does not give it.
    let command = command.filter(|_| message.forward_origin.is_none());
    let begins = names_us || command.is_some() || is_stop(&text);
    let mut frame = Frame { origin: forwarded_from(message), ..Frame::default() };
    frame.quoted = quoted(message, own, &mut frame.files);
    let chat = message.chat.id.to_string();
    let inbound = Inbound {
        conversation: ConversationId {
            channel: channel.clone(),
            room: place.room.clone(),
            thread: place.thread.clone(),
        },
        message_key: format!("{chat}/{}", message.message_id),
        // Telegram numbers updates anew after a quiet week; the message's own name is enough.
        event_id: None,
        message: MessageId { room: chat.clone(), id: message.message_id.to_string() },
        kind,
        author: author(message, own),
        text,
        addressed,
        opens_with_other,
        private: message.chat.is_private(),
        starts_thread: place.opens,
        files,
        command,
        room_now: (chat != place.room).then_some(chat),
        sent_at: message.date.saturating_mul(1000),
    };
    let album = message.media_group_id.clone();
    Some(Piece { inbound, frame, number: message.message_id, album, units, begins, ticket: () })
}

fn author(message: &Message, own: &Own) -> Author {
    let person = |id: String, name: Option<String>, is_bot: bool| Author {
        is_self: id == own.id.to_string(),
        id,
        name: name.filter(|name| !name.is_empty()),
        is_bot,
        is_outsider: false,
    };
    match (&message.sender_chat, &message.from) {
        (Some(chat), _) if chat.id == message.chat.id => {
            person(ANONYMOUS_ADMIN.to_owned(), message.author_signature.clone(), false)
        }
        // A linked channel's posts are copied here by nobody; else somebody writes as a channel.
        (Some(chat), _) => person(chat.id.to_string(), Some(chat.title.clone()), message.is_automatic_forward),
        (None, Some(from)) => person(from.id.to_string(), from.name(), from.is_bot),
        (None, None) => person(String::new(), None, false),
    }
}

pub(super) fn is_stop(text: &str) -> bool {
    text.trim().trim_start_matches('/').trim_end_matches(['.', '!']).eq_ignore_ascii_case("stop")
}

fn forwarded_from(message: &Message) -> Option<String> {
    let origin = message.forward_origin.as_ref()?;
    let chat = origin.sender_chat.as_ref().or(origin.chat.as_ref()).map(|chat| chat.title.clone());
    let user = origin.sender_user.as_ref().and_then(|user| user.name());
    let name = user.or(chat).unwrap_or_else(|| origin.sender_user_name.clone());
    let name = text::one_line(&name, 100);
    (!name.is_empty()).then_some(name)
}

/// What the message answers, where that isn't ours anyway, and the part of it that was marked. Its files come along.
fn quoted(message: &Message, own: &Own, files: &mut Vec<FileRef>) -> Option<String> {
    let replied = addressee::reply(message);
    let is_ours = |replied: &Message| replied.from.as_ref().is_some_and(|from| from.id == own.id);
    let others = replied.filter(|replied| !is_ours(replied));
    files.extend(others.map(self::files).unwrap_or_default());
    let words = match (message.quote.text.as_str(), others) {
        ("", None) => return None,
        ("", Some(others)) => {
            let (said, entities) = others.said();
            text_in::resolve(said, &text_in::marks(said, entities), own, 0)
        }
        (marked, _) => marked.to_owned(),
    };
    if words.trim().is_empty() {
        return None;
    }
    let lines: Vec<_> = text::shorten(words.trim(), QUOTED).lines().map(|line| format!("> {line}")).collect();
    let name = replied.and_then(|replied| author(replied, own).name);
    let whose = name.map(|name| format!("In reply to {}:\n", text::one_line(&name, 100))).unwrap_or_default();
    Some(format!("{whose}{}", lines.join("\n")))
}

fn files(message: &Message) -> Vec<FileRef> {
    let id = message.message_id;
    let file = |media: Option<&Media>, kind: &str, ending: &str, media_type: &str| {
        let media = media.filter(|media| !media.file_id.is_empty())?;
        let or = |given: &str, usual: String| if given.is_empty() { usual } else { given.to_owned() };
        Some(FileRef {
            id: media.file_id.clone(),
            name: or(&media.file_name, format!("{kind}-{id}.{ending}")),
            media_type: or(&media.mime_type, media_type.to_owned()),
            bytes: media.file_size,
            url: None,
        })
    };
    // An animation is told a second time as a document.
    let document = message.document.as_ref().filter(|_| message.animation.is_none());
    [
        file(document, "file", "bin", "application/octet-stream"),
        file(message.photo.last(), "photo", "jpg", "image/jpeg"),
        file(message.video.as_ref(), "video", "mp4", "video/mp4"),
        file(message.animation.as_ref(), "animation", "mp4", "video/mp4"),
        file(message.audio.as_ref(), "audio", "mp3", "audio/mpeg"),
        file(message.voice.as_ref(), "voice", "ogg", "audio/ogg"),
        file(message.video_note.as_ref(), "video", "mp4", "video/mp4"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The words of a text whose shape is younger than this code.
fn rich_words(message: &Message) -> String {
    fn collect(value: &Value, depth: usize, lines: &mut Vec<String>) {
        match value {
            _ if depth > DEPTH => {}
            Value::Array(items) => items.iter().for_each(|item| collect(item, depth + 1, lines)),
            Value::Object(fields) => {
                for (name, field) in fields {
                    match field {
                        Value::String(words) if name == "text" || name == "caption" => lines.push(words.clone()),
                        _ => collect(field, depth + 1, lines),
                    }
                }
            }
            _ => {}
        }
    }
    let mut lines = Vec::new();
    collect(&message.rich_message, 0, &mut lines);
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests;
