//! One way to ask an HTTP source: deadline, careful retries, bounded bodies, and errors that never hold a URL. What an answer
//! means is the business of the client of each source.

use std::time::Duration;

use reqwest::{Client, RequestBuilder, StatusCode, Url, header};

use super::{Found, ToolError, ToolOutput, headline::shorten};

/// Sources are asked to give up after this long, so that their own reason arrives before our deadline.
pub(super) const SERVER_LIMIT: Duration = Duration::from_secs(20);
const DEADLINE: Duration = Duration::from_secs(25);
const LONGEST_BODY: usize = 8 << 20;
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Longer queries go into a form body: proxies cut long addresses.
const LONGEST_ADDRESS: usize = 2000;

/// The client all sources share. Proxies of the environment are honoured.
pub fn http_client() -> Result<Client, reqwest::Error> {
    Client::builder()
        .connect_timeout(Duration::from_secs(5))
        .timeout(DEADLINE)
        .redirect(reqwest::redirect::Policy::limited(3))
        .user_agent(concat!("watchfloor/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// By what comes next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SourceError {
    /// Another question may work: the model is told.
    #[error("{0}")]
    Ask(String),
    /// No question will work now. That is a result: absence of data proves nothing.
    #[error("{0}")]
    Down(String),
}

impl SourceError {
    /// As a tool answers it.
    pub(super) fn into_result(self, source: &str) -> Result<ToolOutput, ToolError> {
        match self {
            Self::Ask(text) => Err(ToolError::TellModel(text)),
            Self::Down(why) => Ok(ToolOutput {
                text: format!(
                    "source down: {source} gave no answer ({why}). That there is no data here proves nothing; say that \
                     {source} could not be asked."
                ),
                found: Found::SourceDown,
            }),
        }
    }
}

/// A whole answer, whatever its status.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(super) struct Source {
    name: &'static str,
    client: Client,
    base: Url,
}

impl Source {
    pub(super) fn new(name: &'static str, client: Client, mut base: Url) -> Self {
        // Otherwise joining would replace the last part of a prefix such as `/prometheus`.
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        Self { name, client, base }
    }

    /// GET, or POST with a form where the parameters are long and the endpoint takes it.
    pub(super) async fn ask(
        &self,
        path: &str,
        parameters: &[(&str, String)],
        takes_form: bool,
    ) -> Result<Reply, SourceError> {
        let url =
            self.base.join(path).map_err(|_| SourceError::Down("its address in the configuration is wrong".into()))?;
        let long = parameters.iter().map(|(key, value)| key.len() + value.len() + 2).sum::<usize>() > LONGEST_ADDRESS;
        let request = || {
            if takes_form && long {
                self.client.post(url.clone()).form(parameters)
            } else {
                self.client.get(url.clone()).query(parameters)
            }
        };
        let mut waits = [Duration::from_millis(200), Duration::from_secs(1)].into_iter();
        loop {
            let outcome = self.once(request()).await;
            let wait = match &outcome {
                Attempt::Again { after, .. } => waits.next().map(|wait| after.unwrap_or(wait)),
                Attempt::Final(_) => None,
            };
            let result = match (outcome, wait) {
                (Attempt::Again { after: Some(asked), .. }, Some(_)) if asked > LONGEST_WAIT => {
                    return Err(SourceError::Down(format!("it asks to wait {} s", asked.as_secs())));
                }
                (Attempt::Again { .. }, Some(wait)) => {
                    tokio::time::sleep(wait).await;
                    continue;
                }
                (Attempt::Again { result, .. } | Attempt::Final(result), _) => result,
            };
            if let Err(error) = &result {
                tracing::debug!(source.name = self.name, %error, "a source gave no answer");
            }
            return result;
        }
    }

    async fn once(&self, request: RequestBuilder) -> Attempt {
        let mut response = match request.send().await {
            Ok(response) => response,
            Err(error) => {
                let again = error.is_connect() && !error.is_timeout();
                let result = Err(SourceError::Down(without_address(error)));
                return if again { Attempt::Again { after: None, result } } else { Attempt::Final(result) };
            }
        };
        let status = response.status();
        let after = response
            .headers()
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > LONGEST_BODY => {
                    return Attempt::Final(Err(SourceError::Ask(format!(
                        "the answer of {} is larger than 8 MiB: aggregate, narrow the selector or shorten the window",
                        self.name
                    ))));
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) => return Attempt::Final(Err(SourceError::Down(without_address(error)))),
            }
        }
        let reply = Reply { status, body };
        match status.as_u16() {
            429 => Attempt::Again {
                after: Some(after.unwrap_or(Duration::from_secs(1))),
                result: Err(SourceError::Down("it is throttling us (429)".into())),
            },
            // Prometheus says `timeout` with 503: asking the same again only adds to its load.
            502 => Attempt::Again { after: None, result: Ok(reply) },
            503 if !reply.is_json() => Attempt::Again { after: None, result: Ok(reply) },
            _ => Attempt::Final(Ok(reply)),
        }
    }
}

enum Attempt {
    Final(Result<Reply, SourceError>),
    /// May be repeated; `result` holds if it is not.
    Again {
        after: Option<Duration>,
        result: Result<Reply, SourceError>,
    },
}

impl Reply {
    pub(super) fn is_json(&self) -> bool {
        serde_json::from_slice::<serde::de::IgnoredAny>(&self.body).is_ok()
    }

    /// For an answer without the source's own error: it came from something in front, or from another kind of server.
    pub(super) fn stranger(&self) -> SourceError {
        let text = String::from_utf8_lossy(&self.body);
        let text = shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), 300);
        let said = if text.is_empty() { String::new() } else { format!(": {text}") };
        let status = self.status.as_u16();
        match status {
            401 | 403 => SourceError::Down(format!(
                "HTTP {status}, our credentials were refused; an operator must mend that, another query will not{said}"
            )),
            404 | 405 => SourceError::Down(format!(
                "HTTP {status}, this server has no such endpoint; the configured address may lack a path prefix{said}"
            )),
            400 | 413 | 414 | 422 => SourceError::Ask(format!("the query was refused with HTTP {status}{said}")),
            504 => SourceError::Ask(format!("the query took too long (HTTP 504): halve the window{said}")),
            200..=299 => SourceError::Down(format!("HTTP {status} with a body that is not the expected JSON{said}")),
            _ => SourceError::Down(format!("HTTP {status}{said}")),
        }
    }
}

/// reqwest prints the whole chain only in parts, and the address may hold a password.
fn without_address(error: reqwest::Error) -> String {
    let kind = if error.is_timeout() {
        "no answer in time"
    } else if error.is_connect() {
        "connection failed"
    } else {
        "the connection broke"
    };
    let error = error.without_url();
    let mut deepest: &dyn std::error::Error = &error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    format!("{kind}: {}", shorten(&super::redact(&deepest.to_string()), 200))
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use axum::{Router, http::Method, response::IntoResponse};

    use super::*;
    use crate::tools::testing::{Server, client};

    async fn counted(answers: Vec<(u16, &'static str)>) -> (Server, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let router = Router::new().fallback(move |method: Method| {
            let (status, body) = answers[count.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)];
            let status = StatusCode::from_u16(status).unwrap();
            async move { (status, [("retry-after", "0"), ("x-method", method.as_str())], body).into_response() }
        });
        (Server::start(router).await, asked)
    }

    #[tokio::test]
    async fn only_what_may_be_repeated_is_repeated() {
        for (answers, expected, times) in [
            (vec![(502, "bad gateway"), (200, "{}")], Ok(200), 2),
            (vec![(429, ""), (200, "{}")], Ok(200), 2),
            (vec![(503, r#"{"status":"error","errorType":"timeout"}"#), (200, "{}")], Ok(503), 1),
            (vec![(503, "not ready"), (503, "not ready"), (200, "{}")], Ok(200), 3),
            (vec![(400, "no"), (200, "{}")], Ok(400), 1),
            (vec![(500, "oops"), (200, "{}")], Ok(500), 1),
            (vec![(429, "")], Err(SourceError::Down("it is throttling us (429)".into())), 3),
        ] {
            let (server, asked) = counted(answers.clone()).await;
            let got = Source::new("Test", client(), server.url("")).ask("x", &[], true).await;
            assert_eq!(got.map(|reply| reply.status.as_u16()), expected, "{answers:?}");
            assert_eq!(asked.load(Ordering::SeqCst), times, "{answers:?}");
        }
    }

    #[tokio::test]
    async fn long_parameters_go_into_a_form_and_the_prefix_stays() {
        let router = Router::new().fallback(|method: Method, uri: axum::http::Uri, body: String| async move {
            format!("{method} {} {}", uri.path(), body.len() > 2000)
        });
        let server = Server::start(router).await;
        let source = Source::new("Test", client(), server.url("/prometheus"));
        for (length, form, expected) in [
            (10, true, "GET /prometheus/api/x false"),
            (2500, true, "POST /prometheus/api/x true"),
            (2500, false, "GET /prometheus/api/x false"),
        ] {
            let reply = source.ask("api/x", &[("query", "q".repeat(length))], form).await.unwrap();
            assert_eq!(String::from_utf8(reply.body).unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn user_and_password_of_the_address_are_sent_as_basic_auth() {
        let router = Router::new().fallback(|headers: axum::http::HeaderMap| async move {
            headers.get("authorization").map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
        });
        let server = Server::start(router).await;
        let mut url = server.url("");
        url.set_username("reader").unwrap();
        url.set_password(Some("word")).unwrap();
        let reply = Source::new("Test", client(), url).ask("x", &[], false).await.unwrap();
        assert_eq!(String::from_utf8(reply.body).unwrap(), "Basic cmVhZGVyOndvcmQ=");
    }

    #[tokio::test]
    async fn an_unreachable_source_is_told_without_its_address() {
        let mut url = Server::closed().await;
        url.set_username("canary-user").unwrap();
        url.set_password(Some("canary-word")).unwrap();
        let error =
            Source::new("Test", client(), url).ask("x", &[("query", "canary-query".into())], true).await.unwrap_err();
        let SourceError::Down(text) = &error else { panic!("{error:?}") };
        assert!(text.starts_with("connection failed: "), "{text}");
        assert!(!text.contains("canary") && !text.contains("http"), "{text}");
        let output = error.into_result("Test").unwrap();
        assert_eq!(output.found, Found::SourceDown);
        assert!(output.text.starts_with("source down: Test "), "{}", output.text);
    }

    #[test]
    fn what_stands_in_front_is_quoted_in_short() {
        let reply =
            Reply { status: StatusCode::BAD_GATEWAY, body: format!("<html>\n{}", "x".repeat(900)).into_bytes() };
        let SourceError::Down(text) = reply.stranger() else { panic!() };
        assert!(text.starts_with("HTTP 502: <html> xxx") && text.chars().count() <= 310, "{text}");
    }
}
