//! Who people are: what they are called, and whether they are of our organisation. Events carry ids alone, so people of one
//! workspace are looked up once and kept for a while. A name is a courtesy that no message waits for; a doubt is not.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use moka::sync::Cache;
use serde::Deserialize;
use tokio::{sync::Semaphore, time::timeout};
use watchfloor_channel::Author;

use crate::{
    api::Api,
    errors::CallError,
    identity::{self, Identity},
};

const PEOPLE: u64 = 10_000;
const KEPT: Duration = Duration::from_secs(3600);
/// Look-ups at the same time.
const AT_ONCE: usize = 4;
/// What reading a thread may spend on names.
const FOR_A_THREAD: Duration = Duration::from_secs(2);
/// What a message may wait until we know whose its author is. Slack gives an event three seconds.
const FOR_A_DOUBT: Duration = Duration::from_secs(2);

pub(crate) struct Names {
    api: Arc<Api>,
    /// `None`: being looked up, or not to be had.
    known: Cache<String, Option<Arc<User>>>,
    room: Semaphore,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    user: User,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    real_name: Option<String>,
    name: Option<String>,
    profile: Profile,
    team_id: Option<String>,
    enterprise_user: EnterpriseUser,
    is_stranger: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EnterpriseUser {
    enterprise_id: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Profile {
    display_name: Option<String>,
    real_name: Option<String>,
}

impl User {
    fn called(&self) -> Option<&String> {
        let names = [&self.profile.display_name, &self.profile.real_name, &self.real_name, &self.name];
        names.into_iter().flatten().find(|name| !name.trim().is_empty())
    }

    fn is_of(&self, own: &Identity) -> bool {
        let said = [&self.team_id, &self.enterprise_user.enterprise_id];
        !self.is_stranger && said.into_iter().flatten().any(|team| own.is_ours(team))
    }
}

impl Names {
    pub(crate) fn new(api: Arc<Api>) -> Self {
        let known = Cache::builder().max_capacity(PEOPLE).time_to_live(KEPT).build();
        Self { api, known, room: Semaphore::new(AT_ONCE) }
    }

    /// Names the author if we can, and clears a doubt that is settled. True: nobody has asked Slack yet.
    pub(crate) fn name(&self, author: &mut Author, own: &Identity) -> bool {
        if (author.name.is_some() && !author.is_outsider) || author.is_bot || author.is_self {
            return false;
        }
        match self.known.get(identity::split(&author.id).1) {
            Some(Some(person)) => {
                author.name = author.name.take().or_else(|| person.called().cloned());
                author.is_outsider &= !person.is_of(own);
                false
            }
            Some(None) => false,
            None => true,
        }
    }

    /// Clears a doubt about whose the author is, if Slack says that she is ours. Whoever Slack doesn't show to be ours isn't.
    /// False: Slack can't be asked just now.
    pub(crate) async fn vouch(&self, author: &mut Author, own: &Identity) -> bool {
        if !author.is_outsider || author.is_bot || author.is_self {
            return true;
        }
        self.name(author, own);
        let id = identity::split(&author.id).1.to_owned();
        if !author.is_outsider || matches!(self.known.get(&id), Some(Some(_))) {
            return true;
        }
        let answered = timeout(FOR_A_DOUBT, self.ask(&id)).await.unwrap_or_else(|_| {
            self.known.invalidate(&id);
            false
        });
        self.name(author, own);
        answered
    }

    /// False: no answer, not even a no.
    pub(crate) async fn ask(&self, person: &str) -> bool {
        let person = identity::split(person).1;
        self.known.insert(person.to_owned(), None);
        // Never closed.
        let Ok(_place) = self.room.acquire().await else { return false };
        match self.api.get::<Answer>("users.info", &[("user", person)]).await {
            Ok(Answer { user }) => self.known.insert(person.to_owned(), Some(Arc::new(user))),
            // Without the scope there are no names; what passes is asked again with the next message.
            Err(CallError::Refused(refusal)) => {
                tracing::info!(code = %refusal.code, "people can't be looked up: {}", refusal.remedy);
            }
            Err(_) => {
                self.known.invalidate(person);
                return false;
            }
        }
        true
    }

    /// Names all of them, within bounds.
    pub(crate) async fn name_all<'a>(&self, authors: impl Iterator<Item = &'a mut Author>, own: &Identity) {
        let mut authors: Vec<_> = authors.collect();
        let mut unknown: Vec<_> =
            authors.iter_mut().filter_map(|author| self.name(author, own).then(|| author.id.clone())).collect();
        unknown.sort();
        unknown.dedup();
        // What is not there in time is missing; what was being looked up is asked again later.
        if timeout(FOR_A_THREAD, join_all(unknown.iter().map(|id| self.ask(id)))).await.is_err() {
            let asked = unknown.iter().map(|id| identity::split(id).1);
            asked.filter(|id| matches!(self.known.get(*id), Some(None))).for_each(|id| self.known.invalidate(id));
        }
        for author in authors {
            self.name(author, own);
        }
    }
}
