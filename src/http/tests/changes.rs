//! `/api/v1/hooks/changes`.

use super::*;
use crate::store::ChangeQuery;

impl House {
    /// All that was ever kept, newest first.
    async fn kept(&self) -> Vec<ChangeRow> {
        let all = ChangeQuery { since: i64::MIN, until: i64::MAX, service: None, limit: 5000 };
        self.http.store.changes().query(all).await.unwrap()
    }
}

#[tokio::test]
async fn without_a_token_in_the_configuration_the_intake_is_closed() {
    let mut house = House::new().await;
    house.http.changes_token = None;
    for authorization in [None, Some("Bearer "), Some("Bearer canary-token")] {
        let answer = house.send_as(authorization, r#"{"kind": "deploy", "title": "x"}"#).await;
        assert_eq!(answer.problem(), (403, "closed".into(), None));
        assert!(answer.text.contains("hooks.changes_token"), "{answer:?}");
    }
    assert_eq!(house.kept().await, []);
}

#[tokio::test]
async fn nobody_gets_in_without_the_right_token() {
    let house = House::new().await;
    let wrong = [
        None,
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer canary-toke"),
        Some("Bearer canary-token2"),
        Some("Basic canary-token"),
        Some("canary-token"),
    ];
    for authorization in wrong {
        let answer = house.send_as(authorization, r#"{"kind": "deploy", "title": "x"}"#).await;
        assert_eq!(answer.problem(), (401, "unauthorized".into(), None), "{authorization:?}");
    }
    assert_eq!(house.kept().await, []);
}

#[tokio::test]
async fn a_stranger_learns_nothing_about_the_body() {
    let house = House::new().await;
    let large = vec![b' '; intake::BODY_BYTES + 1];
    assert_eq!(house.send_as(Some("Bearer no"), large).await.problem(), (401, "unauthorized".into(), None));
}

#[tokio::test]
async fn one_change_is_kept_as_it_was_sent() {
    let house = House::new().await;
    let answer = house
        .send_as(
            Some(&format!("bearer {TOKEN}")),
            json!({
                "time": "2026-11-30T03:00:00+01:00",
                "kind": "deploy",
                "title": "order-api v2.41.0",
                "service": "order-api",
                "author": "Priya",
                "url": "https://deploys.example/1841",
                "details": "DB_POOL_MAX 40 -> 20",
            })
            .to_string(),
        )
        .await;
    let kept = house.kept().await;
    assert_eq!((answer.status, answer.json()), (StatusCode::ACCEPTED, json!({"ids": [kept[0].id]})));
    assert_eq!(
        kept,
        [ChangeRow {
            id: kept[0].id.clone(),
            time: NOW - 72 * 60_000,
            kind: "deploy".into(),
            title: "order-api v2.41.0".into(),
            service: Some("order-api".into()),
            author: Some("Priya".into()),
            url: Some("https://deploys.example/1841".into()),
            details: Some("DB_POOL_MAX 40 -> 20".into()),
            received_at: NOW,
        }]
    );
}

#[tokio::test]
async fn what_is_not_said_is_now_and_nothing() {
    let house = House::new().await;
    let sent = json!({"kind": "flag", "title": " new checkout on ", "time": null, "service": "", "details": null});
    assert_eq!(house.send(sent.to_string()).await.status, StatusCode::ACCEPTED);
    let kept = house.kept().await;
    assert_eq!(
        kept,
        [ChangeRow {
            id: kept[0].id.clone(),
            time: NOW,
            kind: "flag".into(),
            title: "new checkout on".into(),
            service: None,
            author: None,
            url: None,
            details: None,
            received_at: NOW,
        }]
    );
}

#[tokio::test]
async fn the_ids_of_a_list_come_in_its_order() {
    let house = House::new().await;
    let titles: Vec<String> = (0..50).map(|number| format!("change {number}")).collect();
    let sent: Vec<Value> = titles.iter().map(|title| json!({"kind": "deploy", "title": title})).collect();
    let answer = house.send(Value::from(sent).to_string()).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    let kept = house.kept().await;
    let title_of = |id: &Value| kept.iter().find(|row| row.id == id.as_str().unwrap()).map(|row| row.title.clone());
    let found: Vec<_> = answer.json()["ids"].as_array().unwrap().iter().map(title_of).collect();
    assert_eq!(found, titles.into_iter().map(Some).collect::<Vec<_>>());
    assert_eq!(kept.len(), 50);
}

#[tokio::test]
async fn an_empty_list_is_taken_and_holds_nothing() {
    let house = House::new().await;
    let answer = house.send("[]").await;
    assert_eq!((answer.status, answer.json()), (StatusCode::ACCEPTED, json!({"ids": []})));
    assert_eq!(house.kept().await, []);
}

#[tokio::test]
async fn details_that_are_not_a_text_are_kept_as_json() {
    let house = House::new().await;
    let sent = json!({"kind": "config", "title": "pool", "details": {"from": 40, "to": [20]}});
    assert_eq!(house.send(sent.to_string()).await.status, StatusCode::ACCEPTED);
    assert_eq!(house.kept().await[0].details.as_deref(), Some(r#"{"from":40,"to":[20]}"#));
}

#[tokio::test]
async fn a_mistake_is_named_with_its_event_and_field_and_nothing_is_kept() {
    let house = House::new().await;
    let good = json!({"kind": "deploy", "title": "good"});
    let long = |length: usize| "x".repeat(length);
    let table = [
        ("{".to_owned(), "bad_json", None),
        (String::new(), "bad_json", None),
        ("\"deploy\"".to_owned(), "bad_json", Some("[0]")),
        (json!({"kind": "deploy"}).to_string(), "bad_json", Some("[0]")),
        (json!([good, {"kind": "deploy", "title": "x", "servcie": "y"}]).to_string(), "bad_json", Some("[1]")),
        (json!([good, 7]).to_string(), "bad_json", Some("[1]")),
        (json!([good, {"kind": 1, "title": "x"}]).to_string(), "bad_json", Some("[1]")),
        (json!([{"kind": " ", "title": "x"}, good]).to_string(), "bad_field", Some("[0].kind")),
        (json!({"kind": "deploy", "title": ""}).to_string(), "bad_field", Some("[0].title")),
        (json!({"kind": "deploy", "title": long(501)}).to_string(), "bad_field", Some("[0].title")),
        (
            json!([good, {"kind": "deploy", "title": "x", "time": "yesterday"}]).to_string(),
            "bad_field",
            Some("[1].time"),
        ),
        (
            json!({"kind": "deploy", "title": "x", "time": "2026-11-30 03:12"}).to_string(),
            "bad_field",
            Some("[0].time"),
        ),
        (json!({"kind": "deploy", "title": "x", "url": long(2001)}).to_string(), "bad_field", Some("[0].url")),
        (
            json!({"kind": "deploy", "title": "x", "details": long(20_001)}).to_string(),
            "bad_field",
            Some("[0].details"),
        ),
    ];
    for (sent, code, field) in table {
        let answer = house.send(sent.clone()).await;
        assert_eq!(answer.problem(), (400, code.into(), field.map(str::to_owned)), "{sent:.200}");
    }
    assert_eq!(house.kept().await, []);
}

#[tokio::test]
async fn an_unknown_key_is_named_with_the_known_ones() {
    let answer = House::new().await.send(r#"{"kind": "deploy", "title": "x", "servcie": "y"}"#).await;
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("`servcie`") && detail.contains("`service`"), "{detail}");
}

#[tokio::test]
async fn too_much_at_once_is_refused() {
    let house = House::new().await;
    let many: Vec<Value> = (0..1001).map(|_| json!({"kind": "deploy", "title": "x"})).collect();
    assert_eq!(house.send(Value::from(many).to_string()).await.problem(), (413, "too_many".into(), None));
    let large = vec![b' '; intake::BODY_BYTES + 1];
    assert_eq!(house.send(large).await.problem(), (413, "too_large".into(), None));
    assert_eq!(house.kept().await, []);
}

#[tokio::test]
async fn a_sender_is_told_to_try_again_when_the_store_is_away() {
    let house = House::new().await;
    house.http.store.close().await;
    let answer = house.send(r#"{"kind": "deploy", "title": "x"}"#).await;
    assert_eq!(answer.problem(), (503, "store".into(), None));
}
