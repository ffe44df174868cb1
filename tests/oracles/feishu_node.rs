//! Feishu's Node SDK as judge of the simulated tenant.

use serde_json::{Value, json};
use watchfloor_sim::feishu::{ALICE, FeishuConfig, FeishuSim, GROUP, MENTION};

use crate::{
    feishu_lark::{asking, credentials, patient},
    judge::Judge,
};

#[tokio::test]
async fn larks_node_link_acknowledges_everything_answers_and_comes_back() {
    // This SDK keeps numbers in doubles.
    let feishu = FeishuSim::start(FeishuConfig { first_log_id: 99, ..patient() }).await.unwrap();
    let base_url = feishu.base_url();
    let mut judge = Judge::node("feishu_link.mjs", &credentials(&base_url)).await;
    // Its listener is set a little after the connection is open: what comes in between is lost on it.
    feishu.wait_for_pings(2).await;
    let told = |id: &str, text: &str| json!({"event": "message", "id": id, "text": text, "by": ALICE});
    feishu.split(2, true);
    let id = feishu.say(ALICE, GROUP, &format!("{MENTION} 数据库 🚨")).await;
    assert_eq!(judge.says().await, told(&id, "@_user_1 数据库 🚨"));
    feishu.split(1, false);
    feishu.heard().await;

    let id = feishu.say(ALICE, GROUP, &format!("{MENTION} answer me")).await;
    assert_eq!(judge.says().await, told(&id, "@_user_1 answer me"));
    assert_eq!(judge.says().await, json!({"step": "edit", "code": 0, "parent": true, "same": true}));
    assert_eq!(judge.says().await, json!({"step": "patch", "code": 0, "emoji": "DONE"}));
    let refused = |step: &str, code: i64| json!({"step": step, "code": code, "status": 400});
    assert_eq!(judge.says().await, refused("somebody else's", 230_071));
    assert_eq!(judge.says().await, refused("nothing to say", 230_001));
    feishu.heard().await;
    let texts: Vec<_> = feishu.messages(GROUP).iter().filter(|m| m.is_of_bot()).map(|m| m.text()).collect();
    assert_eq!(texts, ["found it", "2"]);

    let card = feishu.post_card("ou_bot", GROUP, asking()).await;
    let value: Value = json!({"decision": "yes"});
    assert_eq!(feishu.press(ALICE, &card, &value).await.toast(), Some("Done."));
    assert_eq!(judge.says().await, json!({"event": "click", "by": ALICE, "value": value}));

    feishu.cut_connections();
    feishu.wait_for_pings(feishu.pings() + 2).await;
    let id = feishu.say(ALICE, GROUP, &format!("{MENTION} again")).await;
    assert_eq!(judge.says().await, told(&id, "@_user_1 again"));
    feishu.heard().await;
    assert_eq!((feishu.acks().len(), feishu.complaints(), feishu.lost()), (4, vec![], vec![]));
}
