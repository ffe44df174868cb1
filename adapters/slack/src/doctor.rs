//! What is wrong with an app and its rooms, as far as Slack tells, and how to mend it. Which rooms are asked about is the
//! caller's choice.

use std::collections::BTreeSet;

use reqwest::Client;
use serde::Deserialize;
use watchfloor_channel::{Finding, RefusalKind, SendError};

use crate::{
    SlackConfig, Transport,
    accounts::{Account, Accounts},
    api::Api,
    errors::CallError,
    manifest::{EVENTS, FOR_THE_DOCTOR, SCOPES},
    wire::{AuthTest, Opened},
};

pub(crate) struct Examination<'a> {
    pub(crate) config: &'a SlackConfig,
    pub(crate) api: &'a Api,
    pub(crate) accounts: &'a Accounts,
    /// For headers, which the other client keeps to itself.
    pub(crate) client: &'a Client,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Info {
    channel: Room,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Room {
    is_archived: Option<bool>,
    is_member: Option<bool>,
}

impl Examination<'_> {
    pub(crate) async fn look(&self, rooms: &[String]) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut any_accepted = false;
        for (nth, (label, account)) in self.accounts.all().enumerate() {
            let of = if nth > 0 { format!(" of {label}") } else { String::new() };
            let bot = account.api.get::<AuthTest>("auth.test", &[]).await;
            let accepted = bot.is_ok();
            findings.push(finding(format!("the bot token{of} is accepted"), bot.err()));
            if accepted {
                any_accepted = true;
                findings.push(self.scopes(account, &of).await);
            }
        }
        let socket = matches!(self.config.transport, Transport::Socket { .. });
        if socket {
            let app = self.api.open_connection::<Opened>().await;
            findings.push(finding("the app token opens Socket Mode connections".to_owned(), app.err()));
        }
        if any_accepted {
            findings.extend(self.rooms(rooms).await);
        }
        let way = if socket { "with Socket Mode" } else { "with this channel's address as Request URL" };
        findings.push(Finding::fine(format!(
            "not to be seen from here: that Event Subscriptions ({}) and Interactivity are switched on, {way}",
            EVENTS.join(", ")
        )));
        findings
    }

    /// Slack lists them in a header of every answer.
    async fn scopes(&self, account: &Account, of: &str) -> Finding {
        let what = format!("the bot token{of} has the scopes of the manifest");
        let Some(granted) = self.granted(&account.api).await else {
            return Finding::fine(format!("not to be seen from here: which scopes the bot token{of} has"));
        };
        let missing = SCOPES.iter().map(|(name, _)| *name).filter(|name| !granted.contains(*name));
        let (extra, missing): (Vec<_>, Vec<_>) = missing.partition(|name| FOR_THE_DOCTOR.contains(name));
        match (missing.is_empty(), extra.is_empty()) {
            (true, true) => Finding::fine(what),
            (true, false) => Finding::could_be_better(what, add_scopes(&extra)),
            (false, _) => Finding::wrong(what, add_scopes(&[missing, extra].concat())),
        }
    }

    async fn granted(&self, api: &Api) -> Option<BTreeSet<String>> {
        let address = self.config.api_url.as_str().trim_end_matches('/');
        let request = self.client.post(format!("{address}/auth.test")).bearer_auth(api.bot_token());
        let answer = request.timeout(self.config.call_timeout).send().await.ok()?;
        let scopes = answer.headers().get("x-oauth-scopes")?.to_str().ok()?;
        Some(scopes.split(',').map(|scope| scope.trim().to_owned()).collect())
    }

    async fn rooms(&self, rooms: &[String]) -> Vec<Finding> {
        let (mut findings, mut unseen, mut needed) = (Vec::new(), Vec::new(), BTreeSet::new());
        for room in rooms {
            let what = format!("the bot is in {room}");
            let (account, bare) = match self.accounts.of_room(room).await {
                Ok(found) => found,
                // Said above, of the token.
                Err(SendError::Refused(refusal)) if refusal.kind == RefusalKind::Credentials => continue,
                Err(error) => {
                    findings.push(Finding::wrong(what, remedy_of_send(error)));
                    continue;
                }
            };
            match account.api.get::<Info>("conversations.info", &[("channel", bare)]).await {
                Ok(Info { channel }) if channel.is_archived == Some(true) => {
                    findings.push(Finding::wrong(
                        format!("{room} is open"),
                        "the channel is archived: unarchive it, or take it out of allow_rooms",
                    ));
                }
                Ok(Info { channel }) if channel.is_member == Some(false) => {
                    let remedy = "say /invite with the bot's name in the channel, or take it out of allow_rooms";
                    findings.push(Finding::wrong(what, remedy));
                }
                Ok(_) => findings.push(Finding::fine(what)),
                Err(error) if error.has_code("channel_not_found") => findings.push(Finding::wrong(
                    what,
                    "Slack shows the bot no such channel: if it is private, say /invite with the bot's name there; \
                     else compare the id with the one at the bottom of the channel's details",
                )),
                Err(error) if error.has_code("missing_scope") => {
                    needed.insert(if bare.starts_with('G') { "groups:read" } else { "channels:read" });
                    unseen.push(room.as_str());
                }
                Err(CallError::Refused(refusal)) if refusal.kind == RefusalKind::Credentials => {}
                Err(error) => findings.push(finding(what, Some(error))),
            }
        }
        if !unseen.is_empty() {
            findings.push(Finding::could_be_better(
                format!("not to be seen from here: whether the bot is in {}", unseen.join(", ")),
                add_scopes(&needed.into_iter().collect::<Vec<_>>()),
            ));
        }
        findings
    }
}

fn add_scopes(scopes: &[&str]) -> String {
    format!("add {} under OAuth & Permissions, Bot Token Scopes, and install the app again", scopes.join(", "))
}

fn remedy_of_send(error: SendError) -> String {
    match error {
        SendError::Refused(refusal) => refusal.remedy,
        error => error.to_string(),
    }
}

fn finding(what: String, error: Option<CallError>) -> Finding {
    match error {
        None => Finding::fine(what),
        Some(CallError::Refused(refusal)) => Finding::wrong(what, refusal.remedy),
        Some(error) => Finding::wrong(what, error.to_string()),
    }
}
