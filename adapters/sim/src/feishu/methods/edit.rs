//! Messages changed and taken back: PUT for text and post, PATCH for cards.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Asked, Done, Outcome, Refused, open_place, target};
use crate::{
    feishu::{
        check,
        message::{Edit, Message},
        world::World,
    },
    time,
};

/// Edits of one message over its life.
const MOST_PUTS: usize = 20;
const CARDS_LIVE: Duration = Duration::from_secs(14 * 86_400);

pub(super) fn put(world: &mut World, asked: &Asked) -> Outcome {
    let (message, chat) = target(world, asked.id())?;
    let refuse = |code, why| Err(Refused::because(code, why));
    match () {
        () if message.recalled => return refuse(230_011, "The message was withdrawn."),
        () if is_gone(world, message) => return refuse(230_110, "The message was deleted."),
        () if !message.is_of_bot() => return refuse(230_071, "The operator is not the sender of the message."),
        () if !matches!(message.kind(), "text" | "post") => {
            return refuse(230_054, "This operation is not supported for this message type.");
        }
        () if chat.external => return refuse(230_027, "Lack of necessary permissions, ext=external chat"),
        () if world.edits_closed => return refuse(230_075, "The message has exceeded the editable time."),
        () if message.puts >= MOST_PUTS => return refuse(230_072, "The message has reached its number of edits."),
        () => {}
    }
    let chat = message.chat.clone();
    let was = message.kind().to_owned();
    open_place(world, &chat)?;
    let kind = asked.text("msg_type");
    if kind != was {
        return Err(Refused::content(&format!("msg_type is {kind:?}, and the message is {was}")));
    }
    change(world, asked, kind, |message| message.puts += 1)
}

pub(super) fn patch(world: &mut World, asked: &Asked) -> Outcome {
    let (message, _) = target(world, asked.id())?;
    let refuse = |code, why| Err(Refused::because(code, why));
    match () {
        () if message.recalled => return refuse(230_011, "The message was withdrawn."),
        () if is_gone(world, message) => return refuse(230_110, "The message was deleted."),
        () if message.kind() != "interactive" => return Err(Refused::content("This message is NOT a card.")),
        () if !message.is_of_bot() => return Err(Refused::content("The card was not sent by this app.")),
        () if age(message) > CARDS_LIVE => return refuse(230_031, "The message is older than 14 days."),
        () if !shared(&message.json()) => {
            return Err(Refused::content("update_multi was not true in the card that is to be updated"));
        }
        () => {}
    }
    let chat = message.chat.clone();
    open_place(world, &chat)?;
    let card: Value = serde_json::from_str(asked.text("content")).unwrap_or_default();
    if card.is_object() && !shared(&card) {
        return Err(Refused::content("update_multi must be true in the new card"));
    }
    change(world, asked, "interactive", |_| {})
}

fn is_gone(world: &World, message: &Message) -> bool {
    message.thread.as_ref().is_some_and(|thread| world.gone_topics.contains(thread))
}

fn age(message: &Message) -> Duration {
    time::now().saturating_sub(Duration::from_millis(message.created))
}

fn shared(card: &Value) -> bool {
    card["config"]["update_multi"] == true
}

fn change(world: &mut World, asked: &Asked, kind: &str, count: impl FnOnce(&mut Message)) -> Outcome {
    if !asked.body["content"].is_string() {
        return Err(Refused::content("content is not a string in json format"));
    }
    let mentions = check::content(world, kind, asked.text("content"), asked.raw.len())?;
    let (at, updated) = (world.started.elapsed(), world.stamp());
    let edit = Edit { kind: kind.to_owned(), content: asked.text("content").to_owned(), at };
    let Some(message) = world.message_mut(asked.id()) else { return Err(Refused::content("message_id")) };
    (message.mentions, message.updated) = (mentions, updated);
    message.edits.push(edit);
    count(message);
    Ok(match kind {
        "interactive" => Done::Data(json!({})),
        _ => Done::Data(message.item()),
    })
}

pub(super) fn recall(world: &mut World, asked: &Asked) -> Outcome {
    let (message, _) = target(world, asked.id())?;
    if message.recalled {
        return Err(Refused::because(230_011, "The message was withdrawn."));
    }
    if !message.is_of_bot() {
        return Err(Refused::because(230_026, "No permission to recall this message."));
    }
    if let Some(message) = world.message_mut(asked.id()) {
        message.recalled = true;
    }
    Ok(Done::Data(json!({})))
}
