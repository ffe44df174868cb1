//! One HTTP exchange with Feishu: the request, the limits in time and size, and whether the answer says that it was done.
//! The token, repeating and counting are left to `api`.

use std::{error::Error, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use reqwest::{Client, RequestBuilder, Response, StatusCode, header};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use serde_json::Value;
use url::Url;
use watchfloor_channel::RefusalKind;

use crate::{
    api::BuildError,
    call::{Call, Request, RequestBody},
    errors::{self, CallError, Complaint},
};

const CONNECT: Duration = Duration::from_secs(5);
/// A page of long messages is the longest answer there is.
const LONGEST_ANSWER: usize = 16 << 20;
/// What an answer that is no file may be long.
const LONGEST_COMPLAINT: usize = 16 << 10;

pub(crate) struct Exchange {
    client: Client,
    base: Url,
    limit: Duration,
}

impl Exchange {
    pub(crate) fn new(base: Url, limit: Duration) -> Result<Self, BuildError> {
        let builder = Client::builder()
            .user_agent(concat!("watchfloor/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none());
        let builder = match base.scheme() {
            // A loopback Feishu speaks plain HTTP; a bare container without certificates must do for it.
            "http" => builder.tls_backend_preconfigured(without_certificates()?),
            _ => builder,
        };
        let client = builder.build().map_err(|error| BuildError::Tls(innermost(&error)))?;
        Ok(Self { client, base, limit })
    }

    /// The whole answer, which says that it was done.
    pub(crate) async fn make(&self, call: Call, request: &Request, token: Option<&str>) -> Result<Value, CallError> {
        self.within(call, async {
            let response = self.request(call, request, token).send().await.map_err(unreached)?;
            let (status, complaint) = (response.status(), Complaint::of(response.headers()));
            let body = read(response, LONGEST_ANSWER).await?;
            let answer = serde_json::from_slice::<Value>(&body).ok();
            let code = answer.as_ref().and_then(|answer| answer.get("code")).and_then(Value::as_i64);
            match (answer, code) {
                (Some(answer), Some(0)) => Ok(answer),
                (Some(answer), Some(code)) => Err(complaint.sort(call, code, status, &answer)),
                _ => Err(complaint.without_code(call, status)),
            }
        })
        .await
    }

    /// The bytes of a file, which may be JSON too.
    pub(crate) async fn download(
        &self,
        call: Call,
        request: &Request,
        token: &str,
        limit: usize,
    ) -> Result<Bytes, CallError> {
        self.within(call, async {
            let response = self.request(call, request, Some(token)).send().await.map_err(unreached)?;
            let (status, complaint) = (response.status(), Complaint::of(response.headers()));
            let content_type = response.headers().get(header::CONTENT_TYPE);
            let is_json = content_type.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
            let is_page =
                content_type.is_some_and(|kind| kind.as_bytes().to_ascii_lowercase().starts_with(b"text/html"));
            let is_file = response.headers().contains_key(header::CONTENT_DISPOSITION);
            if !status.is_success() {
                let body = read(response, LONGEST_COMPLAINT).await?;
                let answer = serde_json::from_slice::<Value>(&body).unwrap_or_default();
                return Err(match answer.get("code").and_then(Value::as_i64).filter(|code| *code != 0) {
                    Some(code) => complaint.sort(call, code, status, &answer),
                    None => complaint.without_code(call, status),
                });
            }
            // A gateway's sign-in page, as no file of anybody's comes.
            if is_page && !is_file {
                return Err(CallError::Unclear("something else answered with a page of its own".to_owned()));
            }
            let content = read(response, limit).await?;
            if is_json && !is_file && content.len() < LONGEST_COMPLAINT {
                let answer = serde_json::from_slice::<Value>(&content).unwrap_or_default();
                let code = answer.get("code").and_then(Value::as_i64).filter(|code| *code != 0);
                if let (Some(code), Some(Value::String(_))) = (code, answer.get("msg")) {
                    return Err(complaint.sort(call, code, status, &answer));
                }
            }
            Ok(content)
        })
        .await
    }

    fn request(&self, call: Call, request: &Request, token: Option<&str>) -> RequestBuilder {
        let builder = self.client.request(call.method(), request.url(&self.base));
        let builder = match &request.body {
            RequestBody::None => builder,
            RequestBody::Json(body) => {
                builder.header(header::CONTENT_TYPE, "application/json; charset=utf-8").body(body.to_string())
            }
            RequestBody::Form(build) => builder.multipart(build()),
        };
        let builder = if call == Call::Endpoint { builder.header("locale", "zh") } else { builder };
        match token {
            Some(token) => builder.bearer_auth(token),
            None => builder,
        }
    }

    async fn within<A>(
        &self,
        call: Call,
        exchange: impl Future<Output = Result<A, CallError>>,
    ) -> Result<A, CallError> {
        let done = tokio::time::timeout(self.limit, exchange).await;
        let done =
            done.unwrap_or_else(|_| Err(CallError::Unclear(format!("no answer within {} s", self.limit.as_secs()))));
        if let Err(CallError::NotSent(why) | CallError::Unclear(why)) = &done {
            tracing::debug!(call = call.name(), why, "Feishu gave no answer");
        }
        done
    }
}

fn without_certificates() -> Result<ClientConfig, BuildError> {
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| BuildError::Tls(error.to_string()))?;
    Ok(tls.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

/// Streams, so that a body without an announced end can't fill the memory.
async fn read(mut response: Response, limit: usize) -> Result<Bytes, CallError> {
    let too_long =
        || CallError::Refused(errors::refused(RefusalKind::TooLong, "answer_too_long", "it is too long to be read"));
    if response.content_length().is_some_and(|length| usize::try_from(length).is_ok_and(|length| length > limit)) {
        return Err(too_long());
    }
    let mut content = BytesMut::new();
    while let Some(piece) = response.chunk().await.map_err(unreached)? {
        if content.len() + piece.len() > limit {
            return Err(too_long());
        }
        content.extend_from_slice(&piece);
    }
    Ok(content.freeze())
}

/// The client's own words hold the address; ours don't.
fn unreached(error: reqwest::Error) -> CallError {
    match error.is_connect() {
        true => CallError::NotSent(innermost(&error)),
        false if error.is_timeout() => CallError::Unclear("no answer in time".to_owned()),
        false => CallError::Unclear(innermost(&error)),
    }
}

fn innermost(error: &reqwest::Error) -> String {
    let Some(mut innermost) = error.source() else { return "the HTTP exchange failed".to_owned() };
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// An answer without a code of Feishu's.
pub(crate) fn of_status(status: StatusCode) -> CallError {
    match status {
        StatusCode::TOO_MANY_REQUESTS => errors::rate_limited(None),
        status if status.is_success() => CallError::Unclear("the answer is not readable".to_owned()),
        status if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT => {
            CallError::Unclear(format!("HTTP {}", status.as_u16()))
        }
        status => CallError::Refused(errors::refused(
            RefusalKind::Other,
            &format!("http_{}", status.as_u16()),
            "whatever answers at base_url does not know this call: check the address",
        )),
    }
}
