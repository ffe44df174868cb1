//! Feishu's Python SDK as judge of the simulated tenant: open API, long connection, webhook.

use std::time::Duration;

use serde_json::{Value, json};
use watchfloor_sim::feishu::{
    ALICE, APP_ID, APP_SECRET, ENCRYPT_KEY, Fault, FeishuConfig, FeishuSim, GROUP, GROUP_MESSAGES, HttpFault, MENTION,
    VERIFICATION_TOKEN,
};

use crate::judge::{Judge, agree};

/// Patient: how long a foreign program takes on a busy machine is not what is judged. The clients come back at once.
pub(crate) fn patient() -> FeishuConfig {
    let patience = Duration::from_secs(60);
    let at_once = json!({"ReconnectCount": -1, "ReconnectInterval": 1, "ReconnectNonce": 0, "PingInterval": 1});
    FeishuConfig {
        ack_deadline: patience,
        patience,
        redeliver_after: vec![Duration::from_millis(100); 3],
        client_config: Some(at_once.clone()),
        pong_config: Some(at_once),
        ..FeishuConfig::default()
    }
}

/// A card with one button.
pub(crate) fn asking() -> Value {
    let button = json!({"tag": "button", "text": {"tag": "plain_text", "content": "Yes"},
        "behaviors": [{"type": "callback", "value": {"decision": "yes"}}]});
    json!({"schema": "2.0", "config": {"update_multi": true},
        "body": {"elements": [{"tag": "markdown", "content": "Shall I?"}, button]}})
}

/// What a client needs to be told.
pub(crate) fn credentials(base_url: &str) -> [(&str, &str); 3] {
    [("BASE_URL", base_url), ("APP_ID", APP_ID), ("APP_SECRET", APP_SECRET)]
}

#[tokio::test]
async fn larks_python_client_understands_every_answer_and_every_refusal() {
    let feishu = FeishuSim::start(patient()).await.unwrap();
    feishu.grant(GROUP_MESSAGES);
    let root = feishu.say(ALICE, GROUP, &format!("{MENTION} checkout is slow")).await;
    let other = feishu.say(ALICE, GROUP, "lunch?").await;
    let file = feishu.attach(ALICE, GROUP, "a.log", b"pool exhausted").await;
    let key = feishu.files_of(&file)[0].key.clone();
    let base_url = feishu.base_url();
    let world = [("ROOM", GROUP), ("ROOT", &root), ("OTHER", &other), ("FILE_MESSAGE", &file), ("FILE_KEY", &key)];
    // The eighth message is too much.
    feishu.fault_times("send", Fault::DelayBefore(Duration::ZERO), 7);
    feishu.fault("send", Fault::RateLimited { reset_secs: 1, http: 429 });
    let env = [credentials(&base_url).as_slice(), &world].concat();
    let mut reports = Judge::python("feishu_lark.py", &env).reports().await;
    let refused = |step: &str, code: i64| json!({"step": step, "code": code, "log_id": true});
    let wanted = [
        json!({"step": "bot", "open_id": "ou_bot", "status": 2}),
        json!({"step": "send", "ok": true, "chat": GROUP, "kind": "post", "by": "app_id", "same": true}),
        json!({"step": "reply", "root": true, "parent": true, "thread": true}),
        json!({"step": "edit", "ok": true, "same": true, "updated": true, "content": "found it"}),
        json!({"step": "patch", "ok": true}),
        json!({"step": "react", "emoji": "OnIt", "by": "app", "taken": true}),
        json!({"step": "get", "text": "@_user_1 checkout is slow", "by": ALICE, "kind": "user",
            "mentions": ["@_user_1"], "told": "ou_bot"}),
        json!({"step": "list", "pages": [["user"], ["app"]]}),
        json!({"step": "names", "names": ["Alice"]}),
        json!({"step": "chat", "name": "ops", "mode": "group", "external": false}),
        json!({"step": "upload", "ok": true}),
        json!({"step": "download", "bytes": "pool exhausted"}),
        refused("somebody else's", 230_071),
        refused("a card by PUT", 230_054),
        refused("a post by PATCH", 230_001),
        refused("an outer post", 230_001),
        refused("nothing to say", 230_001),
        refused("a bad card", 230_099),
        refused("no such message", 99_992_354),
        refused("too often", 99_991_400),
        json!({"step": "recall", "ok": true}),
        refused("what is gone", 230_011),
    ];
    let secret = reports.pop();
    agree(&reports, &wanted);
    assert_eq!(secret.unwrap()["step"], "a wrong secret");
    assert_eq!(feishu.complaints(), [""; 0]);
}

#[tokio::test]
async fn larks_python_link_acknowledges_everything_and_comes_back() {
    let feishu = FeishuSim::start(patient()).await.unwrap();
    let base_url = feishu.base_url();
    let mut judge = Judge::python("feishu_lark_link.py", &credentials(&base_url));
    feishu.connected(1).await;
    let told = |id: &str, chat: &str, text: &str, mentions: Value| json!({"event": "message", "id": id, "chat": chat, "text": text, "by": ALICE, "mentions": mentions});
    let id = feishu.say(ALICE, GROUP, &format!("{MENTION} why? ask @{{ou_bob}}")).await;
    let wanted = told(&id, "group", "@_user_1 why? ask @_user_2", json!(["ou_bot", "ou_bob"]));
    assert_eq!(judge.says().await, wanted);
    feishu.split(3, true);
    let id = feishu.say(ALICE, &feishu.p2p(ALICE), "数据库 🚨").await;
    assert_eq!(judge.says().await, told(&id, "p2p", "数据库 🚨", json!([])));
    feishu.split(1, false);
    feishu.recall(&id).await;
    assert_eq!(judge.says().await, json!({"event": "recalled", "id": id}));
    feishu.heard().await;

    // Code 500 asks for it again, three times here.
    feishu.react(ALICE, &id, "OK").await;
    for _ in 0..4 {
        assert_eq!(judge.says().await, json!({"event": "failing"}));
    }
    assert_eq!(feishu.wait_for_lost(1).await.len(), 1);

    let card = feishu.post_card("ou_bot", GROUP, asking()).await;
    let value = json!({"decision": "yes"});
    let pressed = feishu.press(ALICE, &card, &value).await;
    assert_eq!((pressed.toast(), pressed.error), (Some("Done."), None));
    assert_eq!(judge.says().await, json!({"event": "click", "by": ALICE, "value": value, "on": card}));

    feishu.wait_for_pings(2).await;
    feishu.cut_connections();
    let id = feishu.say(ALICE, GROUP, &format!("{MENTION} again")).await;
    assert_eq!(judge.says().await, told(&id, "group", "@_user_1 again", json!(["ou_bot"])));
    feishu.heard().await;
    let codes: Vec<_> = feishu.acks().iter().map(|ack| ack.code).collect();
    assert_eq!((codes, feishu.complaints()), (vec![200, 200, 200, 500, 500, 500, 500, 200, 200], vec![]));
}

#[tokio::test]
async fn larks_python_handler_believes_what_the_simulator_encrypts_and_signs() {
    let feishu = FeishuSim::start(FeishuConfig { redeliver_after: vec![], ..patient() }).await.unwrap();
    let env = [("ENCRYPT_KEY", ENCRYPT_KEY), ("TOKEN", VERIFICATION_TOKEN)];
    let mut judge = Judge::python("feishu_lark_webhook.py", &env);
    let url = judge.says().await["url"].as_str().unwrap().to_owned();
    feishu.subscribe(&url).await.unwrap();
    let answered =
        |status: u16, heard: Value, signed: usize| json!({"status": status, "heard": heard, "signed": signed});
    assert_eq!(judge.says().await, answered(200, json!([]), 0));
    feishu.say(ALICE, GROUP, &format!("{MENTION} ünïcödé ✓")).await;
    assert_eq!(judge.says().await, answered(200, json!(["@_user_1 ünïcödé ✓"]), 3));
    for fault in [HttpFault::BadSignature, HttpFault::WrongToken] {
        feishu.http_fault(fault);
        feishu.say(ALICE, GROUP, &format!("{MENTION} forged")).await;
        assert_eq!(judge.says().await, answered(500, json!([]), 3), "{fault:?}");
    }
    let card = feishu.post_card("ou_bot", GROUP, asking()).await;
    let value = json!({"decision": "yes"});
    let pressed = feishu.press(ALICE, &card, &value).await;
    assert_eq!((pressed.toast(), pressed.error), (Some("Done."), None));
    assert_eq!(judge.says().await, answered(200, json!([value]), 3));
    feishu.say(ALICE, GROUP, &format!("{MENTION} goodbye")).await;
    assert_eq!(judge.reports().await, [answered(200, json!(["@_user_1 goodbye"]), 3)]);
}
