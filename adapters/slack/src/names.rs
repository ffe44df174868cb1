//! What people are called. Events carry ids alone, so names are looked up once and kept for a while. A name is a courtesy:
//! no message waits for one.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use moka::sync::Cache;
use serde::Deserialize;
use tokio::{sync::Semaphore, time::timeout};
use watchfloor_channel::Author;

use crate::{api::Api, errors::CallError};

const PEOPLE: u64 = 10_000;
const KEPT: Duration = Duration::from_secs(3600);
/// Look-ups at the same time.
const AT_ONCE: usize = 4;
/// What reading a thread may spend on names.
const FOR_A_THREAD: Duration = Duration::from_secs(2);

pub(crate) struct Names {
    api: Arc<Api>,
    /// `None`: being looked up, or not to be had.
    known: Cache<String, Option<Arc<str>>>,
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
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Profile {
    display_name: Option<String>,
    real_name: Option<String>,
}

impl Names {
    pub(crate) fn new(api: Arc<Api>) -> Self {
        let known = Cache::builder().max_capacity(PEOPLE).time_to_live(KEPT).build();
        Self { api, known, room: Semaphore::new(AT_ONCE) }
    }

    /// Names the author if we can. True: nobody has asked Slack yet.
    pub(crate) fn name(&self, author: &mut Author) -> bool {
        if author.name.is_some() || author.is_bot || author.is_self {
            return false;
        }
        match self.known.get(&author.id) {
            Some(name) => {
                author.name = name.map(|name| name.to_string());
                false
            }
            None => true,
        }
    }

    pub(crate) async fn ask(&self, person: &str) {
        self.known.insert(person.to_owned(), None);
        // Never closed.
        let Ok(_place) = self.room.acquire().await else { return };
        match self.api.get::<Answer>("users.info", &[("user", person)]).await {
            Ok(Answer { user }) => {
                let names = [user.profile.display_name, user.profile.real_name, user.real_name, user.name];
                let name = names.into_iter().flatten().find(|name| !name.trim().is_empty());
                self.known.insert(person.to_owned(), name.map(Arc::from));
            }
            // Without the scope there are no names; what passes is asked again with the next message.
            Err(CallError::Refused(refusal)) => {
                tracing::info!(code = %refusal.code, "names of people can't be looked up: {}", refusal.remedy);
            }
            Err(_) => self.known.invalidate(person),
        }
    }

    /// Names all of them, within bounds.
    pub(crate) async fn name_all<'a>(&self, authors: impl Iterator<Item = &'a mut Author>) {
        let mut authors: Vec<_> = authors.collect();
        let mut unknown: Vec<_> =
            authors.iter_mut().filter_map(|author| self.name(author).then(|| author.id.clone())).collect();
        unknown.sort();
        unknown.dedup();
        // What is not there in time is missing; what was being looked up is asked again later.
        if timeout(FOR_A_THREAD, join_all(unknown.iter().map(|id| self.ask(id)))).await.is_err() {
            unknown.iter().filter(|id| self.known.get(*id) == Some(None)).for_each(|id| self.known.invalidate(id));
        }
        for author in authors {
            self.name(author);
        }
    }
}
