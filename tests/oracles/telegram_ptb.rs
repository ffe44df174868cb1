//! python-telegram-bot as judge of the simulated Bot API server.

use std::time::Duration;

use serde_json::json;
use watchfloor_sim::telegram::{
    ALICE, BOB, BOT_TOKEN, FORUM, Fault, OPS, SMALL_GROUP, SimFile, TelegramConfig, TelegramSim,
};

use crate::judge::{Judge, agree};

/// Patient: how long a foreign program takes on a busy machine is not what is judged.
async fn telegram() -> TelegramSim {
    let config = TelegramConfig {
        patience: Duration::from_secs(60),
        webhook_retry: Duration::from_millis(50),
        ..TelegramConfig::default()
    };
    TelegramSim::start(config).await.unwrap()
}

#[tokio::test]
async fn the_python_bot_polls_answers_edits_asks_and_moves_files() {
    let telegram = telegram().await;
    let (api_url, room) = (telegram.api_url(), OPS.to_string());
    let mut judge = Judge::python("telegram_ptb.py", &[("API_URL", &api_url), ("TOKEN", BOT_TOKEN), ("ROOM", &room)]);
    assert_eq!(judge.says().await, json!({"step": "me", "id": 6000, "name": "ops_bot", "reads_all": true}));
    assert_eq!(judge.says().await, json!({"step": "commands", "same": true}));
    let chat = json!({"step": "chat", "title": "Ops", "kind": "supergroup", "member": "member"});
    assert_eq!(judge.says().await, chat);

    telegram.say(ALICE, OPS, "🔥🔥 @ops_bot 支付失败 `a @b_c` https://e.org/x").await;
    let entities = json!([["mention", "@ops_bot"], ["code", "a @b_c"], ["url", "https://e.org/x"]]);
    let text = "🔥🔥 @ops_bot 支付失败 a @b_c https://e.org/x";
    let message = json!({"step": "message", "text": text, "by": "Alice", "kind": "supergroup", "entities": entities});
    assert_eq!(judge.says().await, message);
    let said = telegram.say(BOB, SMALL_GROUP, "/status@ops_bot eu").await;
    let entities = json!([["bot_command", "/status@ops_bot"]]);
    let message =
        json!({"step": "message", "text": "/status@ops_bot eu", "by": "Bob", "kind": "group", "entities": entities});
    assert_eq!(judge.says().await, message);
    telegram.edit(BOB, SMALL_GROUP, said, "/status@ops_bot us").await;
    assert_eq!(judge.says().await, json!({"step": "edit", "text": "/status@ops_bot us", "dated": true}));
    telegram.say_anonymously(OPS, "@ops_bot go on").await;
    assert_eq!(judge.says().await, json!({"step": "anonymous", "by": "GroupAnonymousBot", "group": true}));

    let topic = telegram.new_topic(FORUM, "Checkout").await;
    telegram.say_in_topic(ALICE, FORUM, topic, "slow?").await;
    let answered = json!({"step": "topic", "created": "Checkout", "in_topic": true, "same": true, "answers": "slow?"});
    assert_eq!(judge.says().await, answered);
    let html = "The <b>pool</b> is full: <code>a &lt; b</code>";
    assert_eq!(judge.says().await, json!({"step": "edited", "same": true, "html": html, "dated": true}));
    assert_eq!(telegram.actions()[0].topic, Some(topic));
    let placeholder = telegram.next_message(FORUM).await;
    let texts: Vec<_> = telegram.edits(FORUM, placeholder.id).into_iter().map(|version| version.text).collect();
    assert_eq!(texts, ["Looking …", "The pool is full: a < b"]);

    telegram.say(ALICE, OPS, "@ops_bot approve?").await;
    assert_eq!(judge.says().await, json!({"step": "asked", "buttons": ["Approve", "Read"]}));
    let asked = telegram.next_message(OPS).await;
    let query = telegram.press(BOB, OPS, asked.id, "a:1").await;
    let pressed = json!({"step": "pressed", "data": "a:1", "by": "Bob", "answered": true, "text": "Nobody approved.",
        "keyboard": false});
    assert_eq!(judge.says().await, pressed);
    assert_eq!(telegram.wait_for_answer(&query).await.text, "No longer valid");

    let log = SimFile::new("pool.log", "text/plain", "pool is full ✓");
    telegram.attach(ALICE, OPS, log, "@ops_bot look").await;
    let document = json!({"step": "document", "name": "pool.log", "type": "text/plain", "size": 16,
        "content": "pool is full ✓", "caption": "@ops_bot look", "mentions": ["@ops_bot"]});
    assert_eq!(judge.says().await, document);
    let sent = json!({"step": "sent document", "name": "answer.md", "size": 11, "caption": "It was long."});
    assert_eq!(judge.says().await, sent);
    let contents: Vec<_> =
        telegram.sent_files().into_iter().filter_map(|message| message.file).map(|file| file.content).collect();
    assert_eq!(contents, ["# All of it"]);
    telegram.photo(ALICE, OPS, &[7; 160], "").await;
    assert_eq!(judge.says().await, json!({"step": "photo", "sizes": [10, 40, 160], "album": false}));
    telegram.heard().await;
    assert_eq!((telegram.complaints(), telegram.unanswered()), (vec![], vec![]));
}

#[tokio::test]
async fn the_python_bot_takes_every_refusal_for_what_it_is() {
    let telegram = telegram().await;
    let hers = telegram.say(ALICE, OPS, "hello").await.to_string();
    let new = telegram.upgrade_group(SMALL_GROUP).await;
    telegram.fault("sendChatAction", Fault::retry_after(30));
    telegram.conflict(1);
    let [room, forum, group, bob] = [OPS, FORUM, SMALL_GROUP, BOB].map(|id| id.to_string());
    let api_url = telegram.api_url();
    telegram.fault("getUpdates", Fault::HtmlPage(502));
    telegram.fault("setMyCommands", Fault::DropResponse);
    let env = [("API_URL", api_url.as_str()), ("TOKEN", BOT_TOKEN), ("ROOM", &room), ("FORUM", &forum)];
    let env = [env.as_slice(), &[("GROUP", group.as_str()), ("PERSON", &bob), ("HERS", &hers)]].concat();
    let reports = Judge::python("telegram_refusals.py", &env).reports().await;
    let bad = |step: &str, text: &str| json!({"step": step, "error": "BadRequest", "text": text});
    let wanted = [
        bad(
            "the same again",
            "Message is not modified: specified new message content and reply markup are exactly the same as a current \
             content and reply markup of the message",
        ),
        bad("somebody else's", "Message can't be edited"),
        bad("gone", "Message to edit not found"),
        bad("nowhere", "Chat not found"),
        bad("bad markup", "Can't parse entities: unsupported start tag \"p\" at byte offset 2"),
        bad("too long", "Message is too long"),
        bad("General by number", "Message thread not found"),
        bad("no such parent", "Message to be replied not found"),
        json!({"step": "leniently", "text": "x"}),
        bad("long data", "Button_data_invalid"),
        json!({"step": "never started", "error": "Forbidden",
            "text": "Forbidden: bot can't initiate conversation with a user"}),
        json!({"step": "upgraded", "error": "ChatMigrated", "to": new}),
        bad("an old press", "Query is too old and response timeout expired or query id is invalid"),
        json!({"step": "flood", "error": "RetryAfter", "wait": 30}),
    ];
    agree(&reports[..wanted.len()], &wanted);
    // These texts are the client's own.
    let rest = reports[wanted.len()..].iter().map(|report| json!([report["step"], report["error"]]));
    let classes = [
        json!(["a gateway", "NetworkError"]),
        json!(["a second poller", "Conflict"]),
        json!(["a lost answer", "NetworkError"]),
        json!(["a wrong token", "InvalidToken"]),
    ];
    assert_eq!(rest.collect::<Vec<_>>(), classes);
    assert_eq!(telegram.commands().len(), 1, "the lost answer was of a call that took effect");
}

#[tokio::test]
async fn the_python_types_read_what_a_webhook_gets() {
    let telegram = telegram().await;
    telegram.add_channel(-1_005_550_001, "Alerts");
    let api_url = telegram.api_url();
    let mut judge = Judge::python("telegram_webhook.py", &[("API_URL", &api_url), ("TOKEN", BOT_TOKEN)]);
    assert_eq!(judge.says().await, json!({"set": true, "pending": 0, "kinds": ["message", "channel_post"]}));
    let report = |kind: &str, text: &str, status: u16| json!({"kind": kind, "text": text, "secret": "s3cret", "unknown": {}, "read": true, "status": status});
    let said = telegram.say(ALICE, OPS, "@ops_bot why?").await;
    assert_eq!(judge.says().await, report("message", "@ops_bot why?", 500));
    assert_eq!(judge.says().await, report("message", "@ops_bot why?", 200));
    telegram.edit(ALICE, OPS, said, "not wanted").await;
    telegram.channel_post(-1_005_550_001, "[FIRING:1]").await;
    assert_eq!(judge.says().await, report("channel_post", "[FIRING:1]", 200));
    telegram.heard().await;
}
