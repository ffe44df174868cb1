//! Updates: confirmed by offset, brought again otherwise, one poller or one webhook.

use std::time::Duration;

use axum::{Router, extract::State, http::HeaderMap, routing::post};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use watchfloor_sim::telegram::{ALICE, OPS, TelegramConfig, TelegramSim, WebhookAnswer};

use crate::telegram_support::{Bot, telegram, telegram_with};

fn texts(updates: &Value) -> Vec<&str> {
    updates.as_array().unwrap().iter().map(|update| update["message"]["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_offset_confirms_what_lies_below_and_the_rest_comes_again() {
    let (sim, bot) = telegram().await;
    for text in ["one", "two", "three"] {
        sim.say(ALICE, OPS, text).await;
    }
    let all = bot.ok("getUpdates", json!({})).await;
    assert_eq!(texts(&all), ["one", "two", "three"]);
    let first = all[0]["update_id"].as_i64().unwrap();
    assert_eq!([&all[1]["update_id"], &all[2]["update_id"]], [&json!(first + 1), &json!(first + 2)]);
    assert_eq!(texts(&bot.ok("GETUPDATES", json!({"limit": 2})).await), ["one", "two"]);
    let rest = bot.ok("getUpdates", json!({"offset": first + 1})).await;
    assert_eq!(texts(&rest), ["two", "three"]);
    assert_eq!(sim.unread().len(), 2);
    assert_eq!(texts(&bot.ok("getUpdates", json!({"offset": -1})).await), ["three"]);
    assert_eq!(bot.ok("getUpdates", json!({"offset": first + 3})).await, json!([]));
    sim.heard().await;

    sim.redeliver();
    assert_eq!(texts(&bot.ok("getUpdates", json!({"offset": first + 3})).await), ["three"]);
    assert_eq!(bot.ok("getUpdates", json!({"offset": first + 3})).await, json!([]));
    sim.stop().await;
}

#[tokio::test]
async fn a_long_poll_ends_with_the_next_update_and_a_newer_poll_ends_it_with_a_conflict() {
    let (sim, bot) = telegram().await;
    let poll = json!({"timeout": 30});
    let (came, _) = tokio::join!(bot.ok("getUpdates", poll.clone()), async {
        sim.wait_for_calls("getUpdates", 1).await;
        sim.say(ALICE, OPS, "now").await
    });
    assert_eq!(texts(&came), ["now"]);
    let poll = json!({"timeout": 30, "offset": came[0]["update_id"].as_i64().unwrap() + 1});
    let other = Bot::of(&sim);
    let (old, new) = tokio::join!(bot.refused("getUpdates", poll.clone()), async {
        sim.wait_for_calls("getUpdates", 2).await;
        other.ok("getUpdates", json!({"timeout": 0})).await
    });
    assert_eq!(new, json!([]));
    assert!(old.starts_with("409 Conflict: terminated by other getUpdates request"), "{old}");
    sim.conflict(1);
    assert_eq!(bot.refused("getUpdates", json!({})).await, old);
    assert_eq!(bot.ok("getUpdates", json!({})).await, json!([]));
}

#[tokio::test]
async fn the_wanted_kinds_are_remembered() {
    let (sim, mut bot) = telegram().await;
    let hers = sim.say(ALICE, OPS, "hello").await;
    bot.ok("getUpdates", json!({"allowed_updates": ["edited_message"], "offset": -1})).await;
    bot.updates().await;
    sim.say(ALICE, OPS, "not wanted").await;
    sim.edit(ALICE, OPS, hers, "hello!").await;
    let kinds: Vec<_> = bot.updates().await.iter().map(|update| update["edited_message"]["text"].clone()).collect();
    assert_eq!(kinds, ["hello!"]);
    let id = sim.raw(json!({"purchased_paid_media": {}})).await;
    assert_eq!(bot.updates().await, [json!({"purchased_paid_media": {}, "update_id": id})]);
}

#[tokio::test]
async fn a_press_is_lost_when_nobody_fetches_it_in_time() {
    let config = TelegramConfig { press_lifetime: Duration::ZERO, ..TelegramConfig::default() };
    let (sim, mut bot) = telegram_with(config).await;
    let ours = bot.say(OPS, "Approve?").await;
    let query = sim.press(ALICE, OPS, ours, "a:1").await;
    assert_eq!(bot.updates().await, [json!(null); 0]);
    let late = "400 Bad Request: query is too old and response timeout expired or query ID is invalid";
    assert_eq!(bot.refused("answerCallbackQuery", json!({"callback_query_id": query})).await, late);
}

/// A webhook that answers with these statuses, then with 200, and hands over what it gets.
async fn webhook(statuses: &[u16]) -> (String, mpsc::Receiver<(Option<String>, Value)>) {
    let (tell, told) = mpsc::channel(100);
    let statuses = std::sync::Arc::new(std::sync::Mutex::new(statuses.to_vec()));
    let take = |State((statuses, tell)): State<(std::sync::Arc<std::sync::Mutex<Vec<u16>>>, mpsc::Sender<_>)>,
                headers: HeaderMap,
                body: axum::Json<Value>| async move {
        let secret = headers.get("x-telegram-bot-api-secret-token").map(|value| value.to_str().unwrap().to_owned());
        tell.send((secret, body.0)).await.unwrap();
        let status = statuses.lock().unwrap().pop().unwrap_or(200);
        axum::http::StatusCode::from_u16(status).unwrap()
    };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let router = Router::new().route("/hook", post(take)).with_state((statuses, tell));
    #[expect(clippy::disallowed_methods, reason = "ends with the test's runtime")]
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, told)
}

async fn hooked(sim: &TelegramSim, bot: &Bot, url: &str) {
    let args = json!({"url": url, "secret_token": "s3cret_-", "max_connections": 1, "allowed_updates": ["message"]});
    assert_eq!(bot.ok("setWebhook", args).await, json!(true));
    assert_eq!(sim.calls("setWebhook").len(), 1);
}

#[tokio::test]
async fn a_webhook_gets_each_update_with_its_secret_until_it_accepts_it() {
    let config = TelegramConfig { webhook_retry: Duration::from_millis(20), ..TelegramConfig::default() };
    let (sim, bot) = telegram_with(config).await;
    let (url, mut told) = webhook(&[500]).await;
    hooked(&sim, &bot, &url).await;
    sim.say(ALICE, OPS, "one").await;
    for _ in 0..2 {
        let (secret, update) = told.recv().await.unwrap();
        assert_eq!((secret.as_deref(), &update["message"]["text"]), (Some("s3cret_-"), &json!("one")));
    }
    let answers = sim.wait_for_webhook_answers(2).await;
    let seen: Vec<_> = answers.iter().map(|WebhookAnswer { attempt, status, .. }| (*attempt, *status)).collect();
    assert_eq!(seen, [(0, Some(500)), (1, Some(200))]);
    sim.heard().await;
    let info = bot.ok("getWebhookInfo", json!({})).await;
    assert_eq!(info["last_error_message"], "Wrong response from the webhook: 500");
    assert_eq!(
        [&info["url"], &info["pending_update_count"], &info["max_connections"]],
        [&json!(url), &json!(0), &json!(1)]
    );

    let refused = bot.refused("getUpdates", json!({})).await;
    assert!(refused.starts_with("409 Conflict: can't use getUpdates method while webhook is active"), "{refused}");
    bot.ok("deleteWebhook", json!({})).await;
    sim.say(ALICE, OPS, "two").await;
    assert_eq!(texts(&bot.ok("getUpdates", json!({})).await), ["two"]);
    sim.stop().await;
}

#[tokio::test]
async fn setting_a_webhook_ends_the_open_poll() {
    let (sim, bot) = telegram().await;
    let (url, _told) = webhook(&[]).await;
    let (poll, ()) = tokio::join!(bot.refused("getUpdates", json!({"timeout": 30})), async {
        sim.wait_for_calls("getUpdates", 1).await;
        hooked(&sim, &bot, &url).await;
    });
    assert_eq!(poll, "409 Conflict: terminated by setWebhook request");
    let far = json!({"url": "https://example.org/hook"});
    assert_eq!(
        bot.refused("setWebhook", far).await,
        "400 Bad Request: bad webhook: Failed to resolve host: Name or service not known"
    );
    let odd = json!({"url": url, "secret_token": "not allowed"});
    assert_eq!(bot.refused("setWebhook", odd).await, "400 Bad Request: secret token contains unallowed characters");
}
