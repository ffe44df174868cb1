//! Who we are, who they are, where we are, and reactions.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Asked, Done, Outcome, Refused, target};
use crate::feishu::{
    APP_ID, APP_SECRET, BOT_NAME, BOT_OPEN_ID, ChatKind, FOREIGN_TENANT, TENANT_KEY,
    message::Reaction,
    world::{Token, World},
};

/// With less left, a new token is given, and the old one stays good until its end.
const STILL_LONG: Duration = Duration::from_secs(1800);

pub(crate) fn token(world: &mut World, asked: &Asked) -> Outcome {
    match (asked.body["app_id"].as_str(), asked.body["app_secret"].as_str()) {
        (Some(APP_ID), Some(APP_SECRET)) => {}
        (Some(APP_ID), Some(_)) => return Err(Refused::because(10_015, "app secret invalid").with_http(200)),
        (Some(_), Some(_)) => return Err(Refused::because(10_014, "app not found").with_http(200)),
        _ => return Err(Refused::because(10_003, "invalid param")),
    }
    let now = Instant::now();
    let good = |token: &&Token| !token.revoked && token.ends.saturating_duration_since(now) >= STILL_LONG;
    let token = match world.tokens.iter().rfind(good) {
        Some(token) => token.clone(),
        None => {
            let token = Token { value: world.fresh("t-sim"), ends: now + world.token_life, revoked: false };
            world.tokens.push(token.clone());
            token
        }
    };
    let expire = token.ends.saturating_duration_since(now).as_secs();
    Ok(Done::Flat(json!({"code": 0, "msg": "ok", "tenant_access_token": token.value, "expire": expire})))
}

pub(super) fn bot_info() -> Outcome {
    Ok(Done::Flat(json!({"code": 0, "msg": "ok", "bot": {"activate_status": 2, "app_name": BOT_NAME,
        "avatar_url": "https://sim.invalid/avatar.png", "ip_white_list": [], "open_id": BOT_OPEN_ID}})))
}

/// Those that were asked for and not granted are listed, too, and those of people's own tokens.
pub(super) fn scopes(world: &World) -> Outcome {
    let scope = |name: &str, kind, status| json!({"scope_name": name, "scope_type": kind, "grant_status": status});
    let mut scopes: Vec<_> = world.scopes.iter().map(|name| scope(name, "tenant", 1)).collect();
    scopes.push(scope("cardkit:card:write", "tenant", 2));
    scopes.push(scope("im:message.p2p_msg", "user", 1));
    Ok(Done::Data(json!({"scopes": scopes})))
}

pub(super) fn users(world: &mut World, asked: &Asked) -> Outcome {
    let ids = asked.body["user_ids"].as_array().cloned().unwrap_or_default();
    if !(1..=10).contains(&ids.len()) {
        return Err(Refused::because(99_992_402, "field validation failed: user_ids: 1 to 10"));
    }
    let of = |id: &Value| {
        let person = world.people.get(id.as_str()?)?;
        Some(json!({"user_id": id, "name": person.name, "i18n_name": {"en_us": person.name}}))
    };
    Ok(Done::Data(json!({"users": ids.iter().filter_map(of).collect::<Vec<_>>()})))
}

pub(super) fn chat(world: &mut World, asked: &Asked) -> Outcome {
    // It has codes of its own.
    let unknown = || Refused::because(232_006, "Your request specifies a chat_id which is invalid.");
    let chat = world.chats.get(asked.id()).ok_or_else(unknown)?;
    if !chat.bot_is_in {
        return Err(Refused::because(232_011, "Operator can NOT be out of the chat."));
    }
    let status = if chat.dissolved { "dissolved" } else { "normal" };
    let (mode, messages) = match chat.kind {
        ChatKind::P2p => ("p2p", "chat"),
        ChatKind::Group => ("group", "chat"),
        ChatKind::Topics => ("topic", "thread"),
        ChatKind::Threads => ("group", "thread"),
    };
    let tenant = if chat.external { FOREIGN_TENANT } else { TENANT_KEY };
    Ok(Done::Data(json!({"name": chat.name, "description": "", "chat_mode": mode, "chat_type": "private",
        "group_message_type": messages, "external": chat.external, "tenant_key": tenant, "chat_status": status,
        "user_count": "3", "bot_count": "1"})))
}

pub(super) fn react(world: &mut World, asked: &Asked) -> Outcome {
    let (message, chat) = target(world, asked.id())?;
    if chat.external {
        return Err(Refused::because(231_021, "external chats have no reactions of apps"));
    }
    if message.recalled {
        return Err(Refused::because(231_003, "The message is not found."));
    }
    let emoji = asked.body["reaction_type"]["emoji_type"].as_str().unwrap_or_default().to_owned();
    if emoji.is_empty() {
        return Err(Refused::because(231_001, "reaction type is invalid."));
    }
    let (id, now) = (world.fresh("react"), world.stamp());
    let reaction = Reaction { id: id.clone(), emoji: emoji.clone(), by: APP_ID.to_owned() };
    if let Some(message) = world.message_mut(asked.id()) {
        message.reactions.push(reaction);
    }
    Ok(Done::Data(json!({"reaction_id": id, "action_time": now.to_string(),
        "operator": {"operator_id": APP_ID, "operator_type": "app"}, "reaction_type": {"emoji_type": emoji}})))
}

pub(super) fn unreact(world: &mut World, asked: &Asked) -> Outcome {
    target(world, asked.id())?;
    let Some(message) = world.message_mut(asked.id()) else { return Err(Refused::content("message_id")) };
    let id = asked.about.get(1).map_or("", String::as_str);
    let before = message.reactions.len();
    message.reactions.retain(|reaction| reaction.id != id);
    match message.reactions.len() < before {
        true => Ok(Done::Data(json!({"reaction_id": id}))),
        false => Err(Refused::because(231_011, "The reaction is not found.")),
    }
}
