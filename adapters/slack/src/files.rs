//! Fetches what people attach. Slack answers a token without the right scope with its sign-in page, with status 200 or by a
//! redirect: such a page never counts as the file. What to do with a file's bytes is left to the caller.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use moka::sync::Cache;
use reqwest::{Client, Response, StatusCode, header};
use url::Url;
use watchfloor_channel::{FileRef, RefusalKind, SendError};

use crate::{
    BuildError, SlackConfig,
    api::Api,
    errors::{self, CallError},
    hosts::{Hosts, Trust},
    wire::FileInfo,
};

const CONNECT: Duration = Duration::from_secs(5);
const HOPS: usize = 3;
/// How much of a body is looked at to tell a page from a file.
const SNIFF: usize = 512;
/// Uploads whose completion may still be asked about.
const REMEMBERED: u64 = 256;

pub(crate) struct Files {
    pub(crate) client: Client,
    pub(crate) hosts: Hosts,
    pub(crate) call_timeout: Duration,
    /// The file that a delivery became, by its key.
    pub(crate) uploaded: Cache<String, String>,
}

impl Files {
    pub(crate) fn new(api: &Api, config: &SlackConfig) -> Result<Self, BuildError> {
        let client = Client::builder()
            .tls_backend_preconfigured((*api.tls).clone())
            .connect_timeout(CONNECT)
            // Each hop is looked at before it is made.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| BuildError::Tls(error.to_string()))?;
        Ok(Self {
            client,
            hosts: Hosts::new(&config.api_url),
            call_timeout: config.call_timeout,
            uploaded: Cache::builder().max_capacity(REMEMBERED).time_to_live(Duration::from_secs(3_600)).build(),
        })
    }

    /// At most `limit` bytes; a longer file is refused as `TooLong`.
    pub(crate) async fn fetch(&self, api: &Api, file: &FileRef, limit: usize) -> Result<Bytes, SendError> {
        tokio::time::timeout(self.call_timeout, self.fetch_slowly(api, file, limit))
            .await
            .unwrap_or_else(|_| Err(SendError::Unavailable("the file did not arrive in time".to_owned())))
    }

    async fn fetch_slowly(&self, api: &Api, file: &FileRef, limit: usize) -> Result<Bytes, SendError> {
        let (address, bytes) = match &file.url {
            Some(address) => (address.clone(), file.bytes),
            None => look_up(api, &file.id).await?,
        };
        let address = Url::parse(&address).map_err(|_| unreadable("bad_address", "its address can't be read"))?;
        if over(bytes, limit) {
            return Err(too_long());
        }
        let response = self.follow(api, address).await?;
        let content_type = header_of(&response, header::CONTENT_TYPE).to_ascii_lowercase();
        let content = read(response, limit).await?;
        let is_page = content_type.starts_with("text/html") || looks_like_a_page(&content);
        // A page of the person's own, such as what a proxy answered, has the length that was announced.
        if is_page && u64::try_from(content.len()) != Ok(bytes) {
            return Err(no_scope());
        }
        Ok(content)
    }

    async fn follow(&self, api: &Api, mut address: Url) -> Result<Response, SendError> {
        for _ in 0..=HOPS {
            let trust = self.hosts.trust(&address);
            if trust == Trust::Foreign {
                return Err(unreadable("foreign_address", "it lies outside Slack, where the bot does not go"));
            }
            let mut request = self.client.get(address.clone());
            if trust == Trust::Token {
                request = request.bearer_auth(api.bot_token());
            }
            let response = request.send().await.map_err(unreached)?;
            let status = response.status();
            if status.is_success() {
                return Ok(response);
            }
            if !status.is_redirection() {
                return Err(of_status(status, &response));
            }
            let next = address.join(header_of(&response, header::LOCATION)).ok();
            let Some(next) = next.filter(|next| *next != address) else { return Err(of_status(status, &response)) };
            if asks_to_sign_in(&next) {
                return Err(no_scope());
            }
            address = next;
        }
        Err(unreadable("too_many_redirects", "its address leads from one to the next without an end"))
    }
}

async fn look_up(api: &Api, id: &str) -> Result<(String, u64), SendError> {
    let info: FileInfo = match api.get("files.info", &[("file", id)]).await {
        Err(error) if error.has_code("file_deleted") || error.has_code("file_not_found") => return Err(gone()),
        answer => answer.map_err(CallError::of_read)?,
    };
    let file = info.file;
    if matches!(file.mode.as_str(), "tombstone" | "hidden_by_limit") {
        return Err(gone());
    }
    match file.url_private_download.or(file.url_private) {
        Some(address) => Ok((address, file.size)),
        None => Err(unreadable("no_address", "Slack names no address for it")),
    }
}

/// Streams, so that a body without an announced end can't fill the memory.
async fn read(mut response: Response, limit: usize) -> Result<Bytes, SendError> {
    if response.content_length().is_some_and(|length| over(length, limit)) {
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

fn over(length: u64, limit: usize) -> bool {
    usize::try_from(length).is_ok_and(|length| length > limit)
}

fn looks_like_a_page(content: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&content[..content.len().min(SNIFF)]).to_ascii_lowercase();
    let start = start.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// The sign-in pages of a workspace: its root with where to go afterwards, or a page of that name.
fn asks_to_sign_in(address: &Url) -> bool {
    address.query_pairs().any(|(name, _)| name == "redir")
        || address.path_segments().is_some_and(|mut parts| parts.any(|part| matches!(part, "signin" | "login" | "sso")))
}

fn header_of(response: &Response, name: header::HeaderName) -> &str {
    response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn of_status(status: StatusCode, response: &Response) -> SendError {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => no_scope(),
        StatusCode::NOT_FOUND | StatusCode::GONE => gone(),
        StatusCode::TOO_MANY_REQUESTS => {
            let after = header_of(response, header::RETRY_AFTER).parse().ok().map(Duration::from_secs);
            errors::rate_limited(after).of_read()
        }
        status if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT => {
            SendError::Unavailable(format!("HTTP {}", status.as_u16()))
        }
        status => unreadable(&format!("http_{}", status.as_u16()), "Slack does not hand it out"),
    }
}

/// The client's own words hold the address, which is as good as the file.
pub(crate) fn unreached(error: reqwest::Error) -> SendError {
    SendError::Unavailable(match () {
        () if error.is_timeout() => "no answer in time".to_owned(),
        () if error.is_connect() => "no connection".to_owned(),
        () => "the answer broke off".to_owned(),
    })
}

fn no_scope() -> SendError {
    let remedy = "the app lacks the scope files:read: add it and install the app again";
    SendError::Refused(errors::refused(RefusalKind::Permission, "missing_scope", remedy))
}

fn gone() -> SendError {
    SendError::Refused(errors::refused(RefusalKind::MessageGone, "file_gone", "the file was deleted"))
}

fn too_long() -> SendError {
    SendError::Refused(errors::refused(RefusalKind::TooLong, "file_too_long", "the file is too long to be read"))
}

fn unreadable(code: &str, remedy: &str) -> SendError {
    SendError::Refused(errors::refused(RefusalKind::Content, code, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_known_by_its_first_bytes() {
        for page in ["<!DOCTYPE html><html>", "\n\u{feff} <HTML lang=en>", "<!doctype HTML>"] {
            assert!(looks_like_a_page(page.as_bytes()), "{page}");
        }
        for file in ["2026-01-01 <html> in a log", "", "<?xml version=\"1.0\"?>"] {
            assert!(!looks_like_a_page(file.as_bytes()), "{file}");
        }
    }

    #[test]
    fn a_sign_in_page_is_known_by_its_address() {
        let asks = |address: &str| asks_to_sign_in(&address.parse().unwrap());
        assert!(asks("https://acme.slack.com/?redir=%2Ffiles-pri%2FT1-F1%2Fa.log"));
        assert!(asks("https://slack.com/signin"));
        assert!(!asks("https://files.slack.com/files-pri/T1-F1/signin.log"));
    }
}
