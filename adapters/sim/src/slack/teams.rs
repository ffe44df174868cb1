//! Several workspaces with the same app: who has installed it, whose a channel and a person are. The first workspace is
//! there from the start; a story that needs no other never meets this.

use serde_json::{Value, json};

use super::{
    APP_ID, BOT_ID, BOT_TOKEN, BOT_USER, SlackSim, TEAM_ID,
    world::{Channel, ChannelKind, SentEvent, World},
};

/// One installation of the app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Team {
    pub id: String,
    pub bot_token: String,
    pub bot_user: String,
    pub bot_id: String,
    pub enterprise: Option<String>,
    /// The installation is the whole organisation's: events name no workspace.
    pub org_wide: bool,
}

impl Default for Team {
    fn default() -> Self {
        Self {
            id: TEAM_ID.into(),
            bot_token: BOT_TOKEN.into(),
            bot_user: BOT_USER.into(),
            bot_id: BOT_ID.into(),
            enterprise: None,
            org_wide: false,
        }
    }
}

impl Team {
    /// A workspace with this id; everything else follows from it.
    pub fn new(id: &str) -> Self {
        let rest = id.strip_prefix('T').unwrap_or(id);
        Self {
            id: id.into(),
            bot_token: format!("xoxb-{}", id.to_lowercase()),
            bot_user: format!("U{rest}BOT"),
            bot_id: format!("B{rest}BOT"),
            ..Self::default()
        }
    }

    pub fn mention(&self) -> String {
        format!("<@{}>", self.bot_user)
    }

    /// What its bot's messages carry.
    pub(crate) fn sign(&self) -> Value {
        json!({"user": self.bot_user, "bot_id": self.bot_id, "team": self.id,
            "bot_profile": {"id": self.bot_id, "app_id": APP_ID, "name": "watchfloor", "deleted": false, "updated": 1,
                "icons": {}, "team_id": self.id}})
    }
}

/// How a workspace parts with the app. Slack tells of an uninstallation both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    Uninstalled,
    Revoked,
}

/// Where somebody is at home.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub(crate) team: String,
    pub(crate) enterprise: Option<String>,
}

impl Default for Home {
    fn default() -> Self {
        Self { team: TEAM_ID.into(), enterprise: None }
    }
}

impl SlackSim {
    /// From now on the token of `team` is answered with `token_revoked`.
    pub async fn revoke_team(&self, team: &Team) {
        self.shared.world.change(|world| world.revoked.insert(team.bot_token.clone()));
    }

    /// The token of `team` ends, and the app is told so.
    pub async fn remove_app(&self, team: &Team, how: Removal) {
        self.revoke_team(team).await;
        let event = match how {
            Removal::Uninstalled => json!({"type": "app_uninstalled"}),
            Removal::Revoked => json!({"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [team.bot_user]}}),
        };
        let event_id = self.shared.world.change(World::next_event_id);
        self.shared.deliver_as(SentEvent { event_id, event, team: team.clone() }, 0);
    }

    /// Somebody of another workspace, or of a workspace of `enterprise`.
    pub async fn add_person_of(&self, team: &str, enterprise: Option<&str>, id: &str, name: &str) {
        let home = Home { team: team.to_owned(), enterprise: enterprise.map(str::to_owned) };
        self.shared.world.change(|world| {
            world.people.insert(id.to_owned(), name.to_owned());
            world.homes.insert(id.to_owned(), home);
        });
    }

    /// A channel of these installations. What is said in it is told to each of them.
    pub async fn add_channel_of(&self, teams: &[&Team], id: &str, name: &str) {
        let channel = Channel {
            name: name.to_owned(),
            kind: ChannelKind::Public,
            archived: false,
            bot_is_in: true,
            teams: teams.iter().map(|team| (*team).clone()).collect(),
            ext_shared: false,
        };
        self.shared.world.change(|world| world.channels.insert(id.to_owned(), channel));
    }

    /// Slack Connect: the channel is shared with another organisation.
    pub async fn share_channel(&self, channel: &str) {
        self.shared.world.change(|world| {
            if let Some(channel) = world.channels.get_mut(channel) {
                channel.ext_shared = true;
            }
        });
    }

    /// What people say tells no team from now on.
    pub fn hide_teams(&self) {
        self.shared.world.change(|world| world.hides_teams = true);
    }
}

impl World {
    /// Whom an event is told to, and whether other organisations are in its channel.
    pub(crate) fn audience(&self, event: &Value) -> (Vec<Team>, bool) {
        let channel = event["channel"].as_str().and_then(|id| self.channels.get(id));
        channel.map_or_else(|| (vec![Team::default()], false), |channel| (channel.teams.clone(), channel.ext_shared))
    }

    pub(crate) fn home(&self, person: &str) -> Home {
        self.homes.get(person).cloned().unwrap_or_default()
    }

    /// What a person's message says about where its author is at home.
    pub(crate) fn origin(&self, person: &str) -> Vec<(String, Value)> {
        let fields = ["team", "user_team", "source_team"];
        let value = if self.hides_teams { Value::Null } else { self.home(person).team.into() };
        // Only those of other workspaces are told apart.
        let told = if self.hides_teams || self.homes.contains_key(person) { fields.as_slice() } else { &[] };
        told.iter().map(|field| ((*field).to_owned(), value.clone())).collect()
    }
}
