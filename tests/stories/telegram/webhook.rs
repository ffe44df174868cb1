//! The same bot in webhook mode: Telegram is told the address, and every update comes as a request.

use std::time::Duration;

use serde_json::{Value, json};
use watchfloor::clock::{Clock, SystemClock};
use watchfloor_sim::telegram::{ALICE, BOB, OPS};

use super::{
    setting::{SECRET_TOKEN, Setting},
    stage::{POST, Stage},
};
use crate::stage::{PLACEHOLDER, by_step};

fn setting() -> Setting {
    Setting::default().rules(by_step()).webhook()
}

fn address(stage: &Stage) -> String {
    format!("{}/channels/telegram/events", stage.front.as_ref().unwrap().url)
}

fn mention(message: i64, text: &str) -> Value {
    json!({"message": {"message_id": message, "date": SystemClock.now_ms() / 1000,
        "from": {"id": ALICE, "is_bot": false, "first_name": "Alice"},
        "chat": {"id": OPS, "type": "supergroup", "title": "Ops"}, "text": format!("@ops_bot {text}"),
        "entities": [{"type": "mention", "offset": 0, "length": 8}]}})
}

async fn answered_once(stage: &Stage) {
    stage.idle().await;
    assert_eq!((stage.shown(OPS), stage.counted().await), (vec!["One.".to_owned()], (1, 1)));
    assert_eq!(stage.telegram.calls(POST).len(), 1);
}

#[tokio::test]
async fn telegram_is_told_the_address_and_a_mention_becomes_one_message_that_ends_as_the_answer() {
    let stage = setting().open().await;
    let told = stage.telegram.calls("setWebhook");
    assert_eq!((told.len(), &told[0].args["url"]), (1, &json!(address(&stage))));
    assert_eq!(told[0].args["secret_token"], SECRET_TOKEN);
    let question = stage.ask(ALICE, "why is it slow?").await;
    let answer = stage.answer_in(OPS).await;
    assert_eq!((answer.text(), answer.reply_to), ("One.", Some(question)));
    assert_eq!(stage.versions(OPS, answer.id), [PLACEHOLDER, "One."]);
    stage.reply(BOB, answer.id, "and since when?").await;
    assert_eq!(stage.answer().await, "Two.");
    let answers = stage.telegram.webhook_answers();
    assert!(answers.iter().all(|answer| (answer.status, answer.attempt) == (Some(200), 0)), "{answers:#?}");
    assert_eq!(stage.telegram.calls("getUpdates").len(), 0);
    stage.done().await;
}

#[tokio::test]
async fn b001_b002_b007_b010_copies_are_answered_once_during_and_after_the_answer_and_after_a_restart() {
    let stage = setting().open().await;
    stage.model.hold();
    let question = stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    // Confirmed while the model still thinks.
    stage.telegram.heard().await;
    stage.telegram.redeliver();
    for _ in 0..3 {
        // Under an id of its own.
        stage.telegram.raw(mention(question, "why is it slow?")).await;
    }
    stage.telegram.heard().await;
    stage.model.release();
    answered_once(&stage).await;
    stage.telegram.redeliver();
    answered_once(&stage).await;
    let stage = stage.restarted(Duration::from_secs(5)).await;
    stage.telegram.redeliver();
    stage.telegram.raw(mention(question, "why is it slow?")).await;
    answered_once(&stage).await;
    stage.done().await;
}

#[tokio::test]
async fn b001_b004_an_update_whose_first_request_gets_no_answer_is_answered_once() {
    let stage = setting()
        .telegram(|telegram| {
            telegram.webhook_deadline = Duration::from_secs(2);
            telegram.webhook_retry = Duration::from_millis(100);
        })
        .open()
        .await;
    let front = stage.front.as_ref().unwrap();
    front.leads_to(None);
    stage.ask(ALICE, "why is it slow?").await;
    let answers = stage.telegram.wait_for_webhook_answers(1).await;
    assert_eq!((answers[0].status, answers[0].attempt), (None, 0));
    // The first request arrives as well, when nobody waits for its answer any more.
    front.leads_to(Some(stage.app.address()));
    stage.placeholder().await;
    answered_once(&stage).await;
    stage.done().await;
}

#[tokio::test]
async fn b008_what_is_said_while_the_service_is_away_is_answered_when_it_is_back() {
    let stage = setting()
        .telegram(|telegram| {
            telegram.webhook_deadline = Duration::from_secs(2);
            telegram.webhook_retry = Duration::from_millis(100);
        })
        .open()
        .await;
    stage.front.as_ref().unwrap().leads_to(None);
    stage.ask(ALICE, "why is it slow?").await;
    let stage = stage.restarted(Duration::from_secs(5)).await;
    stage.placeholder().await;
    answered_once(&stage).await;
    stage.done().await;
}

#[tokio::test]
async fn a_request_without_the_secret_starts_nothing() {
    let stage = setting().open().await;
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(10)).build().unwrap();
    let forged = json!({"update_id": 7, "message": mention(7, "what are your alerts?")["message"]});
    for secret in [None, Some(""), Some("story-secret-toke"), Some("story-secret-token2")] {
        let mut request = client.post(address(&stage)).json(&forged);
        if let Some(secret) = secret {
            request = request.header("X-Telegram-Bot-Api-Secret-Token", secret);
        }
        assert_eq!(request.send().await.unwrap().status().as_u16(), 401, "{secret:?}");
    }
    stage.idle().await;
    assert_eq!((stage.shown(OPS), stage.counted().await), (vec![], (0, 0)));
    // And it isn't held against what Telegram brings under the same id.
    stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    answered_once(&stage).await;
    stage.done().await;
}
