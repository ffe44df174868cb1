//! Slack's Python SDK as judge of the simulated workspace.

use std::time::Duration;

use serde_json::json;
use watchfloor_sim::slack::{APP_TOKEN, BOT_TOKEN, Fault, SlackConfig, SlackSim};

use crate::judge::{Judge, agree};

pub(crate) const ROOM: &str = "C0OPS";
pub(crate) const ALICE: &str = "U0ALICE";

/// Patient: how long a foreign program takes on a busy machine is not what is judged.
pub(crate) async fn workspace() -> SlackSim {
    let patience = Duration::from_secs(60);
    let config = SlackConfig { ack_deadline: patience, patience, ..SlackConfig::default() };
    let slack = SlackSim::start(config).await.unwrap();
    slack.add_person(ALICE, "Alice").await;
    slack.add_channel(ROOM, "ops").await;
    slack
}

/// A thread of three, and a second message at top level.
pub(crate) async fn thread(slack: &SlackSim) -> String {
    let thread = slack.say(ALICE, ROOM, "checkout is slow").await;
    slack.reply(ALICE, ROOM, &thread, "since noon").await;
    slack.reply(ALICE, ROOM, &thread, "only in one region").await;
    slack.say(ALICE, ROOM, "lunch?").await;
    thread
}

#[tokio::test]
async fn the_python_web_client_understands_every_answer_and_every_refusal() {
    let slack = workspace().await;
    let thread = thread(&slack).await;
    // The client repeats a call once: the first post succeeds, the question about the bot doesn't.
    let wait = Fault::RateLimited { retry_after_secs: 1, http_200: false };
    slack.fault("chat.postMessage", wait.clone());
    slack.fault_times("bots.info", wait, 2);
    let (api_url, env) = (slack.api_url(), [("ROOM", ROOM), ("PERSON", ALICE), ("APP_TOKEN", APP_TOKEN)]);
    let env = [env.as_slice(), &[("TOKEN", BOT_TOKEN), ("API_URL", api_url.as_str()), ("THREAD", &thread)]].concat();
    let reports = Judge::python("slack_web.py", &env).reports().await;
    let refused = |step: &str, error: &str| json!({"step": step, "status": 200, "error": error});
    let wanted = [
        json!({"step": "auth.test", "team": "T0SIM", "user": "U0BOT", "bot": "B0BOT", "scopes": true}),
        json!({"step": "chat.postMessage", "channel": ROOM, "message": "pool is full", "thread": true, "by": "U0BOT"}),
        json!({"step": "chat.update", "same": true, "text": "pool was full", "message": "pool was full"}),
        json!({"step": "conversations.replies", "pages": [
            ["checkout is slow", "since noon", "only in one region"], ["checkout is slow", "pool was full"]]}),
        json!({"step": "metadata", "found": [{"event_type": "judged", "event_payload": {"key": "k1"}}]}),
        json!({"step": "conversations.history", "newest_first": true, "count": 2}),
        json!({"step": "conversations.info", "id": ROOM, "name": "ops", "member": true}),
        refused("reactions.add again", "already_reacted"),
        refused("reactions.remove again", "no_reaction"),
        json!({"step": "users.info", "id": ALICE, "name": "Alice", "bot": false}),
        json!({"step": "in private", "direct": true, "whispered": true}),
        json!({"step": "chat.getPermalink", "fits": true}),
        refused("delete what is gone", "message_not_found"),
        refused("edit what is gone", "message_not_found"),
        refused("edit somebody else's", "cant_update_message"),
        refused("nowhere", "channel_not_found"),
        refused("nothing to say", "no_text"),
        refused("no such thread", "thread_not_found"),
        refused("nobody", "user_not_found"),
        refused("a wrong token", "invalid_auth"),
        refused("no token", "not_authed"),
        refused("an app token", "not_allowed_token_type"),
        json!({"step": "too often", "status": 429, "error": "ratelimited"}),
    ];
    agree(&reports, &wanted);
    let posts = slack.calls("chat.postMessage");
    assert_eq!((posts[0].error(), posts[1].error()), (Some("ratelimited"), None));
    assert_eq!(posts[0].args, posts[1].args);
    assert_eq!(slack.calls("bots.info").len(), 2);
}

#[tokio::test]
async fn the_python_socket_client_hears_everything_once_and_follows_a_recycled_connection() {
    let slack = workspace().await;
    let api_url = slack.api_url();
    let env = [("API_URL", api_url.as_str()), ("TOKEN", BOT_TOKEN), ("APP_TOKEN", APP_TOKEN)];
    let mut judge = Judge::python("slack_socket.py", &env);
    assert_eq!(judge.says().await, json!({"connected": true}));
    let event = |kind: &str, text: &str| json!({"kind": "events_api", "event": kind, "text": text, "user": ALICE, "for_us": "U0BOT", "attempt": 0});

    slack.say(ALICE, ROOM, "<@U0BOT> why?").await;
    // A client's threads may report two events in either order.
    let mut pair = [judge.says().await, judge.says().await];
    pair.sort_by_key(|report| report["event"].to_string());
    assert_eq!(pair, [event("app_mention", "<@U0BOT> why?"), event("message", "<@U0BOT> why?")]);

    slack.say(ALICE, ROOM, "<@U0BOT> ask me").await;
    let asked = slack.next_message(ROOM).await.ts;
    slack.heard().await;
    let mut heard = [judge.says().await, judge.says().await, judge.says().await];
    heard.sort_by_key(|report| report.to_string());
    let own = json!({"kind": "events_api", "event": "message", "text": "Shall I?", "user": "U0BOT", "for_us": "U0BOT", "attempt": 0});
    assert_eq!(heard, [event("app_mention", "<@U0BOT> ask me"), event("message", "<@U0BOT> ask me"), own]);
    slack.press(ALICE, ROOM, &asked, "approve").await;
    let pressed = json!({"kind": "interactive", "type": "block_actions", "action": "approve", "user": ALICE,
        "answered": 200});
    assert_eq!(judge.says().await, pressed);
    assert_eq!(slack.next_ephemeral(ALICE).await.text(), "Yes it is.");
    slack.slash(ALICE, ROOM, "/watchfloor", "status please").await;
    let typed = json!({"kind": "slash_commands", "command": "/watchfloor", "text": "status please", "user": ALICE});
    assert_eq!(judge.says().await, typed);
    assert_eq!(slack.next_ephemeral(ALICE).await.text(), "At once.");
    slack.heard().await;

    slack.disconnect("refresh_requested", true);
    assert_eq!(judge.says().await, json!({"connected": true}));
    slack.say(ALICE, ROOM, "<@U0BOT> goodbye").await;
    let rest = judge.reports().await;
    assert!(rest.contains(&event("app_mention", "<@U0BOT> goodbye")), "{rest:#?}");
    let acknowledged: Vec<_> = slack.acks().into_iter().map(|ack| (ack.attempt, ack.payload)).collect();
    assert!(acknowledged.iter().all(|(attempt, _)| *attempt == 0), "{acknowledged:?}");
    assert_eq!(slack.lost(), [""; 0]);
}
