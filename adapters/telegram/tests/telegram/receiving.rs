//! What people say reaches the desk in our words.

use serde_json::json;
use watchfloor_channel::{Addressed, InboundKind};
use watchfloor_sim::telegram::{ALICE, BOB, BOT_ID, OPS, Post, SMALL_GROUP, SimFile};

use crate::desk::{Bot, number, world};

#[tokio::test]
async fn a_question_is_ours_in_every_kind_of_chat() {
    let bot = Bot::connected(world(), |_| {}).await;
    bot.telegram.say(ALICE, OPS, "@ops_bot why is checkout slow?").await;
    bot.telegram.say(ALICE, SMALL_GROUP, "/status@ops_bot eu-west").await;
    bot.telegram.say(ALICE, ALICE, "status of incident 42?").await;
    bot.telegram.say(BOB, OPS, "lunch?").await;
    bot.telegram.say(BOB, OPS, "@ops_bot2 why?").await;
    bot.telegram.post(BOB, OPS, Post::text("Ops bot, why?").naming("Ops bot", BOT_ID)).await;
    let came = bot.desk.inbound(6).await;
    let seen: Vec<_> = came.iter().map(|it| (it.text.as_str(), it.addressed, it.command.as_deref())).collect();
    assert_eq!(
        seen,
        [
            ("why is checkout slow?", Addressed::Mention, None),
            ("eu-west", Addressed::Mention, Some("status")),
            ("status of incident 42?", Addressed::Direct, None),
            ("lunch?", Addressed::Overheard, None),
            ("@ops_bot2 why?", Addressed::Overheard, None),
            ("why?", Addressed::Mention, None),
        ]
    );
    assert!(came[2].private && !came[0].private);
    assert_eq!((came[0].author.id.as_str(), came[0].author.name.as_deref()), ("5001", Some("Alice")));
}

#[tokio::test]
async fn a_reply_to_us_is_ours_and_our_own_words_never_come_back() {
    let bot = Bot::connected(world(), |_| {}).await;
    let sent = bot.post(OPS, "", "It is the pool.").await.unwrap();
    bot.telegram.reply(ALICE, OPS, number(&sent), "and now?").await;
    let came = bot.desk.inbound(1).await;
    assert_eq!((came[0].text.as_str(), came[0].addressed), ("and now?", Addressed::Reply));
    bot.telegram.heard().await;
    assert_eq!(bot.desk.inbound(1).await.len(), 1);
}

#[tokio::test]
async fn an_edit_is_handed_on_as_one_under_the_key_of_its_message() {
    let bot = Bot::connected(world(), |_| {}).await;
    let id = bot.telegram.say(ALICE, OPS, "why?").await;
    bot.telegram.edit(ALICE, OPS, id, "@ops_bot why?").await;
    bot.telegram.touch(OPS, id).await;
    let came = bot.desk.inbound(3).await;
    let seen: Vec<_> = came.iter().map(|it| (it.kind, it.text.as_str(), it.addressed)).collect();
    assert_eq!(
        seen,
        [
            (InboundKind::Message, "why?", Addressed::Overheard),
            (InboundKind::Edit, "why?", Addressed::Mention),
            (InboundKind::Edit, "why?", Addressed::Mention),
        ]
    );
    assert!(came.iter().all(|it| it.message_key == format!("{OPS}/{id}") && it.conversation == came[0].conversation));
}

#[tokio::test]
async fn an_anonymous_administrator_is_nobody_in_particular() {
    let bot = Bot::connected(world(), |_| {}).await;
    bot.telegram.say_anonymously(OPS, "@ops_bot approve it").await;
    let author = bot.desk.inbound(1).await[0].author.clone();
    assert_eq!((author.id.as_str(), author.name.as_deref(), author.is_bot), ("1087968824", Some("lead"), false));
}

#[tokio::test]
async fn files_come_with_their_caption_and_can_be_fetched() {
    use watchfloor_channel::ChannelAdapter;
    let bot = Bot::connected(world(), |_| {}).await;
    let log = SimFile::new("checkout.log", "text/plain", "GET /checkout 502");
    bot.telegram.attach(ALICE, OPS, log, "@ops_bot log attached").await;
    bot.telegram.photo(ALICE, ALICE, b"picture", "").await;
    let came = bot.desk.inbound(2).await;
    assert_eq!((came[0].text.as_str(), came[0].addressed), ("log attached", Addressed::Mention));
    let file = &came[0].files[0];
    assert_eq!((file.name.as_str(), file.media_type.as_str(), file.bytes), ("checkout.log", "text/plain", 17));
    let content = bot.adapter.fetch(&came[0].conversation, file, 1_000).await.unwrap();
    assert_eq!(&content[..], b"GET /checkout 502");
    assert_eq!((came[1].text.as_str(), came[1].files[0].media_type.as_str()), ("", "image/jpeg"));
}

#[tokio::test]
async fn who_has_written_is_mentioned_by_name() {
    use watchfloor_channel::ChannelAdapter;
    let bot = Bot::connected(world(), |_| {}).await;
    assert!(!bot.adapter.mention("5001").contains("Alice"));
    bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    bot.desk.inbound(1).await;
    assert!(bot.adapter.mention("5001").contains("Alice"));
}

#[tokio::test]
async fn unknown_entities_and_fields_lose_nothing() {
    let bot = Bot::connected(world(), |_| {}).await;
    let post = Post::text("@ops_bot why since 10:00?").marked("10:00", "date_time", json!({"unix_time": 1}));
    bot.telegram.post(ALICE, OPS, post.with("shape_of_next_year", json!({"text": 7}))).await;
    assert_eq!(bot.desk.texts(1).await, ["why since 10:00?"]);
}

#[tokio::test]
async fn changes_of_our_standing_are_no_messages() {
    let bot = Bot::connected(world(), |_| {}).await;
    bot.telegram.kick_bot(OPS).await;
    bot.telegram.add_bot(OPS).await;
    bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    assert_eq!(bot.desk.texts(1).await, ["why?"]);
    bot.telegram.heard().await;
    assert_eq!(bot.figure("updates_set_aside"), 0);
}
