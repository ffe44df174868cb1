//! `conversations.*`: reading threads and channels page by page.

use serde_json::{Map, Value, json};

use super::{Outcome, Refused, answer, place, scope};
use crate::slack::{
    BOT_USER, TEAM_ID,
    args::Args,
    events,
    message::{Author, Message},
    world::{Channel, ChannelKind, World},
};

pub(super) fn replies(world: &mut World, args: &Args) -> Outcome {
    let (id, channel) = place(world, args)?;
    readable(channel)?;
    let ts = args.text("ts").unwrap_or_default();
    let found = world.messages.iter().find(|m| m.channel == id && m.ts == ts && m.ephemeral_to.is_none());
    let parent_ts = found.map(|message| message.thread().to_owned()).unwrap_or_default();
    let replies = world.replies(&id, &parent_ts);
    let parent = world.messages.iter().find(|m| m.channel == id && m.ts == parent_ts);
    let head = match parent {
        Some(parent) if !parent.deleted => Value::Object(shown(world, parent, args)),
        Some(parent) if !replies.is_empty() => events::tombstone(parent),
        _ => return Err(Refused::because("thread_not_found")),
    };
    let rest: Vec<_> = replies.into_iter().filter(|m| within(&m.ts, args)).collect();
    let limit = args.number("limit").unwrap_or(1000).clamp(1, 1000);
    let (page, next) = page(&rest, args, limit)?;
    // The parent comes again on every page.
    let messages = std::iter::once(head).chain(page.iter().map(|m| Value::Object(shown(world, m, args))));
    let messages: Vec<_> = messages.collect();
    answer(json!({"messages": messages, "has_more": !next.is_empty(), "response_metadata": {"next_cursor": next}}))
}

pub(super) fn history(world: &mut World, args: &Args) -> Outcome {
    let (id, channel) = place(world, args)?;
    readable(channel)?;
    let top = |m: &&Message| {
        m.channel == id
            && !m.deleted
            && m.ephemeral_to.is_none()
            && m.thread_ts.as_ref().is_none_or(|thread| *thread == m.ts)
            && within(&m.ts, args)
    };
    let mut all: Vec<_> = world.messages.iter().filter(top).collect();
    all.sort_by(|a, b| b.ts.cmp(&a.ts));
    let limit = args.number("limit").unwrap_or(100).clamp(1, 1000);
    let (page, next) = page(&all, args, limit)?;
    let messages: Vec<_> = page.iter().map(|m| Value::Object(shown(world, m, args))).collect();
    answer(json!({"messages": messages, "has_more": !next.is_empty(), "pin_count": 0,
        "response_metadata": {"next_cursor": next}}))
}

pub(super) fn info(world: &mut World, args: &Args) -> Outcome {
    let (id, channel) = place(world, args)?;
    scope(
        world,
        match channel.kind {
            ChannelKind::Public => "channels:read",
            ChannelKind::Private => "groups:read",
            ChannelKind::Direct => "im:read",
        },
    )?;
    if channel.kind == ChannelKind::Private && !channel.bot_is_in {
        return Err(Refused::because("channel_not_found"));
    }
    let direct = channel.kind == ChannelKind::Direct;
    let mut wire = json!({"id": id, "created": 1, "is_archived": channel.archived, "is_im": direct,
        "is_channel": channel.kind == ChannelKind::Public, "is_group": channel.kind == ChannelKind::Private,
        "is_mpim": false, "is_private": channel.kind != ChannelKind::Public, "is_general": false,
        "is_shared": false, "is_org_shared": false, "is_ext_shared": false, "is_member": channel.bot_is_in,
        "context_team_id": TEAM_ID});
    if direct {
        wire["user"] = channel.name.as_str().into();
    } else {
        wire["name"] = channel.name.as_str().into();
        wire["name_normalized"] = channel.name.as_str().into();
        wire["creator"] = BOT_USER.into();
    }
    answer(json!({"channel": wire}))
}

pub(super) fn open(world: &mut World, args: &Args) -> Outcome {
    let user = args.text("users").unwrap_or_default().to_owned();
    if !world.people.contains_key(&user) {
        return Err(Refused::because("user_not_found"));
    }
    let id = world.open_dm(&user);
    if !world.channels.get(&id).is_some_and(|channel| channel.teams.contains(&world.caller)) {
        return Err(Refused::because("user_not_found"));
    }
    answer(json!({"channel": {"id": id}}))
}

fn readable(channel: &Channel) -> Result<(), Refused> {
    match (channel.bot_is_in, channel.kind) {
        (true, _) => Ok(()),
        // A private channel doesn't exist for those who are not in it.
        (false, ChannelKind::Private) => Err(Refused::because("channel_not_found")),
        (false, _) => Err(Refused::because("not_in_channel")),
    }
}

fn within(ts: &str, args: &Args) -> bool {
    let inclusive = args.flag("inclusive");
    let after = args.text("oldest").is_none_or(|oldest| oldest == "0" || ts > oldest || (inclusive && ts == oldest));
    let before = args.text("latest").is_none_or(|latest| ts < latest || (inclusive && ts == latest));
    after && before
}

fn page<'m>(all: &[&'m Message], args: &Args, limit: usize) -> Result<(Vec<&'m Message>, String), Refused> {
    let start = match args.text("cursor").filter(|cursor| !cursor.is_empty()) {
        None => 0,
        Some(cursor) => {
            let offset = cursor.strip_prefix("after:").and_then(|offset| offset.parse().ok());
            offset.filter(|&offset| offset <= all.len()).ok_or(Refused::because("invalid_cursor"))?
        }
    };
    let end = (start + limit).min(all.len());
    let next = if end < all.len() { format!("after:{end}") } else { String::new() };
    Ok((all[start..end].to_vec(), next))
}

fn shown(world: &World, message: &Message, args: &Args) -> Map<String, Value> {
    let mut wire = message.wire();
    if let Some(metadata) = message.metadata.as_ref().filter(|_| args.flag("include_all_metadata")) {
        wire.insert("metadata".into(), metadata.clone());
    }
    if message.thread_ts.is_none() {
        let replies = world.replies(&message.channel, &message.ts);
        if let Some(latest) = replies.last() {
            let mut users: Vec<&str> = Vec::new();
            for reply in &replies {
                let user = match &reply.author {
                    Author::Person(id) | Author::OtherBot(id) => id.as_str(),
                    Author::Bot => BOT_USER,
                };
                if !users.contains(&user) {
                    users.push(user);
                }
            }
            wire.insert("thread_ts".into(), message.ts.as_str().into());
            wire.insert("reply_count".into(), replies.len().into());
            wire.insert("reply_users_count".into(), users.len().into());
            wire.insert("reply_users".into(), users.into());
            wire.insert("latest_reply".into(), latest.ts.as_str().into());
        }
    }
    wire
}
