//! Files in and out: what is fetched, what is refused and why, and what an upload looks like.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use watchfloor_channel::{
    Body, ChannelAdapter, DeliveryKey, File, FileRef, Operation, Refusal, RefusalKind, SendError,
};
use watchfloor_sim::telegram::{ALICE, FORUM, Fault, OPS, SMALL_GROUP, Served, SimFile};

use crate::desk::{Bot, conversation, number, outcome, world};

const LIMIT: usize = 1_000;
const UP: &str = "sendDocument";

async fn bot() -> Bot {
    Bot::idle(world(), |_| {}).await
}

fn answer(comment: &str) -> Body {
    Body::File(File {
        name: "答案 1.md".into(),
        media_type: "text/markdown".into(),
        content: Bytes::from_static(b"# Cause\n"),
        comment: comment.into(),
    })
}

/// What the update tells of a file that Alice attaches.
async fn told(bot: &Bot, file: SimFile) -> FileRef {
    bot.telegram.attach(ALICE, OPS, file, "@ops_bot look").await;
    let update = bot.telegram.unread().pop().unwrap();
    let document: &Value = &update["message"]["document"];
    FileRef {
        id: document["file_id"].as_str().unwrap().into(),
        name: document["file_name"].as_str().unwrap().into(),
        media_type: document["mime_type"].as_str().unwrap().into(),
        bytes: document["file_size"].as_u64().unwrap(),
        url: None,
    }
}

async fn fetched(file: SimFile) -> Result<Bytes, SendError> {
    let bot = bot().await;
    let told = told(&bot, file).await;
    bot.adapter.fetch(&conversation(OPS, ""), &told, LIMIT).await
}

fn refused<T: std::fmt::Debug>(result: Result<T, SendError>) -> Refusal {
    match result {
        Err(SendError::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

fn log() -> SimFile {
    SimFile::new("checkout.log", "text/plain", "pool exhausted\n")
}

fn served(served: Served) -> SimFile {
    let mut file = log();
    file.served = served;
    file
}

/// Says that it has ten bytes.
fn lying(mut file: SimFile) -> SimFile {
    file.size = Some(10);
    file
}

#[tokio::test]
async fn a_file_goes_up_with_its_name_and_a_sentence_above_it() {
    let bot = bot().await;
    let topic = bot.telegram.new_topic(FORUM, "Checkout").await;
    let asked = bot.telegram.say_in_topic(ALICE, FORUM, topic, "@ops_bot why?").await;
    let ours = bot.answer(FORUM, &format!("t{topic}"), asked, answer("The whole answer, a < b.")).await.unwrap();
    let shown = bot.telegram.message(FORUM, number(&ours));
    assert_eq!((shown.text(), shown.topic, shown.reply_to), ("The whole answer, a < b.", Some(topic), Some(asked)));
    let file = shown.file.unwrap();
    assert_eq!((file.name.as_str(), file.mimetype.as_str()), ("答案 1.md", "text/markdown"));
    assert_eq!(file.content, "# Cause\n");
    assert_eq!(bot.telegram.complaints(), Vec::<String>::new());
    // It is a message like any other, but has no text of its own.
    assert_eq!(outcome(bot.edit(&ours, "found it").await), "NotEditable");
    bot.delete(&ours).await.unwrap();
    let as_file = bot.change(Operation::Edit(ours.clone()), answer("")).await;
    assert_eq!(outcome(as_file), "Unsupported");
}

#[tokio::test]
async fn a_name_that_would_break_its_header_is_made_harmless() {
    let bot = bot().await;
    let file = File {
        name: "a\"b\\c\r\nX: y.md".into(),
        media_type: "no media type".into(),
        content: Bytes::from_static(b"# Cause\n"),
        comment: String::new(),
    };
    let ours = bot.send(OPS, "", Operation::Post(DeliveryKey("k1".into())), Body::File(file)).await.unwrap();
    let file = bot.telegram.message(OPS, number(&ours)).file.unwrap();
    assert_eq!((file.name.as_str(), file.content.as_ref()), ("a'b_cX: y.md", b"# Cause\n".as_slice()));
}

#[tokio::test]
async fn a_file_without_a_sentence_has_none() {
    let bot = bot().await;
    let ours = bot.send(OPS, "", Operation::Post(DeliveryKey("k1".into())), answer("")).await.unwrap();
    assert_eq!(bot.telegram.message(OPS, number(&ours)).text(), "");
    assert_eq!(bot.telegram.calls(UP)[0].args.get("caption"), None);
}

#[tokio::test]
async fn a_file_that_can_never_pass_is_refused_before_anything_is_sent() {
    let bot = bot().await;
    let kind = async |content: Bytes, comment: &str| {
        let file = File { name: "a.md".into(), media_type: "text/markdown".into(), content, comment: comment.into() };
        refused(bot.send(OPS, "", Operation::Post(DeliveryKey("k1".into())), Body::File(file)).await).kind
    };
    assert_eq!(kind(Bytes::new(), "").await, RefusalKind::Content);
    assert_eq!(kind(Bytes::from_static(b"a"), &"x".repeat(1_025)).await, RefusalKind::TooLong);
    assert_eq!(kind(vec![b'a'; 50 * 1024 * 1024 + 1].into(), "").await, RefusalKind::TooLong);
    assert_eq!(bot.telegram.all_calls(), []);
}

#[tokio::test]
async fn an_upload_fails_like_a_post() {
    let bot = bot().await;
    let asked = bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    let table = [
        ("uncertain", Fault::DropResponse),
        ("uncertain", Fault::HtmlPage(502)),
        ("wait 7", Fault::retry_after(7)),
        ("Permission", Fault::error(400, "Bad Request: not enough rights to send documents to the chat")),
        ("Room", Fault::error(403, "Forbidden: bot was kicked from the supergroup chat")),
        ("TooLong", Fault::error(413, "Request Entity Too Large")),
        ("TooLong", Fault::error(400, "Bad Request: message caption is too long")),
        ("done", Fault::error(400, "Bad Request: message to be replied not found")),
        ("done", Fault::error(400, "Bad Request: can't parse entities: Unmatched end tag at byte offset 3")),
    ];
    for (expected, fault) in table {
        bot.telegram.fault(UP, fault.clone());
        assert_eq!(outcome(bot.answer(OPS, "", asked, answer("The whole answer.")).await), expected, "{fault:?}");
    }
    // One whose answer was lost, two that went through in a plainer form.
    assert_eq!(bot.telegram.sent_files().len(), 3);
}

#[tokio::test]
async fn an_upload_follows_a_group_that_moved() {
    let bot = bot().await;
    let now = bot.telegram.upgrade_group(SMALL_GROUP).await;
    let ours =
        bot.send(SMALL_GROUP, "", Operation::Post(DeliveryKey("k1".into())), answer("All of it.")).await.unwrap();
    assert_eq!(ours.room, now.to_string());
    assert_eq!(bot.telegram.message(now, number(&ours)).file.unwrap().content, "# Cause\n");
}

#[tokio::test]
async fn a_file_is_fetched() {
    assert_eq!(fetched(log()).await.unwrap(), "pool exhausted\n");
    let all = "x".repeat(LIMIT);
    assert_eq!(fetched(SimFile::new("fits.log", "text/plain", all.clone())).await.unwrap(), all);
}

#[tokio::test]
async fn a_file_is_never_longer_than_asked_for_whatever_it_says() {
    let long = SimFile::new("long.log", "text/plain", "x".repeat(LIMIT + 1));
    let lied = lying(long.clone());
    let mut endless = lying(long.clone());
    endless.served = Served::Endless;
    for file in [long, lied, endless] {
        assert_eq!(refused(fetched(file).await).kind, RefusalKind::TooLong);
    }
    let bot = bot().await;
    let huge = FileRef { bytes: 21 * 1024 * 1024, ..told(&bot, log()).await };
    let refusal = refused(bot.adapter.fetch(&conversation(OPS, ""), &huge, usize::MAX).await);
    assert_eq!((refusal.kind, bot.telegram.calls("getFile").len()), (RefusalKind::TooLong, 0));
}

/// B061
#[tokio::test]
async fn a_page_instead_of_the_file_is_not_the_file() {
    let page = "<html><title>502 Bad Gateway</title></html>";
    let own = SimFile::new("report.html", "text/html", page);
    assert_eq!(fetched(own.clone()).await.unwrap(), page);
    let other = fetched(lying(own)).await;
    assert_eq!(outcome(other), "unavailable");
}

#[tokio::test]
async fn a_file_that_is_gone_slow_or_limited_says_what_to_do_next() {
    for (expected, way) in [
        ("MessageGone", Served::Status(404)),
        ("unavailable", Served::Status(500)),
        ("unavailable", Served::Status(408)),
        ("unavailable", Served::Half),
        ("wait 10", Served::Status(429)),
        ("Content", Served::Status(403)),
    ] {
        assert_eq!(outcome(fetched(served(way.clone())).await), expected, "{way:?}");
    }
    let bot = Bot::idle(world(), |config| config.call_timeout = Duration::from_secs(1)).await;
    let told = told(&bot, served(Served::Never)).await;
    assert_eq!(outcome(bot.adapter.fetch(&conversation(OPS, ""), &told, LIMIT).await), "unavailable");
}

#[tokio::test]
async fn a_file_that_telegram_does_not_hand_out_is_refused() {
    let bot = bot().await;
    let told = told(&bot, log()).await;
    let fetch = async |file: &FileRef| bot.adapter.fetch(&conversation(OPS, ""), file, LIMIT).await;
    let unknown = FileRef { id: "BQAC-nothing".into(), ..told.clone() };
    assert_eq!(outcome(fetch(&unknown).await), "Content");
    for path in [json!("/var/lib/telegram-bot-api/documents/file_1.log"), json!(null), json!("")] {
        let result = json!({"file_id": "x", "file_unique_id": "y", "file_path": path.as_str()});
        bot.telegram.fault("getFile", Fault::Answer(200, json!({"ok": true, "result": result})));
        let fetched = fetch(&told).await;
        assert!(matches!(outcome(fetched).as_str(), "Content" | "unavailable"), "{path}");
    }
    bot.telegram.fault("getFile", Fault::error(400, "Bad Request: file is too big"));
    assert_eq!(outcome(fetch(&told).await), "TooLong");
    bot.telegram.fault("getFile", Fault::DropResponse);
    assert_eq!(outcome(fetch(&told).await), "unavailable");
    assert_eq!(bot.telegram.downloads(), Vec::<String>::new());
}
