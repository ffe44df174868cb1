//! The calls of the open API: what each does to the tenant and what it answers. Faults, quotas and transport are `api`'s.

mod edit;
mod files;
mod other;
mod read;
mod send;

use std::time::Instant;

use serde_json::Value;

pub(crate) use self::other::token;
use super::{
    GROUP_MESSAGES,
    api::Asked,
    message::Message,
    world::{Chat, World},
};

#[derive(Debug)]
pub(crate) enum Done {
    /// Inside `data`.
    Data(Value),
    /// The whole body.
    Flat(Value),
    /// A file by this name.
    Bytes(String, Vec<u8>),
}

/// An answer with a code.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) code: i64,
    pub(crate) msg: String,
    pub(crate) http: u16,
    pub(crate) reset_secs: Option<u64>,
    /// One of these scopes would do.
    pub(crate) missing: Option<&'static [&'static str]>,
}

impl Refused {
    pub(crate) fn because(code: i64, why: &str) -> Self {
        Self { code, msg: why.to_owned(), http: 400, reset_secs: None, missing: None }
    }

    pub(crate) fn with_http(self, http: u16) -> Self {
        Self { http, ..self }
    }

    /// 230001 with its detail.
    pub(crate) fn content(detail: &str) -> Self {
        Self::because(230_001, &format!("Your request contains an invalid request parameter, ext={detail}"))
    }
}

pub(crate) type Outcome = Result<Done, Refused>;

const SENDING: &[&str] = &["im:message", "im:message:send_as_bot"];
const EDITING: &[&str] = &["im:message", "im:message:send_as_bot", "im:message:update"];
const RECALLING: &[&str] = &["im:message", "im:message:send_as_bot", "im:message:recall"];
const REACTING: &[&str] = &["im:message", "im:message.reactions:write_only"];
const READING: &[&str] = &["im:message", "im:message:readonly", "im:message.history:readonly"];
const UPLOADING: &[&str] = &["im:resource", "im:resource:upload"];
const NAMES: &[&str] = &["contact:user.basic_profile:readonly"];
const CHATS: &[&str] = &["im:chat", "im:chat:readonly", "im:chat:read"];

pub(crate) fn perform(world: &mut World, asked: &Asked) -> Outcome {
    let wanted = match asked.name.as_str() {
        "send" | "reply" => SENDING,
        "edit" | "patch" => EDITING,
        "recall" => RECALLING,
        "react" | "unreact" => REACTING,
        "get" | "mget" | "list" | "resource" => READING,
        "upload_image" | "upload_file" => UPLOADING,
        "users" => NAMES,
        "chat" => CHATS,
        _ => &[],
    };
    if !wanted.is_empty() && !wanted.iter().any(|scope| world.scopes.contains(*scope)) {
        let why = format!("Access denied. One of the following scopes is required: [{}].", wanted.join(", "));
        return Err(Refused { missing: Some(wanted), ..Refused::because(99_991_672, &why) });
    }
    let chat = match asked.name.as_str() {
        "send" => Some(asked.text("receive_id").to_owned()),
        "reply" => world.message(asked.id()).map(|parent| parent.chat.clone()),
        _ => None,
    };
    let card = Some(asked.id()).filter(|_| matches!(asked.name.as_str(), "edit" | "patch"));
    world.rates.spend(&asked.name, chat.as_deref(), card, Instant::now())?;
    match asked.name.as_str() {
        "bot_info" => other::bot_info(),
        "scopes" => other::scopes(world),
        "send" => send::send(world, asked),
        "reply" => send::reply(world, asked),
        "edit" => edit::put(world, asked),
        "patch" => edit::patch(world, asked),
        "recall" => edit::recall(world, asked),
        "react" => other::react(world, asked),
        "unreact" => other::unreact(world, asked),
        "get" => read::get(world, asked),
        "mget" => read::mget(world, asked),
        "list" => read::list(world, asked),
        "resource" => files::resource(world, asked),
        "upload_image" => files::upload_image(world, asked),
        "upload_file" => files::upload_file(world, asked),
        "users" => other::users(world, asked),
        "chat" => other::chat(world, asked),
        _ => Err(Refused::because(99_991_301, "no such call")),
    }
}

/// The message a call is about, as its chat lets the bot see it.
fn target<'w>(world: &'w World, id: &str) -> Result<(&'w Message, &'w Chat), Refused> {
    let message = world.message(id).filter(|_| id.starts_with("om_"));
    let message =
        message.ok_or_else(|| Refused::because(99_992_354, "The request you send is not a valid message_id"))?;
    Ok((message, place(world, &message.chat)?))
}

/// A chat in which the bot is.
fn place<'w>(world: &'w World, id: &str) -> Result<&'w Chat, Refused> {
    let chat = world.chats.get(id).ok_or_else(|| Refused::because(230_034, "The receive_id is invalid."))?;
    if chat.dissolved {
        return Err(Refused::because(232_009, "The chat is dissolved."));
    }
    if !chat.bot_is_in {
        return Err(Refused::because(230_002, "Bot/User can NOT be out of the chat."));
    }
    Ok(chat)
}

/// A chat in which the bot may speak.
fn open_place<'w>(world: &'w World, id: &str) -> Result<&'w Chat, Refused> {
    let chat = place(world, id)?;
    if chat.muted {
        return Err(Refused::because(230_035, "Send Message Permission deny."));
    }
    Ok(chat)
}

/// History of a group wants a scope of its own.
fn history(world: &World, chat: &Chat) -> Result<(), Refused> {
    let group = chat.kind != super::ChatKind::P2p;
    match group && !world.scopes.contains(GROUP_MESSAGES) && !world.scopes.contains("im:message.group_msg:readonly") {
        true => Err(Refused::because(230_027, "Lack of necessary permissions, ext=need scope: im:message.group_msg")),
        false => Ok(()),
    }
}
