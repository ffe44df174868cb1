//! Files: ours that go up, theirs that come down, and what earlier messages hold.

use std::time::Duration;

use watchfloor_channel::{Body, ChannelAdapter, File, FileRef, RefusalKind, SendError};
use watchfloor_sim::feishu::{ALICE, BOB, Fault, GROUP, GROUP_MESSAGES, MENTION, TOPICS};

use crate::desk::{Bot, conversation, refusal, tenant};

async fn bot() -> Bot {
    let mut tenant = tenant();
    tenant.scopes.insert(GROUP_MESSAGES.to_owned());
    Bot::idle(tenant, |config| config.call_timeout = Duration::from_secs(2)).await
}

pub(crate) fn answer() -> Body {
    file("answer.md", "text/markdown", "The whole answer.")
}

fn file(name: &str, media_type: &str, comment: &str) -> Body {
    Body::File(File {
        name: name.into(),
        media_type: media_type.into(),
        content: "# all of it".into(),
        comment: comment.into(),
    })
}

#[tokio::test]
async fn a_file_follows_its_comment_as_an_answer_to_the_question() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let posted = bot.post_as(&question, "k1", answer()).await.unwrap();
    let message = bot.feishu.message(&posted.id);
    assert_eq!((message.kind(), message.parent.as_deref()), ("file", Some(question.as_str())));
    let ours: Vec<_> = bot.feishu.messages(GROUP).into_iter().filter(|message| message.is_of_bot()).collect();
    assert_eq!(ours.iter().map(|message| message.kind()).collect::<Vec<_>>(), ["post", "file"]);
    assert_eq!(ours[0].text(), "The whole answer.");
    let image = bot.post_as(&question, "k2", file("chart.png", "image/png", "")).await.unwrap();
    assert_eq!(bot.feishu.message(&image.id).kind(), "image");
    assert_eq!(bot.feishu.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn a_file_whose_answer_was_lost_is_the_same_file_when_it_is_repeated() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    bot.feishu.fault("upload_file", Fault::DropResponse);
    let lost = bot.post_as(&question, "k1", answer()).await;
    assert!(matches!(lost, Err(SendError::Unavailable(_))), "nobody can see an upload: {lost:?}");
    bot.feishu.fault("reply", Fault::DelayBefore(Duration::ZERO));
    bot.feishu.fault("reply", Fault::DropResponse);
    let lost = bot.post_as(&question, "k1", answer()).await;
    assert!(matches!(lost, Err(SendError::Uncertain(_))), "{lost:?}");
    let posted = bot.post_as(&question, "k1", answer()).await.unwrap();
    let ours = bot.feishu.messages(GROUP).into_iter().filter(|message| message.is_of_bot());
    assert_eq!(ours.map(|message| message.id).collect::<Vec<_>>().len(), 2);
    assert_eq!(bot.feishu.message(&posted.id).kind(), "file");
    assert_eq!(bot.feishu.calls("upload_file").len(), 2);
}

#[tokio::test]
async fn a_file_that_is_refused_leaves_no_comment_behind() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    bot.feishu.fault("reply", Fault::DelayBefore(Duration::ZERO));
    bot.feishu.fault("reply", Fault::Code { code: 230_055, http: 400 });
    assert_eq!(refusal(bot.post_as(&question, "k1", answer()).await).kind, RefusalKind::Content);
    let standing = bot.feishu.messages(GROUP).into_iter().filter(|message| message.is_of_bot() && !message.recalled);
    assert_eq!(standing.count(), 0);
}

#[tokio::test]
async fn without_the_scope_a_file_is_refused_before_anything_is_said() {
    let bot = bot().await;
    bot.feishu.take_away("im:resource");
    let question = bot.mention("why?").await;
    assert_eq!(refusal(bot.post_as(&question, "k1", answer()).await).kind, RefusalKind::Permission);
    assert_eq!(bot.feishu.calls("reply").len(), 0);
    let Body::File(empty) = answer() else { panic!() };
    let empty = Body::File(File { content: "".into(), ..empty });
    assert_eq!(refusal(bot.post_as(&question, "k2", empty).await).kind, RefusalKind::Content);
}

#[tokio::test]
async fn the_bytes_of_an_attached_file_are_handed_out_up_to_a_limit() {
    let bot = bot().await;
    let message =
        bot.feishu.attach(ALICE, GROUP, "trace.json", br#"{"code": 7, "msg": "not an answer of Feishu"}"#).await;
    let key = bot.feishu.message(&message).json()["file_key"].as_str().unwrap().to_owned();
    let file = FileRef {
        id: format!("{message}/{key}"),
        name: "trace.json".into(),
        media_type: "application/json".into(),
        bytes: 0,
        url: None,
    };
    let at = conversation(GROUP, &message);
    let content = bot.adapter.fetch(&at, &file, 1_000).await.unwrap();
    assert_eq!(content, br#"{"code": 7, "msg": "not an answer of Feishu"}"#.as_slice());
    assert_eq!(refusal(bot.adapter.fetch(&at, &file, 10).await).kind, RefusalKind::TooLong);
    for (id, kind) in [("om_1", RefusalKind::Unsupported), ("/x", RefusalKind::Unsupported)] {
        let file = FileRef { id: id.into(), ..file.clone() };
        assert_eq!(refusal(bot.adapter.fetch(&at, &file, 1_000).await).kind, kind);
    }
    let table = [
        (234_003, RefusalKind::Unsupported),
        (234_004, RefusalKind::Room),
        (234_009, RefusalKind::Permission),
        (234_037, RefusalKind::TooLong),
        (234_038, RefusalKind::Permission),
        (234_043, RefusalKind::Unsupported),
    ];
    for (code, kind) in table {
        bot.feishu.fault("resource", Fault::Code { code, http: 400 });
        assert_eq!(refusal(bot.adapter.fetch(&at, &file, 1_000).await).kind, kind, "{code}");
    }
    bot.feishu.fault("resource", Fault::Code { code: 234_003, http: 200 });
    assert_eq!(refusal(bot.adapter.fetch(&at, &file, 1_000).await).kind, RefusalKind::Unsupported);
}

#[tokio::test]
async fn a_topic_is_read_oldest_first_with_its_authors() {
    let bot = bot().await;
    let root = bot.feishu.say(ALICE, TOPICS, "checkout is slow").await;
    bot.feishu.reply(BOB, &root, "since 10:00").await;
    let gone = bot.feishu.reply(BOB, &root, "wrong window").await;
    bot.feishu.recall(&gone).await;
    let question = bot.feishu.reply(ALICE, &root, &format!("{MENTION} ask @{{ou_bob}}")).await;
    let topic = bot.feishu.message(&root).thread.unwrap();
    let at = conversation(TOPICS, &topic);
    bot.post_to(at.clone(), Some(&question), "k1", Body::Plain("looking …".into())).await.unwrap();
    let thread = bot.adapter.thread(&at, 10).await.unwrap();
    let said: Vec<_> = thread
        .iter()
        .map(|message| (message.author.name.as_deref(), message.author.is_self, message.text.as_str()))
        .collect();
    assert_eq!(
        said,
        [
            (Some("Alice"), false, "checkout is slow"),
            (Some("Bob"), false, "since 10:00"),
            (Some("Alice"), false, "ask @Bob (ou_bob)"),
            (None, true, "looking …"),
        ]
    );
    assert_eq!(thread[0].message_key, root);
    let newest = bot.adapter.thread(&at, 2).await.unwrap();
    assert_eq!(
        newest.iter().map(|message| message.text.as_str()).collect::<Vec<_>>(),
        ["ask @Bob (ou_bob)", "looking …"]
    );
    assert_eq!(bot.feishu.calls("users").len(), 1, "names are remembered");
}

#[tokio::test]
async fn where_history_is_not_granted_there_is_none_and_that_is_no_error() {
    let bot = Bot::idle(tenant(), |_| {}).await;
    let root = bot.feishu.say(ALICE, TOPICS, &format!("{MENTION} why?")).await;
    let topic = bot.feishu.message(&root).thread.unwrap();
    assert_eq!(bot.adapter.thread(&conversation(TOPICS, &topic), 10).await.unwrap(), []);
    // Quotes in an ordinary group have no list of their own.
    assert_eq!(bot.adapter.thread(&conversation(GROUP, &root), 10).await.unwrap(), []);
    assert_eq!(bot.feishu.calls("list").len(), 1);
}

#[tokio::test]
async fn names_are_a_courtesy() {
    let bot = bot().await;
    let root = bot.feishu.say(ALICE, TOPICS, "checkout is slow").await;
    let topic = bot.feishu.message(&root).thread.unwrap();
    for fault in [Fault::Code { code: 99_991_672, http: 400 }, Fault::Hang] {
        bot.feishu.fault("users", fault);
        let thread = bot.adapter.thread(&conversation(TOPICS, &topic), 10).await.unwrap();
        assert_eq!((thread[0].author.name.as_deref(), thread[0].author.id.as_str()), (None, ALICE));
    }
}
