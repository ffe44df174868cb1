//! New messages: into a chat, and under another message.

use std::time::{Duration, Instant};

use super::{Asked, Done, Outcome, Refused, open_place, target};
use crate::feishu::{
    check,
    message::{Author, Message},
    world::{World, p2p},
};

const UUID_LIVES: Duration = Duration::from_secs(3600);

pub(super) fn send(world: &mut World, asked: &Asked) -> Outcome {
    let receiver = asked.text("receive_id");
    let chat = match asked.query("receive_id_type") {
        Some("chat_id") => receiver.to_owned(),
        Some("open_id") if world.people.contains_key(receiver) => p2p(receiver),
        Some("open_id") => return Err(Refused::because(99_992_361, "open_id cross app")),
        Some("user_id" | "union_id" | "email") => return Err(Refused::content("no such user")),
        // `thread_id` is for forwarding only.
        _ => return Err(Refused::because(99_992_402, "field validation failed: receive_id_type")),
    };
    if let Some(done) = same_again(world, asked)? {
        return done;
    }
    let place = open_place(world, &chat)?;
    let threaded = place.kind.threaded();
    let mut message = compose(world, asked, &chat)?;
    if threaded {
        message.thread = Some(world.fresh("omt"));
    }
    Ok(keep(world, message))
}

pub(super) fn reply(world: &mut World, asked: &Asked) -> Outcome {
    if let Some(done) = same_again(world, asked)? {
        return done;
    }
    let (parent, _) = target(world, asked.id())?;
    let parent = parent.clone();
    let chat = open_place(world, &parent.chat)?;
    if parent.thread.as_ref().is_some_and(|thread| world.gone_topics.contains(thread)) {
        return Err(Refused::because(230_019, "The topic does NOT exist."));
    }
    if parent.recalled {
        return Err(Refused::because(230_011, "The message was withdrawn."));
    }
    let in_thread = asked.body["reply_in_thread"].as_bool().unwrap_or_default();
    if in_thread && parent.thread.is_none() && chat.no_threads {
        return Err(Refused::because(230_071, "The chat does not support reply in thread."));
    }
    let in_thread = in_thread || chat.kind.threaded();
    let mut message = compose(world, asked, &parent.chat)?;
    world.put_under(&mut message, &parent.id, in_thread);
    Ok(keep(world, message))
}

/// The message that the same `uuid` made before.
fn same_again(world: &mut World, asked: &Asked) -> Result<Option<Outcome>, Refused> {
    let uuid = asked.text("uuid");
    if uuid.chars().count() > 50 {
        return Err(Refused::because(99_992_402, "field validation failed: uuid: the max len is 50"));
    }
    if uuid.is_empty() {
        world.complaints.push(format!("a {} without uuid: its repetition would be a second message", asked.name));
        return Ok(None);
    }
    let known = world.uuids.get(uuid).filter(|(_, at)| at.elapsed() < UUID_LIVES).map(|(id, _)| id.clone());
    let Some(message) = known.and_then(|id| world.message(&id).cloned()) else { return Ok(None) };
    let first = message.edits.first().map(|edit| edit.content.clone());
    if first.as_deref() != Some(asked.text("content")) {
        world.complaints.push(format!("uuid {uuid} comes again with another content, which is lost"));
    }
    Ok(Some(Ok(Done::Data(message.item()))))
}

fn compose(world: &mut World, asked: &Asked, chat: &str) -> Result<Message, Refused> {
    let (kind, content) = (asked.text("msg_type"), asked.text("content"));
    if !asked.body["content"].is_string() {
        return Err(Refused::content("content is not a string in json format"));
    }
    let place = world.chats.get(chat).cloned();
    if kind == "interactive" && place.is_some_and(|chat| chat.no_cards) {
        return Err(Refused::because(230_054, "This operation is not supported for this message type."));
    }
    let mentions = check::content(world, kind, content, asked.raw.len())?;
    let mut message = world.draft(chat, Author::Bot, kind, content);
    message.mentions = mentions;
    message.uuid = Some(asked.text("uuid")).filter(|uuid| !uuid.is_empty()).map(str::to_owned);
    Ok(message)
}

fn keep(world: &mut World, message: Message) -> Done {
    if let Some(uuid) = &message.uuid {
        world.uuids.insert(uuid.clone(), (message.id.clone(), Instant::now()));
    }
    let item = message.item();
    world.messages.push(message);
    Done::Data(item)
}
