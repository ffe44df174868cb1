//! The Web API methods: what each does to the workspace and what it answers. Faults, budgets and transport are `api`'s.

mod chat;
mod conversations;
mod files;
mod other;

use serde_json::{Map, Value, json};

use super::{
    args::Args,
    world::{Channel, World},
};

/// An answer with `ok: true`, and the events that follow from it.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) body: Map<String, Value>,
    pub(crate) events: Vec<Value>,
}

/// An answer with `ok: false`.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) error: &'static str,
    pub(crate) hints: Vec<String>,
    /// The scope that is missing.
    pub(crate) needed: Option<&'static str>,
}

impl Refused {
    pub(crate) fn because(error: &'static str) -> Self {
        Self { error, hints: Vec::new(), needed: None }
    }

    pub(crate) fn hint(error: &'static str, hint: &str) -> Self {
        Self { error, hints: vec![hint.to_owned()], needed: None }
    }
}

pub(crate) type Outcome = Result<Done, Refused>;

pub(crate) fn answer(body: Value) -> Outcome {
    let Value::Object(body) = body else { return Err(Refused::because("internal_error")) };
    Ok(Done { body, events: Vec::new() })
}

/// `apps.connections.open` is not here: it belongs to Socket Mode.
pub(crate) fn perform(method: &str, world: &mut World, args: &Args) -> Outcome {
    match method {
        "chat.postMessage" => chat::post(world, args),
        "chat.postEphemeral" => chat::post_ephemeral(world, args),
        "chat.update" => chat::update(world, args),
        "chat.delete" => chat::delete(world, args),
        "chat.getPermalink" => chat::permalink(world, args),
        "conversations.replies" => conversations::replies(world, args),
        "conversations.history" => conversations::history(world, args),
        "conversations.info" => conversations::info(world, args),
        "conversations.open" => conversations::open(world, args),
        "files.info" => files::info(world, args),
        "files.getUploadURLExternal" => files::upload_url(world, args),
        "files.completeUploadExternal" => files::complete(world, args),
        "reactions.add" => other::react(world, args),
        "reactions.remove" => other::unreact(world, args),
        "auth.test" => other::auth_test(world),
        "users.info" => other::user(world, args),
        "bots.info" => other::bot(args),
        "api.test" => answer(json!({"args": args.0})),
        _ => {
            world.oddities.push(format!("unknown method {method}"));
            Err(Refused::because("unknown_method"))
        }
    }
}

fn scope(world: &World, scope: &'static str) -> Result<(), Refused> {
    match world.files.lost_scopes.contains(scope) {
        true => Err(Refused { needed: Some(scope), ..Refused::because("missing_scope") }),
        false => Ok(()),
    }
}

/// The channel of a call, if the bot may act there.
fn place<'w>(world: &'w World, args: &Args) -> Result<(String, &'w Channel), Refused> {
    let id = args.text("channel").unwrap_or_default();
    // A token sees its own workspace alone.
    let channel = world.channels.get(id).filter(|channel| channel.teams.contains(&world.caller));
    let channel = channel.ok_or(Refused::because("channel_not_found"))?;
    Ok((id.to_owned(), channel))
}

/// As [`place`], and open for new messages.
fn open_place<'w>(world: &'w World, args: &Args) -> Result<(String, &'w Channel), Refused> {
    let (id, channel) = place(world, args)?;
    if channel.archived {
        return Err(Refused::because("is_archived"));
    }
    if !channel.bot_is_in {
        return Err(Refused::because("not_in_channel"));
    }
    Ok((id, channel))
}

fn is_ts(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split_once('.').is_some_and(|(seconds, micros)| digits(seconds) && micros.len() == 6 && digits(micros))
}
