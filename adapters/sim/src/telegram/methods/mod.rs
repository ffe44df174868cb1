//! The Bot API methods: what each does to the world and what it answers. Faults and transport are `api`'s; `getUpdates` and
//! the webhook have files of their own.

mod content;
mod edit;
mod other;
mod send;

use std::time::Instant;

use serde_json::{Value, json};

use super::{
    args::{Args, integer},
    rates::Wait,
    world::World,
};

/// An answer with `ok: false`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refused {
    pub(crate) code: u16,
    pub(crate) description: String,
    pub(crate) parameters: Option<Value>,
}

impl Refused {
    pub(crate) fn new(code: u16, description: &str) -> Self {
        Self { code, description: description.to_owned(), parameters: None }
    }

    pub(crate) fn bad(description: &str) -> Self {
        Self::new(400, &format!("Bad Request: {description}"))
    }
}

/// The result, or why not.
pub(crate) type Outcome = Result<Value, Refused>;

/// `method` is in lower case.
pub(crate) fn perform(method: &str, world: &mut World, args: &Args) -> Outcome {
    match method {
        "getme" => other::me(world),
        "sendmessage" => send::message(world, args),
        "senddocument" => send::file(world, args, "document"),
        "sendphoto" => send::file(world, args, "photo"),
        "sendchataction" => send::action(world, args),
        "editmessagetext" => edit::text(world, args),
        "editmessagecaption" => edit::caption(world, args),
        "editmessagereplymarkup" => edit::keyboard(world, args),
        "deletemessage" => edit::delete(world, args),
        "setmessagereaction" => other::react(world, args),
        "answercallbackquery" => other::answer_press(world, args),
        "setmycommands" => other::set_commands(world, args),
        "getmycommands" => other::commands(world, args),
        "deletemycommands" => other::delete_commands(world, args),
        "getfile" => other::file(world, args),
        "getchat" => other::chat(world, args),
        "getchatmember" => other::member(world, args),
        "getwebhookinfo" => {
            let pending = world.updates.waiting().len();
            Ok(world.webhook.info(pending, world.updates.allowed.as_deref()))
        }
        _ => {
            world.complain(format!("unknown method {method}"));
            Err(Refused::new(404, "Not Found: method not found"))
        }
    }
}

/// The chat a call is about: its id, or the name of a public one, which nothing here is.
fn chat_id(args: &Args) -> Result<i64, Refused> {
    match args.fields.get("chat_id") {
        None | Some(Value::Null) => Err(Refused::bad("chat_id is empty")),
        Some(Value::String(text)) if text.is_empty() => Err(Refused::bad("chat_id is empty")),
        Some(value) => integer(value).ok_or_else(|| Refused::bad("chat not found")),
    }
}

/// Flood control for messages and edits.
fn spend(world: &mut World, chat: i64) -> Result<(), Refused> {
    world.rates.spend(chat, Instant::now()).map_err(|Wait { seconds, early }| {
        if early {
            world.complaints.push(format!("sent to {chat} before the wait was over"));
        }
        let mut refused = Refused::new(429, &format!("Too Many Requests: retry after {seconds}"));
        refused.parameters = Some(json!({"retry_after": seconds}));
        refused
    })
}
