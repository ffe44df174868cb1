//! Updates as requests: who is believed, and what each is answered.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Bytes, to_bytes},
    extract::Request,
    response::Response,
};
use http::StatusCode;
use serde_json::json;
use tokio::{net::TcpListener, task::JoinSet};
use watchfloor_channel::{ChannelAdapter, ChannelState, Inbox};
use watchfloor_sim::telegram::{self, ALICE, Fault, OPS};
use watchfloor_telegram::{Intake, TelegramAdapter};

use crate::desk::{Bot, Desk, world};

const SECRET: &str = "example_secret-0123456789";

fn request(secret: Option<&str>, body: impl Into<Bytes>) -> http::Request<Bytes> {
    let mut request = http::Request::post("/").header("content-type", "application/json");
    if let Some(secret) = secret {
        request = request.header("X-Telegram-Bot-Api-Secret-Token", secret);
    }
    request.body(body.into()).unwrap()
}

async fn asked(bot: &Bot, request: http::Request<Bytes>) -> StatusCode {
    bot.adapter.webhook(request, &Inbox::new(bot.desk.clone())).await.status()
}

fn update(message: i32, text: &str) -> String {
    json!({"update_id": message, "message": {"message_id": message, "from": {"id": ALICE, "first_name": "Alice"},
        "chat": {"id": ALICE, "type": "private"}, "date": 1_767_225_700, "text": text}})
    .to_string()
}

/// Not told to Telegram: the test makes the requests.
async fn listening() -> Bot {
    Bot::connected(world(), |config| {
        config.intake = Intake::Webhook { secret_token: SECRET.into(), url: None };
        config.gather = Duration::from_millis(100);
    })
    .await
}

/// Telegram knows the address and delivers to it.
async fn delivering(world: telegram::TelegramConfig) -> (Bot, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/channels/telegram/events", listener.local_addr().unwrap());
    let mut bot = Bot::idle(world, |config| {
        let url = Some(url.parse().unwrap());
        config.intake = Intake::Webhook { secret_token: SECRET.into(), url };
        config.gather = Duration::from_millis(300);
    })
    .await;
    let mut serving = JoinSet::new();
    serve(&mut serving, listener, bot.adapter.clone(), bot.desk.clone());
    bot.start();
    bot.state(|state| *state == ChannelState::Connected).await;
    (bot, serving)
}

fn serve(serving: &mut JoinSet<()>, listener: TcpListener, adapter: Arc<TelegramAdapter>, desk: Arc<Desk>) {
    let router = Router::new().fallback(async move |request: Request| -> Response {
        let (head, body) = request.into_parts();
        let body: Bytes = to_bytes(body, 1 << 24).await.unwrap();
        let inbox = Inbox::new(desk.clone());
        adapter.webhook(http::Request::from_parts(head, body), &inbox).await.map(axum::body::Body::from)
    });
    serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
}

#[tokio::test]
async fn what_a_request_is_answered() {
    let bot = listening().await;
    let good = update(1, "why?");
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(10_000_000));
    for (secret, body, wanted) in [
        (None, good.clone().into_bytes(), 401),
        (Some(""), good.clone().into_bytes(), 401),
        (Some("example_secret-012345678"), good.clone().into_bytes(), 401),
        (Some("example_secret-0123456788"), good.clone().into_bytes(), 401),
        (Some(SECRET), b"not json".to_vec(), 400),
        (Some(SECRET), b"[]".to_vec(), 400),
        (Some(SECRET), Vec::new(), 400),
        (Some(SECRET), b"{\"update_id\":1,\"message\":{\"text\":\"\xff\xfe\"}}".to_vec(), 400),
        (Some(SECRET), long.into_bytes(), 413),
    ] {
        let words = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        assert_eq!(asked(&bot, request(secret, body)).await.as_u16(), wanted, "{secret:?} {words}");
    }
    assert_eq!(bot.figure("refused_requests"), 9);
    for body in
        [r#"{"update_id":2,"poll":{}}"#, r#"{"update_id":3}"#, "{}", r#"{"update_id":4,"shape_of_next_year":7}"#]
    {
        assert_eq!(asked(&bot, request(Some(SECRET), body)).await, StatusCode::OK, "{body}");
    }
    assert_eq!(asked(&bot, request(Some(SECRET), good)).await, StatusCode::OK);
    assert_eq!(bot.desk.texts(1).await, ["why?"]);
    assert_eq!(bot.figure("updates_set_aside"), 0);
}

#[tokio::test]
async fn what_always_fails_is_set_aside_and_accepted() {
    let bot = listening().await;
    for body in [update(1, "boom"), r#"{"update_id":2,"message":7}"#.to_owned()] {
        assert_eq!(asked(&bot, request(Some(SECRET), body)).await, StatusCode::OK);
    }
    assert_eq!(bot.figure("updates_set_aside"), 2);
}

#[tokio::test]
async fn nobody_is_let_in_before_the_start_and_after_the_stop() {
    let mut bot = Bot::idle(world(), |config| {
        config.intake = Intake::Webhook { secret_token: SECRET.into(), url: None };
    })
    .await;
    assert_eq!(asked(&bot, request(Some(SECRET), update(1, "why?"))).await, StatusCode::SERVICE_UNAVAILABLE);
    bot.start();
    bot.state(|state| *state == ChannelState::Connected).await;
    assert_eq!(asked(&bot, request(Some(SECRET), update(1, "why?"))).await, StatusCode::OK);
    bot.stop.cancel();
    bot.ended().await.unwrap();
    assert_eq!(asked(&bot, request(Some(SECRET), update(2, "why?"))).await, StatusCode::SERVICE_UNAVAILABLE);
    let polling = Bot::connected(world(), |_| {}).await;
    assert_eq!(asked(&polling, request(Some(SECRET), update(1, "why?"))).await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn telegram_is_told_our_address_and_delivers_there() {
    let (bot, _serving) = delivering(world()).await;
    let set = &bot.telegram.calls("setWebhook")[0].args;
    assert_eq!(set["secret_token"], SECRET);
    assert_eq!(set["allowed_updates"], json!(["message", "edited_message", "callback_query", "my_chat_member"]));
    bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    assert_eq!(bot.desk.texts(1).await, ["why?"]);
    bot.telegram.heard().await;
    assert!(bot.telegram.calls("getUpdates").is_empty());
}

#[tokio::test]
async fn telling_our_address_is_repeated_until_telegram_has_it() {
    let elsewhere = json!({"ok": true, "result": {"url": "https://example.org/", "pending_update_count": 0}});
    for (method, fault) in [
        ("setWebhook", Fault::HtmlPage(502)),
        ("setWebhook", Fault::retry_after(1)),
        ("getWebhookInfo", Fault::Garbage),
        ("getWebhookInfo", Fault::Answer(200, elsewhere)),
    ] {
        let mut bot = Bot::idle(world(), |config| {
            let url = Some("http://127.0.0.1:9/events".parse().unwrap());
            config.intake = Intake::Webhook { secret_token: SECRET.into(), url };
        })
        .await;
        bot.telegram.fault(method, fault);
        bot.start();
        bot.state(|state| matches!(state, ChannelState::Disconnected(_))).await;
        bot.state(|state| *state == ChannelState::Connected).await;
        assert_eq!(bot.telegram.calls("setWebhook").len(), 2, "{method}");
    }
    let mut bot = Bot::idle(world(), |config| {
        config.intake = Intake::Webhook { secret_token: SECRET.into(), url: None };
    })
    .await;
    bot.telegram.revoke_token();
    bot.start();
    assert!(bot.ended().await.is_err());
}

#[tokio::test]
async fn an_update_that_the_store_refuses_is_brought_again() {
    let world = telegram::TelegramConfig { webhook_retry: Duration::from_millis(20), ..world() };
    let (bot, _serving) = delivering(world).await;
    bot.desk.refuse(2);
    bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    let answers = bot.telegram.wait_for_webhook_answers(3).await;
    assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [Some(503), Some(503), Some(200)]);
    assert_eq!(bot.desk.texts(3).await, ["why?", "why?", "why?"]);
}

#[tokio::test]
async fn the_pieces_of_a_paste_come_together_from_several_requests() {
    let (bot, _serving) = delivering(world()).await;
    let long = format!("@ops_bot {}", "line of a log\n".repeat(700));
    let pieces = bot.telegram.paste(ALICE, OPS, &long).await;
    bot.telegram.heard().await;
    let came = bot.desk.inbound(1).await;
    assert_eq!((pieces.len() > 2, came.len()), (true, 1));
    assert_eq!(came[0].text.matches("line of a log").count(), 700);
    assert_eq!(came[0].message_key, format!("{OPS}/{}", pieces[0]));
}

#[tokio::test]
async fn a_webhook_that_somebody_takes_away_shows_in_health() {
    let (bot, _serving) = delivering(world()).await;
    for (url, word) in [("https://example.org/", "another address"), ("", "no address")] {
        let info = json!({"ok": true, "result": {"url": url, "pending_update_count": 0}});
        bot.telegram.fault_times("getWebhookInfo", Fault::Answer(200, info), 2);
        let state = bot.state(|state| matches!(state, ChannelState::Degraded(_))).await;
        assert!(format!("{state:?}").contains(word), "{state:?}");
        bot.state(|state| *state == ChannelState::Connected).await;
    }
    assert_eq!(bot.telegram.calls("setWebhook").len(), 1, "nobody fights over it");
    bot.telegram.revoke_token();
    bot.state(|state| matches!(state, ChannelState::Off(_))).await;
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_store_that_hangs() {
    let mut bot = listening().await;
    bot.desk.hold("xxx");
    let (adapter, desk) = (bot.adapter.clone(), bot.desk.clone());
    let asking = async {
        let request = request(Some(SECRET), update(1, &"x".repeat(4_000)));
        adapter.webhook(request, &Inbox::new(desk.clone())).await.status()
    };
    let stopping = async {
        desk.inbound(1).await;
        bot.stop.cancel();
        bot.ended().await.unwrap();
    };
    let (answer, ()) = tokio::join!(asking, stopping);
    assert_eq!(answer, StatusCode::SERVICE_UNAVAILABLE, "Telegram brings it again");
}

#[tokio::test]
async fn a_press_is_answered_at_once() {
    let (bot, _serving) = delivering(world()).await;
    let sent = bot.post(OPS, "", "Restart?").await.unwrap();
    let press = bot.telegram.press(ALICE, OPS, crate::desk::number(&sent), "a:r7").await;
    let answer = bot.telegram.wait_for_answer(&press).await;
    assert!(format!("{answer:?}").contains("Click"), "{answer:?}");
}
