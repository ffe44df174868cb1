//! Requests that the official clients were asked to judge. The values of the single parts are tested beside them.

use std::sync::Arc;

use axum::{Json, Router, routing::any};
use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{ChannelAdapter, ChannelId, ChannelState, Inbox, Now, ShortMemory};
use watchfloor_feishu::{FeishuAdapter, FeishuConfig, Transport};

use crate::desk::Desk;

const APP: &str = "cli_a000000000000001";
const SENT: i64 = 1_767_225_601;

/// A Feishu that only says who the bot is.
async fn feishu(tasks: &mut JoinSet<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = json!({"code": 0, "tenant_access_token": "t-example", "expire": 7200,
        "bot": {"open_id": "ou_000000000000000000000000000000b0", "app_name": "Incident Bot", "activate_status": 2}});
    let router = Router::new().fallback(any(async move || Json(answer.clone())));
    tasks.spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

#[tokio::test]
async fn requests_are_judged_as_official_clients_judge_them() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let vectors: Value = serde_json::from_str(include_str!("../vectors.json")).unwrap();
    let vectors = vectors["webhook_requests"].as_array().unwrap();
    assert_eq!(vectors.len(), 8);
    let mut tasks = JoinSet::new();
    let url = feishu(&mut tasks).await;
    for vector in vectors {
        let text = |key: &str| vector[key].as_str().unwrap();
        let secret = |key: &str| Some(text(key)).filter(|secret| !secret.is_empty()).map(Into::into);
        let transport =
            Transport::Webhook { verification_token: secret("verification_token"), encrypt_key: secret("encrypt_key") };
        let (id, notes, now) = (ChannelId::new("feishu"), Arc::new(ShortMemory::default()), Now::new(|| SENT * 1000));
        let config =
            FeishuConfig::new(id, APP.into(), "example-app-secret".into(), url.parse().unwrap(), transport, notes, now);
        let adapter = Arc::new(FeishuAdapter::new(config).unwrap());
        let (desk, stop) = (Arc::new(Desk::default()), CancellationToken::new());
        let (inbox, mut receiving) = (Inbox::new(desk.clone()), JoinSet::new());
        receiving.spawn({
            let (adapter, inbox, stop) = (adapter.clone(), inbox.clone(), stop.clone());
            async move { adapter.receive(inbox, stop).await }
        });
        let mut state = adapter.state();
        state.wait_for(|state| *state == ChannelState::Connected).await.unwrap();
        let mut request = Request::post("/").header("Content-Type", "application/json");
        for (name, value) in vector["headers"].as_object().unwrap() {
            request = request.header(name, value.as_str().unwrap());
        }
        let body = Bytes::from(text("body").to_owned());
        let answer = adapter.webhook(request.body(body).unwrap(), &inbox).await;
        let (status, name) = (answer.status().as_u16(), text("name"));
        match text("expect") {
            "accept" => {
                assert_eq!((status, desk.so_far()), (200, 1), "{name}");
                let said = desk.texts(1).await.remove(0);
                assert_eq!(said, "数据库延迟升高 🚨 \"p99\" > 2s?\nline two", "{name}");
            }
            "refuse" => assert_eq!((status, desk.so_far()), (401, 0), "{name}"),
            "answer the challenge" => {
                let answer: Value = serde_json::from_slice(answer.body()).unwrap();
                let wanted: Value = serde_json::from_str(text("sdk_body")).unwrap();
                assert_eq!((status, answer), (200, wanted), "{name}");
            }
            other => panic!("{name} expects {other}"),
        }
        stop.cancel();
        receiving.join_all().await;
    }
}
