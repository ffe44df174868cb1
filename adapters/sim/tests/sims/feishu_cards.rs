//! Cards: what can't be built, what may be updated, and what a click brings.

use std::time::Duration;

use serde_json::{Value, json};
use watchfloor_sim::feishu::{ALICE, FeishuConfig, FeishuSim, GROUP};

use crate::feishu::{Api, Connection, card, message, post, quick, sent, tenant, to};

fn with(elements: Value) -> Value {
    json!({"schema": "2.0", "config": {"update_multi": true}, "body": {"elements": elements}})
}

fn markdown(text: &str) -> Value {
    json!({"tag": "markdown", "content": text})
}

/// `count` tables of one row.
fn tables(count: usize) -> String {
    vec!["| a | b |\n|---|---|\n| 1 | 2 |"; count].join("\n\n")
}

#[tokio::test]
async fn a_card_that_cannot_be_built_names_what_is_wrong_with_it() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    let mut deep = markdown("x");
    for _ in 0..5 {
        deep = json!({"tag": "collapsible_panel", "elements": [deep]});
    }
    let mut surplus = card("x");
    surplus["colour"] = "red".into();
    let twice = json!({"tag": "markdown", "element_id": "a", "content": "x"});
    for (content, sub_code) in [
        (card("fine"), None),
        (json!({"elements": [{"tag": "markdown", "content": "a card of 1.0"}]}), None),
        (json!("no object"), Some("200621")),
        (surplus, Some("200621")),
        (json!({"schema": "2.0", "elements": []}), Some("200621")),
        (with(json!([{"tag": "note", "elements": []}])), Some("200861")),
        (with(json!([{"tag": "action", "actions": []}])), Some("200861")),
        (with(vec![markdown("x"); 200].into()), None),
        (with(vec![markdown("x"); 201].into()), Some("11310")),
        (with(json!([markdown(&tables(4))])), None),
        (with(json!([markdown(&tables(5))])), Some("11310")),
        (with(json!([markdown(&tables(3)), markdown(&tables(3))])), Some("11310")),
        (with(json!([markdown(&format!("```\n{}\n```", tables(9)))])), None),
        (with(json!([twice, twice])), Some("300301")),
        (with(json!([{"tag": "markdown", "element_id": "1st", "content": "x"}])), Some("200621")),
        (with(json!([markdown("<at id=ou_alice></at> look")])), None),
        (with(json!([markdown("<at id=ou_nobody></at> look")])), Some("100290")),
        (with(json!([{"tag": "img", "img_key": "img_of_somebody_else"}])), Some("200570")),
        (with(json!([deep])), Some("200621")),
    ] {
        let (_, answer) = api.call("POST", &to(), sent(GROUP, "interactive", &content)).await;
        let msg = answer["msg"].as_str().unwrap();
        let seen =
            (answer["code"] == 230_099).then(|| msg.split("ErrCode: ").nth(1).unwrap().split(';').next().unwrap());
        assert_eq!(seen, sub_code, "{answer} for {content}");
        assert_eq!(answer["code"] == 0, sub_code.is_none(), "{answer}");
    }
}

#[tokio::test]
async fn a_card_is_updated_if_it_is_shared_before_and_after_and_young_enough() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    let (id, a_post) = (api.send("interactive", &card("1")).await, api.send("post", &post("1")).await);
    let mut private = card("2");
    private["config"]["update_multi"] = false.into();
    assert_eq!(api.patch(&id, &card("2")).await, 0);
    assert_eq!(api.patch(&id, &private).await, 230_001);
    assert_eq!(api.patch(&id, &with(json!([{"tag": "note"}]))).await, 230_099);
    assert_eq!(api.patch(&a_post, &card("2")).await, 230_001);
    let own = api.send("interactive", &private).await;
    assert_eq!(api.patch(&own, &card("2")).await, 230_001);
    for text in ["3", "4", "5"].iter().cycle().take(30) {
        assert_eq!(api.patch(&id, &card(text)).await, 0, "there is no cap");
    }
    assert_eq!(feishu.message(&id).text(), "5");
    feishu.age_message(&id, Duration::from_secs(15 * 86_400));
    assert_eq!(api.patch(&id, &card("6")).await, 230_031);
    assert_eq!(api.patch(&own, &card("6")).await, 230_001);
}

#[tokio::test]
async fn the_sixth_update_of_a_card_within_a_second_is_too_fast() {
    let feishu = FeishuSim::start(FeishuConfig { enforce_rates: true, ..quick() }).await.unwrap();
    let api = Api::of(&feishu).await;
    let id = api.send("interactive", &card("0")).await;
    // Far more than five a second, however slow the machine.
    let updates = (0..12).map(|number| {
        let (api, id) = (&api, &id);
        async move { api.patch(id, &card(&number.to_string())).await }
    });
    let codes = futures::future::join_all(updates).await;
    assert!(codes.contains(&230_020), "{codes:?}");
}

fn asking() -> Value {
    let button = |label: &str| {
        json!({"tag": "button", "text": {"tag": "plain_text", "content": label},
            "behaviors": [{"type": "callback", "value": {"decision": label}}]})
    };
    with(json!([markdown("Shall I?"), button("yes"), button("no")]))
}

#[tokio::test]
async fn a_click_is_answered_over_the_connection_with_a_toast_and_a_new_card() {
    for card_frames in [false, true] {
        let feishu = tenant().await;
        feishu.card_frames(card_frames);
        let api = Api::of(&feishu).await;
        let id = api.send("interactive", &asking()).await;
        let mut link = Connection::open(&feishu).await;
        let value = json!({"decision": "yes"});
        let answering = async {
            let frame = link.frame().await.unwrap();
            let event = frame.json();
            let toast = json!({"toast": {"type": "success", "content": "Done."},
                "card": {"type": "raw", "data": card("It was allowed.")}});
            use base64::{Engine, prelude::BASE64_STANDARD};
            let data = BASE64_STANDARD.encode(toast.to_string());
            link.send(&frame.ack(&json!({"code": 200, "data": data}))).await;
            (frame.header("type").to_owned(), event)
        };
        let (pressed, (kind, event)) = tokio::join!(feishu.press(ALICE, &id, &value), answering);
        assert_eq!((pressed.toast(), pressed.error), (Some("Done."), None));
        assert_eq!(kind, if card_frames { "card" } else { "event" });
        assert_eq!(event["header"]["event_type"], "card.action.trigger");
        assert_eq!(event["header"]["create_time"].as_str().unwrap().len(), 16);
        let event = &event["event"];
        assert_eq!(
            (&event["operator"]["open_id"], &event["action"]["value"], &event["context"]["open_message_id"]),
            (&json!(ALICE), &value, &json!(id))
        );
        assert_eq!((feishu.message(&id).text(), feishu.complaints()), ("It was allowed.".to_owned(), vec![]));
    }
}

#[tokio::test]
async fn a_click_without_a_good_answer_shows_an_error_and_does_not_come_again() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    let id = api.send("interactive", &asking()).await;
    let value = json!({"decision": "no"});
    assert_eq!(feishu.press(ALICE, &id, &value).await.error, Some(200_342));
    let mut link = Connection::open(&feishu).await;
    assert_eq!(feishu.press(ALICE, &id, &value).await.error, Some(200_341));
    let late = link.frame().await.unwrap();
    link.send(&late.ack(&json!({"code": 200}))).await;
    let answering = async {
        let frame = link.frame().await.unwrap();
        link.send(&frame.ack(&json!({"code": 200, "data": "not base64!"}))).await;
        frame
    };
    let stale = json!("stale");
    let (pressed, next) = tokio::join!(feishu.press_gone(ALICE, &id, &stale), answering);
    assert_eq!((pressed.error, &next.json()["event"]["action"]["value"]), (Some(200_672), &json!("stale")));
    assert_eq!(feishu.lost(), [""; 0]);
    assert_eq!(api.code("DELETE", &message(&id), Value::Null).await, 0);
}
