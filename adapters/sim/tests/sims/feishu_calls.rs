//! Tokens, quotas, faults, history, names and files.

use std::time::Duration;

use serde_json::{Value, json};
use watchfloor_sim::feishu::{
    ALICE, APP_ID, BOB, Fault, FeishuConfig, FeishuSim, GROUP, GROUP_MESSAGES, GUEST, TOPICS,
};

use crate::feishu::{Api, card, message, post, quick, replied, sent, tenant, text, to};

#[tokio::test]
async fn a_token_stays_the_same_while_half_an_hour_remains_and_the_old_one_stays_good() {
    let feishu = tenant().await;
    let mut api = Api::of(&feishu).await;
    let first = api.log_in().await;
    assert_eq!(api.log_in().await["tenant_access_token"], first["tenant_access_token"]);
    feishu.age_tokens(Duration::from_secs(5500));
    let old = Api::of(&feishu).await;
    assert_ne!(api.log_in().await["tenant_access_token"], first["tenant_access_token"]);
    assert_eq!(old.code("GET", "/open-apis/bot/v3/info", Value::Null).await, 0);
    assert_eq!(feishu.call_count(), 1, "tokens don't count");
}

#[tokio::test]
async fn a_stale_token_is_told_by_its_code_with_either_status() {
    let feishu = tenant().await;
    let mut api = Api::of(&feishu).await;
    for http in [400, 200] {
        feishu.set_stale_status(http);
        feishu.expire_tokens();
        let (status, answer) = api.call("GET", "/open-apis/bot/v3/info", Value::Null).await;
        assert_eq!((status, &answer["code"]), (http, &json!(99_991_663)));
        api.log_in().await;
        let (status, answer) = api.call("GET", "/open-apis/bot/v3/info", Value::Null).await;
        assert_eq!((status, &answer["bot"]["open_id"]), (200, &json!("ou_bot")));
    }
}

#[tokio::test]
async fn the_month_ends_for_counted_calls_alone_and_failed_ones_are_free() {
    let feishu = FeishuSim::start(FeishuConfig { monthly_calls: Some(2), ..quick() }).await.unwrap();
    let mut api = Api::of(&feishu).await;
    assert_eq!(api.code("POST", &to(), sent(GROUP, "text", &text(""))).await, 230_001);
    api.send("text", &text("1")).await;
    api.send("text", &text("2")).await;
    let (status, answer) = api.call("POST", &to(), sent(GROUP, "text", &text("3"))).await;
    assert_eq!((status, &answer["code"], feishu.call_count()), (429, &json!(99_991_403), 2));
    assert_eq!(api.log_in().await["code"], 0);
    let names = api.done("POST", "/open-apis/contact/v3/users/basic_batch", json!({"user_ids": [ALICE]})).await;
    assert_eq!(names["users"][0]["name"], "Alice");
}

#[tokio::test]
async fn faults_queue_per_call() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    feishu.fault("send", Fault::Code { code: 230_020, http: 400 });
    feishu.fault("send", Fault::RateLimited { reset_secs: 7, http: 429 });
    feishu.fault("send", Fault::HtmlPage(502));
    let mut outcomes = Vec::new();
    for _ in 0..4 {
        let (status, answer) = api.call("POST", &to(), sent(GROUP, "text", &text("x"))).await;
        outcomes.push((status, answer["code"].as_i64()));
    }
    assert_eq!(outcomes, [(400, Some(230_020)), (429, Some(99_991_400)), (502, None), (200, Some(0))]);
    assert_eq!(feishu.messages(GROUP).len(), 1);
    let seen: Vec<_> = feishu.calls("send").iter().map(|call| (call.http, call.code())).collect();
    assert_eq!(seen[2..], [(Some(502), None), (Some(200), Some(0))]);
}

#[tokio::test]
async fn an_answer_can_be_lost_after_the_call_took_effect() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    let id = api.send("post", &post("0")).await;
    feishu.fault("edit", Fault::DropResponse);
    let body = json!({"msg_type": "post", "content": post("1").to_string()});
    let request = crate::support::http().put(format!("{}{}", feishu.base_url(), message(&id)));
    let token = api_token(&feishu).await;
    assert!(request.bearer_auth(token).json(&body).send().await.is_err());
    assert_eq!((feishu.message(&id).text(), feishu.message(&id).puts), ("1".to_owned(), 1));
}

async fn api_token(feishu: &FeishuSim) -> String {
    let mut api = Api::of(feishu).await;
    api.log_in().await["tenant_access_token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_held_call_lets_others_pass_and_takes_effect_when_it_is_let_go() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    let id = api.send("interactive", &card("0")).await;
    feishu.hold("patch");
    let release = async {
        feishu.wait_for_calls("patch", 1).await;
        assert_eq!(api.code("GET", "/open-apis/bot/v3/info", Value::Null).await, 0);
        assert_eq!(feishu.message(&id).text(), "0");
        feishu.let_go("patch");
    };
    let held = card("1");
    let (code, ()) = tokio::join!(api.patch(&id, &held), release);
    assert_eq!((code, feishu.message(&id).text()), (0, "1".to_owned()));
}

#[tokio::test]
async fn nothing_can_be_reached_while_it_is_down() {
    let feishu = tenant().await;
    feishu.down(true);
    let ask = || crate::support::http().get(format!("{}/open-apis/bot/v3/info", feishu.base_url())).send();
    assert!(ask().await.is_err());
    feishu.down(false);
    assert_eq!(ask().await.unwrap().status(), 400);
}

#[tokio::test]
async fn history_of_a_group_wants_its_own_scope_and_comes_in_pages() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    let topic = feishu.say(ALICE, TOPICS, "slow").await;
    let mut said = vec![topic.clone()];
    for text in ["since noon", "only here"] {
        said.push(feishu.reply(BOB, &topic, text).await);
    }
    let path = format!("{}/reply", message(&topic));
    let answer = api.done("POST", &path, replied("post", &post("**pool** is full\n- twice"), false)).await;
    said.push(answer["message_id"].as_str().unwrap().to_owned());
    let thread = answer["thread_id"].as_str().unwrap().to_owned();
    let list = format!("/open-apis/im/v1/messages?container_id_type=thread&container_id={thread}&page_size=3");
    assert_eq!(api.code("GET", &list, Value::Null).await, 230_027);
    assert_eq!(api.code("GET", &message(&topic), Value::Null).await, 230_027);
    feishu.grant(GROUP_MESSAGES);
    let ids = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item["message_id"].as_str().unwrap().to_owned()).collect()
    };
    let page = api.done("GET", &list, Value::Null).await;
    assert_eq!((ids(&page).as_slice(), &page["has_more"]), (&said[..3], &json!(true)));
    let next = format!("{list}&page_token={}", page["page_token"].as_str().unwrap());
    let rest = api.done("GET", &next, Value::Null).await;
    assert_eq!((ids(&rest).as_slice(), &rest["has_more"]), (&said[3..], &json!(false)));
    let own = &rest["items"][0];
    assert_eq!((&own["sender"]["id"], &own["sender"]["sender_type"]), (&json!(APP_ID), &json!("app")));
    // `md` never comes back.
    let content: Value = serde_json::from_str(own["body"]["content"].as_str().unwrap()).unwrap();
    assert_eq!(content["content"][1][0], json!({"tag": "text", "text": "- twice", "style": []}));
    assert_eq!(api.code("GET", &format!("{list}&start_time=1"), Value::Null).await, 230_001);
    assert_eq!(api.code("GET", &format!("{next}&sort_type=ByCreateTimeDesc"), Value::Null).await, 230_001);
    assert_eq!(api.code("GET", &list.replace("page_size=3", "page_size=51"), Value::Null).await, 99_992_402);
    feishu.recall(&said[1]).await;
    let gone = api.done("GET", &message(&said[1]), Value::Null).await["items"][0].clone();
    assert_eq!((&gone["deleted"], &gone["body"]["content"]), (&json!(true), &json!("This message was recalled")));
    let chat = format!("/open-apis/im/v1/messages?container_id_type=chat&container_id={TOPICS}");
    assert_eq!(ids(&api.done("GET", &chat, Value::Null).await), [topic.as_str()], "only the roots of threads");
    let several = format!("/open-apis/im/v1/messages/mget?message_ids={}&message_ids={}", said[0], said[3]);
    assert_eq!(ids(&api.done("GET", &several, Value::Null).await), [said[0].as_str(), &said[3]]);
}

#[tokio::test]
async fn quoted_cards_and_forwards_can_be_read_in_full() {
    let feishu = tenant().await;
    feishu.grant(GROUP_MESSAGES);
    let api = Api::of(&feishu).await;
    let alert = feishu.post_card("ou_alerts", GROUP, card("HighErrorRate on checkout")).await;
    let reduced = api.done("GET", &message(&alert), Value::Null).await["items"][0]["body"]["content"].clone();
    assert!(reduced.as_str().unwrap().contains(r#""elements":[[{"#), "{reduced}");
    let full = format!("{}?card_msg_content_type=user_card_content", message(&alert));
    let full = api.done("GET", &full, Value::Null).await["items"][0]["body"]["content"].clone();
    assert_eq!(serde_json::from_str::<Value>(full.as_str().unwrap()).unwrap(), card("HighErrorRate on checkout"));
    let said = feishu.say(BOB, GROUP, "it is slow").await;
    let forwarded = feishu.forward(ALICE, &feishu.p2p(ALICE), &[&alert, &said]).await;
    let items = api.done("GET", &message(&forwarded), Value::Null).await["items"].clone();
    let parents: Vec<_> = items.as_array().unwrap().iter().map(|item| item["upper_message_id"].as_str()).collect();
    assert_eq!(parents, [None, Some(forwarded.as_str()), Some(forwarded.as_str())]);
}

#[tokio::test]
async fn names_chats_and_reactions_are_told() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    let batch = "/open-apis/contact/v3/users/basic_batch?user_id_type=open_id";
    let users = api.done("POST", batch, json!({"user_ids": [BOB, GUEST, "ou_nobody"]})).await;
    let names: Vec<_> = users["users"].as_array().unwrap().iter().map(|user| user["name"].clone()).collect();
    assert_eq!(names, ["Bob", "Guest"]);
    assert_eq!(api.code("POST", batch, json!({"user_ids": vec![BOB; 11]})).await, 99_992_402);
    let chat = async |id: &str| api.done("GET", &format!("/open-apis/im/v1/chats/{id}"), Value::Null).await;
    assert_eq!(
        (chat(TOPICS).await["chat_mode"].clone(), chat(GROUP).await["name"].clone()),
        (json!("topic"), json!("ops"))
    );
    let asked = feishu.say(ALICE, GROUP, "slow").await;
    let reactions = format!("{}/reactions", message(&asked));
    let made = api.done("POST", &reactions, json!({"reaction_type": {"emoji_type": "OnIt"}})).await;
    assert_eq!(feishu.reactions(&asked)[0].emoji, "OnIt");
    let one = format!("{reactions}/{}", made["reaction_id"].as_str().unwrap());
    assert_eq!((api.code("DELETE", &one, Value::Null).await, feishu.reactions(&asked).len()), (0, 0));
    assert_eq!(api.code("DELETE", &one, Value::Null).await, 231_011);
}

#[tokio::test]
async fn files_are_given_for_their_message_and_taken_in_parts() {
    let feishu = tenant().await;
    feishu.grant(GROUP_MESSAGES);
    let token = api_token(&feishu).await;
    let api = Api::of(&feishu).await;
    let id = feishu.attach(ALICE, GROUP, "a.log", b"pool exhausted").await;
    let key = feishu.files_of(&id)[0].key.clone();
    let path = |key: &str, kind: &str| format!("{}/resources/{key}?type={kind}", message(&id));
    let url = format!("{}{}", feishu.base_url(), path(&key, "file"));
    let got = crate::support::http().get(url).bearer_auth(&token).send().await.unwrap();
    assert_eq!(got.bytes().await.unwrap(), "pool exhausted");
    assert_eq!(api.code("GET", &path(&key, "image"), Value::Null).await, 234_001);
    assert_eq!(api.code("GET", &path("file_of_another", "file"), Value::Null).await, 234_003);
    let upload = async |path: &str, form: reqwest::multipart::Form| {
        let request = crate::support::http().post(format!("{}/open-apis/im/v1/{path}", feishu.base_url()));
        request.bearer_auth(&token).multipart(form).send().await.unwrap().json::<Value>().await.unwrap()
    };
    let part = |bytes: &'static [u8]| reqwest::multipart::Part::bytes(bytes).file_name("report.md");
    let form = || reqwest::multipart::Form::new();
    let file = |bytes| form().text("file_type", "stream").text("file_name", "report.md").part("file", part(bytes));
    let answer = upload("files", file(b"# Report\r\n\r\n--done")).await;
    let sent = api.send("file", &json!({"file_key": answer["data"]["file_key"]})).await;
    let uploaded = &feishu.files_of(&sent)[0];
    assert_eq!(
        (uploaded.name.as_str(), uploaded.bytes.as_slice()),
        ("report.md", b"# Report\r\n\r\n--done".as_slice())
    );
    assert_eq!(upload("files", file(b"")).await["code"], 234_010);
    let image = upload("images", form().text("image_type", "message").part("image", part(b"png"))).await;
    let key = image["data"]["image_key"].clone();
    api.send("post", &json!({"zh_cn": {"content": [[{"tag": "img", "image_key": key}]]}})).await;
    assert_eq!(
        upload("images", form().text("image_type", "avatar").part("image", part(b"png"))).await["code"],
        234_001
    );
}
