//! Messages read again: one, several, a chat's or a thread's.

use serde_json::{Value, json};

use super::{Asked, Done, Outcome, Refused, history, place, target};
use crate::feishu::{message::Message, world::World};

pub(super) fn get(world: &mut World, asked: &Asked) -> Outcome {
    let (message, chat) = target(world, asked.id())?;
    history(world, chat)?;
    let mut item = message.item();
    // A card comes in a reduced form, unless it is asked for as it was sent.
    if asked.query("card_msg_content_type") == Some("user_card_content") && message.kind() == "interactive" {
        item["body"]["content"] = message.content().into();
    }
    let mut items = vec![item];
    for child in message.forwarded.iter().filter_map(|id| world.message(id)) {
        let mut item = child.item();
        item["upper_message_id"] = message.id.as_str().into();
        items.push(item);
    }
    Ok(Done::Data(json!({"items": items})))
}

pub(super) fn mget(world: &mut World, asked: &Asked) -> Outcome {
    let ids = asked.query.get("message_ids").cloned().unwrap_or_default();
    if !(1..=50).contains(&ids.len()) {
        return Err(Refused::because(99_992_402, "field validation failed: message_ids"));
    }
    let mut items = Vec::new();
    for id in &ids {
        let (message, chat) = target(world, id)?;
        history(world, chat)?;
        items.push(message.item());
    }
    Ok(Done::Data(json!({"items": items})))
}

pub(super) fn list(world: &mut World, asked: &Asked) -> Outcome {
    let invalid = |field: &str| Refused::because(99_992_402, &format!("field validation failed: {field}"));
    let container = asked.query("container_id").unwrap_or_default();
    let of_thread = match asked.query("container_id_type") {
        Some("thread") => true,
        Some("chat") => false,
        _ => return Err(invalid("container_id_type")),
    };
    let size = asked.query("page_size").map_or(Some(20), |size| size.parse().ok());
    let size: usize = size.filter(|size| (1..=50).contains(size)).ok_or_else(|| invalid("page_size"))?;
    let descending = match asked.query("sort_type") {
        None | Some("ByCreateTimeAsc") => false,
        Some("ByCreateTimeDesc") => true,
        Some(_) => return Err(invalid("sort_type")),
    };
    let bound = |key: &str| match asked.query(key) {
        None => Ok(None),
        Some(_) if of_thread => Err(Refused::content("start_time and end_time are not for threads")),
        Some(seconds) => seconds.parse::<u64>().map(Some).map_err(|_| invalid(key)),
    };
    let (start, end) = (bound("start_time")?, bound("end_time")?);
    let first = world.messages.iter().find(|message| message.thread.as_deref() == Some(container));
    let chat = match (of_thread, first) {
        (true, Some(first)) => first.chat.clone(),
        (true, None) => return Err(Refused::content("the thread does not exist")),
        (false, _) => container.to_owned(),
    };
    history(world, place(world, &chat)?)?;
    let within = |message: &&Message| {
        let seconds = message.created / 1000;
        start.is_none_or(|start| seconds >= start) && end.is_none_or(|end| seconds <= end)
    };
    let listed = |message: &&Message| match of_thread {
        true => message.thread.as_deref() == Some(container),
        // Of a thread only the root.
        false => message.chat == chat && (message.thread.is_none() || message.root.is_none()),
    };
    let mut found: Vec<_> = world.messages.iter().filter(listed).filter(within).collect();
    found.sort_by_key(|message| message.created);
    if descending {
        found.reverse();
    }
    let order = if descending { "desc" } else { "asc" };
    let from = match asked.query("page_token").filter(|token| !token.is_empty()) {
        None => 0,
        Some(token) => {
            let place = token.strip_prefix(&format!("sim-page-{order}-")).and_then(|at| at.parse().ok());
            place.ok_or_else(|| Refused::content("page_token"))?
        }
    };
    let items: Vec<Value> = found.iter().skip(from).take(size).map(|message| message.item()).collect();
    let next = from + items.len();
    let has_more = next < found.len();
    let page_token = if has_more { format!("sim-page-{order}-{next}") } else { String::new() };
    Ok(Done::Data(json!({"has_more": has_more, "page_token": page_token, "items": items})))
}
