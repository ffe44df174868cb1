//! The long connection: tickets, frames, pongs, who gets an event, and what an acknowledgement must look like.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Error, Message};
use watchfloor_sim::feishu::{ALICE, APP_SECRET, BOT_OPEN_ID, EventId, FeishuConfig, FeishuSim, GROUP, MENTION};

use crate::feishu::{Api, Connection, Frame, quick, tenant, text};

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

#[tokio::test]
async fn a_ticket_is_good_for_one_connection_and_a_refusal_says_why_in_headers() {
    let feishu = tenant().await;
    let refused = async |url: &str| match Connection::connect(url).await.err().unwrap() {
        Error::Http(answer) => {
            let header = |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
            (header("Handshake-Status"), header("Handshake-Autherrcode"))
        }
        other => panic!("{other}"),
    };
    let url = Connection::ticket(&feishu).await;
    let _open = Connection::connect(&url).await.unwrap();
    let said = |status: &str, code: &str| (Some(status.to_owned()), Some(code.to_owned()));
    assert_eq!(refused(&url).await, said("514", "1000040344"));
    feishu.refuse_upgrade(514, Some(1_000_040_350));
    assert_eq!(refused(&Connection::ticket(&feishu).await).await, said("514", "1000040350"));
    feishu.refuse_upgrade(403, None);
    assert_eq!(refused(&Connection::ticket(&feishu).await).await, (Some("403".to_owned()), None));
}

#[tokio::test]
async fn discovery_gives_codes_for_wrong_secrets_and_on_demand() {
    let feishu = tenant().await;
    assert_eq!(Connection::discover(&feishu, "wrong").await["code"], 10_015);
    feishu.refuse_endpoint(1_000_040_351);
    assert_eq!(Connection::discover(&feishu, APP_SECRET).await["code"], 1_000_040_351);
    let good = Connection::discover(&feishu, APP_SECRET).await;
    assert_eq!((&good["code"], &good["data"]["ClientConfig"]["PingInterval"]), (&json!(0), &json!(120)));
    assert_eq!(feishu.calls("endpoint")[0].body["AppSecret"], "…");
}

#[tokio::test]
async fn what_is_not_acknowledged_comes_again_and_is_lost_in_the_end() {
    let feishu = tenant().await;
    let mut link = Connection::open(&feishu).await;
    feishu.say(ALICE, GROUP, MENTION).await;
    let (first, second, third) =
        (link.frame().await.unwrap(), link.frame().await.unwrap(), link.frame().await.unwrap());
    assert_eq!(first.payload, second.payload);
    assert_ne!(first.header("message_id"), second.header("message_id"), "a push of its own");
    assert_eq!(feishu.wait_for_lost(1).await, [third.json()["header"]["event_id"].as_str().unwrap()]);
}

#[tokio::test]
async fn code_500_asks_for_the_event_again() {
    let feishu = tenant().await;
    let mut link = Connection::open(&feishu).await;
    feishu.say(ALICE, GROUP, MENTION).await;
    let frame = link.frame().await.unwrap();
    link.send(&Frame { payload: br#"{"code":500}"#.to_vec(), ..frame.clone() }).await;
    let again = link.event().await;
    assert_eq!(again, frame.json());
    feishu.heard().await;
    let acks: Vec<_> = feishu.wait_for_acks(2).await.into_iter().map(|ack| (ack.attempt, ack.code)).collect();
    assert_eq!((acks, feishu.complaints()), (vec![(0, 500), (1, 200)], vec![]));
}

#[tokio::test]
async fn an_event_waits_for_a_connection_and_one_that_was_cut_off_goes_to_the_next() {
    let slow = FeishuConfig { redeliver_after: vec![Duration::from_secs(3600)], ..quick() };
    let feishu = FeishuSim::start(slow).await.unwrap();
    let id = feishu.say(ALICE, GROUP, MENTION).await;
    let mut link = Connection::open(&feishu).await;
    assert_eq!(link.frame().await.unwrap().json()["event"]["message"]["message_id"], id.as_str());
    feishu.cut_connections();
    assert_eq!(link.frame().await, None);
    let mut link = Connection::open(&feishu).await;
    assert_eq!(link.event().await["event"]["message"]["message_id"], id.as_str());
    feishu.heard().await;
    assert_eq!(feishu.acks()[0].attempt, 1);
}

#[tokio::test]
async fn each_event_goes_to_one_connection() {
    let feishu = tenant().await;
    let (mut one, mut other) = (Connection::open(&feishu).await, Connection::open(&feishu).await);
    let said = feishu.burst(40).await;
    let mut counts = [0, 0];
    for _ in &said {
        let (at, frame) = tokio::select! {
            frame = one.frame() => (0, frame.unwrap()),
            frame = other.frame() => (1, frame.unwrap()),
        };
        counts[at] += 1;
        let link = if at == 0 { &mut one } else { &mut other };
        link.send(&frame.ack(&json!({"code": 200}))).await;
    }
    feishu.heard().await;
    assert!(counts[0] > 0 && counts[1] > 0, "{counts:?}");
    assert_eq!((feishu.acks().len(), feishu.complaints()), (40, vec![]));
}

#[tokio::test]
async fn a_push_in_parts_is_acknowledged_once_on_any_of_them() {
    for reversed in [false, true] {
        let feishu = tenant().await;
        feishu.split(3, reversed);
        let mut link = Connection::open(&feishu).await;
        feishu.say(ALICE, GROUP, &format!("{MENTION} 数据库 🚨")).await;
        let mut parts = Vec::new();
        for _ in 0..3 {
            parts.push(link.frame().await.unwrap());
        }
        assert_eq!(parts[0].header("seq"), if reversed { "2" } else { "0" });
        link.send(&parts[2].ack(&json!({"code": 200}))).await;
        parts.sort_by_key(|part| part.header("seq").to_owned());
        let whole: Vec<u8> = parts.iter().flat_map(|part| part.payload.clone()).collect();
        let event: Value = serde_json::from_slice(&whole).unwrap();
        assert_eq!(event["event"]["message"]["content"], r#"{"text":"@_user_1 数据库 🚨"}"#);
        feishu.heard().await;
        assert_eq!((feishu.acks().len(), feishu.complaints()), (1, vec![]));
    }
}

type Spoil = fn(&mut Frame);

#[tokio::test]
async fn an_acknowledgement_that_echoes_too_little_is_told() {
    let feishu = tenant().await;
    let mut link = Connection::open(&feishu).await;
    let ok = json!({"code": 200});
    let spoil: [(&str, Spoil); 7] = [
        ("SeqID", |ack| ack.numbers[0] += 1),
        ("LogID", |ack| ack.numbers[1] &= !1023),
        ("service", |ack| ack.numbers[2] = 0),
        ("LogIDNew", |ack| ack.log_id_new.clear()),
        ("instance_id", |ack| ack.headers.retain(|(key, _)| key != "instance_id")),
        ("biz_rt", |ack| ack.headers.retain(|(key, _)| key != "biz_rt")),
        ("makes no sense", |ack| ack.payload = b"ok".to_vec()),
    ];
    for (at, (what, spoil)) in spoil.into_iter().enumerate() {
        feishu.say(ALICE, GROUP, MENTION).await;
        let mut ack = link.frame().await.unwrap().ack(&ok);
        spoil(&mut ack);
        link.send(&ack).await;
        feishu.wait_for_acks(at + 1).await;
        let complaints = feishu.complaints();
        assert!(complaints.len() == at + 1 && complaints[at].contains(what), "{what}: {complaints:?}");
    }
    link.send_bytes(vec![8, 0]).await;
    link.send(&Frame { numbers: [0, 0, 7, 9], ..Frame::default() }).await;
    link.send(&Frame::ping()).await;
    feishu.wait_for_pings(1).await;
    let last = feishu.complaints().split_off(7);
    assert!(last[0].contains("no frame") && last[1].contains("unknown method 9"), "{last:?}");
}

#[tokio::test]
async fn a_silent_connection_says_nothing_more_and_a_starved_one_only_pongs() {
    let feishu = tenant().await;
    let mut dead = Connection::open(&feishu).await;
    feishu.go_silent();
    dead.send(&Frame::ping()).await;
    let mut link = Connection::open(&feishu).await;
    feishu.starve(true);
    feishu.say(ALICE, GROUP, MENTION).await;
    link.send(&Frame::ping()).await;
    assert_eq!(link.frame().await.unwrap().header("type"), "pong");
    feishu.starve(false);
    assert_eq!(link.event().await["header"]["event_type"], "im.message.receive_v1");
    assert_eq!((feishu.pings(), feishu.connections()), (1, 2));
    feishu.close_connections();
    assert!(matches!(link.raw().await, Some(Message::Close(_))));
}

#[tokio::test]
async fn redeliveries_echoes_and_strange_events_come_as_they_are_ordered() {
    let feishu = tenant().await;
    let mut link = Connection::open(&feishu).await;
    let id = feishu.say(ALICE, GROUP, MENTION).await;
    let first = link.event().await;
    feishu.redeliver(&id, EventId::Same).await;
    assert_eq!(link.event().await, first);
    feishu.redeliver(&id, EventId::New).await;
    let other = link.event().await;
    assert_ne!(other["header"]["event_id"], first["header"]["event_id"]);
    assert_eq!(other["event"], first["event"]);
    let api = Api::of(&feishu).await;
    let own = api.send("text", &text("an answer")).await;
    feishu.echo(&own, "app", BOT_OPEN_ID).await;
    let echo = link.event().await["event"].clone();
    assert_eq!(
        (&echo["message"]["message_id"], &echo["sender"]["sender_type"], &echo["sender"]["sender_id"]["open_id"]),
        (&json!(own), &json!("app"), &json!(BOT_OPEN_ID))
    );
    let strange = feishu.raw_event(json!({"header": {"event_type": "im.novelty_v9"}, "event": {}})).await;
    assert_eq!(link.event().await["header"]["event_id"], strange.as_str());
    feishu.odd_frame(7);
    assert_eq!(link.frame().await.unwrap().numbers, [0, 0, 0, 7]);
    feishu.data_frame(&[("type", "event"), ("sum", "2"), ("seq", "9")], b"part");
    let part = link.frame().await.unwrap();
    assert_eq!((part.header("seq"), part.payload.as_slice()), ("9", b"part".as_slice()));
    feishu.ping();
    assert!(matches!(link.raw().await, Some(Message::Ping(_))));
    feishu.raw_frame(vec![255]);
    assert_eq!(link.raw().await, Some(Message::binary(vec![255])));
}
