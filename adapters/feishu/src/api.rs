//! Calls to Feishu as the app: the token, one repeat when it has gone stale, and the month's count. Which calls to make is
//! left to the callers.

use std::sync::Arc;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{OnceCell, watch};
use watchfloor_channel::{ChannelState, RefusalKind};

use crate::{
    FeishuConfig,
    call::{Call, Request},
    errors::{self, CallError},
    exchange::Exchange,
    identity::{BotInfo, Identity},
    quota::Quota,
    token::{Token, Tokens},
};

/// Why an adapter can't be built. Retrying does not help.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("the TLS client can't be set up: {0}")]
    Tls(String),
    #[error("base_url must begin with https:// or http://")]
    BaseUrl,
}

pub(crate) struct Api {
    exchange: Arc<Exchange>,
    tokens: Tokens,
    pub(crate) quota: Quota,
    app_id: String,
    identity: OnceCell<Identity>,
}

impl Api {
    pub(crate) fn new(config: &FeishuConfig, state: watch::Sender<ChannelState>) -> Result<Self, BuildError> {
        if config.base_url.cannot_be_a_base() || !matches!(config.base_url.scheme(), "http" | "https") {
            return Err(BuildError::BaseUrl);
        }
        let exchange = Arc::new(Exchange::new(config.base_url.clone(), config.call_timeout)?);
        Ok(Self {
            tokens: Tokens::new(exchange.clone(), config.app_id.clone(), config.app_secret.clone()),
            exchange,
            quota: Quota::new(config.notes.clone(), config.now.clone(), state),
            app_id: config.app_id.clone(),
            identity: OnceCell::new(),
        })
    }

    /// The part of the answer that was asked for ([`Call::part`]).
    pub(crate) async fn call<T: DeserializeOwned>(&self, call: Call, request: Request) -> Result<T, CallError> {
        let done = match call.is_signed_in() {
            true => {
                let (exchange, request) = (&self.exchange, &request);
                let make = |token: Token| async move { exchange.make(call, request, Some(token.expose())).await };
                self.signed_in(make).await
            }
            false => self.exchange.make(call, &request, None).await,
        };
        let mut answer = self.count(call, done).await?;
        let part = match call.part() {
            Some(part) => answer.get_mut(part).map(Value::take).unwrap_or_default(),
            None => answer,
        };
        // Some answers have no data where there is nothing to say.
        let part = if part.is_null() { Value::Object(serde_json::Map::new()) } else { part };
        serde_json::from_value(part).map_err(|_| CallError::Unclear("the answer is not readable".to_owned()))
    }

    /// At most `limit` bytes; a longer file is refused as `TooLong`.
    pub(crate) async fn download(&self, request: Request, limit: usize) -> Result<Bytes, CallError> {
        let call = Call::Resource;
        let (exchange, request) = (&self.exchange, &request);
        let make = |token: Token| async move { exchange.download(call, request, token.expose(), limit).await };
        let done = self.signed_in(make).await;
        self.count(call, done).await
    }

    /// Asked once. Until it is known, every caller asks again.
    pub(crate) async fn identity(&self) -> Result<Identity, CallError> {
        let ask = async || {
            let bot: BotInfo = self.call(Call::Identity, Request::to(["open-apis", "bot", "v3", "info"])).await?;
            if bot.open_id.is_empty() {
                let remedy = "the app has no bot: add the bot capability in the console and publish a version";
                return Err(CallError::Refused(errors::refused(RefusalKind::Permission, "no_bot", remedy)));
            }
            Ok(Identity {
                open_id: bot.open_id,
                app_id: self.app_id.clone(),
                name: bot.app_name,
                is_active: bot.activate_status == BotInfo::ENABLED,
            })
        };
        self.identity.get_or_try_init(ask).await.cloned()
    }

    pub(crate) fn known_identity(&self) -> Option<&Identity> {
        self.identity.get()
    }

    /// Makes the call, and once more with a new token where Feishu does not take the one it was made with.
    async fn signed_in<A, F: Future<Output = Result<A, CallError>>>(
        &self,
        make: impl Fn(Token) -> F,
    ) -> Result<A, CallError> {
        let token = self.tokens.get().await?;
        match make(token.clone()).await {
            Err(error) if error.is_stale_token() => {
                self.tokens.discard(&token);
                make(self.tokens.get().await?).await
            }
            done => done,
        }
    }

    /// Failed calls are free, but one whose answer was lost may not have failed.
    async fn count<A>(&self, call: Call, done: Result<A, CallError>) -> Result<A, CallError> {
        match done {
            Err(CallError::Refused(refusal)) if refusal.code == errors::USED_UP => {
                Err(CallError::Refused(errors::refused(refusal.kind, &refusal.code, &self.quota.is_used_up())))
            }
            Ok(_) | Err(CallError::Unclear(_)) if call.is_counted() => {
                if done.is_ok() {
                    self.quota.is_not_used_up();
                }
                self.quota.count().await;
                done
            }
            done => done,
        }
    }
}
