//! Whose a payload is, by its own words: which installations it names, and what texts it brings. Which of them are ours is
//! left to `accounts`.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    identity::Identity,
    wire::{lenient, lenient_list},
};

/// What a payload says about whose it is. All of it may be missing or null.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Addressee {
    #[serde(deserialize_with = "lenient_list")]
    pub(crate) authorizations: Vec<Authorization>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) team_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) enterprise_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) context_team_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) context_enterprise_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) is_ext_shared_channel: Option<bool>,
}

/// One installation that may see the event.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Authorization {
    #[serde(deserialize_with = "lenient")]
    pub(crate) team_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) enterprise_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) is_enterprise_install: bool,
}

/// A workspace or an organisation, as an event names it.
pub(crate) struct Named<'a> {
    pub(crate) id: &'a str,
    is_enterprise: bool,
}

impl Named<'_> {
    pub(crate) fn is(&self, own: &Identity) -> bool {
        match self.is_enterprise {
            true => own.is_org_wide && own.enterprise.as_deref() == Some(self.id),
            // Some org-wide tokens name a workspace, some events of theirs too.
            false => own.team == self.id,
        }
    }
}

impl Addressee {
    /// Best first.
    pub(crate) fn named(&self) -> Vec<Named<'_>> {
        let granted = self.authorizations.first();
        let org_wide = granted.is_some_and(|granted| granted.is_enterprise_install);
        let granted_org = granted.and_then(|granted| granted.enterprise_id.as_deref());
        let granted_team = granted.and_then(|granted| granted.team_id.as_deref());
        let all = [
            (granted_org.filter(|_| org_wide), true),
            (granted_team, false),
            (granted_org, true),
            (self.team_id.as_deref(), false),
            (self.context_team_id.as_deref(), false),
            (self.enterprise_id.as_deref(), true),
            (self.context_enterprise_id.as_deref(), true),
        ];
        let named = all.into_iter().filter_map(|(id, is_enterprise)| Some(Named { id: id?, is_enterprise }));
        named.filter(|named| !named.id.is_empty()).collect()
    }
}

/// As the message is now, and as it was: what was removed says to whom it was said.
pub(crate) fn texts_of(payload: &Value) -> impl Iterator<Item = &str> {
    let places = ["/event/text", "/event/message/text", "/event/previous_message/text"];
    places.into_iter().filter_map(|place| payload.pointer(place)?.as_str())
}
