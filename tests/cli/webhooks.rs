//! What anybody can send to the addresses where the three platforms knock: each gets the platform's own status, it is counted,
//! it is logged once, and nothing else happens.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection, Row, SqliteConnection};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use watchfloor::clock::{Clock, SystemClock};
use watchfloor_sim::{
    FeishuSim, ModelSim, SlackSim, TelegramSim,
    feishu::{self, FeishuConfig},
    model::{ModelScript, Rule},
    slack,
    telegram::{self, OPS, TelegramConfig},
};

use crate::{
    channels::workspace,
    process::{Serving, Watchfloor},
};

const PATIENCE: Duration = Duration::from_secs(20);
const SIGNING_SECRET: &str = "canary-signing-secret";
const SECRET_TOKEN: &str = "canary-secret-token";
/// No event of a platform is so long.
const ENDLESS: usize = 10 << 20;

struct House {
    slack: SlackSim,
    telegram: TelegramSim,
    feishu: FeishuSim,
    model: ModelSim,
    serving: Serving,
}

impl House {
    /// All three platforms send requests; Feishu's are encrypted if there is a key.
    async fn new(encrypt_key: &str) -> Self {
        let slack = workspace().await;
        let telegram = TelegramSim::start(TelegramConfig::default()).await.unwrap();
        let key = Some(encrypt_key.to_owned()).filter(|key| !key.is_empty());
        let feishu = FeishuSim::start(FeishuConfig { encrypt_key: key, ..FeishuConfig::default() }).await.unwrap();
        let rules = vec![Rule::reply("Because.")];
        let model = ModelSim::start(ModelScript { rules, ..ModelScript::default() }).await.unwrap();
        let file = format!(
            r#"
[models]
default = "openai/story"
[models.providers.openai]
base_url = "{model}"
api_key = "{model_key}"
[[channels]]
kind = "slack"
mode = "events"
bot_token = "{slack_token}"
signing_secret = "{SIGNING_SECRET}"
api_url = "{slack}"
allow_rooms = ["*"]
[[channels]]
kind = "telegram"
mode = "webhook"
bot_token = "{telegram_token}"
secret_token = "{SECRET_TOKEN}"
api_url = "{telegram}"
allow_rooms = ["*"]
[[channels]]
kind = "feishu"
mode = "webhook"
app_id = "{app_id}"
app_secret = "{app_secret}"
verification_token = "{verification_token}"
encrypt_key = "{encrypt_key}"
base_url = "{feishu}"
allow_rooms = ["*"]
"#,
            model = model.base_url(),
            model_key = watchfloor_sim::model::API_KEY,
            slack_token = slack::BOT_TOKEN,
            slack = slack.api_url(),
            telegram_token = telegram::BOT_TOKEN,
            telegram = telegram.api_url(),
            app_id = feishu::APP_ID,
            app_secret = feishu::APP_SECRET,
            verification_token = feishu::VERIFICATION_TOKEN,
            feishu = feishu.base_url(),
        );
        let mut serving = Watchfloor::new().file(&file).env("WATCHFLOOR_LOG", "trace").serve().await;
        for name in ["slack", "telegram", "feishu"] {
            serving.line(&format!("{name}: connected")).await;
        }
        Self { slack, telegram, feishu, model, serving }
    }

    fn url(&self, name: &str) -> String {
        format!("http://{}/channels/{name}/events", self.serving.address())
    }

    async fn figures(&self, name: &str) -> Value {
        let (_, health) = self.serving.ready().await;
        let channel = health["channels"].as_array().unwrap().iter().find(|channel| channel["name"] == name);
        let mut figures = channel.unwrap()["figures"].clone();
        // How long ago, and how many calls: not what this is about.
        for other in ["seconds_since_last_event", "calls_this_month"] {
            figures.as_object_mut().unwrap().remove(other);
        }
        figures
    }

    /// The status of each request, and how often the log complains.
    async fn statuses(&self, name: &str, requests: &[Request]) -> Vec<u16> {
        let mut statuses = Vec::new();
        for request in requests {
            statuses.push(request.send(self.serving.address(), name).await);
        }
        statuses
    }

    /// How many messages were ever taken.
    async fn taken(&self) -> i64 {
        let file = self.serving.home().join("data/store.db");
        let mut store = SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap();
        sqlx::query("SELECT count(*) FROM inbox").fetch_one(&mut store).await.unwrap().get(0)
    }

    async fn end(mut self) {
        self.serving.signal("TERM").await;
        assert_eq!(self.serving.ended().await, Some(0));
        let everything = self.serving.everything();
        for secret in [
            SIGNING_SECRET,
            SECRET_TOKEN,
            slack::BOT_TOKEN,
            telegram::BOT_TOKEN,
            feishu::APP_SECRET,
            feishu::VERIFICATION_TOKEN,
            feishu::ENCRYPT_KEY,
        ] {
            let line = everything.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{secret} was written");
        }
    }
}

#[derive(Clone)]
struct Request {
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Request {
    fn new(body: impl Into<Vec<u8>>) -> Self {
        Self { headers: vec![("content-type", "application/json".to_owned())], body: body.into() }
    }

    fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// As Slack signs, so many seconds ago.
    fn of_slack(body: impl Into<Vec<u8>>, secret: &str, ago: i64) -> Self {
        let (request, at) = (Self::new(body), (now() - ago).to_string());
        let signature = slack::sign(secret, &at, &request.body);
        request.header("x-slack-signature", signature).header("x-slack-request-timestamp", at)
    }

    fn of_telegram(body: impl Into<Vec<u8>>, secret: &str) -> Self {
        Self::new(body).header("x-telegram-bot-api-secret-token", secret)
    }

    /// As Feishu signs, so many seconds ago.
    fn of_feishu(body: impl Into<Vec<u8>>, key: &str, ago: i64) -> Self {
        let (request, at) = (Self::new(body), (now() - ago).to_string());
        let signature = feishu::sign(&at, "nonce", key, &request.body);
        let request = request.header("x-lark-request-timestamp", at).header("x-lark-request-nonce", "nonce");
        request.header("x-lark-signature", signature)
    }

    /// The status alone. Whoever refuses a body may close before it is read; the answer has to arrive all the same.
    async fn send(&self, address: &str, name: &str) -> u16 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut head = format!(
            "POST /channels/{name}/events HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n",
            self.body.len()
        );
        for (header, value) in &self.headers {
            head += &format!("{header}: {value}\r\n");
        }
        head += "\r\n";
        let (mut reading, mut writing) = stream.split();
        let write = async {
            if writing.write_all(head.as_bytes()).await.is_ok() {
                let _ = writing.write_all(&self.body).await;
            }
        };
        let mut answer = Vec::new();
        let read = reading.read_to_end(&mut answer);
        let (_, _) = timeout(PATIENCE, async { tokio::join!(write, read) }).await.unwrap();
        let line = String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned();
        line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("no answer: {line:?}"))
    }
}

fn now() -> i64 {
    SystemClock.now_ms() / 1000
}

fn encrypted(key: &str, body: &str) -> String {
    json!({"encrypt": feishu::encrypt(key, [7; 16], body.as_bytes())}).to_string()
}

/// JSON that isn't, bytes that are no text, and something that is no object.
fn unreadable() -> [Vec<u8>; 3] {
    [b"{\"type\":".to_vec(), vec![b'"', 0xff, 0xfe, b'"'], b"[]".to_vec()]
}

fn slack_mention() -> String {
    json!({"type": "event_callback", "team_id": slack::TEAM_ID, "api_app_id": slack::APP_ID, "event_id": "Ev1",
        "event": {"type": "app_mention", "user": "U0MAYA", "text": "<@U0BOT> why?", "ts": format!("{}.000200", now()),
            "channel": "C0OPS", "team": slack::TEAM_ID}})
    .to_string()
}

fn telegram_mention() -> String {
    json!({"update_id": 1, "message": {"message_id": 501, "from": {"id": telegram::ALICE, "first_name": "Alice"},
        "chat": {"id": OPS, "type": "supergroup", "title": "Ops"}, "date": now(), "text": "@ops_bot why?",
        "entities": [{"type": "mention", "offset": 0, "length": 8}]}})
    .to_string()
}

fn feishu_mention(token: &str) -> String {
    json!({"schema": "2.0", "header": {"event_id": "ev1", "event_type": "im.message.receive_v1", "token": token,
            "app_id": feishu::APP_ID, "tenant_key": feishu::TENANT_KEY, "create_time": (now() * 1000).to_string()},
        "event": {"sender": {"sender_id": {"open_id": feishu::ALICE}, "sender_type": "user",
                "tenant_key": feishu::TENANT_KEY},
            "message": {"message_id": "om_forged", "chat_id": feishu::GROUP, "chat_type": "group", "message_type": "text",
                "create_time": (now() * 1000).to_string(), "content": "{\"text\":\"@_user_1 why?\"}",
                "mentions": [{"key": "@_user_1", "id": {"open_id": feishu::BOT_OPEN_ID}, "name": "watchfloor"}]}}})
    .to_string()
}

#[tokio::test]
async fn what_is_not_a_platforms_own_is_refused_counted_and_logged_once() {
    let house = House::new(feishu::ENCRYPT_KEY).await;

    let mut bad: Vec<_> = unreadable().map(|body| Request::of_slack(body, SIGNING_SECRET, 0)).into();
    bad.extend([
        Request::of_slack(slack_mention(), "somebody-elses", 0),
        Request::of_slack(slack_mention(), SIGNING_SECRET, 360),
        Request::new(slack_mention()),
        Request::new(json!({"type": "url_verification", "challenge": "c"}).to_string()),
        Request::new(vec![b' '; ENDLESS]),
    ]);
    assert_eq!(house.statuses("slack", &bad).await, [400, 400, 400, 401, 401, 401, 401, 413]);
    assert_eq!(house.figures("slack").await, json!({"refused_requests": 7, "unread_bodies": 1}));

    let mut bad: Vec<_> = unreadable().map(|body| Request::of_telegram(body, SECRET_TOKEN)).into();
    bad.extend([
        Request::of_telegram(telegram_mention(), "somebody-elses"),
        Request::of_telegram(telegram_mention(), ""),
        Request::new(telegram_mention()),
        Request::of_telegram(vec![b' '; ENDLESS], SECRET_TOKEN),
    ]);
    assert_eq!(house.statuses("telegram", &bad).await, [400, 400, 400, 401, 401, 401, 413]);
    let figures = json!({"refused_requests": 6, "unread_bodies": 1, "updates_set_aside": 0});
    assert_eq!(house.figures("telegram").await, figures);

    let key = feishu::ENCRYPT_KEY;
    let (mention, hours) = (encrypted(key, &feishu_mention(feishu::VERIFICATION_TOKEN)), 3_600);
    let mut bad: Vec<_> = unreadable().map(|body| Request::of_feishu(body, key, 0)).into();
    bad.extend([
        Request::of_feishu(encrypted(key, "{\"schema\":"), key, 0),
        Request::of_feishu(mention.clone(), "somebody-elses", 0),
        Request::of_feishu(
            encrypted("somebody-elses", &feishu_mention(feishu::VERIFICATION_TOKEN)),
            "somebody-elses",
            0,
        ),
        Request::of_feishu(mention.clone(), key, 9 * hours),
        Request::new(mention),
        Request::of_feishu(feishu_mention(feishu::VERIFICATION_TOKEN), key, 0),
        Request::new(
            json!({"type": "url_verification", "challenge": "c", "token": feishu::VERIFICATION_TOKEN}).to_string(),
        ),
        Request::new(vec![b' '; ENDLESS]),
    ]);
    let statuses = [400, 400, 400, 400, 401, 401, 401, 401, 401, 401, 413];
    assert_eq!(house.statuses("feishu", &bad).await, statuses);
    let figures = json!({"refused_requests": 6, "unreadable_events": 4, "unread_bodies": 1});
    assert_eq!(house.figures("feishu").await, figures);

    for name in ["Slack", "Telegram", "Feishu"] {
        let lines = house.serving.logged(&format!("a request that claims to be {name}'s was refused"));
        assert_eq!(lines.len(), 1, "{lines:?}");
        let channel = format!("channel.id={}", name.to_lowercase());
        let unread = house.serving.logged("the body of a request was not read");
        assert_eq!(unread.iter().filter(|line| line.contains(&channel)).count(), 1, "{unread:?}");
    }
    assert_eq!((house.taken().await, house.model.requests()), (0, vec![]));

    // The doors are open to whom they belong.
    house.slack.subscribe(&house.url("slack"), SIGNING_SECRET).await.unwrap();
    house.feishu.subscribe(&house.url("feishu")).await.unwrap();
    house.slack.say("U0MAYA", "C0OPS", "<@U0BOT> why?").await;
    house.feishu.say(feishu::ALICE, feishu::GROUP, "@{ou_bot} why?").await;
    let update = Request::of_telegram(telegram_mention(), SECRET_TOKEN);
    assert_eq!(update.send(house.serving.address(), "telegram").await, 200);
    house.slack.wait_for_text(&house.slack.next_message("C0OPS").await.ts, |text| text == "Because.").await;
    house
        .feishu
        .wait_for_text(&house.feishu.next_message(feishu::GROUP).await.id, |text| text.contains("Because."))
        .await;
    house
        .telegram
        .wait_for_text(OPS, house.telegram.next_message(OPS).await.id, |text| text.contains("Because."))
        .await;
    assert_eq!(house.taken().await, 3);
    house.end().await;
}

#[tokio::test]
async fn without_encryption_the_token_is_what_feishu_is_known_by() {
    let house = House::new("").await;
    let check = |token: &str| json!({"type": "url_verification", "challenge": "c", "token": token}).to_string();
    let bad = [
        Request::new(check("somebody-elses")),
        Request::new(check("")),
        Request::new(feishu_mention("somebody-elses")),
        Request::new(encrypted("somebody-elses", &feishu_mention(feishu::VERIFICATION_TOKEN))),
        Request::new(b"{".to_vec()),
    ];
    assert_eq!(house.statuses("feishu", &bad).await, [401, 401, 401, 401, 400]);
    assert_eq!(house.figures("feishu").await, json!({"refused_requests": 4, "unreadable_events": 1}));
    assert_eq!(house.taken().await, 0);
    assert_eq!(house.statuses("feishu", &[Request::new(check(feishu::VERIFICATION_TOKEN))]).await, [200]);
    house.feishu.subscribe(&house.url("feishu")).await.unwrap();
    house.end().await;
}
