//! Calls to the Bot API: the token, the limit in time, and what an answer means. Requests are teloxide's payloads; its `Bot`
//! isn't used, since it waits ten seconds on a server's error, drops the status, and calls a post lost whose answer holds
//! a field it does not know. Which calls to make is left to the callers.

use std::time::Duration;

use reqwest::{Client, RequestBuilder, Response, StatusCode, multipart};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use teloxide::requests::Payload;
use tracing::{debug, error};
use url::Url;
use watchfloor_channel::RefusalKind;

use crate::{
    TelegramConfig, descriptions,
    errors::{self, CallError},
    names::Names,
};

const CONNECT: Duration = Duration::from_secs(5);
/// A hundred updates of the longest kind are far below it.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;

/// Why an adapter can't be built. Retrying does not help.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("the HTTP client can't be set up: {0}")]
    Client(String),
    #[error("api_url can't be the beginning of an address")]
    ApiUrl,
}

/// Not to be shown: its addresses hold the token.
pub(crate) struct Api {
    client: Client,
    /// Ends with the token.
    methods: Url,
    files: Url,
    pub(crate) call_timeout: Duration,
    /// Whoever receives tells them, whoever sends needs them.
    pub(crate) names: Names,
}

#[derive(Deserialize)]
struct Answer {
    ok: bool,
    /// What is in it is read by whoever knows what it should be, and may be readable in part only.
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error_code: u16,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Parameters,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

impl Api {
    pub(crate) fn new(config: &TelegramConfig) -> Result<Self, BuildError> {
        let secret = format!("bot{}", config.bot_token.expose_secret());
        let below = |steps: &[&str]| {
            let mut address = config.api_url.clone();
            address.path_segments_mut().map_err(|()| BuildError::ApiUrl)?.pop_if_empty().extend(steps);
            Ok(address)
        };
        Ok(Self {
            methods: below(&[&secret])?,
            files: below(&["file", &secret])?,
            client: client(&config.api_url)?,
            call_timeout: config.call_timeout,
            names: Names::new(),
        })
    }

    /// One attempt. The answer may be read leniently: a shape of the caller's own is enough.
    pub(crate) async fn call<A: DeserializeOwned>(
        &self,
        request: &(impl Payload + Serialize + Sync),
    ) -> Result<A, CallError> {
        self.raw(&method_of(request), request, self.call_timeout).await
    }

    /// A call as JSON, with a limit of its own: polls, and what teloxide does not know.
    pub(crate) async fn raw<A: DeserializeOwned>(
        &self,
        method: &str,
        arguments: &(impl Serialize + Sync + ?Sized),
        limit: Duration,
    ) -> Result<A, CallError> {
        let request = self.client.post(join(&self.methods, [method])).json(arguments);
        self.within(method, limit, request).await
    }

    /// A call that carries a file, with a limit of its own.
    pub(crate) async fn upload<A: DeserializeOwned>(
        &self,
        method: &str,
        form: multipart::Form,
        limit: Duration,
    ) -> Result<A, CallError> {
        let request = self.client.post(join(&self.methods, [method])).multipart(form);
        self.within(method, limit, request).await
    }

    /// Begins to fetch a file. What answers is the caller's to judge.
    pub(crate) async fn download(&self, path: &str) -> Result<Response, CallError> {
        self.client.get(join(&self.files, path.split('/'))).send().await.map_err(unreached)
    }

    async fn within<A: DeserializeOwned>(
        &self,
        method: &str,
        limit: Duration,
        request: RequestBuilder,
    ) -> Result<A, CallError> {
        let answer = async {
            let response = request.send().await.map_err(unreached)?;
            let status = response.status();
            read(response, LONGEST_ANSWER).await.map(|body| (status, body))
        };
        let (status, body) = tokio::time::timeout(limit, answer)
            .await
            .map_err(|_| CallError::Unclear(format!("no answer within {} s", limit.as_secs())))??;
        let result = result_of(method, status, &body)?;
        serde_json::from_str(result.as_deref().map_or("null", RawValue::get)).map_err(|_| unreadable())
    }
}

/// The sentence is about the request and quotes no more of it than the name of a tag.
fn log(method: &str, error: &CallError, said: &str) {
    match error {
        CallError::Refused(refusal) if descriptions::is_our_fault(refusal) => {
            error!(method, code = refusal.code, said, "Telegram finds fault with our request");
        }
        CallError::Refused(refusal) => debug!(method, code = refusal.code, "Telegram refused a call"),
        _ => {}
    }
}

fn client(api_url: &Url) -> Result<Client, BuildError> {
    // Without any, building a client would panic. One that is there stays.
    let _ = ring::default_provider().install_default();
    let failed = |error: &dyn std::fmt::Display| BuildError::Client(error.to_string());
    let mut builder = Client::builder()
        .connect_timeout(CONNECT)
        // A connection that the other side is about to close would make a post look lost.
        .pool_idle_timeout(Duration::from_secs(30))
        .tcp_keepalive(Duration::from_secs(15))
        .redirect(reqwest::redirect::Policy::none());
    // A Bot API of one's own speaks plain HTTP; a bare container without certificates must do for it.
    if api_url.scheme() == "http" {
        let tls = ClientConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?;
        let tls = tls.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        builder = builder.tls_backend_preconfigured(tls).no_proxy();
    }
    builder.build().map_err(|error| failed(&error.without_url()))
}

fn join<'a>(base: &Url, steps: impl IntoIterator<Item = &'a str>) -> Url {
    let mut address = base.clone();
    if let Ok(mut path) = address.path_segments_mut() {
        path.extend(steps);
    }
    address
}

/// As the documentation spells it; teloxide writes a capital.
fn method_of<P: Payload>(_: &P) -> String {
    let mut letters = P::NAME.chars();
    letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect()
}

fn result_of(method: &str, status: StatusCode, body: &[u8]) -> Result<Option<Box<RawValue>>, CallError> {
    // A broken letter is no reason to lose all the others.
    let body = String::from_utf8_lossy(body);
    let Ok(answer) = serde_json::from_str::<Answer>(&body) else { return Err(of_status(status)) };
    if answer.ok {
        return Ok(answer.result);
    }
    if let Some(chat) = answer.parameters.migrate_to_chat_id {
        return Err(CallError::Moved(chat));
    }
    if let Some(seconds) = answer.parameters.retry_after {
        return Err(errors::rate_limited(Some(Duration::from_secs(seconds.max(1)))));
    }
    let code = if answer.error_code == 0 { status.as_u16() } else { answer.error_code };
    let error = descriptions::sort(code, &answer.description);
    log(method, &error, &descriptions::cut(&answer.description));
    Err(error)
}

/// No Bot API speaks: what stands in between, or something else at that address.
fn of_status(status: StatusCode) -> CallError {
    match status {
        StatusCode::TOO_MANY_REQUESTS => errors::rate_limited(None),
        status if status.is_success() => unreadable(),
        StatusCode::SERVICE_UNAVAILABLE => CallError::NotSent("HTTP 503".to_owned()),
        // What stands in between may lose its patience with the request; that is no refusal.
        StatusCode::REQUEST_TIMEOUT => CallError::Unclear("HTTP 408".to_owned()),
        status if status.is_client_error() || status.is_redirection() => errors::refused(
            RefusalKind::Other,
            &format!("http_{}", status.as_u16()),
            "whatever answers at api_url does not know this call: check the address",
        ),
        status => CallError::Unclear(format!("HTTP {}", status.as_u16())),
    }
}

fn unreadable() -> CallError {
    CallError::Unclear("the answer is not readable".to_owned())
}

/// Streams, so that a body without an announced end can't fill the memory.
async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, CallError> {
    let mut content = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(unreached)? {
        if content.len() + piece.len() > limit {
            return Err(CallError::Unclear("the answer does not end".to_owned()));
        }
        content.extend_from_slice(&piece);
    }
    Ok(content)
}

/// The client's own words hold the address, and the address the token.
pub(crate) fn unreached(error: reqwest::Error) -> CallError {
    match () {
        () if error.is_connect() => CallError::NotSent("no connection".to_owned()),
        () if error.is_builder() => CallError::NotSent("the request can't be written".to_owned()),
        () if error.is_timeout() => CallError::Unclear("no answer in time".to_owned()),
        () => CallError::Unclear("the answer broke off".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use teloxide::payloads::{DeleteMessage, GetMe};
    use watchfloor_channel::{ChannelId, ShortMemory};

    use super::*;
    use crate::Intake;

    fn api(api_url: &str) -> Result<Api, BuildError> {
        let (token, notes) = ("6000:secret/with?signs".into(), Arc::new(ShortMemory::default()));
        let url = api_url.parse().unwrap();
        Api::new(&TelegramConfig::new(ChannelId::new("telegram"), Intake::default(), token, url, notes))
    }

    fn answered(status: u16, answer: &Value) -> String {
        match result_of("getMe", StatusCode::from_u16(status).unwrap(), answer.to_string().as_bytes()) {
            Ok(result) => result.map(|result| result.get().to_owned()).unwrap_or_default(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn addresses_are_built_below_the_api_url_whatever_its_form() {
        for (api_url, base) in [
            ("http://127.0.0.1:8081", "http://127.0.0.1:8081"),
            ("http://127.0.0.1:8081/", "http://127.0.0.1:8081"),
            ("http://proxy.example/telegram", "http://proxy.example/telegram"),
            ("http://proxy.example/telegram/", "http://proxy.example/telegram"),
        ] {
            let api = api(api_url).unwrap();
            let method = join(&api.methods, [method_of(&GetMe::new()).as_str()]);
            assert_eq!(method.as_str(), format!("{base}/bot6000:secret%2Fwith%3Fsigns/getMe"));
            let file = join(&api.files, "documents/../../a file?.log".split('/'));
            assert_eq!(file.as_str(), format!("{base}/file/bot6000:secret%2Fwith%3Fsigns/documents/a%20file%3F.log"));
        }
        assert!(matches!(api("mailto:ops@example.org"), Err(BuildError::ApiUrl)));
        let delete = DeleteMessage::new(teloxide::types::ChatId(1), teloxide::types::MessageId(2));
        assert_eq!(method_of(&delete), "deleteMessage");
    }

    #[test]
    fn an_answer_is_read_by_what_it_says_and_a_broken_one_by_its_status() {
        let wait = |seconds: Value| {
            json!({"ok": false, "error_code": 429, "description": "Too Many Requests",
            "parameters": {"retry_after": seconds}})
        };
        let moved = json!({"ok": false, "error_code": 400, "parameters": {"migrate_to_chat_id": -1_009}});
        for (expected, status, answer) in [
            ("{\"id\":1}", 200, json!({"ok": true, "result": {"id": 1}, "new": 1})),
            ("Telegram asks to wait 7 s", 429, wait(json!(7))),
            ("Telegram asks to wait 1 s", 429, wait(json!(0))),
            ("Telegram asks to wait 10 s", 429, wait(json!("soon"))),
            ("Telegram asks to wait 10 s", 429, wait(json!(-3))),
            ("the group has moved to -1009", 400, moved),
            ("no clear answer from Telegram: HTTP 502", 502, json!("Bad Gateway")),
            ("no clear answer from Telegram: HTTP 500", 500, json!({"ok": false})),
            ("no clear answer from Telegram: the answer is not readable", 200, json!({"result": 1})),
            ("Telegram could not be reached: HTTP 503", 503, json!([])),
        ] {
            assert_eq!(answered(status, &answer), expected, "{answer}");
        }
        let refused = answered(400, &json!({"ok": false, "description": null}));
        assert!(refused.contains("http_400"), "{refused}");
    }
}
