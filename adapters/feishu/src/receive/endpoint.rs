//! Where the long connection is, how often to ping, and what a refusal means. The address holds a ticket: it is asked for
//! before every connect and shown to nobody.

use std::{fmt, time::Duration};

use http::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::{
    FeishuConfig,
    api::Api,
    call::{Call, Request},
    errors::CallError,
};

const PING: Duration = Duration::from_secs(120);
/// No interval is longer: a number beyond it is a mistake.
const LONGEST: Duration = Duration::from_secs(3600);
/// Between connects, where the server doesn't say.
const RECONNECT: Duration = Duration::from_secs(120);
/// What a pong may take.
const GRACE: Duration = Duration::from_secs(30);

/// Good for one connection. Never log it.
pub(super) struct Ticket {
    pub(super) url: SecretString,
    /// Goes into every control frame.
    pub(super) service: i32,
    /// The platform's name for the connection.
    pub(super) device: String,
    pub(super) pace: Pace,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("device", &self.device).field("pace", &self.pace).finish_non_exhaustive()
    }
}

/// How often to ping and to connect again, as the server wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) ping: Duration,
    /// After a lost connection we may come sooner, never later. `ReconnectNonce` asks for a first wait that ours stays below.
    pub(super) reconnect: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { ping: PING, reconnect: RECONNECT }
    }
}

impl Pace {
    /// What is missing or makes no sense leaves things as they are.
    pub(super) fn adopt(&mut self, client_config: &Value) {
        let interval = |name: &str| {
            let seconds = client_config.get(name).and_then(Value::as_i64);
            let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok()).filter(|seconds| *seconds > 0);
            seconds.map(|seconds| Duration::from_secs(seconds).min(LONGEST))
        };
        self.ping = interval("PingInterval").unwrap_or(self.ping);
        self.reconnect = interval("ReconnectInterval").unwrap_or(self.reconnect);
    }

    /// Longer silence means that the connection is dead.
    pub(super) fn deadline(&self, configured: Option<Duration>) -> Duration {
        configured.unwrap_or(self.ping + GRACE)
    }
}

/// Why there is no connection, named by when to try again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotOpened {
    Soon {
        why: String,
        at_least: Duration,
    },
    /// A person must act; then a slow retry is enough.
    Slowly(String),
}

impl NotOpened {
    pub(super) fn soon(why: impl Into<String>) -> Self {
        Self::Soon { why: why.into(), at_least: Duration::ZERO }
    }
}

#[derive(Deserialize)]
#[serde(default)]
struct Granted {
    #[serde(rename = "URL")]
    url: SecretString,
    #[serde(rename = "ClientConfig")]
    client_config: Value,
}

impl Default for Granted {
    fn default() -> Self {
        Self { url: SecretString::from(""), client_config: Value::Null }
    }
}

pub(super) async fn ask(api: &Api, config: &FeishuConfig) -> Result<Ticket, NotOpened> {
    let body = json!({"AppID": config.app_id, "AppSecret": config.app_secret.expose_secret()});
    let request = Request::to(["callback", "ws", "endpoint"]).json(body);
    match api.call(Call::Endpoint, request).await {
        Ok(granted) => ticket(granted),
        Err(error) => Err(refused(&error, &config.base_url)),
    }
}

fn ticket(granted: Granted) -> Result<Ticket, NotOpened> {
    let unusable = || NotOpened::soon("the address that Feishu gave is not usable");
    let url = Url::parse(granted.url.expose_secret()).map_err(|_| unusable())?;
    if !matches!(url.scheme(), "ws" | "wss") {
        return Err(unusable());
    }
    let query = |key: &str| url.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned());
    let mut pace = Pace::default();
    pace.adopt(&granted.client_config);
    Ok(Ticket {
        service: query("service_id").and_then(|id| id.parse().ok()).unwrap_or_default(),
        device: query("device_id").unwrap_or_default(),
        url: granted.url,
        pace,
    })
}

fn refused(error: &CallError, base: &Url) -> NotOpened {
    match error {
        CallError::RateLimited(wait) => NotOpened::Soon { why: "Feishu asks to wait".to_owned(), at_least: *wait },
        CallError::Refused(refusal) => match refusal.code.parse::<i64>() {
            Ok(code) => of_code(code, base),
            Err(_) => NotOpened::soon(refusal.remedy.clone()),
        },
        error => NotOpened::soon(error.to_string()),
    }
}

/// Of the discovery, or of the upgrade's headers.
fn of_code(code: i64, base: &Url) -> NotOpened {
    NotOpened::Slowly(match code {
        1 | 1_000_040_343 | 9_499 => return NotOpened::soon(format!("Feishu is busy ({code})")),
        1_000_040_350 => "Feishu counts too many long connections of this app (1000040350): another process may hold \
             them; stop it, or wait until those of a crashed one have aged out"
            .to_owned(),
        1_000_040_351 => {
            let (here, there) = hosts(base);
            format!(
                "{here} does not know this app (1000040351): apps of Feishu and of Lark live on different hosts; if \
                 this one was made at {there}, set base_url to it"
            )
        }
        514 | 1_000_040_344 | 10_003 | 10_014 | 10_015 => {
            format!("Feishu does not take app_id and app_secret ({code}): compare them with the console")
        }
        403 => "Feishu forbids this app long connections (403): is it a custom app, with events set to arrive by long \
             connection?"
            .to_owned(),
        code => format!("Feishu grants no long connection ({code}): look the code up in the console's help"),
    })
}

/// The one that is asked, and the other one.
pub(super) fn hosts(base: &Url) -> (&str, &'static str) {
    const FEISHU: &str = "https://open.feishu.cn";
    const LARK: &str = "https://open.larksuite.com";
    let here = base.host_str().unwrap_or("base_url");
    (
        here,
        if here.ends_with("feishu.cn") {
            LARK
        } else if here.ends_with("larksuite.com") {
            FEISHU
        } else {
            "open.feishu.cn or open.larksuite.com"
        },
    )
}

/// The upgrade was answered with something else. The reason stands in headers.
pub(super) fn upgrade(http: u16, headers: &HeaderMap, base: &Url) -> NotOpened {
    let number = |name| headers.get(name).and_then(|value| value.to_str().ok()?.trim().parse::<i64>().ok());
    match (number("handshake-status"), number("handshake-autherrcode")) {
        (Some(514), Some(code @ 1_000_040_350)) => of_code(code, base),
        (Some(code @ 403), _) => of_code(code, base),
        (Some(status), Some(code)) => NotOpened::soon(format!("the upgrade was refused ({status}, {code})")),
        (Some(status), None) => NotOpened::soon(format!("the upgrade was refused ({status})")),
        (None, _) => NotOpened::soon(format!("the upgrade was answered with HTTP {http}")),
    }
}

#[cfg(test)]
mod tests {
    use watchfloor_channel::RefusalKind;

    use super::{
        super::vectors::{one, text},
        *,
    };
    use crate::errors;

    fn base() -> Url {
        "https://open.feishu.cn".parse().unwrap()
    }

    /// As the call would tell it.
    fn asked(status: u64, response: &Value) -> Result<Ticket, NotOpened> {
        match response["code"].as_i64() {
            Some(0) => ticket(serde_json::from_value(response["data"].clone()).unwrap()),
            Some(code) => {
                let refusal = errors::refused(RefusalKind::Other, &code.to_string(), "no");
                Err(refused(&CallError::Refused(refusal), &base()))
            }
            None => Err(refused(&CallError::Unclear(format!("HTTP {status}")), &base())),
        }
    }

    /// Where they give up, ours goes on slowly.
    #[test]
    fn discovery_is_sorted_as_official_clients_sort_it() {
        for vector in one("connect")["endpoint"].as_array().unwrap() {
            let outcome = asked(vector["http_status"].as_u64().unwrap(), &vector["response"]);
            let retried = outcome.as_ref().err().map(|not| matches!(not, NotOpened::Soon { .. }));
            assert_eq!(retried, vector["retry"].as_bool(), "{}: {outcome:?}", text(vector, "name"));
            if let Ok(ticket) = outcome {
                assert_eq!((ticket.service, ticket.device.as_str(), ticket.pace), (7, "1234", Pace::default()));
            }
        }
    }

    #[test]
    fn a_refused_upgrade_is_sorted_as_official_clients_sort_it() {
        for vector in one("connect")["handshake"].as_array().unwrap() {
            let mut headers = HeaderMap::new();
            for (name, value) in vector["headers"].as_object().unwrap() {
                let name: http::HeaderName = name.parse().unwrap();
                headers.insert(name, value.as_str().unwrap().parse().unwrap());
            }
            let outcome = upgrade(400, &headers, &base());
            let retried = matches!(outcome, NotOpened::Soon { .. });
            assert_eq!(Some(retried), vector["retry"].as_bool(), "{}: {outcome:?}", text(vector, "name"));
        }
    }

    #[test]
    fn the_request_is_that_of_the_official_clients() {
        let wanted = &one("connect")["request"];
        assert_eq!(Call::Endpoint.method().as_str(), text(wanted, "method"));
        let url = Request::to(["callback", "ws", "endpoint"]).url(&base());
        assert_eq!(url.path(), text(wanted, "path"));
    }

    #[test]
    fn both_hosts_are_named_where_one_does_not_know_the_app() {
        for (base, other) in
            [("https://open.feishu.cn", "open.larksuite.com"), ("https://open.larksuite.com/", "open.feishu.cn")]
        {
            let NotOpened::Slowly(why) = of_code(1_000_040_351, &base.parse().unwrap()) else { panic!() };
            let host = base.trim_start_matches("https://").trim_end_matches('/');
            assert!(why.contains(host) && why.contains(other), "{why}");
        }
    }

    #[test]
    fn a_ping_interval_that_makes_no_sense_is_ignored() {
        let seconds = |pace: Pace| pace.ping.as_secs();
        let mut pace = Pace::default();
        for odd in [0, -5].map(|seconds| json!({"PingInterval": seconds})) {
            pace.adopt(&odd);
        }
        for odd in [json!({}), json!(null), json!({"PingInterval": "soon"}), json!({"PingInterval": null}), json!([])] {
            pace.adopt(&odd);
        }
        assert_eq!(seconds(pace), 120);
        pace.adopt(&json!({"PingInterval": i64::MAX}));
        assert_eq!(seconds(pace), 3600);
        assert_eq!(pace.deadline(None), Duration::from_secs(3630));
        assert_eq!(pace.deadline(Some(Duration::from_secs(5))), Duration::from_secs(5));
    }

    #[test]
    fn the_server_says_how_long_a_lost_connection_may_stay_lost() {
        let mut pace = Pace::default();
        for (seconds, expected) in [(0, 120), (-1, 120), (5, 5), (i64::MAX, 3600)] {
            pace.adopt(&json!({"ReconnectInterval": seconds}));
            assert_eq!(pace, Pace { ping: PING, reconnect: Duration::from_secs(expected) }, "{seconds}");
        }
    }

    /// An official client forgets what a partial configuration leaves out, another one then pings without a pause.
    #[test]
    fn a_pong_changes_what_it_names() {
        let after = one("pong_config");
        let mut pace = Pace::default();
        for key in ["after_pong_with_config", "after_pong_partial_config"] {
            pace.adopt(&after[key]);
            assert_eq!(Some(pace.ping.as_secs()), after[key]["PingInterval"].as_u64(), "{key}");
        }
    }

    #[test]
    fn a_ticket_is_not_shown() {
        let url = "wss://example.invalid/ws/v2?device_id=1&service_id=7&access_key=CANARY&ticket=CANARY";
        let ticket = ticket(Granted { url: url.into(), client_config: Value::Null }).unwrap();
        assert!(!format!("{ticket:?}").contains("CANARY"));
        for odd in ["", "CANARY", "https://example.invalid/CANARY", "wss://"] {
            let Err(not) = super::ticket(Granted { url: odd.into(), client_config: Value::Null }) else { panic!() };
            assert!(!format!("{not:?}").contains("CANARY"), "{odd}");
        }
    }
}
