//! Whether the bot can work in the rooms it is allowed in, and how to mend it where it can't.

use serde::Deserialize;
use serde_json::json;
use watchfloor_channel::Finding;

use super::{Rooms, doctor::remedy};
use crate::{api::Api, errors::CallError};

const TAKE_OUT: &str = "or take it out of allow_rooms";

#[derive(Default)]
pub(super) struct Seen {
    pub(super) findings: Vec<Finding>,
    /// There are groups, and the bot is an administrator of each.
    pub(super) sees_all_of_them: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Chat {
    #[serde(rename = "type")]
    kind: String,
    permissions: Permissions,
}

/// Of people who are no administrators.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Permissions {
    can_send_messages: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Member {
    status: String,
    is_member: Option<bool>,
    can_send_messages: Option<bool>,
}

pub(super) async fn look(api: &Api, moves: &Rooms, own: i64, rooms: &[String]) -> Seen {
    let mut seen = Seen::default();
    let (mut groups, mut administered) = (0, 0);
    for room in rooms {
        let what = format!("the bot can write in {room}");
        // The store, which remembers moves, may be closed to us.
        let Ok(chat) = moves.chat_of(room).await else {
            seen.findings.push(Finding::wrong(what, format!("{room:?} names no chat: Telegram's ids are numbers")));
            continue;
        };
        let found = match ask(api, own, chat).await {
            Err(CallError::Moved(to)) => {
                seen.findings.push(Finding::could_be_better(
                    format!("the group {room} was upgraded and is {to} now"),
                    format!(
                        "write \"{to}\" into allow_rooms: the old id works only as long as the store remembers the move"
                    ),
                ));
                ask(api, own, to).await
            }
            found => found,
        };
        if let Ok((chat, member)) = &found
            && chat.kind != "private"
        {
            groups += 1;
            administered += usize::from(matches!(member.status.as_str(), "administrator" | "creator"));
        }
        seen.findings.push(match wrong_with(found) {
            None => Finding::fine(what),
            Some(remedy) => Finding::wrong(what, remedy),
        });
    }
    seen.sees_all_of_them = groups > 0 && groups == administered && groups == rooms.len();
    seen
}

async fn ask(api: &Api, own: i64, chat: i64) -> Result<(Chat, Member), CallError> {
    let found: Chat = api.raw("getChat", &json!({"chat_id": chat}), api.call_timeout).await?;
    let asked = json!({"chat_id": chat, "user_id": own});
    let member: Member = api.raw("getChatMember", &asked, api.call_timeout).await?;
    Ok((found, member))
}

fn wrong_with(found: Result<(Chat, Member), CallError>) -> Option<String> {
    let (chat, member) = match found {
        Ok(found) => found,
        Err(error) if error.has_code("chat not found") => {
            return Some(format!("Telegram shows the bot no such chat: add it there, compare the id, {TAKE_OUT}"));
        }
        Err(error) => return Some(remedy(error)),
    };
    let out = || Some(format!("the bot is not in this chat: add it there, {TAKE_OUT}"));
    match member.status.as_str() {
        "left" => out(),
        "kicked" => Some(format!("the bot was removed from this chat: lift the ban and add it again, {TAKE_OUT}")),
        "restricted" if member.is_member == Some(false) => out(),
        "restricted" if member.can_send_messages == Some(false) => Some(
            "the bot is restricted and may not write: lift the restriction, or make it an administrator".to_owned(),
        ),
        "member" if chat.permissions.can_send_messages == Some(false) => {
            Some("only administrators may write in this chat: make the bot one".to_owned())
        }
        _ => None,
    }
}
