//! Webhook requests: the address check, signatures and encryption, and what comes again.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use aes::cipher::{BlockModeDecrypt, KeyIvInit, block_padding::Pkcs7};
use axum::{
    Json, Router,
    body::{Bytes, to_bytes},
    extract::Request,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::{net::TcpListener, task::JoinSet};
use watchfloor_sim::feishu::{
    ALICE, ENCRYPT_KEY, FeishuConfig, FeishuSim, GROUP, HttpFault, MENTION, VERIFICATION_TOKEN,
};

use crate::feishu::{Api, quick};

type Came = Arc<Mutex<Vec<(HeaderMap, Bytes, Value)>>>;

/// A bot that takes requests down, gives challenges back, and answers each event as it is told.
struct Endpoint {
    url: String,
    came: Came,
    _serving: JoinSet<()>,
}

impl Endpoint {
    async fn start(answer: fn(usize) -> Response) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let came = Came::default();
        let (mut serving, taken) = (JoinSet::new(), came.clone());
        let router = Router::new().fallback(async move |request: Request| {
            let (head, body) = request.into_parts();
            let body = to_bytes(body, 1 << 20).await.unwrap();
            let json = opened(&body);
            let mut came = taken.lock().unwrap();
            came.push((head.headers, body, json.clone()));
            match json["type"].as_str() {
                Some("url_verification") => Json(json!({"challenge": json["challenge"]})).into_response(),
                _ => answer(came.len() - 2),
            }
        });
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, came, _serving: serving }
    }

    fn came(&self) -> Vec<(HeaderMap, Bytes, Value)> {
        self.came.lock().unwrap().clone()
    }
}

/// What is inside, encrypted or not.
fn opened(body: &[u8]) -> Value {
    let json: Value = serde_json::from_slice(body).unwrap();
    let Some(encrypted) = json["encrypt"].as_str() else { return json };
    let bytes = BASE64_STANDARD.decode(encrypted).unwrap();
    let (iv, text) = bytes.split_at(16);
    let key: [u8; 32] = Sha256::digest(ENCRYPT_KEY.as_bytes()).into();
    let iv: [u8; 16] = iv.try_into().unwrap();
    let cipher = cbc::Decryptor::<aes::Aes256>::new(&key.into(), &iv.into());
    serde_json::from_slice(&cipher.decrypt_padded_vec::<Pkcs7>(text).unwrap()).unwrap()
}

fn signature(headers: &HeaderMap, body: &[u8]) -> (String, String) {
    let header = |name: &str| headers[name].to_str().unwrap();
    let mut hash = Sha256::new();
    for part in [header("x-lark-request-timestamp"), header("x-lark-request-nonce"), ENCRYPT_KEY] {
        hash.update(part);
    }
    hash.update(body);
    let wanted: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    (header("x-lark-signature").to_owned(), wanted)
}

fn success(_: usize) -> Response {
    Json(json!({})).into_response()
}

#[tokio::test]
async fn the_address_is_checked_without_signature_and_events_come_signed_over_the_encrypted_body() {
    let endpoint = Endpoint::start(success).await;
    let feishu = FeishuSim::start(quick()).await.unwrap();
    feishu.subscribe(&endpoint.url).await.unwrap();
    let id = feishu.say(ALICE, GROUP, MENTION).await;
    feishu.heard().await;
    let came = endpoint.came();
    let (headers, body, check) = &came[0];
    assert!(!headers.contains_key("x-lark-signature") && body.starts_with(b"{\"encrypt\""));
    assert_eq!(check["token"], VERIFICATION_TOKEN);
    let (headers, body, event) = &came[1];
    let (signed, wanted) = signature(headers, body);
    assert_eq!((signed, event["header"]["token"].as_str()), (wanted, Some(VERIFICATION_TOKEN)));
    assert_eq!(event["event"]["message"]["message_id"], id.as_str());
}

#[tokio::test]
async fn without_a_key_there_is_neither_encryption_nor_signature() {
    let endpoint = Endpoint::start(success).await;
    let feishu = FeishuSim::start(FeishuConfig { encrypt_key: None, ..quick() }).await.unwrap();
    feishu.subscribe(&endpoint.url).await.unwrap();
    feishu.say(ALICE, GROUP, MENTION).await;
    feishu.heard().await;
    let came = endpoint.came();
    assert!(!came[1].0.contains_key("x-lark-signature"));
    assert_eq!(came[1].2["schema"], "2.0");
}

#[tokio::test]
async fn an_address_that_does_not_give_the_challenge_back_gets_nothing() {
    let feishu = FeishuSim::start(quick()).await.unwrap();
    assert!(feishu.subscribe("http://127.0.0.1:1/").await.is_err());
    let endpoint = Endpoint::start(success).await;
    feishu.http_fault(HttpFault::NeverArrives);
    assert!(feishu.subscribe(&endpoint.url).await.is_err());
    feishu.say(ALICE, GROUP, MENTION).await;
    feishu.wait_for_lost(1).await;
    assert_eq!(endpoint.came().len(), 0);
}

#[tokio::test]
async fn an_event_that_is_not_answered_with_200_comes_again() {
    let endpoint = Endpoint::start(|number| match number {
        0 => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        1 => StatusCode::ACCEPTED.into_response(),
        _ => success(number),
    })
    .await;
    let feishu = FeishuSim::start(quick()).await.unwrap();
    feishu.subscribe(&endpoint.url).await.unwrap();
    feishu.say(ALICE, GROUP, MENTION).await;
    let statuses: Vec<_> = feishu.wait_for_http_answers(3).await.iter().map(|a| (a.attempt, a.status)).collect();
    assert_eq!(statuses, [(0, 500), (1, 202), (2, 200)]);
    feishu.heard().await;
    assert_eq!((feishu.acks().len(), feishu.lost().len()), (1, 0));
    let came = endpoint.came();
    assert_eq!(came[1].2, came[3].2);
}

#[tokio::test]
async fn requests_go_wrong_as_they_are_told() {
    let endpoint = Endpoint::start(success).await;
    let feishu = FeishuSim::start(FeishuConfig { redeliver_after: vec![], ..quick() }).await.unwrap();
    feishu.subscribe(&endpoint.url).await.unwrap();
    let old = HttpFault::OldTimestamp(Duration::from_secs(3600));
    let faults = [HttpFault::BadSignature, HttpFault::NoSignature, HttpFault::Plain, HttpFault::WrongToken, old];
    for (at, fault) in faults.into_iter().enumerate() {
        feishu.http_fault(fault);
        feishu.say(ALICE, GROUP, MENTION).await;
        feishu.wait_for_http_answers(at + 1).await;
    }
    let came = endpoint.came();
    let (bad, wanted) = signature(&came[1].0, &came[1].1);
    assert_ne!(bad, wanted);
    assert!(!came[2].0.contains_key("x-lark-signature"));
    assert!(!came[3].1.starts_with(b"{\"encrypt\""));
    assert_eq!(came[4].2["header"]["token"], "somebody-elses-token");
    let (signed, wanted) = signature(&came[5].0, &came[5].1);
    assert_eq!(signed, wanted);
    let time = |at: usize| came[at].0["x-lark-request-timestamp"].to_str().unwrap().parse::<u64>().unwrap();
    assert!(time(4) - time(5) >= 3599);
}

#[tokio::test]
async fn a_click_comes_once_and_its_answer_is_shown() {
    let endpoint = Endpoint::start(|number| match number {
        0 => Json(json!({"toast": {"type": "info", "content": "No longer valid."}})).into_response(),
        1 => StatusCode::BAD_GATEWAY.into_response(),
        _ => "not JSON".into_response(),
    })
    .await;
    let feishu = FeishuSim::start(quick()).await.unwrap();
    feishu.subscribe(&endpoint.url).await.unwrap();
    let api = Api::of(&feishu).await;
    let button = json!({"tag": "button", "text": {"tag": "plain_text", "content": "stop"}, "value": "stop"});
    let card = json!({"schema": "2.0", "body": {"elements": [button]}});
    let id = api.send("interactive", &card).await;
    assert_eq!(feishu.buttons(&id), [("stop".to_owned(), json!("stop"))]);
    assert_eq!(feishu.press(ALICE, &id, &json!("stop")).await.toast(), Some("No longer valid."));
    assert_eq!(feishu.press(ALICE, &id, &json!("stop")).await.error, Some(200_671));
    assert_eq!(feishu.press(ALICE, &id, &json!("stop")).await.error, Some(200_672));
    assert_eq!(endpoint.came().len(), 4);
}
