//! The workspaces that have installed one app: signs each of them in, and says whose an event or a room is. All of them
//! share one connection; each has its own token, ids and people.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::future::{join, join_all};
use serde::Deserialize;
use serde_json::Value;
use tokio::{
    sync::{OnceCell, watch},
    time::sleep,
};
use tracing::{debug, info, warn};
use watchfloor_channel::{ChannelState, ConversationId, Refusal, RefusalKind, SendError, backoff::Backoff};

use crate::{
    SlackConfig,
    addressee::{self, Addressee},
    api::Api,
    errors::{self, CallError},
    identity::{self, Identity},
    names::Names,
    text_in,
    wire::AuthTest,
};

/// Workspaces of others whose events are counted.
const STRANGERS: usize = 256;

pub(crate) struct Accounts {
    config: Arc<SlackConfig>,
    /// The one of `bot_token` first.
    all: Vec<Arc<Account>>,
    standings: watch::Sender<Vec<Standing>>,
    strangers: Mutex<HashMap<String, u64>>,
}

/// One workspace, or with an org-wide token one organisation.
pub(crate) struct Account {
    label: String,
    pub(crate) api: Arc<Api>,
    pub(crate) names: Names,
    is_first: bool,
    identity: OnceCell<Identity>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    /// And what went wrong the last time.
    Trying(Option<String>),
    In,
    Out(Refusal),
}

/// Whose an event is.
pub(crate) enum Owner<'a> {
    Ours(&'a Arc<Account>, &'a Identity),
    /// Perhaps of a workspace that isn't signed in yet: Slack may bring it again.
    Unknown,
    Nobodys,
}

impl Account {
    /// Nothing can be told apart from our own messages before we know our ids.
    pub(crate) async fn identity(&self) -> Result<&Identity, CallError> {
        self.identity
            .get_or_try_init(|| async {
                let told: AuthTest = self.api.get("auth.test", &[]).await?;
                if told.user_id.is_empty() {
                    return Err(CallError::Unclear("auth.test names no user".to_owned()));
                }
                let mut identity = Identity {
                    user_id: told.user_id,
                    bot_id: told.bot_id,
                    app_id: None,
                    team: told.team_id,
                    enterprise: told.enterprise_id.filter(|id| !id.is_empty()),
                    is_org_wide: told.is_enterprise_install,
                    home: String::new(),
                };
                if !self.is_first {
                    identity.home = identity.place().to_owned();
                }
                Ok(identity)
            })
            .await
    }

    /// Returns once the token is out. One method's word is not enough: some don't take every kind of token.
    async fn signed_out(&self) -> Refusal {
        loop {
            self.api.signed_out().await;
            if let Err(CallError::Refused(refusal)) = self.api.get::<AuthTest>("auth.test", &[]).await
                && refusal.kind == RefusalKind::Credentials
            {
                return refusal;
            }
        }
    }
}

impl Accounts {
    pub(crate) fn new(config: Arc<SlackConfig>, api: Arc<Api>) -> Self {
        let account = |label: String, api: Arc<Api>, is_first| {
            Arc::new(Account { label, names: Names::new(api.clone()), api, is_first, identity: OnceCell::new() })
        };
        let mut all = vec![account("bot_token".to_owned(), api.clone(), true)];
        all.extend(
            config
                .workspaces
                .iter()
                .map(|workspace| account(workspace.label.clone(), Arc::new(api.as_bot(&workspace.bot_token)), false)),
        );
        let standings = watch::Sender::new(vec![Standing::Trying(None); all.len()]);
        Self { config, all, standings, strangers: Mutex::default() }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Account)> {
        self.all.iter().map(|account| (account.label.as_str(), account.as_ref()))
    }

    /// Whose room or person it is, and what Slack calls it.
    pub(crate) async fn of_room<'r>(&self, room: &'r str) -> Result<(&Arc<Account>, &'r str), SendError> {
        let (home, bare) = identity::split(room);
        if home.is_empty() {
            // There is always a first one.
            return self.all.first().map(|first| (first, bare)).ok_or_else(|| SendError::Refused(gone(home)));
        }
        let mut not_yet = None;
        for account in self.all.iter().skip(1) {
            match account.identity().await {
                Ok(identity) if identity.home == home => return Ok((account, bare)),
                Ok(_) => {}
                Err(error) => not_yet = Some(error),
            }
        }
        Err(not_yet.map_or_else(|| SendError::Refused(gone(home)), CallError::of_read))
    }

    /// The same for a conversation.
    pub(crate) async fn of_conversation(
        &self,
        of: &ConversationId,
    ) -> Result<(&Arc<Account>, ConversationId), SendError> {
        let (account, room) = self.of_room(&of.room).await?;
        Ok((account, ConversationId { room: room.to_owned(), ..of.clone() }))
    }

    /// Whose event it is. What is nobody's is counted, and named once.
    pub(crate) fn of_event(&self, payload: &Value) -> Owner<'_> {
        let addressee = Addressee::deserialize(payload).unwrap_or_default();
        let known: Vec<_> = self.all.iter().filter_map(|account| Some((account, account.identity.get()?))).collect();
        let found = self.named_by(&addressee);
        let Some((account, own)) = found else {
            if known.len() < self.all.len() && self.standings.borrow().iter().any(|s| matches!(s, Standing::Trying(_)))
            {
                return Owner::Unknown;
            }
            self.count_stranger(addressee.named().first().map_or("(unnamed)", |name| name.id));
            return Owner::Nobodys;
        };
        // What is said in a shared room comes once for each installation in it; it is for the one that it mentions.
        if addressee.is_ext_shared_channel == Some(true) && known.len() > 1 {
            for text in addressee::texts_of(payload) {
                let mut any = [(account, own)].into_iter().chain(known.iter().copied());
                if let Some((account, own)) = any.find(|(_, own)| text_in::mentions(text, &own.user_id)) {
                    return Owner::Ours(account, own);
                }
            }
        }
        Owner::Ours(account, own)
    }

    /// Whose click or command it is.
    pub(crate) fn of_interaction(&self, payload: &Value) -> Option<(&Arc<Account>, &Identity)> {
        let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let addressee = Addressee {
            // For an org-wide installation `team` is null.
            team_id: text("/team/id").or_else(|| text("/team_id")).or_else(|| text("/user/team_id")),
            enterprise_id: text("/enterprise/id").or_else(|| text("/enterprise_id")),
            ..Addressee::default()
        };
        self.named_by(&addressee)
    }

    fn named_by(&self, addressee: &Addressee) -> Option<(&Arc<Account>, &Identity)> {
        let known: Vec<_> = self.all.iter().filter_map(|account| Some((account, account.identity.get()?))).collect();
        let named = addressee.named();
        let found = named.iter().find_map(|name| known.iter().find(|(_, own)| name.is(own)));
        match (found, self.all.as_slice()) {
            (Some(found), _) => Some(*found),
            // Nothing to choose from, and nothing that speaks against it.
            (None, [_]) if named.is_empty() || known.iter().any(|(_, own)| own.team.is_empty()) => {
                known.first().copied()
            }
            _ => None,
        }
    }

    fn count_stranger(&self, workspace: &str) {
        let mut strangers = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        if strangers.len() >= STRANGERS && !strangers.contains_key(workspace) {
            return;
        }
        let events = strangers.entry(workspace.to_owned()).or_default();
        *events += 1;
        if *events == 1 {
            warn!(
                channel.id = %self.config.id,
                workspace,
                "the app is installed in a workspace that isn't configured, whose events are ignored: add its bot token to \
                 workspaces of this channel, or remove the app there"
            );
        } else {
            debug!(channel.id = %self.config.id, workspace, events, "event of a workspace that isn't configured; ignored");
        }
    }

    /// Whoever was given up is tried again.
    pub(crate) fn start_over(&self) {
        self.standings.send_replace(vec![Standing::Trying(None); self.all.len()]);
    }

    /// Returns when the first of them is signed in, or none can be.
    pub(crate) async fn any_signed_in(&self) -> Result<(), Refusal> {
        let mut standings = self.standings.subscribe();
        let settled = standings
            .wait_for(|all| all.contains(&Standing::In) || all.iter().all(|s| matches!(s, Standing::Out(_))))
            .await;
        // The sender is ours, so it is there.
        let Ok(settled) = settled else { return Ok(()) };
        match settled.first() {
            Some(Standing::Out(refusal)) if !settled.contains(&Standing::In) => Err(refusal.clone()),
            _ => Ok(()),
        }
    }

    /// Returns when no workspace takes its token any more, with what the first said.
    pub(crate) async fn all_out(&self) -> Refusal {
        let mut standings = self.standings.subscribe();
        loop {
            if let Some(refusal) = refused_by_all(&standings.borrow_and_update()) {
                return refusal;
            }
            // The sender is ours, so it is there.
            if standings.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Signs in whoever isn't yet, each at its own pace, and shows what becomes of the channel as a whole. Ends with the
    /// wait for it.
    pub(crate) async fn tend(
        &self,
        mut connection: watch::Receiver<ChannelState>,
        shown: &watch::Sender<ChannelState>,
    ) -> Infallible {
        let mut standings = self.standings.subscribe();
        let show = async {
            loop {
                let state = self.state(&standings.borrow_and_update(), &connection.borrow_and_update());
                shown.send_if_modified(|shown| {
                    let changed = *shown != state;
                    *shown = state;
                    changed
                });
                // Neither sender goes away before this ends; a closed one must not make it spin.
                let changed = tokio::select! {
                    changed = standings.changed() => changed,
                    changed = connection.changed() => changed,
                };
                if changed.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        join(join_all((0..self.all.len()).map(|index| self.sign_in(index))), show).await.1
    }

    async fn sign_in(&self, index: usize) {
        let Some(account) = self.all.get(index) else { return };
        let reconnect = &self.config.reconnect;
        let mut backoff = Backoff::new(reconnect.first, reconnect.longest);
        loop {
            let error = match account.identity().await {
                Ok(identity) => {
                    self.signed_in(index, account, identity);
                    return self.is_off(index, account, account.signed_out().await);
                }
                Err(CallError::Refused(refusal)) if errors::is_fatal(&refusal) => {
                    return self.is_off(index, account, refusal);
                }
                Err(error) => error,
            };
            let at_least = if let CallError::RateLimited(wait) = error { wait } else { Duration::ZERO };
            warn!(channel.id = %self.config.id, workspace = account.label, %error, "can't sign in to Slack yet");
            self.stands(index, Standing::Trying(Some(error.to_string())));
            let wait = backoff.next(&mut rand::rng()).max(at_least);
            sleep(wait).await;
        }
    }

    fn is_off(&self, index: usize, account: &Account, refusal: Refusal) {
        if self.all.len() > 1 {
            let (label, code, remedy) = (&account.label, &refusal.code, &refusal.remedy);
            warn!(channel.id = %self.config.id, workspace = label, code, remedy, "a workspace is off");
        }
        self.stands(index, Standing::Out(refusal));
    }

    fn signed_in(&self, index: usize, account: &Account, own: &Identity) {
        let workspace = &account.label;
        info!(channel.id = %self.config.id, workspace, user = own.user_id, team = own.place(), "signed in to Slack");
        self.stands(index, Standing::In);
        // The earlier one stays, whichever was quicker.
        let same: Vec<_> = (0..self.all.len())
            .filter(|at| self.all[*at].identity.get().is_some_and(|other| other.place() == own.place()))
            .collect();
        for double in same.iter().skip(1) {
            let refusal = twice(own.place(), &self.all[same[0]].label);
            let label = &self.all[*double].label;
            warn!(channel.id = %self.config.id, workspace = label, remedy = refusal.remedy, "a workspace is off");
            self.stands(*double, Standing::Out(refusal));
        }
    }

    fn stands(&self, index: usize, standing: Standing) {
        self.standings.send_modify(|all| {
            if let Some(entry) = all.get_mut(index) {
                *entry = standing;
            }
        });
    }

    fn state(&self, standings: &[Standing], connection: &ChannelState) -> ChannelState {
        let labels = self.all.iter().map(|account| account.label.as_str());
        let troubles: Vec<_> = labels
            .zip(standings)
            .filter_map(|(label, standing)| match standing {
                Standing::Trying(Some(error)) => Some((label, error.as_str())),
                Standing::Out(refusal) => Some((label, refusal.remedy.as_str())),
                Standing::Trying(None) | Standing::In => None,
            })
            .map(
                |(label, trouble)| if standings.len() > 1 { format!("{label}: {trouble}") } else { trouble.to_owned() },
            )
            .collect();
        let troubles = troubles.join("; ");
        // Receiving ends with these words.
        if let [Standing::Out(first), ..] = standings
            && standings.iter().all(|standing| matches!(standing, Standing::Out(_)))
        {
            return ChannelState::Off(first.remedy.clone());
        }
        match connection {
            _ if !standings.contains(&Standing::In) && !troubles.is_empty() => ChannelState::Disconnected(troubles),
            _ if !standings.contains(&Standing::In) => ChannelState::Connecting,
            ChannelState::Connected if !troubles.is_empty() => ChannelState::Degraded(troubles),
            ChannelState::Degraded(why) if !troubles.is_empty() => ChannelState::Degraded(format!("{why}; {troubles}")),
            connection => connection.clone(),
        }
    }
}

fn refused_by_all(standings: &[Standing]) -> Option<Refusal> {
    let refusals = standings.iter().map(|standing| match standing {
        Standing::Out(refusal) => Some(refusal),
        _ => None,
    });
    refusals.collect::<Option<Vec<_>>>()?.first().map(|refusal| (*refusal).clone())
}

fn gone(home: &str) -> Refusal {
    let remedy = format!("no token of this channel is for the workspace {home}: add it to workspaces");
    errors::refused(RefusalKind::Room, "workspace_unknown", &remedy)
}

fn twice(place: &str, label: &str) -> Refusal {
    let remedy = format!("this token is for the workspace {place}, as that of {label} is: remove one of the two");
    errors::refused(RefusalKind::Credentials, "workspace_twice", &remedy)
}

#[cfg(test)]
mod tests;
