//! Identity, people and reactions.

use serde_json::json;

use super::{Outcome, Refused, answer, open_place};
use crate::slack::{APP_ID, BOT_ID, BOT_USER, args::Args, message::Reaction, world::World};

pub(super) fn auth_test(world: &World) -> Outcome {
    let caller = &world.caller;
    let mut body = json!({"url": "https://sim.slack.example/", "team": "Sim", "user": "watchfloor", "team_id": caller.id,
        "user_id": caller.bot_user, "bot_id": caller.bot_id, "is_enterprise_install": caller.org_wide});
    if let Some(enterprise) = &caller.enterprise {
        body["enterprise_id"] = enterprise.as_str().into();
    }
    answer(body)
}

pub(super) fn user(world: &World, args: &Args) -> Outcome {
    let id = args.text("user").unwrap_or_default();
    let bot = id == BOT_USER;
    let name = if bot { Some("watchfloor") } else { world.people.get(id).map(String::as_str) };
    let name = name.ok_or(Refused::because("user_not_found"))?;
    let handle = name.to_lowercase().replace(' ', ".");
    let home = world.home(id);
    let stranger =
        home.team != world.caller.id && (home.enterprise.is_none() || home.enterprise != world.caller.enterprise);
    let organisation = home.enterprise.map_or(json!({}), |id| json!({"enterprise_id": id}));
    answer(json!({"user": {"id": id, "team_id": home.team, "is_stranger": stranger, "enterprise_user": organisation,
        "name": handle, "real_name": name, "deleted": false,
        "is_bot": bot, "is_app_user": false, "tz": "Etc/UTC", "tz_label": "UTC", "tz_offset": 0, "updated": 1,
        "locale": "en-US", "profile": {"display_name": handle, "real_name": name, "team": home.team}}}))
}

pub(super) fn bot(args: &Args) -> Outcome {
    match args.text("bot").unwrap_or(BOT_ID) {
        BOT_ID => answer(json!({"bot": {"id": BOT_ID, "deleted": false, "name": "watchfloor", "updated": 1,
            "app_id": APP_ID, "user_id": BOT_USER, "icons": {}}})),
        _ => Err(Refused::because("bot_not_found")),
    }
}

pub(super) fn react(world: &mut World, args: &Args) -> Outcome {
    let (id, name, ts) = reaction(world, args)?;
    let message = world.visible_mut(&id, &ts).ok_or(Refused::because("message_not_found"))?;
    if message.reactions.contains(&name) {
        return Err(Refused::because("already_reacted"));
    }
    message.reactions.push(name);
    answer(json!({}))
}

pub(super) fn unreact(world: &mut World, args: &Args) -> Outcome {
    let (id, name, ts) = reaction(world, args)?;
    let message = world.visible_mut(&id, &ts).ok_or(Refused::because("message_not_found"))?;
    let Some(at) = message.reactions.iter().position(|reaction| *reaction == name) else {
        return Err(Refused::because("no_reaction"));
    };
    message.reactions.remove(at);
    answer(json!({}))
}

fn reaction(world: &World, args: &Args) -> Result<(String, Reaction, String), Refused> {
    let (id, _) = open_place(world, args)?;
    let name = args.text("name").unwrap_or_default();
    if name.is_empty() || name.contains(':') {
        return Err(Refused::because("invalid_name"));
    }
    let ts = args.text("timestamp").ok_or(Refused::because("no_item_specified"))?;
    Ok((id, Reaction { name: name.to_owned(), by: BOT_USER.to_owned() }, ts.to_owned()))
}
