//! `chat.*`: posting, editing and deleting, with the rules that bots trip over.

use serde_json::{Value, json};

use super::{Done, Outcome, Refused, answer, is_ts, open_place, place};
use crate::slack::{
    args::Args,
    blocks, events,
    message::{Author, Edit, Message},
    world::World,
};

const POST_LIMIT: usize = 40_000;
const UPDATE_LIMIT: usize = 4_000;
const MARKDOWN_LIMIT: usize = 12_000;

/// The parts of a message that post and update share, checked.
struct Content {
    text: Option<String>,
    blocks: Option<Value>,
    attachments: Option<Value>,
    metadata: Option<Value>,
}

impl Content {
    fn read(args: &Args) -> Result<Self, Refused> {
        let mut text = args.text("text").map(str::to_owned);
        let blocks = args.json("blocks");
        if let Some(markdown) = args.text("markdown_text") {
            if text.is_some() || blocks.is_some() {
                return Err(Refused::because("markdown_text_conflict"));
            }
            if blocks::length(markdown) > MARKDOWN_LIMIT {
                return Err(Refused::because("msg_too_long"));
            }
            text = Some(markdown.to_owned());
        }
        if let Some(blocks) = &blocks {
            blocks::check(blocks)?;
        }
        let attachments = args.json("attachments");
        match &attachments {
            Some(Value::Array(list)) if list.len() > 100 => return Err(Refused::because("too_many_attachments")),
            Some(Value::Array(_)) | None => {}
            Some(_) => return Err(Refused::because("invalid_attachments")),
        }
        let metadata = args.json("metadata");
        if let Some(metadata) = &metadata {
            check_metadata(metadata)?;
        }
        Ok(Self { text, blocks, attachments, metadata })
    }

    fn is_empty(&self) -> bool {
        let list = |part: &Option<Value>| part.as_ref().and_then(Value::as_array).is_none_or(Vec::is_empty);
        self.text.as_deref().is_none_or(|text| text.trim().is_empty()) && list(&self.blocks) && list(&self.attachments)
    }
}

/// An object with `event_type` and `event_payload`; `{}` clears it.
fn check_metadata(metadata: &Value) -> Result<(), Refused> {
    let complete = metadata["event_type"].is_string() && metadata["event_payload"].is_object();
    let fits = complete || *metadata == json!({});
    if !fits {
        return Err(Refused::because("invalid_metadata_format"));
    }
    if metadata.to_string().len() > 16 * 1024 {
        return Err(Refused::because("metadata_too_large"));
    }
    Ok(())
}

fn present(part: Option<Value>) -> Option<Value> {
    part.filter(|value| value.as_array().is_none_or(|list| !list.is_empty()) && *value != json!({}))
}

pub(super) fn post(world: &mut World, args: &Args) -> Outcome {
    let (id, _) = open_place(world, args)?;
    let content = Content::read(args)?;
    if content.is_empty() {
        return Err(Refused::because("no_text"));
    }
    let (mut message, warning) = draft(world, &id, content, args)?;
    message.extra.extend(world.caller.sign().as_object().cloned().unwrap_or_default());
    let Some(channel) = world.channels.get(&id) else { return Err(Refused::because("channel_not_found")) };
    let event = events::posted(&message, channel);
    let mut wire = message.wire();
    if let Some(metadata) = &message.metadata {
        wire.insert("metadata".into(), metadata.clone());
    }
    let body = json!({"channel": id, "ts": message.ts, "message": wire});
    world.messages.push(message);
    let mut done = answer(body)?;
    done.events.push(event);
    if let Some(warning) = warning {
        done.body.insert("warning".into(), warning.into());
        done.body.insert("response_metadata".into(), json!({"warnings": [warning]}));
    }
    Ok(done)
}

fn draft(
    world: &mut World,
    channel: &str,
    content: Content,
    args: &Args,
) -> Result<(Message, Option<&'static str>), Refused> {
    let mut text = content.text.unwrap_or_default();
    let mut warning = None;
    if blocks::length(&text) > POST_LIMIT {
        let mut room = POST_LIMIT;
        text = text.chars().take_while(|c| room.checked_sub(c.len_utf16()).map(|left| room = left).is_some()).collect();
        warning = Some("message_truncated");
    }
    let thread = match args.text("thread_ts").filter(|ts| !ts.is_empty()) {
        None => None,
        Some(ts) if !is_ts(ts) => return Err(Refused::because("invalid_thread_ts")),
        // A deleted or unknown parent is no error: the message lands in the channel.
        Some(ts) => world.visible(channel, ts).map(|parent| parent.thread().to_owned()),
    };
    if thread.as_deref().is_some_and(|parent| args.text("thread_ts") != Some(parent)) {
        world.oddities.push("posted with a reply's ts as thread_ts".to_owned());
    }
    let mut message = world.draft(channel, Author::Bot, &text);
    message.thread_ts = thread;
    message.blocks = present(content.blocks);
    message.attachments = present(content.attachments);
    message.metadata = present(content.metadata);
    for edit in &mut message.edits {
        edit.blocks.clone_from(&message.blocks);
    }
    Ok((message, warning))
}

pub(super) fn post_ephemeral(world: &mut World, args: &Args) -> Outcome {
    let (id, _) = open_place(world, args)?;
    let user = args.text("user").unwrap_or_default().to_owned();
    if !world.people.contains_key(&user) {
        return Err(Refused::because("user_not_in_channel"));
    }
    let content = Content::read(args)?;
    if content.is_empty() {
        return Err(Refused::because("no_text"));
    }
    let (mut message, _) = draft(world, &id, content, args)?;
    message.ephemeral_to = Some(user);
    let body = json!({"message_ts": message.ts});
    world.messages.push(message);
    answer(body)
}

pub(super) fn update(world: &mut World, args: &Args) -> Outcome {
    let (id, channel) = place(world, args)?;
    if channel.archived {
        return Err(Refused::because("is_archived"));
    }
    let channel = channel.clone();
    let content = Content::read(args)?;
    if args.text("text").is_some_and(|text| blocks::length(text) > UPDATE_LIMIT) {
        return Err(Refused::because("msg_too_long"));
    }
    // Blocks alone may leave the text out; a text that is there must not be empty without them.
    if content.text.is_some() && content.is_empty() {
        return Err(Refused::because("no_text"));
    }
    let ts = args.text("ts").unwrap_or_default();
    let (stamp, at) = (world.stamp(), world.started.elapsed());
    let message = world.visible_mut(&id, ts).ok_or(Refused::because("message_not_found"))?;
    if message.author != Author::Bot {
        return Err(Refused::because("cant_update_message"));
    }
    let before = message.wire();
    let has_blocks = content.blocks.is_some();
    if has_blocks || content.text.is_some() {
        // Text alone removes the blocks; neither of them keeps what is there.
        message.blocks = present(content.blocks);
        message.marked_edited = (!has_blocks).then(|| stamp.clone());
    }
    if content.attachments.is_some() {
        message.attachments = present(content.attachments);
    }
    if content.metadata.is_some() {
        message.metadata = present(content.metadata);
    }
    let text = content.text.unwrap_or_else(|| message.text().to_owned());
    message.edits.push(Edit { text: text.clone(), blocks: message.blocks.clone(), at });
    let event = events::changed(before, message, &channel, &stamp);
    let body = json!({"channel": id, "ts": message.ts, "text": text, "message": message.wire()});
    let done = answer(body)?;
    Ok(Done { events: vec![event], ..done })
}

pub(super) fn delete(world: &mut World, args: &Args) -> Outcome {
    let (id, channel) = place(world, args)?;
    let channel = channel.clone();
    let ts = args.text("ts").unwrap_or_default();
    let stamp = world.stamp();
    let message = world.visible_mut(&id, ts).ok_or(Refused::because("message_not_found"))?;
    if message.author != Author::Bot {
        return Err(Refused::because("cant_delete_message"));
    }
    let event = events::deleted(message, &channel, &stamp);
    message.deleted = true;
    let done = answer(json!({"channel": id, "ts": ts}))?;
    Ok(Done { events: vec![event], ..done })
}

pub(super) fn permalink(world: &mut World, args: &Args) -> Outcome {
    let (id, _) = place(world, args)?;
    let ts = args.text("message_ts").unwrap_or_default();
    let message = world.visible(&id, ts).ok_or(Refused::because("message_not_found"))?;
    let link = format!("https://sim.slack.example/archives/{id}/p{}", message.ts.replace('.', ""));
    answer(json!({"channel": id, "permalink": link}))
}
