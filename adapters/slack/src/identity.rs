//! Who we are in one workspace, how ids of several workspaces are kept apart, and who is of our own organisation. Which
//! workspace an event belongs to is left to `accounts`.

use crate::wire::Message;

/// What `auth.test` told, in our words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) user_id: String,
    pub(crate) bot_id: Option<String>,
    pub(crate) app_id: Option<String>,
    pub(crate) team: String,
    pub(crate) enterprise: Option<String>,
    /// One token for every workspace of the organisation.
    pub(crate) is_org_wide: bool,
    /// What our ids of this workspace begin with; empty for the workspace of `bot_token`.
    pub(crate) home: String,
}

impl Identity {
    /// Posts of ours may carry any one of our ids and lack the others.
    pub(crate) fn wrote(&self, message: &Message) -> bool {
        let same = |theirs: &Option<String>, ours: &Option<String>| theirs.is_some() && theirs == ours;
        message.user.as_deref().is_some_and(|user| user == self.user_id)
            || same(&message.bot_id, &self.bot_id)
            || same(&message.app_id, &self.app_id)
            || same(&message.bot_profile.app_id, &self.app_id)
    }

    /// What Slack calls the workspace, or the organisation, that the token is for.
    pub(crate) fn place(&self) -> &str {
        match &self.enterprise {
            Some(enterprise) if self.is_org_wide => enterprise,
            _ => &self.team,
        }
    }

    pub(crate) fn spell(&self, id: &str) -> String {
        spell(&self.home, id)
    }

    pub(crate) fn is_ours(&self, team: &str) -> bool {
        team == self.team || self.enterprise.as_deref() == Some(team)
    }

    /// Whoever clicks isn't shown to belong to our organisation. `team` is hers; nothing is said about the room.
    pub(crate) fn may_click_from_outside(&self, team: Option<&str>) -> bool {
        let known = !self.team.is_empty() || self.enterprise.is_some();
        known && team.is_some_and(|team| !self.is_ours(team))
    }

    /// The author isn't shown to belong to our organisation. `shared` is what the event says about the room: whether other
    /// organisations are in it.
    pub(crate) fn may_be_outsider(&self, author: &Message, shared: Option<bool>) -> bool {
        // Without other organisations in the room, another team is another workspace of ours.
        if shared == Some(false) && self.enterprise.is_some() {
            return false;
        }
        if self.team.is_empty() && self.enterprise.is_none() {
            return shared == Some(true);
        }
        let is_bot = author.bot_id.is_some();
        let said = [&author.user_team, &author.source_team, &author.user_profile.team, &author.bot_profile.team_id];
        let mut said: Vec<&str> =
            said.into_iter().flatten().map(String::as_str).filter(|team| !team.is_empty()).collect();
        // The weakest word: in some rooms it is the room's team.
        if said.is_empty() && shared != Some(false) {
            said.extend(author.team.as_deref().filter(|team| !team.is_empty()));
        }
        // Other bots start nothing unless they are listed one by one.
        let unsaid = said.is_empty() && shared == Some(true) && !is_bot;
        unsaid || said.iter().any(|team| !self.is_ours(team))
    }
}

/// An id of a room, a person or a file as the rest of the house knows it.
pub(crate) fn spell(home: &str, id: &str) -> String {
    if home.is_empty() || id.is_empty() { id.to_owned() } else { format!("{home}/{id}") }
}

/// The home and the id that Slack knows: what [`spell`] put together.
pub(crate) fn split(id: &str) -> (&str, &str) {
    id.split_once('/').unwrap_or(("", id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn at_home() -> Identity {
        Identity { user_id: "U0BOT".into(), team: "T0HOME".into(), ..Identity::default() }
    }

    fn on_grid() -> Identity {
        Identity { enterprise: Some("E0ORG".into()), ..at_home() }
    }

    fn doubted(own: &Identity, author: Value, shared: Option<bool>) -> bool {
        own.may_be_outsider(&serde_json::from_value(author).unwrap(), shared)
    }

    #[test]
    fn who_is_of_another_team_is_doubted_and_in_a_shared_room_who_does_not_say() {
        let table = [
            (json!({"user": "U1", "team": "T0HOME"}), [false, false, false]),
            (json!({"user": "U1"}), [false, false, true]),
            (json!({"user": "U1", "team": "T0ROOM"}), [false, true, true]),
            (json!({"user": "U1", "team": "T0HOME", "user_team": "T0FAR"}), [true, true, true]),
            (json!({"user": "U1", "team": "T0FAR", "user_team": "T0HOME", "source_team": "T0HOME"}), [false; 3]),
            (json!({"user": "U1", "user_team": "T0HOME", "source_team": "T0FAR"}), [true; 3]),
            (json!({"user": "U1", "user_profile": {"team": "T0FAR"}}), [true; 3]),
            (json!({"bot_id": "B1"}), [false; 3]),
            (json!({"bot_id": "B1", "bot_profile": {"team_id": "T0FAR"}}), [true; 3]),
        ];
        for (author, expected) in table {
            let shared = [Some(false), None, Some(true)];
            assert_eq!(shared.map(|shared| doubted(&at_home(), author.clone(), shared)), expected, "{author}");
        }
    }

    #[test]
    fn the_whole_organisation_is_at_home() {
        let sibling = json!({"user": "W1", "user_team": "T0SIBLING"});
        let shared = [Some(false), None, Some(true)];
        assert_eq!(shared.map(|shared| doubted(&on_grid(), sibling.clone(), shared)), [false, true, true]);
        let by_organisation = json!({"user": "W1", "user_team": "E0ORG"});
        assert_eq!(shared.map(|shared| doubted(&on_grid(), by_organisation.clone(), shared)), [false; 3]);
    }

    proptest! {
        #[test]
        fn an_id_comes_back_as_slack_knows_it(home in "([TE][0-9A-Z]{1,12})?", id in "[A-Z][0-9A-Z]{1,12}") {
            let spelled = spell(&home, &id);
            prop_assert_eq!(split(&spelled), (home.as_str(), id.as_str()));
        }
    }
}
