//! Socket Mode: which events come, on which connection, and what happens without an acknowledgement.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use watchfloor_sim::slack::{EventId, Mentions, SlackConfig};

use crate::support::{Socket, call, quick, workspace, workspace_with};

fn kind(event: &Value) -> (String, String) {
    let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
    (text("type"), text("subtype"))
}

fn pair(kind: &str, subtype: &str) -> (String, String) {
    (kind.to_owned(), subtype.to_owned())
}

#[tokio::test]
async fn a_mention_comes_as_message_and_as_app_mention_with_the_same_ts() {
    let slack = workspace().await;
    let mut socket = Socket::open(&slack).await;
    let ts = slack.say("U0ALICE", "C0OPS", "<@U0BOT> why?").await;
    let (message, mention) = (socket.frame().await.unwrap(), socket.frame().await.unwrap());
    assert_ne!(message["payload"]["event_id"], mention["payload"]["event_id"]);
    let (message, mention) = (&message["payload"]["event"], &mention["payload"]["event"]);
    assert_eq!((kind(message), kind(mention)), (pair("message", ""), pair("app_mention", "")));
    assert_eq!((&message["ts"], &mention["ts"]), (&json!(ts), &json!(ts)));
    assert_eq!((&message["channel_type"], mention.get("channel_type")), (&json!("channel"), None));
    assert_eq!(
        message["blocks"][0]["elements"][0]["elements"],
        json!([{"type": "user", "user_id": "U0BOT"}, {"type": "text", "text": " why?"}])
    );
}

#[tokio::test]
async fn the_order_of_the_pair_is_settable() {
    for (order, wanted) in [
        (Mentions::MessageFirst, ["message", "app_mention"].as_slice()),
        (Mentions::MentionFirst, &["app_mention", "message"]),
        (Mentions::OnlyMention, &["app_mention"]),
        (Mentions::OnlyMessage, &["message"]),
    ] {
        let slack = workspace().await;
        slack.set_mentions(order);
        let mut socket = Socket::open(&slack).await;
        slack.say("U0ALICE", "C0OPS", "<@U0BOT> hi").await;
        slack.say("U0ALICE", "C0OPS", "end").await;
        let mut kinds = Vec::new();
        loop {
            let event = socket.event().await;
            if event["text"] == "end" {
                break;
            }
            kinds.push(event["type"].as_str().unwrap().to_owned());
        }
        assert_eq!(kinds, wanted, "{order:?}");
    }
}

#[tokio::test]
async fn in_a_direct_channel_there_is_no_app_mention() {
    let slack = workspace().await;
    let mut socket = Socket::open(&slack).await;
    let dm = slack.open_dm("U0ALICE").await;
    slack.say("U0ALICE", &dm, "<@U0BOT> hi").await;
    slack.say("U0ALICE", &dm, "end").await;
    assert_eq!(socket.event().await["channel_type"], "im");
    assert_eq!(socket.event().await["text"], "end");
}

#[tokio::test]
async fn an_unacknowledged_event_comes_again_until_it_is_lost() {
    let slack = workspace().await;
    let mut socket = Socket::open(&slack).await;
    slack.say("U0ALICE", "C0OPS", "hello").await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let envelope = socket.frame().await.unwrap();
        let attempt = envelope["retry_attempt"].as_u64().unwrap();
        seen.push((attempt, envelope["retry_reason"].clone(), envelope["payload"]["event_id"].clone()));
    }
    let event_id = seen[0].2.clone();
    let wanted = [(0, ""), (1, "timeout"), (2, "timeout")].map(|(n, reason)| (n, json!(reason), event_id.clone()));
    assert_eq!(seen, wanted);
    slack.say("U0ALICE", "C0OPS", "and this is acknowledged").await;
    socket.event().await;
    let ack = slack.wait_for_acks(1).await.remove(0);
    assert_eq!(ack.attempt, 0);
    assert_eq!(slack.acks().len(), 1);
    // The third attempt of the first event has its own deadline.
    assert_eq!(json!(slack.wait_for_lost(1).await), json!([event_id]));
}

#[tokio::test]
async fn an_event_for_a_dead_connection_arrives_on_the_next_one() {
    let config = SlackConfig { redeliver_after: vec![Duration::from_millis(20); 100], ..quick() };
    let slack = workspace_with(config).await;
    let mut old = Socket::open(&slack).await;
    slack.go_silent();
    slack.say("U0ALICE", "C0OPS", "is anybody there?").await;
    let mut new = Socket::open(&slack).await;
    assert_eq!(new.event().await["text"], "is anybody there?");
    assert!(slack.wait_for_acks(1).await[0].attempt > 0);
    slack.cut_connections();
    assert_eq!((old.frame().await, new.frame().await), (None, None));
}

#[tokio::test]
async fn a_ticket_is_good_for_one_connection() {
    let slack = workspace().await;
    let url = Socket::ticket(&slack).await;
    let first = Socket::connect(&url).await;
    assert!(first.is_some());
    assert!(Socket::connect(&url).await.is_none());
    slack.refuse_connections(true);
    assert!(Socket::connect(&Socket::ticket(&slack).await).await.is_none());
    slack.refuse_connections(false);
    assert!(Socket::connect(&Socket::ticket(&slack).await).await.is_some());
}

#[tokio::test]
async fn the_eleventh_connection_is_one_too_many() {
    let slack = workspace().await;
    let mut sockets = Vec::new();
    for _ in 0..10 {
        sockets.push(Socket::open(&slack).await);
    }
    slack.connected(10).await;
    let mut last = Socket::connect(&Socket::ticket(&slack).await).await.unwrap();
    assert_eq!(last.frame().await, Some(json!({"type": "disconnect", "reason": "too_many_websockets"})));
    assert_eq!(last.frame().await, None);
}

#[tokio::test]
async fn after_a_disconnect_frame_events_go_to_the_newer_connection() {
    let config = SlackConfig { recycle_grace: Duration::from_millis(50), ..quick() };
    let slack = workspace_with(config).await;
    let mut old = Socket::open(&slack).await;
    slack.disconnect("refresh_requested", true);
    let goodbye = json!({"type": "disconnect", "reason": "refresh_requested", "debug_info": {"host": "applink-sim"}});
    assert_eq!(old.frame().await, Some(goodbye));
    let mut new = Socket::open(&slack).await;
    slack.say("U0ALICE", "C0OPS", "hello").await;
    assert_eq!(new.event().await["text"], "hello");
    assert_eq!(old.frame().await, None);
}

#[tokio::test]
async fn pings_and_odd_frames_reach_the_client() {
    let config = SlackConfig { ping_every: Duration::from_millis(10), ..quick() };
    let slack = workspace_with(config).await;
    slack.claim_connections(Some(3));
    let mut socket = Socket::connect(&Socket::ticket(&slack).await).await.unwrap();
    assert_eq!(socket.frame().await.unwrap()["num_connections"], 3);
    slack.send_frame("not json");
    let (mut pinged, mut odd) = (false, false);
    while !(pinged && odd) {
        match socket.raw().await.unwrap() {
            Message::Ping(text) => pinged = text.starts_with(b"Ping from"),
            Message::Text(text) => odd = text.as_str() == "not json",
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_redelivery_keeps_or_changes_the_event_id() {
    let slack = workspace().await;
    let mut socket = Socket::open(&slack).await;
    let ts = slack.say("U0ALICE", "C0OPS", "hello").await;
    let mut next = async || {
        let envelope = socket.frame().await.unwrap();
        socket.ack(&envelope).await;
        let event_id = envelope["payload"]["event_id"].as_str().unwrap().to_owned();
        (event_id, envelope["retry_attempt"].as_u64().unwrap())
    };
    let (first, _) = next().await;
    slack.redeliver(&ts, EventId::Same).await;
    assert_eq!(next().await, (first.clone(), 1));
    slack.redeliver(&ts, EventId::New).await;
    let (other, attempt) = next().await;
    assert_eq!((other == first, attempt), (false, 0));
}

#[tokio::test]
async fn edits_deletions_alerts_and_the_bots_own_words_come_as_events() {
    let slack = workspace().await;
    let mut socket = Socket::open(&slack).await;
    let ts = slack.say("U0ALICE", "C0OPS", "checkout slow").await;
    socket.event().await;
    slack.edit("C0OPS", &ts, "<@U0BOT> checkout slow").await;
    let changed = socket.event().await;
    assert_eq!(kind(&changed), pair("message", "message_changed"));
    assert_eq!(changed["previous_message"]["text"], "checkout slow");
    let mention = socket.event().await;
    assert_eq!((&mention["type"], &mention["ts"]), (&json!("app_mention"), &json!(ts)));
    assert!(mention["edited"].is_object());

    call(&slack, "chat.postMessage", json!({"channel": "C0OPS", "text": "…", "thread_ts": ts})).await;
    let own = socket.event().await;
    assert_eq!((&own["bot_id"], &own["app_id"], &own["user"]), (&json!("B0BOT"), &json!("A0SIM"), &json!("U0BOT")));
    let placeholder = slack.next_message("C0OPS").await.ts;
    call(&slack, "chat.update", json!({"channel": "C0OPS", "ts": placeholder, "text": "done"})).await;
    assert_eq!(socket.event().await["message"]["bot_id"], "B0BOT");

    slack.delete("C0OPS", &ts).await;
    assert_eq!(socket.event().await["message"]["subtype"], "tombstone");
    slack.alert("C0OPS", json!([{"id": 1, "title": "[FIRING:1] HighErrorRate"}])).await;
    let alert = socket.event().await;
    assert_eq!((kind(&alert), &alert["text"]), (pair("message", "bot_message"), &json!("")));
    let raw = json!({"type": "message", "subtype": "file_share", "user": "U0ALICE", "text": "log", "ts": "1.000001",
        "channel": "C0OPS", "files": []});
    slack.say_raw(raw.clone()).await;
    assert_eq!(socket.event().await, raw);
    assert_eq!(slack.message("1.000001").text(), "log");
    assert_eq!(slack.unread(), Vec::<String>::new());
}

#[tokio::test]
async fn a_pressed_button_reports_its_value() {
    let slack = workspace().await;
    let mut socket = Socket::open(&slack).await;
    let blocks = json!([{"type": "actions", "block_id": "appr", "elements": [{"type": "button", "action_id": "approve",
        "text": {"type": "plain_text", "text": "Approve"}, "value": "r7.nonce"}]}]);
    call(&slack, "chat.postMessage", json!({"channel": "C0OPS", "text": "Approve?", "blocks": blocks})).await;
    socket.event().await;
    let ts = slack.next_message("C0OPS").await.ts;
    slack.press("U0ALICE", "C0OPS", &ts, "approve").await;
    let envelope = socket.frame().await.unwrap();
    assert_eq!(envelope["type"], "interactive");
    let payload = &envelope["payload"];
    assert_eq!((&payload["user"]["id"], &payload["container"]["message_ts"]), (&json!("U0ALICE"), &json!(ts)));
    assert_eq!(
        (&payload["actions"][0]["value"], &payload["actions"][0]["block_id"]),
        (&json!("r7.nonce"), &json!("appr"))
    );
}
