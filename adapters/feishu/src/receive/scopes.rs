//! What the app may do and which rooms it is in, held against what we need. Each missing scope is named with what goes
//! without it, and with the console's page to ask for it.

use std::collections::BTreeSet;

use serde::Deserialize;
use watchfloor_channel::{Finding, RefusalKind};

use crate::{
    FeishuConfig,
    api::Api,
    call::{Call, Request},
    errors::CallError,
};

const GRANTED: i64 = 1;
const MISSING_SCOPE: &str = "99991672";

/// The scope to ask for, the older and broader ones that do as well, and what goes without them.
struct Need {
    ask: &'static str,
    also: &'static [&'static str],
    without: &'static str,
}

const NEEDED: [Need; 5] = [
    Need { ask: "im:message.p2p_msg:readonly", also: &["im:message.p2p_msg"], without: "private chats are not heard" },
    Need {
        ask: "im:message.group_at_msg:readonly",
        also: &["im:message.group_at_msg", "im:message.group_msg"],
        without: "mentions in groups are not heard",
    },
    Need { ask: "im:message:send_as_bot", also: &["im:message"], without: "nothing can be said" },
    Need {
        ask: "contact:user.basic_profile:readonly",
        also: &["contact:user.base:readonly"],
        without: "people have ids instead of names",
    },
    Need { ask: "im:resource", also: &[], without: "files and pictures are not read" },
];

const USEFUL: [Need; 4] = [
    Need {
        ask: "im:message:readonly",
        also: &["im:message", "im:message.history:readonly"],
        without: "quoted messages and attached files are not read",
    },
    Need {
        ask: "im:message.group_msg",
        also: &["im:message.group_msg:readonly"],
        without: "only what mentions the bot is heard in groups, and a topic's earlier messages are not read",
    },
    Need {
        ask: "im:message.reactions:write_only",
        also: &["im:message"],
        without: "no sign is set on messages that were taken",
    },
    Need {
        ask: CHATS[1],
        also: &CHATS,
        without: "what kind of group it is, and whether the bot is in it, is not known",
    },
];

/// Of which one is needed to ask about a group.
const CHATS: [&str; 3] = ["im:chat", "im:chat:readonly", "im:chat:read"];

#[derive(Default, Deserialize)]
#[serde(default)]
struct Told {
    scopes: Vec<Scope>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Scope {
    scope_name: String,
    /// `tenant`: of the app itself; `user`: in the name of somebody.
    scope_type: String,
    grant_status: i64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Chat {
    chat_status: String,
}

pub(super) async fn look(config: &FeishuConfig, api: &Api, rooms: &[String]) -> Vec<Finding> {
    let request = Request::to(["open-apis", "application", "v6", "scopes"]);
    let told: Result<Told, _> = api.call(Call::Scopes, request).await;
    let (mut findings, granted) = match told {
        Ok(told) => {
            let of_app = told.scopes.into_iter().filter(|scope| scope.scope_type == "tenant");
            let granted: BTreeSet<_> =
                of_app.filter(|scope| scope.grant_status == GRANTED).map(|scope| scope.scope_name).collect();
            (judge(config, &granted), Some(granted))
        }
        Err(error) => (vec![Finding::fine(format!("not to be seen from here: the app's scopes ({error})"))], None),
    };
    let may_ask = granted.is_none_or(|granted| CHATS.iter().any(|scope| granted.contains(*scope)));
    findings.extend(look_at(config, api, rooms, may_ask).await);
    findings
}

fn judge(config: &FeishuConfig, granted: &BTreeSet<String>) -> Vec<Finding> {
    let missing = |need: &&Need| !std::iter::once(&need.ask).chain(need.also).any(|scope| granted.contains(*scope));
    let (needed, useful): (Vec<_>, Vec<_>) =
        (NEEDED.iter().filter(missing).collect(), USEFUL.iter().filter(missing).collect());
    let mut findings = Vec::new();
    let what = "the app has the scopes it needs";
    findings.push(match needed.as_slice() {
        [] => Finding::fine(what),
        needed => Finding::wrong(what, remedy(config, needed)),
    });
    if !useful.is_empty() {
        findings.push(Finding::could_be_better("more would be possible with more scopes", remedy(config, &useful)));
    }
    findings
}

fn remedy(config: &FeishuConfig, missing: &[&Need]) -> String {
    let each: Vec<_> = missing.iter().map(|need| format!("{} ({})", need.without, need.ask)).collect();
    let asked: Vec<_> = missing.iter().map(|need| need.ask).collect();
    format!("{}: {}", each.join("; "), add(config, &asked))
}

/// The console lives where the open API does.
fn add(config: &FeishuConfig, scopes: &[&str]) -> String {
    let base = &config.base_url;
    let host = base.host_str().unwrap_or("open.feishu.cn");
    let port = base.port().map(|port| format!(":{port}")).unwrap_or_default();
    let (scheme, app, scopes) = (base.scheme(), &config.app_id, scopes.join(","));
    format!("add what is missing at {scheme}://{host}{port}/app/{app}/auth?q={scopes} and publish a version")
}

async fn look_at(config: &FeishuConfig, api: &Api, rooms: &[String], may_ask: bool) -> Vec<Finding> {
    let unseen = |rooms: &[String]| {
        let what = format!("not to be seen from here: whether the bot is in {}", rooms.join(", "));
        Finding::could_be_better(what, format!("that needs {}: {}", CHATS[1], add(config, &[CHATS[1]])))
    };
    let mut findings = Vec::new();
    for (nth, room) in rooms.iter().enumerate() {
        if !may_ask {
            findings.push(unseen(&rooms[nth..]));
            break;
        }
        let what = format!("the bot is in {room}");
        let request = Request::to(["open-apis", "im", "v1", "chats", room.as_str()]);
        match api.call::<Chat>(Call::Chat, request).await {
            Ok(chat) if chat.chat_status.starts_with("dissolved") => {
                let remedy = "the group was dissolved: take it out of allow_rooms";
                findings.push(Finding::wrong(what, remedy));
            }
            Ok(_) => findings.push(Finding::fine(what)),
            Err(error) if error.has_code(&[MISSING_SCOPE]) => {
                findings.push(unseen(&rooms[nth..]));
                break;
            }
            Err(CallError::Refused(refusal)) if refusal.kind == RefusalKind::Room => {
                findings.push(Finding::wrong(what, format!("{}, or take it out of allow_rooms", refusal.remedy)));
            }
            Err(CallError::Refused(refusal)) => findings.push(Finding::wrong(what, refusal.remedy)),
            Err(error) => {
                // What ails the way to Feishu ails it for the next room, too.
                findings.push(Finding::wrong(what, error.to_string()));
                break;
            }
        }
    }
    findings
}
