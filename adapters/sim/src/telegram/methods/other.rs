//! The bot itself, command menus, answers to presses, reactions, files, and who is who in a chat.

use serde_json::{Value, json};

use super::{Outcome, Refused, chat_id};
use crate::telegram::{
    BOT_ID,
    args::Args,
    chats::{Kind, Standing},
    files::DOWNLOAD_LIMIT,
    world::World,
};

pub(super) fn me(world: &World) -> Outcome {
    let mut me = world.bot_wire();
    me["can_join_groups"] = true.into();
    me["can_read_all_group_messages"] = world.reads_all.into();
    for no in ["supports_inline_queries", "can_connect_to_business", "has_main_web_app", "has_topics_enabled"] {
        me[no] = false.into();
    }
    Ok(me)
}

pub(super) fn answer_press(world: &mut World, args: &Args) -> Outcome {
    let query = args.text("callback_query_id").unwrap_or_default();
    let text = args.text("text").unwrap_or_default();
    if text.chars().count() > 200 {
        return Err(Refused::bad("MESSAGE_TOO_LONG"));
    }
    if !world.callbacks.answer(query, text, args.flag("show_alert")) {
        return Err(Refused::bad("query is too old and response timeout expired or query ID is invalid"));
    }
    Ok(true.into())
}

/// Scope and language a menu is for.
fn menu(args: &Args) -> String {
    let scope = args.json("scope").unwrap_or_else(|| json!({"type": "default"}));
    format!("{scope} {}", args.text("language_code").unwrap_or_default())
}

pub(super) fn set_commands(world: &mut World, args: &Args) -> Outcome {
    let Some(Value::Array(commands)) = args.json("commands") else {
        return Err(Refused::bad("can't parse commands JSON object"));
    };
    if commands.len() > 100 {
        return Err(Refused::bad("BOT_COMMANDS_TOO_MUCH"));
    }
    for command in &commands {
        let name = command["command"].as_str().unwrap_or_default().trim_start_matches('/');
        let spelled = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !(1..=32).contains(&name.len()) || !spelled {
            return Err(Refused::bad("BOT_COMMAND_INVALID"));
        }
        let length = command["description"].as_str().unwrap_or_default().chars().count();
        if !(1..=256).contains(&length) {
            return Err(Refused::bad("BOT_COMMAND_DESCRIPTION_INVALID"));
        }
    }
    world.commands.insert(menu(args), commands.into());
    Ok(true.into())
}

pub(super) fn commands(world: &World, args: &Args) -> Outcome {
    Ok(world.commands.get(&menu(args)).cloned().unwrap_or_else(|| json!([])))
}

pub(super) fn delete_commands(world: &mut World, args: &Args) -> Outcome {
    world.commands.remove(&menu(args));
    Ok(true.into())
}

pub(super) fn react(world: &mut World, args: &Args) -> Outcome {
    let chat = chat_id(args)?;
    world.open_chat(chat)?;
    let emoji = |reaction: &Value| reaction["emoji"].as_str().map(str::to_owned);
    let list = args.json("reaction").and_then(|list| list.as_array().cloned()).unwrap_or_default();
    let reactions: Option<Vec<_>> = list.iter().map(emoji).collect();
    let reactions =
        reactions.filter(|reactions| reactions.len() <= 1).ok_or_else(|| Refused::bad("REACTIONS_TOO_MANY"))?;
    let allowed = ["👍", "👎", "❤", "🔥", "👀", "🎉", "🤔", "👌", "🤯", "💔", "🙏", "⚡", "🆒", "🤷"];
    if reactions.iter().any(|emoji| !allowed.contains(&emoji.as_str())) {
        return Err(Refused::bad("REACTION_INVALID"));
    }
    let id = args.integer("message_id").unwrap_or_default();
    let message = world.message_mut(chat, id).ok_or_else(|| Refused::bad("message to react not found"))?;
    message.reactions = reactions;
    Ok(true.into())
}

pub(super) fn file(world: &World, args: &Args) -> Outcome {
    let id = args.text("file_id").unwrap_or_default();
    // The smaller sizes of a photo are the same bytes here.
    let id = id.strip_suffix(['s', 'm']).unwrap_or(id);
    let file = world.file(|file| file.id() == id).ok_or_else(|| Refused::bad("invalid file_id"))?;
    if file.told_size() > DOWNLOAD_LIMIT {
        return Err(Refused::bad("file is too big"));
    }
    Ok(json!({"file_id": file.id(), "file_unique_id": format!("AgAD-{}", file.number), "file_size": file.told_size(),
        "file_path": file.path()}))
}

pub(super) fn chat(world: &World, args: &Args) -> Outcome {
    let chat = world.open_chat(chat_id(args)?)?;
    let mut wire = world.chat_wire(chat);
    wire["accent_color_id"] = 0.into();
    wire["max_reaction_count"] = 11.into();
    let gifts = ["unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"];
    wire["accepted_gift_types"] = Value::Object(gifts.map(|gift| (gift.to_owned(), true.into())).into_iter().collect());
    if chat.kind == Kind::Group {
        let right = |name: &str| (name.to_owned(), Value::Bool(true));
        let rights = ["can_send_messages", "can_send_documents", "can_send_photos", "can_invite_users"].map(right);
        wire["permissions"] = Value::Object(rights.into_iter().collect());
    }
    Ok(wire)
}

pub(super) fn member(world: &World, args: &Args) -> Outcome {
    let chat = world.open_chat(chat_id(args)?)?;
    match args.integer("user_id") {
        Some(BOT_ID) => Ok(world.bot_member(chat.bot)),
        Some(id) if world.users.contains_key(&id) => {
            let mut member = world.bot_member(Standing::Member);
            member["user"] = world.user_wire(id);
            Ok(member)
        }
        Some(_) => Err(Refused::bad("user not found")),
        None => Err(Refused::bad("invalid user_id specified")),
    }
}
