//! The long connection: tickets, frames, pongs, who gets an event, and what an acknowledgement must look like.

use serde_json::json;
use watchfloor_sim::feishu::{ALICE, FeishuConfig, FeishuSim, GROUP, MENTION};

use crate::feishu::{Connection, Frame, quick, tenant};

#[tokio::test]
async fn a_mention_comes_with_placeholders_and_its_acknowledgement_is_accepted() {
    let feishu = tenant().await;
    let mut link = Connection::open(&feishu).await;
    let id = feishu.say(ALICE, GROUP, &format!("{MENTION} why? ask @{{ou_bob}}")).await;
    let frame = link.frame().await.unwrap();
    assert_eq!((frame.header("type"), frame.header("sum"), frame.header("seq")), ("event", "1", "0"));
    let event = frame.json();
    assert_eq!(event["header"]["event_type"], "im.message.receive_v1");
    let message = &event["event"]["message"];
    assert_eq!(
        (&message["message_id"], &message["content"]),
        (&json!(id), &json!(r#"{"text":"@_user_1 why? ask @_user_2"}"#))
    );
    let open_ids: Vec<_> = message["mentions"].as_array().unwrap().iter().map(|m| m["id"]["open_id"].clone()).collect();
    assert_eq!(open_ids, ["ou_bot", "ou_bob"]);
    assert_eq!(feishu.unacked().len(), 1);
    link.send(&frame.ack(&json!({"code": 200, "headers": null, "data": null}))).await;
    feishu.heard().await;
    assert_eq!((feishu.complaints(), feishu.acks()[0].code), (vec![], 200));
}

#[tokio::test]
async fn a_ping_is_answered_with_or_without_new_settings() {
    let settings = json!({"PingInterval": 90});
    for pong_config in [None, Some(settings)] {
        let feishu = FeishuSim::start(FeishuConfig { pong_config: pong_config.clone(), ..quick() }).await.unwrap();
        let mut link = Connection::open(&feishu).await;
        link.send(&Frame::ping()).await;
        let pong = link.frame().await.unwrap();
        assert_eq!((pong.header("type"), pong.numbers), ("pong", [0, 0, 7, 0]));
        assert_eq!((!pong.payload.is_empty()).then(|| pong.json()), pong_config);
        assert_eq!((feishu.pings(), feishu.complaints()), (1, vec![]));
    }
}
