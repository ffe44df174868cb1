//! Files in and out: what is fetched, what is refused and why, and an upload that is never done twice.

use std::time::Duration;

use bytes::Bytes;
use watchfloor_channel::{
    Body, ChannelAdapter, DeliveryKey, File, FileRef, MessageId, Operation, Refusal, RefusalKind, SendError,
};
use watchfloor_sim::{
    SlackSim,
    slack::{Download, Fault, Served, SimFile, Uploaded},
};

use crate::desk::{ALICE, Bot, OPS, conversation, workspace};

const LIMIT: usize = 1_000;
const COMPLETE: &str = "files.completeUploadExternal";

async fn bot() -> Bot {
    Bot::connected(workspace(), |config| config.call_timeout = Duration::from_secs(2)).await
}

/// What the bot is told of a file that Alice attaches.
async fn told(bot: &Bot, file: SimFile) -> FileRef {
    bot.slack.share(ALICE, OPS, None, "<@U0BOT> look", [file]).await;
    bot.desk.inbound(1).await.remove(0).files.remove(0)
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
    SimFile::text("checkout.log", "pool exhausted\n")
}

#[tokio::test]
async fn a_file_is_fetched_with_the_token() {
    let bot = bot().await;
    let told = told(&bot, log()).await;
    assert_eq!((told.name.as_str(), told.media_type.as_str(), told.bytes), ("checkout.log", "text/plain", 15));
    assert_eq!(bot.adapter.fetch(&conversation(OPS, ""), &told, LIMIT).await.unwrap(), "pool exhausted\n");
    assert_eq!(bot.slack.downloads(), [Download { name: "checkout.log".into(), with_token: true }]);
}

#[tokio::test]
async fn a_redirect_is_followed_a_few_times_and_never_away_from_slack() {
    assert_eq!(fetched(log().served(Served::AfterRedirects(3))).await.unwrap(), "pool exhausted\n");
    let code = async |served| refused(fetched(log().served(served)).await).code;
    assert_eq!(code(Served::AfterRedirects(4)).await, "too_many_redirects");
    let elsewhere = SlackSim::start(workspace()).await.unwrap();
    let address = elsewhere.api_url().replace("/api/", "/files-pri/T0SIM-F1/checkout.log");
    assert_eq!(code(Served::RedirectTo(address)).await, "foreign_address");
    assert_eq!(elsewhere.downloads(), []);
    for address in ["https://example.org/a", "http://169.254.169.254/latest", "file:///etc/passwd"] {
        assert_eq!(code(Served::RedirectTo(address.into())).await, "foreign_address", "{address}");
    }
}

#[tokio::test]
async fn b061_the_sign_in_page_is_not_the_file() {
    let login = "/?redir=%2Ffiles-pri%2FT0SIM-F1%2Fcheckout.log".to_owned();
    for served in [Served::SignInPage, Served::RedirectTo(login), Served::Status(403), Served::Status(401)] {
        let refusal = refused(fetched(log().served(served.clone())).await);
        assert_eq!((refusal.kind, refusal.code.as_str()), (RefusalKind::Permission, "missing_scope"), "{served:?}");
        assert!(refusal.remedy.contains("files:read"), "{}", refusal.remedy);
    }
    // The page instead of a page of hers.
    let page = "<html><title>502 Bad Gateway</title></html>";
    let (report, pasted) = (SimFile::new("report.html", "text/html", page), SimFile::text("answer.txt", page));
    refused(fetched(report.clone().served(Served::SignInPage)).await);
    for own in [report.clone(), report.served(Served::AfterRedirects(1)), pasted] {
        assert_eq!(fetched(own).await.unwrap(), page);
    }
}

#[tokio::test]
async fn b061_without_the_scope_the_file_is_refused_with_the_scopes_name() {
    let bot = bot().await;
    bot.slack.lose_scope("files:read");
    let told = told(&bot, log()).await;
    let refusal = refused(bot.adapter.fetch(&conversation(OPS, ""), &told, LIMIT).await);
    assert!(refusal.remedy.contains("files:read"), "{}", refusal.remedy);
}

#[tokio::test]
async fn a_file_is_never_longer_than_asked_for_whatever_it_says() {
    let long = "x".repeat(LIMIT + 1);
    let said = SimFile::text("long.log", &long);
    let lied = SimFile { size: Some(10), ..said.clone() };
    let endless = SimFile { size: Some(10), ..log() }.served(Served::Endless);
    for file in [said, lied, endless] {
        assert_eq!(refused(fetched(file).await).kind, RefusalKind::TooLong);
    }
    let all = "x".repeat(LIMIT);
    assert_eq!(fetched(SimFile::text("fits.log", &all)).await.unwrap(), all);
    assert_eq!(fetched(SimFile::text("empty.log", "")).await.unwrap(), "");
}

#[tokio::test]
async fn a_file_that_is_gone_slow_or_limited_says_what_to_do_next() {
    assert_eq!(refused(fetched(log().served(Served::Status(404))).await).code, "file_gone");
    for served in [Served::Status(500), Served::Status(408), Served::Never] {
        assert!(matches!(fetched(log().served(served)).await, Err(SendError::Unavailable(_))));
    }
    assert!(matches!(fetched(log().served(Served::Status(429))).await, Err(SendError::RateLimited(_))));
}

#[tokio::test]
async fn a_partners_file_is_looked_up_first() {
    let hidden = SimFile { behind_info: true, ..log() };
    assert_eq!(fetched(hidden.clone()).await.unwrap(), "pool exhausted\n");
    let bot = bot().await;
    let told = told(&bot, hidden).await;
    bot.slack.fault("files.info", Fault::Error("file_deleted"));
    assert_eq!(refused(bot.adapter.fetch(&conversation(OPS, ""), &told, LIMIT).await).code, "file_gone");
}

#[tokio::test]
async fn a_deleted_file_is_not_told_of() {
    let bot = bot().await;
    bot.slack.share(ALICE, OPS, None, "<@U0BOT> look", [SimFile { tombstone: true, ..log() }]).await;
    assert_eq!(bot.desk.inbound(1).await[0].files, []);
}

fn answer(content: &'static str) -> Body {
    let content = Bytes::from_static(content.as_bytes());
    Body::File(File {
        name: "answer.md".into(),
        media_type: "text/markdown".into(),
        content,
        comment: "All of <it>.".into(),
    })
}

async fn upload(bot: &Bot, thread: &str) -> Result<MessageId, SendError> {
    bot.send(thread, Operation::Post(DeliveryKey("k1".into())), answer("the whole answer")).await
}

fn uploaded(message: &MessageId) -> Uploaded {
    Uploaded {
        name: "answer-k1.md".into(),
        title: "answer.md".into(),
        content: "the whole answer".into(),
        ts: message.id.clone(),
    }
}

#[tokio::test]
async fn a_file_is_posted_in_the_thread_found_again_and_known_as_ours() {
    let bot = bot().await;
    let thread = bot.mention("why?").await;
    bot.desk.inbound(1).await;
    let posted = upload(&bot, &thread).await.unwrap();
    assert_eq!(bot.slack.uploads(), [uploaded(&posted)]);
    let message = bot.slack.message(&posted.id);
    assert_eq!((message.thread_ts.as_deref(), message.text()), (Some(thread.as_str()), "All of &lt;it&gt;."));
    let find = async |key: &str| bot.adapter.find(&conversation(OPS, &thread), &DeliveryKey(key.into())).await.unwrap();
    assert_eq!((find("k1").await, find("k2").await), (Some(posted), None));
    let own = &bot.desk.inbound(2).await[1];
    assert!(own.author.is_self, "{own:?}");
    bot.slack.next_message(OPS).await;
    assert_eq!(bot.slack.unread(), [""; 0]);
}

#[tokio::test]
async fn a_picture_is_posted_as_it_is() {
    let bot = bot().await;
    let picture = File {
        name: "graph.png".into(),
        media_type: "image/png".into(),
        content: Bytes::from_static(b"\x89PNG\r\n\x1a\nrest"),
        comment: String::new(),
    };
    bot.send("", Operation::Post(DeliveryKey("k1".into())), Body::File(picture.clone())).await.unwrap();
    let seen = bot.slack.uploads().remove(0);
    assert_eq!((seen.title.as_str(), &seen.content), ("graph.png", &picture.content));
}

#[tokio::test]
async fn an_upload_in_doubt_is_found_and_not_repeated() {
    for fault in [Fault::DropResponse, Fault::HttpAfter(500), Fault::Error("internal_error")] {
        let bot = bot().await;
        let thread = bot.mention("why?").await;
        bot.slack.fault(COMPLETE, fault.clone());
        assert!(matches!(upload(&bot, &thread).await, Err(SendError::Uncertain(_))), "{fault:?}");
        bot.slack.fault("files.info", Fault::Http(500));
        assert!(matches!(upload(&bot, &thread).await, Err(SendError::Unavailable(_))), "{fault:?}");
        let again = upload(&bot, &thread).await.unwrap();
        assert_eq!(bot.slack.uploads(), [uploaded(&again)], "{fault:?}");
        assert_eq!(bot.slack.calls("files.getUploadURLExternal").len(), 1);
    }
}

#[tokio::test]
async fn before_the_completion_nothing_can_have_happened() {
    let bot = bot().await;
    bot.slack.fault("files.getUploadURLExternal", Fault::Http(500));
    assert!(matches!(upload(&bot, "").await, Err(SendError::Unavailable(_))));
    bot.slack.fault("files.getUploadURLExternal", Fault::RateLimited { retry_after_secs: 7, http_200: false });
    assert!(matches!(upload(&bot, "").await, Err(SendError::RateLimited(_))));
    assert_eq!(bot.slack.uploads(), []);
}

#[tokio::test]
async fn refusals_of_an_upload_name_their_cause() {
    let bot = bot().await;
    let gone = bot.slack.say(ALICE, OPS, "hm").await;
    bot.slack.delete(OPS, &gone).await;
    assert_eq!(refused(upload(&bot, &gone).await).kind, RefusalKind::ThreadGone);
    // The same answer as messages goes there without a thread.
    bot.slack.fault(COMPLETE, Fault::Error("restricted_action_non_threadable_channel"));
    assert_eq!(refused(upload(&bot, "").await).kind, RefusalKind::Unsupported);
    bot.slack.lose_scope("files:write");
    let refusal = refused(upload(&bot, "").await);
    assert_eq!(refusal.kind, RefusalKind::Permission);
    assert!(refusal.remedy.contains("files:write"), "{}", refusal.remedy);
    let edit = Operation::Edit(MessageId { room: OPS.into(), id: gone });
    assert_eq!(refused(bot.send("", edit, answer("x")).await).kind, RefusalKind::Unsupported);
}

#[tokio::test]
async fn without_the_scope_to_read_files_an_upload_still_counts() {
    let bot = bot().await;
    bot.slack.lose_scope("files:read");
    upload(&bot, "").await.unwrap();
    assert_eq!(bot.slack.uploads().len(), 1);
    assert_eq!(bot.slack.calls("files.info").len(), 1);
}
