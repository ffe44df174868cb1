//! `setWebhook` and the deliveries: several at a time, each repeated until it is accepted.

use std::{sync::Arc, time::Duration};

use reqwest::{Client, Url, redirect};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    Shared,
    args::Args,
    methods::{self, Outcome, Refused},
    updates::Queued,
};
use crate::time;

const LONGEST_WAIT: Duration = Duration::from_secs(60);
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";

#[derive(Debug, Default)]
pub(crate) struct Webhook {
    target: Option<Target>,
    /// Each change ends the deliveries to the former address.
    generation: u64,
    last_error: Option<(u64, String)>,
    pub(crate) answers: Vec<WebhookAnswer>,
}

#[derive(Clone, Debug)]
struct Target {
    url: Url,
    secret: Option<String>,
    connections: usize,
}

/// How the webhook answered one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookAnswer {
    pub update_id: u64,
    /// 0 = the first delivery.
    pub attempt: u32,
    /// Nothing if there was no answer.
    pub status: Option<u16>,
    pub body: String,
}

impl Webhook {
    pub(crate) fn is_set(&self) -> bool {
        self.target.is_some()
    }

    pub(crate) fn info(&self, pending: usize, allowed: Option<&[String]>) -> Value {
        let url = self.target.as_ref().map_or(String::new(), |target| target.url.to_string());
        let mut info = json!({"url": url, "has_custom_certificate": false, "pending_update_count": pending});
        if let Some(target) = &self.target {
            info["max_connections"] = target.connections.into();
            info["ip_address"] = "127.0.0.1".into();
        }
        if let Some((date, message)) = &self.last_error {
            info["last_error_date"] = (*date).into();
            info["last_error_message"] = message.as_str().into();
        }
        if let Some(allowed) = allowed.filter(|allowed| !allowed.is_empty()) {
            info["allowed_updates"] = allowed.into();
        }
        info
    }
}

pub(crate) fn set(shared: &Arc<Shared>, args: &Args) -> Outcome {
    let url = args.text("url").unwrap_or_default().trim();
    if url.is_empty() {
        return delete(shared, args);
    }
    let target = target(url, args)?;
    // The client wants a provider even where it only speaks plain HTTP.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client =
        Client::builder().timeout(shared.config.webhook_deadline).redirect(redirect::Policy::none()).no_proxy();
    let client = client.build().map_err(|_| Refused::new(500, "Internal Server Error"))?;
    let generation = shared.world.change(|world| {
        drop_pending(world, args);
        world.updates.allow(args);
        world.updates.ground();
        world.webhook.target = Some(target.clone());
        world.webhook.last_error = None;
        world.webhook.generation += 1;
        world.webhook.generation
    });
    let bringer = Bringer { shared: Arc::clone(shared), target, client, generation };
    let stop = shared.tasks.stop.clone();
    shared.tasks.tracker.spawn(async move { stop.run_until_cancelled_owned(bringer.run()).await });
    Ok(true.into())
}

fn target(url: &str, args: &Args) -> Result<Target, Refused> {
    let bad = |why: &str| Refused::bad(&format!("bad webhook: {why}"));
    let url = Url::parse(url).map_err(|_| bad("invalid webhook URL specified"))?;
    // As a local server: plain HTTP on any port, and nothing outside this machine.
    if url.host_str().is_none_or(|host| host != "127.0.0.1" && host != "localhost") {
        return Err(bad("Failed to resolve host: Name or service not known"));
    }
    let secret = args.text("secret_token").filter(|secret| !secret.is_empty());
    let allowed = |secret: &str| secret.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if secret.is_some_and(|secret| secret.len() > 256) {
        return Err(Refused::bad("secret token is too long"));
    }
    if secret.is_some_and(|secret| !allowed(secret)) {
        return Err(Refused::bad("secret token contains unallowed characters"));
    }
    let connections = args.integer("max_connections").unwrap_or(40).clamp(1, 100);
    let connections = usize::try_from(connections).unwrap_or(1);
    Ok(Target { url, secret: secret.map(str::to_owned), connections })
}

pub(crate) fn delete(shared: &Arc<Shared>, args: &Args) -> Outcome {
    shared.world.change(|world| {
        drop_pending(world, args);
        world.updates.ground();
        world.webhook.target = None;
        world.webhook.generation += 1;
    });
    Ok(true.into())
}

fn drop_pending(world: &mut super::World, args: &Args) {
    if args.flag("drop_pending_updates") {
        world.updates.clear();
    }
}

/// Brings updates to one webhook while it is set.
#[derive(Clone)]
struct Bringer {
    shared: Arc<Shared>,
    target: Target,
    client: Client,
    generation: u64,
}

enum Next {
    Over,
    Update(Queued),
}

impl Bringer {
    async fn run(self) {
        let mut under_way = JoinSet::new();
        loop {
            while under_way.len() >= self.target.connections {
                under_way.join_next().await;
            }
            let next = self.shared.world.wait(LONGEST_WAIT, |world| {
                if world.webhook.generation != self.generation {
                    return Some(Next::Over);
                }
                world.updates.take().map(Next::Update)
            });
            match next.await {
                Some(Next::Over) => return,
                Some(Next::Update(queued)) => {
                    let bringer = self.clone();
                    under_way.spawn(async move { bringer.bring(queued).await });
                }
                None => while under_way.try_join_next().is_some() {},
            }
        }
    }

    async fn bring(&self, queued: Queued) {
        let mut wait = self.shared.config.webhook_retry;
        for attempt in 0.. {
            if self.shared.world.look().webhook.generation != self.generation {
                return;
            }
            let outcome = self.post(&queued).await;
            let (status, body) = match &outcome {
                Ok((status, body)) => (Some(*status), body.clone()),
                Err(_) => (None, String::new()),
            };
            let accepted = status.is_some_and(|status| (200..300).contains(&status));
            self.shared.world.change(|world| {
                let answer = WebhookAnswer { update_id: queued.id, attempt, status, body: body.clone() };
                world.webhook.answers.push(answer);
                // A delivery of the former webhook confirms nothing.
                if world.webhook.generation != self.generation {
                    return;
                }
                if accepted {
                    world.updates.delivered(queued.id);
                    if let Some(args) = reply(&body) {
                        let method = args.text("method").unwrap_or_default().to_ascii_lowercase();
                        // The result is not seen by anybody.
                        _ = methods::perform(&method, world, &args);
                    }
                } else {
                    let why = match status {
                        Some(status) => format!("Wrong response from the webhook: {status}"),
                        None => "Connection refused or timed out".to_owned(),
                    };
                    world.webhook.last_error = Some((time::now().as_secs(), why));
                }
            });
            if accepted {
                return;
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    async fn post(&self, queued: &Queued) -> Result<(u16, String), reqwest::Error> {
        let mut request = self.client.post(self.target.url.clone()).json(&queued.update);
        if let Some(secret) = &self.target.secret {
            request = request.header(SECRET_HEADER, secret);
        }
        let answer = request.send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }
}

/// A method call in the body of an answer.
fn reply(body: &str) -> Option<Args> {
    let Ok(Value::Object(fields)) = serde_json::from_str(body) else { return None };
    fields.contains_key("method").then(|| Args { fields, ..Args::default() })
}
