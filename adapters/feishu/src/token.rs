//! The app's token: fetched once for everybody who waits, renewed early and in the background while the old one still works.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use tokio::{task::JoinSet, time::Instant};

use crate::{
    call::{Call, Request},
    errors::CallError,
    exchange::Exchange,
};

/// With less than this left, Feishu hands out a new token; the old one works until its end.
const RENEWED: Duration = Duration::from_secs(30 * 60);
/// Nobody waits for a renewal, so that a failed one has time.
const RENEW_AGAIN: Duration = Duration::from_secs(30);

pub(crate) struct Tokens {
    exchange: Arc<Exchange>,
    app_id: String,
    app_secret: SecretString,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    token: Option<Token>,
    fetching: Option<Shared<BoxFuture<'static, Result<Token, CallError>>>>,
    not_before: Option<Instant>,
    /// Goes on when whoever asked has gone.
    tasks: JoinSet<()>,
}

#[derive(Clone)]
pub(crate) struct Token {
    secret: SecretString,
    until: Instant,
}

impl Token {
    pub(crate) fn expose(&self) -> &str {
        self.secret.expose_secret()
    }
}

impl Tokens {
    pub(crate) fn new(exchange: Arc<Exchange>, app_id: String, app_secret: SecretString) -> Self {
        Self { exchange, app_id, app_secret, state: Arc::default() }
    }

    pub(crate) async fn get(&self) -> Result<Token, CallError> {
        let fetching = {
            let mut state = lock(&self.state);
            let now = Instant::now();
            match state.token.clone().filter(|token| token.until > now) {
                Some(token) if token.until - now >= RENEWED => return Ok(token),
                Some(token) => {
                    if state.fetching.is_none() && state.not_before.is_none_or(|at| at <= now) {
                        drop(self.fetch(&mut state));
                    }
                    return Ok(token);
                }
                None => match &state.fetching {
                    Some(fetching) => fetching.clone(),
                    None => self.fetch(&mut state),
                },
            }
        };
        fetching.await
    }

    /// Feishu does not take this one any more. Somebody else may have replaced it already.
    pub(crate) fn discard(&self, stale: &Token) {
        let mut state = lock(&self.state);
        if state.token.as_ref().is_some_and(|token| token.expose() == stale.expose()) {
            state.token = None;
        }
    }

    fn fetch(&self, state: &mut State) -> Shared<BoxFuture<'static, Result<Token, CallError>>> {
        let (exchange, shared) = (self.exchange.clone(), self.state.clone());
        let body = json!({"app_id": self.app_id, "app_secret": self.app_secret.expose_secret()});
        let request = Request::to(["open-apis", "auth", "v3", "tenant_access_token", "internal"]).json(body);
        let fetch = async move {
            let asked = Instant::now();
            let fetched = exchange.make(Call::Token, &request, None).await.and_then(|answer| {
                let token = answer.get("tenant_access_token").and_then(|token| token.as_str());
                let expire = answer.get("expire").and_then(|expire| expire.as_u64());
                match (token.filter(|token| !token.is_empty()), expire) {
                    (Some(token), Some(expire)) => {
                        let until = asked + Duration::from_secs(expire.min(24 * 3600));
                        Ok(Token { secret: token.to_owned().into(), until })
                    }
                    _ => Err(CallError::Unclear("the answer holds no token".to_owned())),
                }
            });
            let mut state = lock(&shared);
            state.fetching = None;
            match &fetched {
                Ok(token) => (state.token, state.not_before) = (Some(token.clone()), None),
                Err(error) => {
                    state.not_before = Some(Instant::now() + RENEW_AGAIN);
                    tracing::warn!(%error, "no token could be fetched");
                }
            }
            // Nothing was asked of Feishu that could have happened.
            fetched.map_err(CallError::before_the_call)
        };
        let fetch = fetch.boxed().shared();
        state.fetching = Some(fetch.clone());
        while state.tasks.try_join_next().is_some() {}
        let driven = fetch.clone();
        state.tasks.spawn(async move {
            let _ = driven.await;
        });
        fetch
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
