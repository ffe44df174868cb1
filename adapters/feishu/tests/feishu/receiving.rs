//! From what people say to what the coordinator is told.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use watchfloor_channel::{Addressed, Author, Body, FileRef, Inbound, InboundKind, MessageId, Note, Notes, NotesError};
use watchfloor_sim::feishu::{ALICE, BOB, EXTERNAL, Fault, GROUP, GROUP_MESSAGES, GUEST, MENTION};

use crate::desk::{Bot, conversation, tenant};

async fn bot() -> Bot {
    let bot = Bot::connected(tenant(), |_| {}).await;
    bot.feishu.grant(GROUP_MESSAGES);
    bot
}

fn person(id: &str) -> Author {
    Author { id: id.into(), name: None, is_bot: false, is_self: false, is_outsider: false }
}

#[tokio::test]
async fn a_mention_in_a_group_is_told_whole() {
    let bot = bot().await;
    let id = bot.mention("why is checkout slow? ask @{ou_bob}").await;
    let acks = bot.feishu.wait_for_acks(1).await;
    let wanted = Inbound {
        conversation: conversation(GROUP, &id),
        message_key: id.clone(),
        event_id: Some(acks[0].event_id.clone()),
        message: MessageId { room: GROUP.into(), id: id.clone() },
        kind: InboundKind::Message,
        author: person(ALICE),
        text: "why is checkout slow? ask @Bob (ou_bob)".into(),
        addressed: Addressed::Mention,
        opens_with_other: false,
        private: false,
        starts_thread: true,
        files: Vec::new(),
        command: None,
        room_now: None,
        sent_at: bot.feishu.message(&id).created.try_into().unwrap(),
    };
    assert_eq!(bot.desk.inbound(1).await, [wanted]);
    assert_eq!(bot.feishu.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn a_private_chat_is_for_us_without_a_mention() {
    let bot = bot().await;
    let room = bot.feishu.p2p(ALICE);
    bot.feishu.say(ALICE, &room, "why is checkout slow?").await;
    let inbound = bot.desk.inbound(1).await.remove(0);
    assert_eq!((inbound.conversation, inbound.addressed), (conversation(&room, ""), Addressed::Direct));
    assert!(inbound.private);
}

#[tokio::test]
async fn only_our_own_mention_addresses_us() {
    let bot = bot().await;
    for (said, addressed, opens_with_other) in [
        ("nobody is meant", Addressed::Overheard, false),
        ("@{ou_bob} can you look?", Addressed::Overheard, true),
        ("@{ou_guest} and @{ou_bob}", Addressed::Overheard, true),
        ("@{all} look", Addressed::Overheard, false),
        ("watchfloor look", Addressed::Overheard, false),
        ("@{ou_bob} ask @{ou_bot}", Addressed::Mention, true),
        ("@{ou_bot}", Addressed::Mention, false),
        ("hey @{ou_bot} look", Addressed::Mention, false),
    ] {
        let id = bot.feishu.say(ALICE, GROUP, said).await;
        bot.feishu.heard().await;
        let inbound = bot.desk.inbound(1).await.into_iter().find(|inbound| inbound.message_key == id).unwrap();
        assert_eq!((inbound.addressed, inbound.opens_with_other), (addressed, opens_with_other), "{said}");
    }
}

#[tokio::test]
async fn b035_b036_ten_people_keep_their_names_and_we_lose_ours_at_the_ends_only() {
    let bot = bot().await;
    let mut said = "@{ou_bot} ask".to_owned();
    let mut wanted = "ask".to_owned();
    for number in 1..12 {
        bot.feishu.add_person(&format!("ou_p{number}"), &format!("P{number}")).await;
        said += &format!(" @{{ou_p{number}}}");
        wanted += &format!(" @P{number} (ou_p{number})");
    }
    bot.feishu.say(ALICE, GROUP, &said).await;
    bot.feishu.say(ALICE, GROUP, "is @{ou_bot} up? @{ou_bot}").await;
    assert_eq!(bot.desk.texts(2).await, [wanted, "is @watchfloor up?".to_owned()]);
}

#[tokio::test]
async fn an_answer_to_a_message_of_ours_is_for_us() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    bot.desk.inbound(1).await;
    let answer = bot.post(&question, "key-1", "Because.").await.unwrap();
    let follow_up = bot.feishu.reply(ALICE, &answer.id, "and now?").await;
    bot.feishu.reply(BOB, &question, "I wonder too").await;
    let came = bot.desk.inbound(3).await;
    let wanted = [
        (follow_up, "and now?", Addressed::Reply, conversation(GROUP, &question)),
        (came[2].message_key.clone(), "I wonder too", Addressed::Overheard, conversation(GROUP, &question)),
    ];
    for (inbound, (key, text, addressed, at)) in came[1..].iter().zip(wanted) {
        let seen = (&inbound.message_key, inbound.text.as_str(), inbound.addressed, &inbound.conversation);
        assert_eq!(seen, (&key, text, addressed, &at));
        assert!(!inbound.starts_thread);
    }
}

#[tokio::test]
async fn b039_our_own_messages_are_known_however_they_come_back_and_in_every_kind_of_chat() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let private = bot.feishu.p2p(ALICE);
    bot.feishu.say(ALICE, &private, "why?").await;
    bot.desk.inbound(2).await;
    let answers = [
        bot.post(&question, "key-1", "Because.").await.unwrap(),
        bot.post_to(conversation(&private, ""), None, "key-2", Body::Plain("Because.".into())).await.unwrap(),
    ];
    let mut count = 2;
    for answer in answers {
        for (sender_type, sender) in [("bot", "ou_bot"), ("app", "cli_sim"), ("user", ALICE)] {
            bot.feishu.echo(&answer.id, sender_type, sender).await;
            count += 1;
            let came = bot.desk.inbound(count).await;
            assert!(came.last().unwrap().author.is_self, "{sender_type} {sender}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_comes_back_before_feishu_has_confirmed_it_is_known_as_ours() {
    let bot = std::sync::Arc::new(bot().await);
    let room = bot.feishu.p2p(ALICE);
    bot.feishu.say(ALICE, &room, "why?").await;
    bot.desk.inbound(1).await;
    bot.feishu.fault("send", Fault::DelayAfter(Duration::from_millis(300)));
    let mut posting = tokio::task::JoinSet::new();
    let (poster, at) = (bot.clone(), conversation(&room, ""));
    posting.spawn(async move { poster.post_to(at, None, "key-1", Body::Plain("Because.".into())).await });
    let answer = bot.feishu.next_message(&room).await;
    bot.feishu.echo(&answer.id, "user", ALICE).await;
    assert!(bot.desk.inbound(2).await[1].author.is_self);
    assert!(posting.join_next().await.unwrap().unwrap().is_ok());
}

#[tokio::test]
async fn machines_and_guests_are_told_apart_from_colleagues() {
    let bot = bot().await;
    bot.feishu.grant("im:message.group_at_msg.include_bot:readonly");
    bot.feishu.say_as_bot("ou_other_bot", GROUP, &format!("{MENTION} alert")).await;
    bot.feishu.say(GUEST, EXTERNAL, &format!("{MENTION} hello")).await;
    bot.feishu.say(BOB, EXTERNAL, &format!("{MENTION} hello")).await;
    let mut came: Vec<_> = bot.desk.inbound(3).await.into_iter().map(|inbound| inbound.author).collect();
    came.sort_by_key(|author| author.id.clone());
    let wanted =
        [person(BOB), Author { is_outsider: true, ..person(GUEST) }, Author { is_bot: true, ..person("ou_other_bot") }];
    assert_eq!(came, wanted);
}

#[tokio::test]
async fn a_post_is_read_with_its_mentions_and_pictures() {
    let bot = bot().await;
    let post = json!({"title": "", "content": [
        [{"tag": "at", "user_id": "ou_bot"}, {"tag": "text", "text": " why is this so, "}, {"tag": "at", "user_id": "ou_bob"}],
        [{"tag": "img", "image_key": "img_1"}],
        [{"tag": "code_block", "language": "GO", "text": "panic()"}]]});
    let id = bot.feishu.say_post(ALICE, GROUP, post).await;
    let inbound = bot.desk.inbound(1).await.remove(0);
    assert_eq!(inbound.text, "why is this so, @Bob (ou_bob)\n```go\npanic()\n```");
    let picture =
        FileRef { id: format!("{id}/img_1"), name: "image".into(), media_type: "image/*".into(), bytes: 0, url: None };
    assert_eq!((inbound.files, inbound.addressed), (vec![picture], Addressed::Mention));
}

#[tokio::test]
async fn files_and_other_kinds_are_told_in_a_private_chat() {
    let bot = bot().await;
    let room = bot.feishu.p2p(ALICE);
    bot.feishu.say_kind(ALICE, &room, "file", json!({"file_key": "file_1", "file_name": "app.log"})).await;
    bot.feishu.say_kind(ALICE, &room, "sticker", json!({"file_key": "file_2"})).await;
    bot.feishu.say_kind(ALICE, &room, "system", json!({"template": "{from} pinned a message"})).await;
    bot.feishu.wait_for_acks(3).await;
    let mut came: Vec<_> = bot.desk.inbound(2).await.into_iter().map(|it| (it.text, it.files.len())).collect();
    came.sort();
    assert_eq!(came, [(String::new(), 1), ("[sticker]".to_owned(), 0)]);
}

#[tokio::test]
async fn a_quoted_message_stands_below_the_question() {
    let bot = bot().await;
    let quoted = bot.feishu.say(BOB, GROUP, "p99 of checkout is up\nsince ten").await;
    bot.feishu.reply(ALICE, &quoted, &format!("{MENTION} look at this")).await;
    let came = bot.desk.inbound(2).await.remove(1);
    assert_eq!(came.text, "look at this\n\n[quoted message]\n@ou_bob:\n> p99 of checkout is up\n> since ten");
    assert_eq!(bot.feishu.calls("get").len(), 1);
}

#[tokio::test]
async fn without_the_scope_for_it_a_question_goes_on_without_its_quote() {
    let bot = bot().await;
    let quoted = bot.feishu.say(BOB, GROUP, "p99 of checkout is up").await;
    bot.desk.inbound(1).await;
    bot.feishu.take_away(GROUP_MESSAGES);
    bot.feishu.hold("get");
    bot.feishu.reply(ALICE, &quoted, &format!("{MENTION} look at this")).await;
    assert_eq!(bot.desk.texts(2).await[1], "look at this");
    bot.feishu.let_go("get");
    bot.feishu.wait_for_acks(2).await;
    bot.feishu.reply(ALICE, &quoted, &format!("{MENTION} and this")).await;
    assert_eq!(bot.desk.texts(3).await[2], "and this");
}

#[tokio::test]
async fn who_asks_again_is_known_by_name() {
    let bot = bot().await;
    bot.mention("why?").await;
    bot.feishu.wait_for_answers("users", 1).await;
    // The answer has left; it is here in a moment.
    for number in 1..100 {
        bot.mention("and now?").await;
        let author = bot.desk.inbound(number + 1).await.remove(number).author;
        if author.name.is_some() {
            assert_eq!(author, Author { name: Some("Alice".into()), ..person(ALICE) });
            return;
        }
    }
    panic!("she was never named");
}

#[tokio::test]
async fn a_late_message_says_when_it_was_sent() {
    let bot = bot().await;
    let id = bot.feishu.say_late(ALICE, GROUP, &format!("{MENTION} why?"), Duration::from_secs(3600)).await;
    let created: i64 = bot.feishu.message(&id).created.try_into().unwrap();
    let came = bot.desk.inbound(1).await.remove(0);
    assert_eq!(came.sent_at, created);
    assert!(crate::desk::now_ms() - came.sent_at >= 3_600_000);
}

#[tokio::test]
async fn a_recalled_question_is_told_in_its_conversation() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let answer = bot.post(&question, "key-1", "Because.").await.unwrap();
    let follow_up = bot.feishu.reply(ALICE, &answer.id, &format!("{MENTION} and now?")).await;
    bot.desk.inbound(2).await;
    bot.feishu.recall(&follow_up).await;
    let came = bot.desk.inbound(3).await.remove(2);
    let seen = (came.kind, came.message_key, came.conversation);
    assert_eq!(seen, (InboundKind::Deleted, follow_up, conversation(GROUP, &question)));
    bot.feishu.recall(&answer.id).await;
    assert!(bot.desk.inbound(4).await[3].author.is_self);
}

/// Notes that nobody can read or write.
struct Broken;

#[async_trait]
impl Notes for Broken {
    async fn read(&self, _: &str) -> Result<Option<String>, NotesError> {
        Err(NotesError("the disk is full".into()))
    }

    async fn write(&self, _: &[Note]) -> Result<(), NotesError> {
        Err(NotesError("the disk is full".into()))
    }
}

#[tokio::test]
async fn a_message_whose_place_can_not_be_noted_is_not_acknowledged() {
    let bot = Bot::connected(tenant(), |config| config.notes = std::sync::Arc::new(Broken)).await;
    bot.mention("why?").await;
    let acks = bot.feishu.wait_for_acks(2).await;
    assert!(acks.iter().all(|ack| ack.code == 500), "{acks:?}");
    assert_eq!(bot.desk.so_far(), 0);
}

/// The message could not be written down, and was recalled before it was brought again.
#[tokio::test]
async fn a_recall_that_overtakes_its_message_is_not_forgotten() {
    let mut tenant = tenant();
    tenant.redeliver_after = vec![Duration::from_secs(1); 4];
    let bot = Bot::connected(tenant, |_| {}).await;
    bot.desk.refuse(1);
    let question = bot.mention("why?").await;
    bot.feishu.wait_for_acks(1).await;
    bot.feishu.recall(&question).await;
    let kinds: Vec<_> = bot.desk.inbound(2).await.into_iter().map(|inbound| inbound.kind).collect();
    assert_eq!(kinds, [InboundKind::Message, InboundKind::Deleted]);
    let codes: Vec<_> = bot.feishu.wait_for_acks(3).await.into_iter().map(|ack| ack.code).collect();
    assert_eq!((codes, bot.desk.so_far()), (vec![500, 200, 200], 2));
}
