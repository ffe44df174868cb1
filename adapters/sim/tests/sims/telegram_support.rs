//! A bare bot: calls methods, and polls with the offset that confirms what it has seen.

use reqwest::Response;
use serde_json::{Value, json};
use watchfloor_sim::telegram::{BOT_TOKEN, TelegramConfig, TelegramSim};

use crate::support::http;

pub(crate) struct Bot {
    http: reqwest::Client,
    base: String,
    offset: u64,
}

pub(crate) async fn telegram() -> (TelegramSim, Bot) {
    telegram_with(TelegramConfig::default()).await
}

pub(crate) async fn telegram_with(config: TelegramConfig) -> (TelegramSim, Bot) {
    let sim = TelegramSim::start(config).await.unwrap();
    let bot = Bot::of(&sim);
    (sim, bot)
}

impl Bot {
    pub(crate) fn of(sim: &TelegramSim) -> Self {
        Self { http: http(), base: format!("{}/bot{BOT_TOKEN}/", sim.api_url()), offset: 0 }
    }

    pub(crate) async fn send(&self, method: &str, args: Value) -> Result<Response, reqwest::Error> {
        self.http.post(format!("{}{method}", self.base)).json(&args).send().await
    }

    /// Status and body.
    pub(crate) async fn call(&self, method: &str, args: Value) -> (u16, Value) {
        let answer = self.send(method, args).await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// The result of a call that succeeds.
    pub(crate) async fn ok(&self, method: &str, args: Value) -> Value {
        let (status, body) = self.call(method, args).await;
        assert_eq!((status, &body["ok"]), (200, &json!(true)), "{method}: {body}");
        body["result"].clone()
    }

    /// Code and description of a call that fails.
    pub(crate) async fn refused(&self, method: &str, args: Value) -> String {
        let (status, body) = self.call(method, args).await;
        assert_eq!((&body["ok"], &body["error_code"]), (&json!(false), &json!(status)), "{method}: {body}");
        format!("{status} {}", body["description"].as_str().unwrap())
    }

    /// Sends a text and returns the id of the message.
    pub(crate) async fn say(&self, chat: i64, text: &str) -> i64 {
        self.ok("sendMessage", json!({"chat_id": chat, "text": text})).await["message_id"].as_i64().unwrap()
    }

    /// What is waiting. The next call confirms it.
    pub(crate) async fn updates(&mut self) -> Vec<Value> {
        let updates = self.ok("getUpdates", json!({"offset": self.offset})).await;
        let updates = updates.as_array().unwrap().clone();
        if let Some(last) = updates.last() {
            self.offset = last["update_id"].as_u64().unwrap() + 1;
        }
        updates
    }

    /// The messages that are waiting.
    pub(crate) async fn messages(&mut self) -> Vec<Value> {
        self.updates().await.iter().map(|update| update["message"].clone()).collect()
    }
}
