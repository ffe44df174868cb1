//! Buttons and slash commands: what people press and type, and the addresses at which the bot may answer them.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    APP_ID, Shared, SlackSim, TEAM_ID,
    message::Author,
    world::{Call, World},
};

const USES: usize = 5;
const GOOD_FOR: Duration = Duration::from_secs(30 * 60);

/// Who is shown what an acknowledgement or a response address carries, and where.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) person: String,
    pub(crate) channel: String,
    pub(crate) thread: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct ResponseUrls(HashMap<String, ResponseUrl>);

#[derive(Debug)]
struct ResponseUrl {
    asker: Asker,
    uses: usize,
    since: Instant,
}

impl SlackSim {
    /// Presses the button `action_id` of a message of the bot.
    pub async fn press(&self, person: &str, channel: &str, ts: &str, action_id: &str) {
        let action = {
            let world = self.shared.world.look();
            let message = world.visible(channel, ts).unwrap_or_else(|| panic!("there is no message {ts} in {channel}"));
            button(message.blocks.as_ref(), action_id)
                .unwrap_or_else(|| panic!("the message has no button {action_id}: {:?}", message.blocks))
        };
        self.press_action(person, channel, ts, action);
    }

    /// Presses a button that the message no longer has: the person's client still shows the message as it was.
    pub async fn press_gone(&self, person: &str, channel: &str, ts: &str, action_id: &str, value: &str) {
        let action = json!({"type": "button", "action_id": action_id, "block_id": "gone", "value": value,
            "text": {"type": "plain_text", "text": action_id, "emoji": true}});
        self.press_action(person, channel, ts, action);
    }

    fn press_action(&self, person: &str, channel: &str, ts: &str, mut action: Value) {
        let payload = self.shared.world.change(|world| {
            let stamp = world.stamp();
            let place = world.channels.get(channel).unwrap_or_else(|| panic!("there is no channel {channel}"));
            let name = place.name.clone();
            let message = world.visible(channel, ts).unwrap_or_else(|| panic!("there is no message {ts} in {channel}"));
            let (thread, message) = (message.thread_ts.clone(), message.wire());
            action["action_ts"] = stamp.as_str().into();
            let handle = world.handle(person);
            let response_url = self.shared.response_url(world, "actions", person, channel, thread.as_deref());
            json!({"type": "block_actions", "api_app_id": APP_ID, "token": "legacy",
                "user": {"id": person, "username": handle, "name": handle, "team_id": world.home(person).team},
                "container": {"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": false,
                    "thread_ts": thread},
                "trigger_id": format!("trigger.{stamp}"), "team": {"id": TEAM_ID, "domain": "sim"},
                "enterprise": null, "is_enterprise_install": false, "channel": {"id": channel, "name": name},
                "message": message, "state": {"values": {}}, "response_url": response_url, "actions": [action]})
        });
        self.press_raw(payload);
    }

    /// Delivers an interaction as it is.
    pub fn press_raw(&self, payload: Value) {
        self.shared.deliver_press(payload);
    }

    /// Types a slash command. What the acknowledgement says is shown to the person alone.
    pub async fn slash(&self, person: &str, channel: &str, command: &str, text: &str) {
        let payload = self.shared.world.change(|world| {
            let name = world.channels.get(channel).unwrap_or_else(|| panic!("there is no channel {channel}"));
            let name = if name.bot_is_in { name.name.clone() } else { "privategroup".to_owned() };
            let response_url = self.shared.response_url(world, "commands", person, channel, None);
            json!({"command": command, "text": text, "response_url": response_url,
                "trigger_id": format!("trigger.{}", world.stamp()), "user_id": person,
                "user_name": world.handle(person), "team_id": world.home(person).team, "team_domain": "sim", "channel_id": channel,
                "channel_name": name, "api_app_id": APP_ID, "is_enterprise_install": "false", "token": "legacy"})
        });
        let asker = Asker { person: person.to_owned(), channel: channel.to_owned(), thread: None };
        self.shared.deliver_command(payload, asker);
    }
}

impl World {
    fn handle(&self, person: &str) -> String {
        self.people.get(person).cloned().unwrap_or_default().to_lowercase().replace(' ', ".")
    }

    /// Something of the bot that one person sees.
    pub(crate) fn show_to(&mut self, asker: &Asker, text: &str) {
        let mut message = self.draft(&asker.channel, Author::Bot, text);
        message.thread_ts.clone_from(&asker.thread);
        message.ephemeral_to = Some(asker.person.clone());
        self.messages.push(message);
    }
}

impl Shared {
    fn response_url(&self, world: &mut World, kind: &str, person: &str, channel: &str, thread: Option<&str>) -> String {
        let id = format!("{kind}-{}", world.next_id());
        let (person, channel, thread) = (person.to_owned(), channel.to_owned(), thread.map(str::to_owned));
        let asker = Asker { person, channel, thread };
        world.response_urls.0.insert(id.clone(), ResponseUrl { asker, uses: 0, since: Instant::now() });
        let api = self.api.get().map(ToString::to_string).unwrap_or_default();
        format!("http://{api}/response/{id}")
    }

    /// An acknowledgement of a command may carry an answer, as JSON or, over HTTP, as plain text.
    pub(crate) fn answered_in_passing(&self, asker: &Asker, payload: &Value) {
        if let Some(text) = payload["text"].as_str().or(payload.as_str()).filter(|text| !text.trim().is_empty()) {
            self.world.change(|world| world.show_to(asker, text));
        }
    }
}

/// Listed among the calls as `response_url`.
pub(crate) async fn respond(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    Json(body): Json<Value>,
) -> Response {
    let answer = shared.world.change(|world| {
        let error = match world.response_urls.0.get_mut(&id) {
            None => Some("invalid_url"),
            Some(known) if known.since.elapsed() >= GOOD_FOR => Some("expired_url"),
            Some(known) if known.uses >= USES => Some("used_url"),
            Some(known) => {
                known.uses += 1;
                let asker = known.asker.clone();
                if let Some(text) = body["text"].as_str() {
                    world.show_to(&asker, text);
                }
                None
            }
        };
        let answer = error.map_or_else(|| json!({"ok": true}), |error| json!({"ok": false, "error": error}));
        let (method, at) = ("response_url".to_owned(), world.started.elapsed());
        world.calls.push(Call { method, args: body.clone(), at, answer: Some(answer.clone()) });
        error.map(|_| answer)
    });
    match answer {
        None => "ok".into_response(),
        Some(error) => (StatusCode::NOT_FOUND, Json(error)).into_response(),
    }
}

/// The action element, with its block's id, as a press reports it.
fn button(blocks: Option<&Value>, action_id: &str) -> Option<Value> {
    for (index, block) in blocks?.as_array()?.iter().enumerate() {
        let elements = block["elements"].as_array().into_iter().flatten().chain(block.get("accessory"));
        for element in elements {
            if element["action_id"] == action_id {
                let mut action = element.clone();
                let block_id = block.get("block_id").cloned().unwrap_or_else(|| format!("auto{index}").into());
                action["block_id"] = block_id;
                return Some(action);
            }
        }
    }
    None
}
