//! Calls to Slack's Web API: the token, the limit in time, and what an answer means. Which calls to make is left to the
//! callers. Requests and answers are our own shapes, since the client's types refuse messages that Slack sends.

use std::{error::Error, sync::Arc, time::Duration};

use http::StatusCode;
use hyper_rustls::{ConfigBuilderExt, HttpsConnectorBuilder};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;
use slack_morphism::{
    SlackApiToken, SlackApiTokenValue, SlackClient, SlackMessageContent,
    api::SlackApiPostWebhookMessageRequest,
    errors::SlackClientError,
    hyper_tokio::{SlackClientHyperHttpsConnector, SlackHyperClient},
};
use tokio::sync::Notify;
use tracing::{debug, error, warn};
use url::Url;
use watchfloor_channel::{Refusal, RefusalKind};

use crate::{
    SlackConfig, Transport,
    errors::{self, CallError},
};

/// Why an adapter can't be built. Retrying does not help.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("the TLS client can't be set up: {0}")]
    Tls(String),
}

#[derive(Clone)]
pub(crate) struct Api {
    client: SlackHyperClient,
    /// `None`: events come over HTTP, and no socket is ever opened.
    app_token: Option<SlackApiToken>,
    bot_token: SlackApiToken,
    /// For the sockets too.
    pub(crate) tls: Arc<ClientConfig>,
    call_timeout: Duration,
    step_timeout: Duration,
    signed_out: Arc<Notify>,
}

impl Api {
    pub(crate) fn new(config: &SlackConfig) -> Result<Self, BuildError> {
        let tls = ClientConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .map_err(|error| BuildError::Tls(error.to_string()))?;
        let tls = match tls.clone().with_native_roots() {
            Ok(tls) => tls,
            // A loopback Slack speaks plain HTTP; a bare container without certificates must do for it.
            Err(_) if config.api_url.scheme() == "http" => tls.with_root_certificates(RootCertStore::empty()),
            Err(error) => return Err(BuildError::Tls(format!("no root certificates: {error}"))),
        };
        let tls = tls.with_no_client_auth();
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_or_http().enable_all_versions();
        let connector = SlackClientHyperHttpsConnector::from(connector.build())
            .with_slack_api_url(config.api_url.as_str().trim_end_matches('/'));
        Ok(Self {
            client: SlackClient::new(connector),
            app_token: match &config.transport {
                Transport::Socket { app_token } => Some(token(app_token)),
                Transport::Events { .. } => None,
            },
            bot_token: token(&config.bot_token),
            tls: Arc::new(tls),
            call_timeout: config.call_timeout,
            step_timeout: config.step_timeout,
            signed_out: Arc::default(),
        })
    }

    /// The same for another workspace of the app.
    pub(crate) fn as_bot(&self, bot_token: &SecretString) -> Self {
        Self { bot_token: token(bot_token), signed_out: Arc::default(), ..self.clone() }
    }

    /// For what isn't a method: the addresses of files.
    pub(crate) fn bot_token(&self) -> &str {
        &self.bot_token.token_value.0
    }

    /// Returns once a call as the bot was refused for its token, or there is another reason to doubt it.
    pub(crate) async fn signed_out(&self) {
        self.signed_out.notified().await;
    }

    /// Slack says that the token may be out.
    pub(crate) fn doubt(&self) {
        self.signed_out.notify_one();
    }

    fn look_at<A>(&self, done: Result<A, CallError>) -> Result<A, CallError> {
        if let Err(CallError::Refused(refusal)) = &done
            && refusal.kind == RefusalKind::Credentials
        {
            self.doubt();
        }
        done
    }

    /// A method that changes something, called as the bot.
    pub(crate) async fn post<A: DeserializeOwned + Default>(
        &self,
        method: &str,
        request: &Value,
    ) -> Result<A, CallError> {
        let session = self.client.open_session(&self.bot_token);
        let call = session.http_session_api.http_post::<_, Value>(method, request, None);
        self.look_at(within(method, self.call_timeout, call).await)
    }

    /// A method that reads, called as the bot. Slack takes arguments of these in the address only.
    pub(crate) async fn get<A: DeserializeOwned + Default>(
        &self,
        method: &str,
        arguments: &[(&str, &str)],
    ) -> Result<A, CallError> {
        let arguments: Vec<_> = arguments.iter().map(|(name, value)| (*name, Some(*value))).collect();
        let session = self.client.open_session(&self.bot_token);
        let call = session.http_session_api.http_get::<Value, _, _>(method, &arguments, None);
        self.look_at(within(method, self.call_timeout, call).await)
    }

    /// `apps.connections.open`, the one method called as the app.
    pub(crate) async fn open_connection<A: DeserializeOwned + Default>(&self) -> Result<A, CallError> {
        let Some(app_token) = &self.app_token else { return Err(CallError::Refused(errors::no_app_token())) };
        let session = self.client.open_session(app_token);
        let nothing = serde_json::json!({});
        let call = session.http_session_api.http_post::<_, Value>("apps.connections.open", &nothing, None);
        within("apps.connections.open", self.step_timeout, call).await
    }

    /// Shows a text to the one person to whom Slack gave this address. The address is all it takes: no token goes there.
    pub(crate) async fn respond(&self, address: &Url, text: &str) -> Result<(), CallError> {
        let content = SlackMessageContent::new().with_text(text.to_owned());
        let request = SlackApiPostWebhookMessageRequest::new(content).with_replace_original(false);
        match tokio::time::timeout(self.call_timeout, self.client.post_webhook_message(address, &request)).await {
            Ok(answer) => answer.map(|_| ()).map_err(|error| from_client("response_url", error)),
            Err(_) => Err(CallError::Unclear(format!("no answer within {} s", self.call_timeout.as_secs()))),
        }
    }
}

fn token(secret: &SecretString) -> SlackApiToken {
    SlackApiToken::new(SlackApiTokenValue(secret.expose_secret().to_owned()))
}

async fn within<A: DeserializeOwned + Default>(
    method: &str,
    limit: Duration,
    call: impl Future<Output = Result<Value, SlackClientError>>,
) -> Result<A, CallError> {
    let answer = tokio::time::timeout(limit, call)
        .await
        .map_err(|_| CallError::Unclear(format!("no answer within {} s", limit.as_secs())))?
        .map_err(|error| from_client(method, error))?;
    // A page that isn't JSON arrives here as an empty object, with HTTP 200.
    if answer.get("ok") != Some(&Value::Bool(true)) {
        return Err(CallError::Unclear("the answer does not say ok".to_owned()));
    }
    log_warnings(method, &answer);
    Ok(serde_json::from_value(answer).unwrap_or_default())
}

/// Slack did it, but not quite as we asked.
fn log_warnings(method: &str, answer: &Value) {
    for warning in errors::warnings(answer) {
        match warning {
            "missing_charset" | "superfluous_charset" => debug!(method, warning, "Slack took the call with a warning"),
            _ => warn!(method, warning, "Slack took the call with a warning"),
        }
    }
}

/// What Slack says beside a code is for whoever has to mend it. It points into the request and does not quote it.
fn log_refusal(method: &str, refusal: &Refusal, body: &Value) {
    let (hints, code) = (errors::hints(body), &refusal.code);
    if errors::is_our_fault(refusal) {
        error!(method, code, ?hints, "Slack finds fault with our request");
    } else if hints.is_empty() {
        debug!(method, code, "Slack refused a call");
    } else {
        warn!(method, code, ?hints, "Slack refused a call");
    }
}

/// The client's own words quote whole answers, which hold message text and tickets; ours don't.
fn from_client(method: &str, error: SlackClientError) -> CallError {
    match error {
        SlackClientError::ApiError(error) => {
            let body = error.http_response_body.as_deref().and_then(|body| serde_json::from_str(body).ok());
            let body: Value = body.unwrap_or_default();
            let error = errors::from_code(&error.code, body.get("needed").and_then(Value::as_str));
            if let CallError::Refused(refusal) = &error {
                log_refusal(method, refusal, &body);
            }
            error
        }
        SlackClientError::RateLimitError(error) => errors::rate_limited(error.retry_after),
        // What stands in between may lose its patience with the request; that is no refusal.
        SlackClientError::HttpError(error)
            if error.status_code.is_client_error() && error.status_code != StatusCode::REQUEST_TIMEOUT =>
        {
            CallError::Refused(Refusal {
                kind: RefusalKind::Other,
                code: format!("http_{}", error.status_code.as_u16()),
                remedy: "whatever answers at api_url does not know this call: check the address".to_owned(),
            })
        }
        SlackClientError::HttpError(error) => CallError::Unclear(format!("HTTP {}", error.status_code.as_u16())),
        SlackClientError::HttpProtocolError(error) => match error.cause {
            Some(cause) if never_connected(cause.as_ref()) => CallError::NotSent(innermost(cause.as_ref())),
            Some(cause) => CallError::Unclear(innermost(cause.as_ref())),
            None => CallError::Unclear("the HTTP exchange failed".to_owned()),
        },
        SlackClientError::ProtocolError(_) => CallError::Unclear("the answer is not readable".to_owned()),
        SlackClientError::EndOfStream(_)
        | SlackClientError::SystemError(_)
        | SlackClientError::SocketModeProtocolError(_) => CallError::Unclear("the answer broke off".to_owned()),
    }
}

fn never_connected(error: &(dyn Error + Send + Sync + 'static)) -> bool {
    error.downcast_ref::<hyper_util::client::legacy::Error>().is_some_and(|error| error.is_connect())
}

fn innermost(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
