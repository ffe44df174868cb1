//! Slack's Node SDK as judge of the simulated workspace.

use serde_json::json;
use watchfloor_sim::slack::{APP_TOKEN, BOT_TOKEN, Fault};

use crate::{
    judge::{Judge, agree},
    slack_python::{ALICE, ROOM, thread, workspace},
};

#[tokio::test]
async fn the_node_web_client_understands_every_answer_and_every_refusal() {
    let slack = workspace().await;
    let thread = thread(&slack).await;
    slack.fault("chat.postMessage", Fault::RateLimited { retry_after_secs: 1, http_200: false });
    slack.fault_times("users.info", Fault::Http(503), 2);
    let api_url = slack.api_url();
    let env = [("API_URL", api_url.as_str()), ("TOKEN", BOT_TOKEN), ("ROOM", ROOM), ("THREAD", &thread)];
    let reports = Judge::node("slack_web.mjs", &env).await.reports().await;
    let refused =
        |step: &str, error: &str| json!({"step": step, "code": "slack_webapi_platform_error", "error": error});
    let wanted = [
        json!({"step": "auth.test", "user": "U0BOT", "scopes": true}),
        json!({"step": "chat.postMessage", "text": "pool is full", "blocks": 1}),
        json!({"step": "chat.update", "same": true, "text": "pool was full"}),
        json!({"step": "conversations.replies", "texts": [
            ["checkout is slow", "since noon", "only in one region"], ["checkout is slow", "pool was full"]]}),
        refused("gone", "message_not_found"),
        refused("nowhere", "channel_not_found"),
        refused("a wrong token", "invalid_auth"),
        json!({"step": "a server that fails twice", "code": "slack_webapi_http_error",
            "error": "An HTTP protocol error occurred: statusCode = 503"}),
    ];
    agree(&reports, &wanted);
    let posts = slack.calls("chat.postMessage");
    assert_eq!((posts[0].error(), posts[1].error()), (Some("ratelimited"), None));
}

#[tokio::test]
async fn the_node_socket_client_acknowledges_everything_and_comes_back() {
    let slack = workspace().await;
    let api_url = slack.api_url();
    let env = [("API_URL", api_url.as_str()), ("APP_TOKEN", APP_TOKEN)];
    let mut judge = Judge::node("slack_socket.mjs", &env).await;
    let connected = json!({"state": "connected"});
    assert_eq!(judge.says().await, connected);
    let event = |inner: &str, text: &str| json!({"type": "events_api", "inner": inner, "text": text, "retry_num": 0, "retry_reason": "", "accepts_response_payload": false});
    slack.say(ALICE, ROOM, "<@U0BOT> why?").await;
    let heard = [judge.says().await, judge.says().await];
    assert_eq!(heard, [event("message", "<@U0BOT> why?"), event("app_mention", "<@U0BOT> why?")]);
    slack.slash(ALICE, ROOM, "/watchfloor", "status please").await;
    let typed = json!({"type": "slash_commands", "inner": "/watchfloor", "text": "status please",
        "accepts_response_payload": true});
    assert_eq!(judge.says().await, typed);
    assert_eq!(slack.next_ephemeral(ALICE).await.text(), "At once.");
    slack.heard().await;

    slack.disconnect("warning", true);
    assert_eq!(judge.says().await, connected);
    slack.say(ALICE, ROOM, "<@U0BOT> goodbye").await;
    let rest = judge.reports().await;
    assert_eq!(rest, [event("message", "<@U0BOT> goodbye"), event("app_mention", "<@U0BOT> goodbye")]);
    let acks: Vec<_> = slack.acks().into_iter().map(|ack| (ack.attempt, ack.payload)).collect();
    let (plain, spoken) = ((0, Some(json!({}))), (0, Some(json!({"text": "At once."}))));
    assert_eq!(acks, [plain.clone(), plain.clone(), spoken, plain.clone(), plain]);
    assert_eq!(slack.unread(), [""; 0]);
}
