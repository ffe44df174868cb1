//! Messages, documents, photos and chat actions of the bot.

use serde_json::Value;

use super::{
    Outcome, Refused, chat_id,
    content::{self, CAPTION, POST},
    spend,
};
use crate::telegram::{
    args::{Args, integer},
    chats::{Kind, Standing},
    files::{PHOTO_LIMIT, SimFile, UPLOAD_LIMIT},
    message::{Author, Version},
    world::{Action, World},
};

/// Where a message goes: chat, topic, and the message it answers.
struct Place {
    chat: i64,
    topic: Option<i64>,
    reply_to: Option<i64>,
}

fn topic(world: &mut World, chat: i64, args: &Args) -> Result<Option<i64>, Refused> {
    let Some(thread) = args.integer("message_thread_id").filter(|&thread| thread != 0) else { return Ok(None) };
    let kind = world.chats.get(&chat).map(|chat| chat.kind);
    if kind != Some(Kind::Forum) {
        world.complain(format!("message_thread_id {thread} sent to {chat}, which has no topics"));
        return Ok(None);
    }
    match world.chats.get(&chat).and_then(|chat| chat.topics.get(&thread)) {
        Some(topic) if !topic.deleted => Ok(Some(thread)),
        _ => Err(Refused::bad("message thread not found")),
    }
}

fn place(world: &mut World, args: &Args) -> Result<Place, Refused> {
    let chat = chat_id(args)?;
    let standing = world.open_chat(chat)?.bot;
    if standing == Standing::Muted {
        return Err(Refused::bad("not enough rights to send text messages to the chat"));
    }
    let asked = topic(world, chat, args)?;
    let parameters = args.json("reply_parameters").unwrap_or_default();
    let old_name = args.integer("reply_to_message_id");
    let reply_to = parameters.get("message_id").and_then(integer).or(old_name).filter(|&id| id != 0);
    let lenient = parameters["allow_sending_without_reply"] == true || args.flag("allow_sending_without_reply");
    let replied = reply_to.and_then(|id| world.message(chat, id));
    // A reply lies where the message it answers lies.
    let topic = asked.or(replied.and_then(|replied| replied.topic));
    let reply_to = match (reply_to, replied) {
        (None, _) => None,
        (Some(id), Some(replied)) if asked.is_none() || replied.topic == asked => Some(id),
        (Some(_), None) if lenient => None,
        _ => return Err(Refused::bad("message to be replied not found")),
    };
    let closed = topic.and_then(|topic| world.chats.get(&chat)?.topics.get(&topic)).is_some_and(|topic| topic.closed);
    if closed && standing != Standing::Admin {
        return Err(Refused::bad("TOPIC_CLOSED"));
    }
    Ok(Place { chat, topic, reply_to })
}

pub(super) fn message(world: &mut World, args: &Args) -> Outcome {
    let place = place(world, args)?;
    let (text, entities) = content::text(world, args, POST)?;
    if text.is_empty() {
        return Err(Refused::bad("message text is empty"));
    }
    let keyboard = content::keyboard(args)?;
    spend(world, place.chat)?;
    let version = world.version(text, entities, keyboard);
    Ok(keep(world, args, place, version, None))
}

pub(super) fn file(world: &mut World, args: &Args, kind: &str) -> Outcome {
    let place = place(world, args)?;
    let mut file = content_of(world, args, kind)?;
    let limit = if kind == "photo" { PHOTO_LIMIT } else { UPLOAD_LIMIT };
    if file.content.len() as u64 > limit {
        return Err(Refused::new(413, "Request Entity Too Large"));
    }
    let (text, entities) = content::text(world, args, CAPTION)?;
    let keyboard = content::keyboard(args)?;
    spend(world, place.chat)?;
    file.photo = kind == "photo";
    let version = world.version(text, entities, keyboard);
    Ok(keep(world, args, place, version, Some(file)))
}

/// Uploaded with the call, or known from before by its id.
fn content_of(world: &mut World, args: &Args, kind: &str) -> Result<SimFile, Refused> {
    let named = args.text(kind);
    let part = named.and_then(|named| named.strip_prefix("attach://")).unwrap_or(kind);
    if let Some(upload) = args.files.get(part) {
        if upload.content.is_empty() {
            return Err(Refused::bad("file must be non-empty"));
        }
        let number = world.next_id();
        let file = SimFile::new(&upload.name, &upload.mimetype, upload.content.clone());
        return Ok(SimFile { number, ..file });
    }
    let known = named.and_then(|named| world.file(|file| file.id() == named).cloned());
    known.ok_or_else(|| match named {
        None => Refused::bad(&format!("there is no {kind} in the request")),
        Some(_) => Refused::bad("wrong file identifier/HTTP URL specified"),
    })
}

fn keep(world: &mut World, args: &Args, to: Place, version: Version, file: Option<SimFile>) -> Value {
    let mut message = world.draft(to.chat, Author::Bot, version);
    world.place(&mut message, to.topic, to.reply_to);
    message.file = file;
    message.silent = args.flag("disable_notification");
    let wire = world.wire(&message);
    world.publish(message);
    wire
}

pub(super) fn action(world: &mut World, args: &Args) -> Outcome {
    let chat = chat_id(args)?;
    world.open_chat(chat)?;
    let topic = topic(world, chat, args)?;
    let known = ["typing", "upload_photo", "upload_document", "choose_sticker", "find_location", "record_voice"];
    let action = args.text("action").filter(|action| known.contains(action));
    let action = action.ok_or_else(|| Refused::bad("wrong parameter action in request"))?.to_owned();
    let at = world.started.elapsed();
    world.actions.push(Action { chat, topic, action, at });
    Ok(true.into())
}
