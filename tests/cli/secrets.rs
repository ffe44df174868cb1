//! Whatever goes wrong, no secret is written anywhere: not in the log at its loudest, not in the store, not in what health,
//! `doctor` and `config check` say, and not in what people read. Each secret holds the word CANARY, or is named one by one.

use std::path::Path;

use axum::{
    Router,
    extract::Request,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use watchfloor_sim::{
    FeishuSim, ModelSim, TelegramSim,
    feishu::{self, FeishuConfig},
    model::{ModelScript, Rule},
    slack,
    telegram::{self, OPS, SimFile, TelegramConfig},
};

use crate::{
    channels::workspace,
    process::{Ended, Serving, Watchfloor},
};

const CANARY: &str = "CANARY";
/// What stands at the addresses of the platforms instead of them.
const TROUBLES: [&str; 7] = ["redirect", "garbage", "page", "forbidden", "refused", "cut", "ticket"];

/// Repeats in each answer all that it was asked, as proxies like to do in their error pages.
async fn gateway(request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap_or_default();
    let echo = format!("{} {:?} {}", head.uri, head.headers, String::from_utf8_lossy(&body));
    let path = head.uri.path();
    match path.split('/').nth(1).unwrap_or_default() {
        "redirect" => {
            let to = [(header::LOCATION, format!("{}?again={}", head.uri, head.uri.path()))];
            (StatusCode::FOUND, to, echo).into_response()
        }
        "garbage" => ([(header::CONTENT_TYPE, "application/json")], format!("{{\"ok\":true,{echo}")).into_response(),
        "page" => (StatusCode::BAD_GATEWAY, format!("<html>no answer from {echo}</html>")).into_response(),
        "forbidden" => (StatusCode::FORBIDDEN, format!("<html>{echo}</html>")).into_response(),
        "refused" => {
            let refused = json!({"ok": false, "error": "invalid_auth", "error_code": 401, "description": "Unauthorized",
                "code": 10014, "msg": echo});
            (StatusCode::UNAUTHORIZED, axum::Json(refused)).into_response()
        }
        // All is well until the socket, whose address is a secret too.
        _ => axum::Json(ticket(path)).into_response(),
    }
}

fn ticket(path: &str) -> Value {
    let address = "ws://127.0.0.1:1/link?ticket=CANARY-ticket&access_key=CANARY&service_id=1&device_id=1";
    match path {
        path if path.ends_with("tenant_access_token/internal") => {
            json!({"code": 0, "tenant_access_token": "t-CANARY", "expire": 7200})
        }
        path if path.contains("bot/v3/info") => json!({"code": 0, "bot": {"open_id": "ou_bot", "app_name": "bot"}}),
        path if path.ends_with("ws/endpoint") => {
            json!({"code": 0, "data": {"URL": address, "ClientConfig": {"PingInterval": 120}}})
        }
        path if path.ends_with("auth.test") => json!({"ok": true, "user_id": "U0BOT", "bot_id": "B0", "team_id": "T0"}),
        path if path.ends_with("getMe") => {
            json!({"ok": true, "result": {"id": 6000, "is_bot": true, "first_name": "b", "username": "ops_bot"}})
        }
        _ => json!({"ok": true, "url": address, "result": "CANARY"}),
    }
}

/// Three channels, each with secrets of its own, at this address.
fn channels(number: usize, name: &str, url: &str) -> String {
    format!(
        r#"
[[channels]]
kind = "slack"
name = "slack-{name}"
app_token = "xapp-CANARY-{number}"
bot_token = "xoxb-CANARY-{number}"
api_url = "{url}/api/"
[[channels]]
kind = "telegram"
name = "telegram-{name}"
bot_token = "{number}7000:CANARY-of-a-token-that-is-long-enough"
api_url = "{url}"
[[channels]]
kind = "feishu"
name = "feishu-{name}"
app_id = "cli_510000000000000{number}"
app_secret = "CANARY-{number}"
verification_token = "CANARY-{number}"
encrypt_key = "CANARY-{number}"
base_url = "{url}"
"#
    )
}

fn count(bytes: &[u8], secret: &str) -> usize {
    bytes.windows(secret.len()).filter(|window| *window == secret.as_bytes()).count()
}

/// The bytes of every file of the store.
fn store(home: &Path) -> Vec<u8> {
    let files = std::fs::read_dir(home.join("data")).unwrap();
    files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

fn assert_unwritten(where_: &str, written: &str, secrets: &[String]) {
    for secret in secrets {
        let line = written.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} stands in {where_}");
    }
}

/// What the commands say of the same configuration.
async fn commands(text: &str) -> [Ended; 3] {
    let watchfloor = Watchfloor::new().file(text).env("WATCHFLOOR_LOG", "trace");
    let (doctor, json) = tokio::join!(watchfloor.run(&["doctor"]), watchfloor.run(&["doctor", "--json"]));
    [doctor, json, watchfloor.run(&["config", "check"]).await]
}

async fn end(mut serving: Serving) -> (String, Vec<u8>) {
    let (_, health) = serving.ready().await;
    serving.signal("TERM").await;
    assert_eq!(serving.ended().await, Some(0));
    (format!("{}\n{health}", serving.everything()), store(serving.home()))
}

#[tokio::test]
async fn b069_b070_what_stands_in_for_a_platform_learns_secrets_and_nobody_else_does() {
    let mut servers = JoinSet::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    servers.spawn(async move { drop(axum::serve(listener, Router::new().fallback(gateway)).await) });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let cut = listener.local_addr().unwrap();
    servers.spawn(async move { while listener.accept().await.is_ok() {} });
    let mut text = String::new();
    for (number, name) in TROUBLES.into_iter().enumerate() {
        let url = if name == "cut" { format!("http://{cut}") } else { format!("http://{address}/{name}") };
        text += &channels(number, name, &url);
    }
    text += &channels(8, "nobody", "http://127.0.0.1:1");

    let mut serving = Watchfloor::new().file(&text).env("WATCHFLOOR_LOG", "trace").serve().await;
    for name in TROUBLES.into_iter().chain(["nobody"]) {
        for kind in ["slack", "telegram", "feishu"] {
            // Telegram's stand-in is believed until it is asked for updates.
            serving.line(&format!("{kind}-{name}: ")).await;
        }
    }
    let (written, store) = end(serving).await;
    assert!(written.contains("Telegram is in trouble"), "{written}");
    assert_unwritten("the log or health", &written, &[CANARY.to_owned()]);
    assert_eq!(count(&store, CANARY), 0, "in the store");
    for ended in commands(&text).await {
        assert_unwritten("what a command says", &format!("{}\n{}", ended.out, ended.err), &[CANARY.to_owned()]);
    }
}

#[tokio::test]
async fn b069_b070_no_secret_is_written_by_a_service_that_works_and_stumbles() {
    let slack = workspace().await;
    let telegram = TelegramSim::start(TelegramConfig::default()).await.unwrap();
    let feishu = FeishuSim::start(FeishuConfig::default()).await.unwrap();
    let rules = vec![Rule::reply("Because.")];
    let model = ModelSim::start(ModelScript { rules, ..ModelScript::default() }).await.unwrap();
    let text = format!(
        r#"
[models]
default = "openai/story"
[models.providers.openai]
base_url = "{model}"
api_key = "{model_key}"
[hooks]
changes_token = "CANARY-changes"
[[server.tokens]]
name = "ops"
token = "CANARY-server"
role = "admin"
[[channels]]
kind = "slack"
app_token = "{app_token}"
bot_token = "{bot_token}"
api_url = "{slack}"
allow_rooms = ["*"]
[[channels]]
kind = "telegram"
bot_token = "{telegram_token}"
poll_timeout = "1s"
api_url = "{telegram}"
allow_rooms = ["*"]
[[channels]]
kind = "feishu"
app_id = "{app_id}"
app_secret = "{app_secret}"
base_url = "{feishu}"
allow_rooms = ["*"]
"#,
        model = model.base_url(),
        model_key = watchfloor_sim::model::API_KEY,
        app_token = slack::APP_TOKEN,
        bot_token = slack::BOT_TOKEN,
        slack = slack.api_url(),
        telegram_token = telegram::BOT_TOKEN,
        telegram = telegram.api_url(),
        app_id = feishu::APP_ID,
        app_secret = feishu::APP_SECRET,
        feishu = feishu.base_url(),
    );
    let mut serving = Watchfloor::new().file(&text).env("WATCHFLOOR_LOG", "trace").serve().await;
    for name in ["slack", "telegram", "feishu"] {
        serving.line(&format!("{name}: connected")).await;
    }
    slack.fault("chat.update", slack::Fault::HtmlPage(502));
    telegram.fault("editMessageText", telegram::Fault::HtmlPage(502));
    telegram.fault("getFile", telegram::Fault::Garbage);
    feishu.fault("edit", feishu::Fault::HtmlPage(502));
    feishu.expire_tokens();
    slack.say("U0MAYA", "C0OPS", "<@U0BOT> why?").await;
    telegram.attach(telegram::ALICE, OPS, SimFile::new("a.log", "text/plain", "an error"), "@ops_bot why?").await;
    feishu.say(feishu::ALICE, feishu::GROUP, "@{ou_bot} why?").await;
    slack.wait_for_text(&slack.next_message("C0OPS").await.ts, |text| text == "Because.").await;
    telegram.wait_for_text(OPS, telegram.next_message(OPS).await.id, |text| text.contains("Because.")).await;
    feishu.wait_for_text(&feishu.next_message(feishu::GROUP).await.id, |text| text.contains("Because.")).await;
    let said = json!({"kind": "deploy", "title": "x"});
    assert_eq!(serving.post_change("CANARY-wrong", &said).await.0, 401);
    assert_eq!(serving.post_change("CANARY-changes", &said).await.0, 202);
    slack.cut_connections();
    telegram.down(true);
    feishu.down(true);
    serving.line("telegram: disconnected").await;
    serving.line("feishu: disconnected").await;
    telegram.down(false);
    feishu.down(false);
    serving.line("telegram: connected again").await;
    serving.line("feishu: connected again").await;
    let found = commands(&text).await;
    telegram.revoke_token();
    serving.line("telegram: off").await;

    let answers = |calls: Vec<feishu::Call>| calls.into_iter().filter_map(|call| call.answer).collect::<Vec<_>>();
    let tokens = answers(feishu.calls("token"));
    let tokens = tokens.iter().filter_map(|answer| Some(answer["tenant_access_token"].as_str()?.to_owned()));
    let endpoints = answers(feishu.calls("endpoint"));
    let tickets =
        endpoints.iter().filter_map(|answer| Some(answer["data"]["URL"].as_str()?.split_once("ticket=")?.1.to_owned()));
    let secret_half = telegram::BOT_TOKEN.split_once(':').unwrap().1;
    let mut secrets: Vec<String> = [
        CANARY,
        watchfloor_sim::model::API_KEY,
        slack::APP_TOKEN,
        slack::BOT_TOKEN,
        "ticket=",
        secret_half,
        feishu::APP_SECRET,
    ]
    .map(str::to_owned)
    .into();
    secrets.extend(tokens.chain(tickets));
    assert!(secrets.len() >= 7 + 4, "{secrets:?}");

    let mut read = String::new();
    for message in slack.messages("C0OPS", None) {
        read += message.text();
    }
    for message in telegram.messages(OPS) {
        read += message.text();
    }
    for message in feishu.messages(feishu::GROUP) {
        read += &format!("{message:?}");
    }
    let (written, store) = end(serving).await;
    assert_unwritten("what people read", &read, &secrets);
    assert_unwritten("the log or health", &written, &secrets);
    for ended in found {
        assert_unwritten("what a command says", &format!("{}\n{}", ended.out, ended.err), &secrets);
    }
    for secret in &secrets {
        assert_eq!(count(&store, secret), 0, "{secret} is in the store");
    }
}
