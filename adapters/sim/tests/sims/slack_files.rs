//! Files: what an event tells of one, who gets its bytes, and the upload in three steps.

use serde_json::{Value, json};
use watchfloor_sim::{
    SlackSim,
    slack::{BOT_TOKEN, SimFile},
};

use crate::support::{Socket, call, http, workspace};

async fn get(address: &Value, token: Option<&str>) -> (String, String) {
    let mut request = http().get(address.as_str().unwrap());
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let response = request.send().await.unwrap();
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    (kind, response.text().await.unwrap())
}

async fn url_for(slack: &SlackSim, name: &str, length: usize) -> Value {
    let address = format!("{}files.getUploadURLExternal", slack.api_url());
    let length = length.to_string();
    let request = http().get(address).bearer_auth(BOT_TOKEN).query(&[("filename", name), ("length", &length)]);
    request.send().await.unwrap().json().await.unwrap()
}

#[tokio::test]
async fn bytes_are_for_the_token_with_the_scope_and_everybody_else_gets_a_page() {
    let slack = workspace().await;
    let mut socket = Socket::open(&slack).await;
    slack.share("U0ALICE", "C0OPS", None, "look", [SimFile::text("a.log", "pool exhausted")]).await;
    let event = socket.frame().await.unwrap()["payload"]["event"].clone();
    assert_eq!((&event["subtype"], &event["text"]), (&json!("file_share"), &json!("look")));
    let file = &event["files"][0];
    assert_eq!((&file["name"], &file["size"]), (&json!("a.log"), &json!(14)));
    let address = &file["url_private_download"];
    assert_eq!(get(address, Some(BOT_TOKEN)).await, ("text/plain".into(), "pool exhausted".into()));
    let info = call(&slack, "files.info", json!({"file": file["id"]})).await;
    assert_eq!(info["file"]["shares"]["public"]["C0OPS"][0]["ts"], event["ts"]);
    for token in [None, Some("xoxb-other")] {
        let (kind, page) = get(address, token).await;
        assert!(kind.starts_with("text/html") && page.contains("Sign in"), "{kind} {page}");
    }
    slack.lose_scope("files:read");
    assert!(get(address, Some(BOT_TOKEN)).await.1.contains("Sign in"));
    let refused = call(&slack, "files.info", json!({"file": file["id"]})).await;
    assert_eq!((&refused["error"], &refused["needed"]), (&json!("missing_scope"), &json!("files:read")));
    slack.stop().await;
}

#[tokio::test]
async fn an_upload_becomes_a_message_with_its_completion() {
    let slack = workspace().await;
    let thread = slack.say("U0ALICE", "C0OPS", "why?").await;
    let place = url_for(&slack, "answer.md", 5).await;
    let complete = async |thread: &str| {
        let files = json!([{"id": place["file_id"], "title": "The answer"}]);
        let args = json!({"files": files, "channel_id": "C0OPS", "thread_ts": thread, "initial_comment": "All:"});
        call(&slack, "files.completeUploadExternal", args).await
    };
    assert_eq!(complete(&thread).await["error"], "file_not_found");
    let write = async |bytes: &'static str| {
        http().post(place["upload_url"].as_str().unwrap()).body(bytes).send().await.unwrap().status().as_u16()
    };
    assert_eq!((write("four").await, write("hello").await), (400, 200));
    assert_eq!(complete("1700000000.000100").await["error"], "invalid_thread_ts");
    assert_eq!(complete(&thread).await["ok"], true);
    let message = slack.next_message("C0OPS").await;
    assert_eq!((message.thread_ts.as_ref(), message.text()), (Some(&thread), "All:"));
    let seen = slack.uploads().remove(0);
    assert_eq!((seen.title.as_str(), seen.content.as_ref(), seen.ts), ("The answer", b"hello".as_ref(), message.ts));
    assert_eq!(url_for(&slack, "empty", 0).await["error"], "invalid_arguments");
    slack.stop().await;
}
