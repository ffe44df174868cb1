//! What people are called. Events carry ids alone, so names are looked up in batches and kept for a while. A name is a
//! courtesy that no message waits for.

use std::time::Duration;

use moka::sync::Cache;
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;
use watchfloor_channel::Author;

use crate::{
    api::Api,
    call::{Call, Request},
    errors::CallError,
};

const PEOPLE: u64 = 10_000;
const KEPT: Duration = Duration::from_secs(3600);
/// Feishu's limit for one call.
const BATCH: usize = 10;
/// What one reading may spend on names.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) struct Names {
    /// `None`: not to be had.
    known: Cache<String, Option<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    users: Vec<User>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    user_id: String,
    name: String,
}

impl Names {
    pub(crate) fn new() -> Self {
        Self { known: Cache::builder().max_capacity(PEOPLE).time_to_live(KEPT).build() }
    }

    /// Without a look-up.
    pub(crate) fn name(&self, person: &str) -> Option<String> {
        self.known.get(person).flatten()
    }

    /// Names all people among them, as far as Feishu tells in time.
    pub(crate) async fn name_all<'a>(&self, api: &Api, authors: impl Iterator<Item = &'a mut Author>) {
        let mut authors: Vec<_> = authors.filter(|author| author.name.is_none() && !author.is_bot).collect();
        let mut unknown: Vec<String> = authors.iter().map(|author| author.id.clone()).collect();
        unknown.retain(|id| id.starts_with("ou_") && self.known.get(id).is_none());
        unknown.sort();
        unknown.dedup();
        let ask = async {
            for batch in unknown.chunks(BATCH) {
                if !self.ask(api, batch).await {
                    break;
                }
            }
        };
        // What is not there in time is missing.
        let _ = timeout(PATIENCE, ask).await;
        for author in &mut authors {
            author.name = self.name(&author.id);
        }
    }

    /// False: no use to ask on.
    async fn ask(&self, api: &Api, batch: &[String]) -> bool {
        let request = Request::to(["open-apis", "contact", "v3", "users", "basic_batch"])
            .query("user_id_type", "open_id")
            .json(json!({"user_ids": batch}));
        match api.call::<Answer>(Call::Names, request).await {
            Ok(answer) => {
                for id in batch {
                    let user = answer.users.iter().find(|user| user.user_id == *id && !user.name.trim().is_empty());
                    self.known.insert(id.clone(), user.map(|user| user.name.clone()));
                }
                true
            }
            Err(CallError::Refused(refusal)) => {
                tracing::info!(code = %refusal.code, "people can't be looked up: {}", refusal.remedy);
                batch.iter().for_each(|id| self.known.insert(id.clone(), None));
                false
            }
            // What passes is asked again another time.
            Err(_) => false,
        }
    }
}
