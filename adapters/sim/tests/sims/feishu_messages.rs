//! Messages on their way in and out: content, `uuid`, replies and threads, edits within their limits.

use std::time::Duration;

use serde_json::{Value, json};
use watchfloor_sim::feishu::{
    ALICE, BOB, BOT_OPEN_ID, Chat, ChatKind, EXTERNAL, GROUP, GROUP_MESSAGES, MENTION, TOPICS, ThreadIds,
};

use crate::feishu::{Api, Connection, card, message, post, replied, sent, tenant, text, to};

fn about(value: &Value, keys: &[&str]) -> Vec<Option<String>> {
    keys.iter().map(|key| value[key].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn a_repeated_uuid_gives_back_the_same_message_also_when_a_reply_becomes_a_send() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    let asked = feishu.say(ALICE, GROUP, MENTION).await;
    let mut body = replied("post", &post("one"), false);
    let first = api.done("POST", &format!("{}/reply", message(&asked)), body.clone()).await;
    body["receive_id"] = GROUP.into();
    let second = api.done("POST", &to(), body.clone()).await;
    assert_eq!(first, second);
    assert_eq!(feishu.messages(GROUP).len(), 2);
    assert_eq!(feishu.complaints(), [""; 0]);
    body["content"] = post("two").to_string().into();
    assert_eq!(api.done("POST", &to(), body).await["message_id"], first["message_id"]);
    assert_eq!(feishu.complaints().len(), 1, "another text with the same uuid");
    let mut long = sent(GROUP, "text", &text("x"));
    long["uuid"] = "u".repeat(51).into();
    assert_eq!(api.code("POST", &to(), long).await, 99_992_402);
}

#[tokio::test]
async fn content_is_refused_as_the_platform_refuses_it() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    let at = |id: &str| text(&format!("<at user_id=\"{id}\">x</at> look"));
    let node = |node: Value| json!({"en_us": {"title": "", "content": [[node]]}});
    for (kind, content, code) in [
        ("text", text("fine"), 0),
        ("text", text(" "), 230_001),
        ("text", json!({"txt": "x"}), 230_001),
        ("text", at("ou_alice"), 0),
        ("text", at("ou_of_another_app"), 230_001),
        ("text", at("all"), 230_001),
        ("text", text("<at user_id=broken"), 0),
        ("text", text(&"x".repeat(151 * 1024)), 230_025),
        ("text", text(&"x".repeat(149 * 1024)), 0),
        ("post", post("**fine**"), 0),
        ("post", post(&"x".repeat(31 * 1024)), 230_025),
        ("post", json!({"post": post("an outer post")}), 230_001),
        ("post", json!({"title": "", "content": [[{"tag": "text", "text": "without a language"}]]}), 230_001),
        ("post", json!({"xx_yy": post("x")["zh_cn"]}), 230_001),
        ("post", json!({"zh_cn": {"title": "", "content": []}}), 230_001),
        ("post", node(json!({"tag": "at", "user_id": "ou_bob"})), 0),
        ("post", node(json!({"tag": "at", "user_id": "ou_nobody"})), 230_001),
        ("post", node(json!({"tag": "code_block", "language": "RUST", "text": "fn main() {}"})), 0),
        ("post", node(json!({"tag": "marquee", "text": "x"})), 230_001),
        ("post", node(json!({"tag": "img", "image_key": "img_of_somebody_else"})), 230_017),
        ("post", json!({"zh_cn": {"content": [[{"tag": "md", "text": "x"}, {"tag": "text", "text": "y"}]]}}), 230_001),
        ("file", json!({"file_key": "file_of_somebody_else"}), 230_017),
        ("carrier-pigeon", text("x"), 230_001),
    ] {
        let shown: String = content.to_string().chars().take(80).collect();
        assert_eq!(api.code("POST", &to(), sent(GROUP, kind, &content)).await, code, "{kind} {shown}");
    }
    let mut object = sent(GROUP, "text", &text("x"));
    object["content"] = text("content is a string, not an object");
    assert_eq!(api.code("POST", &to(), object).await, 230_001);
    let by_thread = to().replace("chat_id", "thread_id");
    assert_eq!(api.code("POST", &by_thread, sent("omt_1", "text", &text("x"))).await, 99_992_402);
    assert_eq!(api.code("POST", &to(), sent("oc_nowhere", "text", &text("x"))).await, 230_034);
    let by_person = to().replace("chat_id", "open_id");
    let direct = api.done("POST", &by_person, sent(ALICE, "text", &text("x"))).await;
    assert_eq!(direct["chat_id"], feishu.p2p(ALICE));
}

#[tokio::test]
async fn a_refusal_names_its_log_id_and_comes_with_http_400() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    let (status, body) = api.call("POST", &to(), sent(GROUP, "text", &text(""))).await;
    assert_eq!((status, &body["code"]), (400, &json!(230_001)));
    assert!(body["error"]["log_id"].as_str().is_some_and(|id| !id.is_empty()));
    feishu.take_away("im:message:send_as_bot");
    let (_, body) = api.call("POST", &to(), sent(GROUP, "text", &text("x"))).await;
    assert_eq!(
        (&body["code"], &body["error"]["permission_violations"][0]["subject"]),
        (&json!(99_991_672), &json!("im:message"))
    );
}

#[tokio::test]
async fn a_quote_has_a_root_and_a_parent_and_in_a_thread_both_are_the_root() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    let first = feishu.say(ALICE, GROUP, "slow").await;
    let quote = feishu.reply(BOB, &first, "since noon").await;
    let reply = async |id: &str, in_thread: bool| {
        api.done("POST", &format!("{}/reply", message(id)), replied("text", &text("x"), in_thread)).await
    };
    let keys = ["root_id", "parent_id", "thread_id"];
    assert_eq!(about(&reply(&quote, false).await, &keys), [Some(first.clone()), Some(quote.clone()), None]);
    // A thread is made under the message that is answered, and stays with or without the flag.
    let opened = reply(&first, true).await;
    let thread = opened["thread_id"].as_str().unwrap().to_owned();
    assert_eq!(feishu.message(&first).thread.as_deref(), Some(thread.as_str()));
    let inside = reply(opened["message_id"].as_str().unwrap(), false).await;
    assert_eq!(about(&inside, &keys), [Some(first.clone()), Some(first), Some(thread)]);
    feishu.change_chat(GROUP, |chat| chat.no_threads = true).await;
    let path = format!("{}/reply", message(&quote));
    assert_eq!(api.code("POST", &path, replied("text", &text("x"), true)).await, 230_071);
}

#[tokio::test]
async fn in_a_topic_group_every_message_is_in_a_thread_and_events_tell_as_much_as_is_set() {
    for (thread_ids, first_has, reply_has) in
        [(ThreadIds::Always, true, true), (ThreadIds::NotOnTheFirst, false, true), (ThreadIds::Never, false, false)]
    {
        let feishu = tenant().await;
        feishu.set_thread_ids(thread_ids);
        let mut link = Connection::open(&feishu).await;
        let topic = feishu.say(ALICE, TOPICS, &format!("{MENTION} why?")).await;
        let first = link.event().await["event"]["message"].clone();
        feishu.reply(ALICE, &topic, &format!("{MENTION} and now?")).await;
        let second = link.event().await["event"]["message"].clone();
        assert_eq!((first.get("thread_id").is_some(), second.get("thread_id").is_some()), (first_has, reply_has));
        assert_eq!(second["root_id"], topic.as_str());
        let api = Api::of(&feishu).await;
        let path = format!("{}/reply", message(&topic));
        let answer = api.done("POST", &path, replied("text", &text("x"), false)).await;
        assert_eq!(answer["thread_id"].as_str(), feishu.message(&topic).thread.as_deref());
    }
}

#[tokio::test]
async fn the_twenty_first_edit_is_refused_for_ever() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    let id = api.send("post", &post("0")).await;
    for number in 1..=20 {
        assert_eq!(api.edit(&id, "post", &post(&number.to_string())).await, 0);
    }
    assert_eq!(api.edit(&id, "post", &post("21")).await, 230_072);
    assert_eq!(feishu.edits(&id).len(), 21);
    assert_eq!(feishu.message(&id).text(), "20");
}

#[tokio::test]
async fn an_edit_is_refused_where_it_has_no_place() {
    let feishu = tenant().await;
    feishu.add_chat("oc_odd", Chat { external: true, ..Chat::new("odd", ChatKind::Group) }).await;
    let api = Api::of(&feishu).await;
    let mine = api.send("text", &text("x")).await;
    let theirs = feishu.say(ALICE, GROUP, "x").await;
    let a_card = api.send("interactive", &card("x")).await;
    let outside = api.done("POST", &to(), sent(EXTERNAL, "text", &text("x"))).await;
    let edit = async |id: &str| api.edit(id, "text", &text("y")).await;
    assert_eq!(edit(&mine).await, 0);
    assert_eq!(edit(&theirs).await, 230_071);
    assert_eq!(edit(&a_card).await, 230_054);
    assert_eq!(edit(outside["message_id"].as_str().unwrap()).await, 230_027);
    assert_eq!(edit("om_unknown").await, 99_992_354);
    assert_eq!(edit("omt_1").await, 99_992_354);
    assert_eq!(api.edit(&mine, "post", &post("y")).await, 230_001, "a text stays a text");
    assert_eq!(api.edit(&mine, "text", &text("")).await, 230_001);
    feishu.close_edits();
    assert_eq!(edit(&mine).await, 230_075);
    assert_eq!(api.code("DELETE", &message(&mine), Value::Null).await, 0);
    assert_eq!(edit(&mine).await, 230_011);
    assert_eq!(api.code("DELETE", &message(&theirs), Value::Null).await, 230_026);
    let path = format!("{}/reply", message(&mine));
    assert_eq!(api.code("POST", &path, replied("text", &text("x"), false)).await, 230_011);
}

#[tokio::test]
async fn in_a_deleted_topic_nothing_is_answered_or_edited() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    let topic = feishu.say(ALICE, TOPICS, "slow").await;
    let path = format!("{}/reply", message(&topic));
    let answer = api.done("POST", &path, replied("text", &text("x"), false)).await;
    feishu.delete_topic(&topic);
    assert_eq!(api.code("POST", &path, replied("text", &text("y"), false)).await, 230_019);
    assert_eq!(api.edit(answer["message_id"].as_str().unwrap(), "text", &text("y")).await, 230_110);
}

#[tokio::test]
async fn a_chat_can_turn_the_bot_away() {
    let feishu = tenant().await;
    let api = Api::of(&feishu).await;
    let send = async |kind: &str, content: Value| api.code("POST", &to(), sent(GROUP, kind, &content)).await;
    feishu.change_chat(GROUP, |chat| chat.no_cards = true).await;
    assert_eq!((send("interactive", card("x")).await, send("text", text("x")).await), (230_054, 0));
    feishu.change_chat(GROUP, |chat| chat.muted = true).await;
    assert_eq!(send("text", text("x")).await, 230_035);
    feishu.kick_bot(GROUP).await;
    assert_eq!(send("text", text("x")).await, 230_002);
    feishu.dissolve(GROUP).await;
    assert_eq!(send("text", text("x")).await, 232_009);
}

#[tokio::test]
async fn without_the_scope_for_all_messages_only_mentions_and_direct_messages_come() {
    let feishu = tenant().await;
    let mut link = Connection::open(&feishu).await;
    feishu.say(ALICE, GROUP, "@{ou_bob} only a colleague, or @{all}").await;
    let mention = feishu.say(ALICE, GROUP, &format!("hello {MENTION}")).await;
    let direct = feishu.say(ALICE, &feishu.p2p(ALICE), "hello").await;
    feishu.say_as_bot("ou_other_bot", GROUP, &format!("{MENTION} hello")).await;
    let (first, second) = (link.event().await, link.event().await);
    let told = |event: &Value| about(&event["event"]["message"], &["message_id", "chat_type"]);
    assert_eq!(told(&first), [Some(mention), Some("group".to_owned())]);
    assert_eq!(told(&second), [Some(direct), Some("p2p".to_owned())]);
    feishu.grant(GROUP_MESSAGES);
    feishu.grant("im:message.group_at_msg.include_bot:readonly");
    let plain = feishu.say(ALICE, GROUP, "no mention").await;
    let other = feishu.say_as_bot("ou_other_bot", GROUP, &format!("{MENTION} hello")).await;
    assert_eq!(link.event().await["event"]["message"]["message_id"], plain.as_str());
    let event = link.event().await["event"].clone();
    assert_eq!((&event["message"]["message_id"], &event["sender"]["sender_type"]), (&json!(other), &json!("bot")));
}

#[tokio::test]
async fn a_post_comes_without_language_and_with_placeholders_in_its_ats() {
    let feishu = tenant().await;
    let mut link = Connection::open(&feishu).await;
    let nodes = json!([[{"tag": "at", "user_id": BOT_OPEN_ID}, {"tag": "text", "text": " why?"}],
        [{"tag": "at", "user_id": "ou_bob"}]]);
    feishu.say_post(ALICE, GROUP, json!({"title": "", "content": nodes})).await;
    let message = link.event().await["event"]["message"].clone();
    let content: Value = serde_json::from_str(message["content"].as_str().unwrap()).unwrap();
    let ats = [&content["content"][0][0], &content["content"][1][0]];
    assert_eq!(ats.map(|at| at["user_id"].clone()), ["@_user_1", "@_user_2"]);
    assert_eq!(ats.map(|at| at["user_name"].clone()), ["watchfloor", "Bob"]);
    assert_eq!((&message["message_type"], &message["mentions"][1]["key"]), (&json!("post"), &json!("@_user_2")));
}

#[tokio::test]
async fn late_recalled_and_edited_messages_are_told_as_such() {
    let feishu = tenant().await;
    let mut link = Connection::open(&feishu).await;
    let hour = Duration::from_secs(3600);
    let id = feishu.say_late(ALICE, GROUP, MENTION, hour).await;
    let event = link.event().await;
    let millis = |value: &Value| value.as_str().unwrap().parse::<u64>().unwrap();
    let age = millis(&event["header"]["create_time"]) - millis(&event["event"]["message"]["create_time"]);
    assert!(age >= 3_600_000, "{age} ms");
    feishu.edit(&id, &format!("{MENTION} again"), true).await;
    let again = link.event().await["event"]["message"].clone();
    assert_eq!((&again["message_id"], &again["content"]), (&json!(id), &json!(r#"{"text":"@_user_1 again"}"#)));
    feishu.recall(&id).await;
    let recalled = link.event().await;
    assert_eq!(
        (&recalled["header"]["event_type"], &recalled["event"]["message_id"]),
        (&json!("im.message.recalled_v1"), &json!(id))
    );
}
