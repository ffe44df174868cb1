//! Every answer of the routes, asked through the router with a store in memory.

mod agents;
mod changes;
mod health;
mod webhooks;

use std::sync::Arc;

use axum::{
    body::{self, Body},
    http::{Request, StatusCode, header},
};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use watchfloor_channel::{ChannelState, Inbox};

use super::*;
use crate::{clock::FixedClock, store::ChangeRow};

/// 2026-11-30T03:12:00Z.
const NOW: i64 = 1_796_008_320_000;
const TOKEN: &str = "canary-token";

/// A server in a nutshell.
struct House {
    http: Http,
}

impl House {
    async fn new() -> Self {
        let store = Store::open("sqlite::memory:").await.unwrap();
        store.migrate().await.unwrap();
        let changes_token = Some(TOKEN.into());
        let webhooks = Webhooks::new([], Inbox::new(Arc::new(webhooks::Nobody)), CancellationToken::new());
        Self {
            http: Http {
                store,
                clock: FixedClock::at(NOW),
                channels: Arc::new([]),
                personas: agents::keeper().await,
                skills: Arc::new([]),
                door: Door::default(),
                changes_token,
                webhooks,
            },
        }
    }

    fn with_channels(mut self, channels: &[(&str, &'static str, ChannelState)]) -> Self {
        let channel = |(name, kind, state): &(&str, &'static str, ChannelState)| ChannelHealth {
            name: (*name).to_owned(),
            kind,
            state: watch::channel(state.clone()).1,
            figures: Figures::default(),
        };
        self.http.channels = channels.iter().map(channel).collect();
        self
    }

    async fn answer(&self, request: Request<Body>) -> Answer {
        let response = routes(self.http.clone()).oneshot(request).await.unwrap();
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_owned();
        let status = response.status();
        let bytes = body::to_bytes(response.into_body(), 4 << 20).await.unwrap();
        Answer { status, kind, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    async fn get(&self, path: &str) -> Answer {
        self.answer(Request::get(path).body(Body::empty()).unwrap()).await
    }

    /// A change with the right token.
    async fn send(&self, body: impl Into<Body>) -> Answer {
        self.send_as(Some(&format!("Bearer {TOKEN}")), body).await
    }

    async fn send_as(&self, authorization: Option<&str>, body: impl Into<Body>) -> Answer {
        let mut request = Request::post("/api/v1/hooks/changes");
        if let Some(authorization) = authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        self.answer(request.body(body.into()).unwrap()).await
    }
}

#[derive(Debug)]
struct Answer {
    status: StatusCode,
    kind: String,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Its code, and the field if one is named. Checks what all problems have in common.
    fn problem(&self) -> (u16, String, Option<String>) {
        assert_eq!(self.kind, "application/problem+json", "{self:?}");
        assert!(!self.text.contains(TOKEN), "{self:?}");
        let value = self.json();
        assert_eq!(value["status"], self.status.as_u16());
        assert!(value["detail"].as_str().is_some_and(|detail| detail.len() > 10), "{self:?}");
        let word = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        (self.status.as_u16(), word("code").unwrap_or_default(), word("field"))
    }
}

#[tokio::test]
async fn what_is_not_there_is_answered_with_a_problem_too() {
    let house = House::new().await;
    assert_eq!(house.get("/nowhere").await.problem(), (404, "not_found".into(), None));
    assert_eq!(house.get("/api/v1/hooks/changes").await.problem(), (405, "method".into(), None));
}
