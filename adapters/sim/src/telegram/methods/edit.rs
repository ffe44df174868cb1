//! Changes to messages of the bot: texts, captions, keyboards, and taking back.

use serde_json::Value;

use super::{
    Outcome, Refused, chat_id,
    content::{self, CAPTION, EDIT, Form},
    spend,
};
use crate::{
    telegram::{
        args::Args,
        chats::Standing,
        message::{Author, Message, Version},
        world::World,
    },
    time,
};

const NOT_MODIFIED: &str = "message is not modified: specified new message content and reply markup are exactly the same \
                            as a current content and reply markup of the message";
/// Own messages can be taken back for two days.
const DELETABLE: u64 = 48 * 3600;

fn message_id(args: &Args) -> Result<i64, Refused> {
    args.integer("message_id").ok_or_else(|| Refused::bad("message identifier is not specified"))
}

/// The message of an edit.
fn editable<'w>(world: &'w World, args: &Args) -> Result<&'w Message, Refused> {
    let chat = chat_id(args)?;
    let id = message_id(args)?;
    world.open_chat(chat)?;
    let message = world.message(chat, id).ok_or_else(|| Refused::bad("message to edit not found"))?;
    if message.author != Author::Bot {
        return Err(Refused::bad("message can't be edited"));
    }
    Ok(message)
}

pub(super) fn text(world: &mut World, args: &Args) -> Outcome {
    if editable(world, args)?.file.is_some() {
        return Err(Refused::bad("there is no text in the message to edit"));
    }
    content(world, args, EDIT)
}

pub(super) fn caption(world: &mut World, args: &Args) -> Outcome {
    if editable(world, args)?.file.is_none() {
        return Err(Refused::bad("there is no caption in the message to edit"));
    }
    content(world, args, CAPTION)
}

fn content(world: &mut World, args: &Args, form: Form) -> Outcome {
    let (text, entities) = content::text(world, args, form)?;
    let message = editable(world, args)?;
    if text.is_empty() && message.file.is_none() {
        return Err(Refused::bad("message text is empty"));
    }
    // Without a keyboard of its own an edit takes the old one away.
    let keyboard = content::keyboard(args)?;
    change(world, args, text, entities, keyboard)
}

pub(super) fn keyboard(world: &mut World, args: &Args) -> Outcome {
    let message = editable(world, args)?;
    let (text, entities) = (message.text().to_owned(), message.entities().to_vec());
    let keyboard = content::keyboard(args)?;
    change(world, args, text, entities, keyboard)
}

fn change(world: &mut World, args: &Args, text: String, entities: Vec<Value>, keyboard: Option<Value>) -> Outcome {
    let (chat, id) = (chat_id(args)?, message_id(args)?);
    spend(world, chat)?;
    let version = world.version(text, entities, keyboard);
    let message = world.message_mut(chat, id).ok_or_else(|| Refused::bad("message to edit not found"))?;
    let said = |version: &Version| (version.text.clone(), version.entities.clone(), version.keyboard.clone());
    if message.edits.last().map(said) == Some(said(&version)) {
        return Err(Refused::bad(NOT_MODIFIED));
    }
    message.edits.push(version);
    message.edit_date = Some(time::now().as_secs());
    let message = message.clone();
    Ok(world.wire(&message))
}

pub(super) fn delete(world: &mut World, args: &Args) -> Outcome {
    let chat = chat_id(args)?;
    let id = message_id(args)?;
    let admin = world.open_chat(chat)?.bot == Standing::Admin;
    let message = world.message_mut(chat, id).ok_or_else(|| Refused::bad("message to delete not found"))?;
    let old = time::now().as_secs().saturating_sub(message.date) > DELETABLE;
    if !admin && (message.author != Author::Bot || old) {
        return Err(Refused::bad("message can't be deleted for everyone"));
    }
    message.deleted = true;
    Ok(true.into())
}
