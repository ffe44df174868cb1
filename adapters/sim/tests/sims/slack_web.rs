//! The Web API: what is answered, what is refused, and what faults do.

use std::time::Duration;

use serde_json::{Value, json};
use watchfloor_sim::slack::{Author, BOT_TOKEN, Fault, SlackConfig};

use crate::support::{call, http, quick, workspace, workspace_with};

fn error(code: &str) -> Value {
    json!({"ok": false, "error": code})
}

#[tokio::test]
async fn a_placeholder_is_posted_edited_and_kept_with_its_history() {
    let slack = workspace().await;
    let asked = slack.say("U0ALICE", "C0OPS", "<@U0BOT> why is checkout slow?").await;
    let posted = call(
        &slack,
        "chat.postMessage",
        json!({"channel": "C0OPS", "thread_ts": asked, "text": "Looking …",
            "metadata": {"event_type": "watchfloor", "event_payload": {"delivery": "d1"}}}),
    )
    .await;
    let message = slack.next_message("C0OPS").await;
    assert_eq!(posted["ts"], message.ts);
    assert_eq!(posted["message"]["thread_ts"], asked);
    assert_eq!((message.author, message.thread_ts), (Author::Bot, Some(asked.clone())));

    let updated = call(&slack, "chat.update", json!({"channel": "C0OPS", "ts": message.ts, "text": "Done"})).await;
    assert_eq!(updated["message"]["text"], "Done");
    assert_eq!(slack.wait_for_text(&message.ts, |text| text == "Done").await, "Done");
    let texts: Vec<_> = slack.edits(&message.ts).into_iter().map(|edit| edit.text).collect();
    assert_eq!(texts, ["Looking …", "Done"]);

    let args = json!({"channel": "C0OPS", "ts": asked, "include_all_metadata": true});
    let thread = call(&slack, "conversations.replies", args).await;
    assert_eq!(thread["messages"][0]["reply_count"], 1);
    assert_eq!(thread["messages"][1]["metadata"]["event_payload"], json!({"delivery": "d1"}));
    let args = json!({"channel": "C0OPS", "ts": asked});
    let plain = call(&slack, "conversations.replies", args).await;
    assert_eq!(plain["messages"][1].get("metadata"), None);
    slack.stop().await;
}

#[tokio::test]
async fn each_mistake_has_its_documented_error() {
    let slack = workspace().await;
    slack.add_channel("C0OLD", "old").await;
    slack.archive("C0OLD").await;
    slack.add_channel("C0FAR", "far").await;
    slack.kick_bot("C0FAR").await;
    let hers = slack.say("U0ALICE", "C0OPS", "hello").await;
    let post = |args: Value| ("chat.postMessage", args);
    let update = |args: Value| ("chat.update", args);
    let mine = call(&slack, "chat.postMessage", json!({"channel": "C0OPS", "text": "mine"})).await["ts"].clone();
    let long = "x".repeat(4001);
    for ((method, args), code) in [
        (post(json!({"channel": "C0NONE", "text": "x"})), "channel_not_found"),
        (post(json!({"channel": "C0OLD", "text": "x"})), "is_archived"),
        (post(json!({"channel": "C0FAR", "text": "x"})), "not_in_channel"),
        (post(json!({"channel": "C0OPS", "text": ""})), "no_text"),
        (post(json!({"channel": "C0OPS", "text": "x", "thread_ts": "slack:C0OPS:1"})), "invalid_thread_ts"),
        (post(json!({"channel": "C0OPS", "text": "x", "metadata": "m"})), "invalid_metadata_format"),
        (post(json!({"channel": "C0OPS", "text": "x", "blocks": {}})), "invalid_blocks_format"),
        (update(json!({"channel": "C0OPS", "ts": hers, "text": "x"})), "cant_update_message"),
        (update(json!({"channel": "C0OPS", "ts": "1.000001", "text": "x"})), "message_not_found"),
        (update(json!({"channel": "C0OPS", "ts": mine, "text": long})), "msg_too_long"),
        (("conversations.replies", json!({"channel": "C0OPS", "ts": "1.000001"})), "thread_not_found"),
        (("users.info", json!({"user": "U0NOBODY"})), "user_not_found"),
        (("chat.shout", json!({})), "unknown_method"),
    ] {
        assert_eq!(call(&slack, method, args.clone()).await, error(code), "{method} {args}");
    }
    let wrong = http().post(slack.api_url() + "auth.test").bearer_auth("xoxb-other").send().await.unwrap();
    assert_eq!(wrong.json::<Value>().await.unwrap(), error("invalid_auth"));
    let left = ["unread message in C0OPS: mine", "unknown method chat.shout"];
    assert_eq!(slack.unread(), left);
    slack.revoke_token().await;
    assert_eq!(call(&slack, "auth.test", json!({})).await, error("token_revoked"));
}

#[tokio::test]
async fn a_post_under_a_deleted_parent_lands_in_the_channel() {
    let slack = workspace().await;
    let parent = slack.say("U0ALICE", "C0OPS", "never mind").await;
    slack.delete("C0OPS", &parent).await;
    let posted = call(&slack, "chat.postMessage", json!({"channel": "C0OPS", "text": "x", "thread_ts": parent})).await;
    assert_eq!((&posted["ok"], posted["message"].get("thread_ts")), (&json!(true), None));
    assert_eq!(slack.next_message("C0OPS").await.thread_ts, None);
}

#[tokio::test]
async fn a_text_only_update_removes_the_blocks() {
    let slack = workspace().await;
    let blocks = json!([{"type": "section", "text": {"type": "mrkdwn", "text": "*hi*"}}]);
    let args = json!({"channel": "C0OPS", "text": "hi", "blocks": blocks});
    call(&slack, "chat.postMessage", args).await;
    let message = slack.next_message("C0OPS").await;
    assert_eq!(message.blocks, Some(blocks));
    call(&slack, "chat.update", json!({"channel": "C0OPS", "ts": message.ts, "text": "bye"})).await;
    assert_eq!(slack.message(&message.ts).blocks, None);
}

#[tokio::test]
async fn a_text_over_forty_thousand_characters_is_cut_with_a_warning() {
    let slack = workspace().await;
    let form = [("channel", "C0OPS"), ("text", &"é".repeat(40_001))];
    let request = http().post(slack.api_url() + "chat.postMessage").bearer_auth(BOT_TOKEN).form(&form);
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["warning"], "message_truncated");
    assert_eq!(slack.next_message("C0OPS").await.text().chars().count(), 40_000);
}

#[tokio::test]
async fn a_long_thread_is_read_page_by_page_with_the_parent_on_each() {
    let slack = workspace().await;
    let parent = slack.say("U0ALICE", "C0OPS", "parent").await;
    for n in 0..5 {
        slack.reply("U0ALICE", "C0OPS", &parent, &format!("reply {n}")).await;
    }
    let (mut cursor, mut pages) = (String::new(), Vec::new());
    loop {
        let query = [("channel", "C0OPS"), ("ts", &parent), ("limit", "2"), ("cursor", &cursor)];
        let url = slack.api_url() + "conversations.replies";
        let page: Value =
            http().get(url).bearer_auth(BOT_TOKEN).query(&query).send().await.unwrap().json().await.unwrap();
        let texts = page["messages"].as_array().unwrap().iter().map(|m| m["text"].as_str().unwrap().to_owned());
        pages.push(texts.collect::<Vec<_>>());
        cursor = page["response_metadata"]["next_cursor"].as_str().unwrap().to_owned();
        if cursor.is_empty() {
            break;
        }
    }
    assert_eq!(
        pages,
        [vec!["parent", "reply 0", "reply 1"], vec!["parent", "reply 2", "reply 3"], vec!["parent", "reply 4"]]
    );
}

#[tokio::test]
async fn reactions_are_added_once_and_removed_once() {
    let slack = workspace().await;
    let ts = slack.say("U0ALICE", "C0OPS", "<@U0BOT>").await;
    let args = json!({"channel": "C0OPS", "timestamp": ts, "name": "eyes"});
    assert_eq!(call(&slack, "reactions.add", args.clone()).await, json!({"ok": true}));
    assert_eq!(call(&slack, "reactions.add", args.clone()).await, error("already_reacted"));
    slack.wait_for_reactions(&ts, &["eyes"]).await;
    assert_eq!(call(&slack, "reactions.remove", args.clone()).await, json!({"ok": true}));
    assert_eq!(call(&slack, "reactions.remove", args).await, error("no_reaction"));
}

#[tokio::test]
async fn faults_are_used_up_in_order() {
    let slack = workspace().await;
    let limited = |http_200| Fault::RateLimited { retry_after_secs: 7, http_200 };
    for fault in [
        limited(false),
        limited(true),
        Fault::Error("fatal_error"),
        Fault::Http(503),
        Fault::HtmlPage(502),
        Fault::HttpAfter(500),
    ] {
        slack.fault("chat.postMessage", fault);
    }
    let url = slack.api_url() + "chat.postMessage";
    let post = || http().post(&url).bearer_auth(BOT_TOKEN).json(&json!({"channel": "C0OPS", "text": "x"})).send();
    let first = post().await.unwrap();
    assert_eq!((first.status().as_u16(), &first.headers()["retry-after"]), (429, &"7".parse().unwrap()));
    assert_eq!(post().await.unwrap().json::<Value>().await.unwrap(), error("ratelimited"));
    assert_eq!(post().await.unwrap().json::<Value>().await.unwrap(), error("fatal_error"));
    assert_eq!(post().await.unwrap().status(), 503);
    let page = post().await.unwrap();
    assert_eq!((page.status().as_u16(), page.text().await.unwrap().starts_with("<!DOCTYPE")), (502, true));
    assert_eq!(slack.messages("C0OPS", None), []);
    assert_eq!(post().await.unwrap().status(), 500);
    assert_eq!(slack.messages("C0OPS", None).len(), 1);
    assert_eq!(post().await.unwrap().json::<Value>().await.unwrap()["ok"], true);
    assert_eq!(slack.calls("chat.postMessage").len(), 7);
}

#[tokio::test]
async fn a_dropped_answer_leaves_the_message_behind() {
    let slack = workspace().await;
    slack.fault("chat.postMessage", Fault::DropResponse);
    let request = http().post(slack.api_url() + "chat.postMessage").bearer_auth(BOT_TOKEN);
    let answer = request.json(&json!({"channel": "C0OPS", "text": "did it arrive?"})).send().await;
    assert!(answer.is_err(), "{answer:?}");
    assert_eq!(slack.next_message("C0OPS").await.text(), "did it arrive?");
    assert_eq!(slack.calls("chat.postMessage")[0].answer, None);
}

#[tokio::test]
async fn a_hanging_call_ends_with_the_client_or_with_the_simulator() {
    let slack = workspace().await;
    slack.fault("auth.test", Fault::Hang);
    let request = http().post(slack.api_url() + "auth.test").bearer_auth(BOT_TOKEN).send();
    let stop = async {
        slack.wait_for_calls("auth.test", 1).await;
        slack.clone().stop().await;
    };
    let (answer, ()) = tokio::join!(request, stop);
    assert!(answer.is_err_and(|error| !error.is_timeout()));
}

#[tokio::test]
async fn budgets_are_enforced_on_demand() {
    let slack = workspace_with(SlackConfig { enforce_rates: true, ..quick() }).await;
    call(&slack, "chat.postMessage", json!({"channel": "C0OPS", "text": "0"})).await;
    let ts = slack.next_message("C0OPS").await.ts;
    let client = http();
    let url = slack.api_url() + "chat.update";
    let mut statuses = Vec::new();
    for n in 0..51 {
        let args = json!({"channel": "C0OPS", "ts": ts, "text": n.to_string()});
        statuses.push(client.post(&url).bearer_auth(BOT_TOKEN).json(&args).send().await.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [[200; 50].as_slice(), &[429]].concat());
    assert_eq!(slack.message(&ts).text(), "49");
}

#[tokio::test]
async fn a_text_is_settled_when_it_is_left_alone() {
    let slack = workspace_with(SlackConfig { settle: Duration::from_millis(50), ..quick() }).await;
    call(&slack, "chat.postMessage", json!({"channel": "C0OPS", "text": "…"})).await;
    let ts = slack.next_message("C0OPS").await.ts;
    call(&slack, "chat.update", json!({"channel": "C0OPS", "ts": ts, "text": "answer"})).await;
    assert_eq!(slack.settled("C0OPS", &ts).await, "answer");
}
