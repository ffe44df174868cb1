//! What becomes of each of Telegram's descriptions, call by call.

use std::{
    io::{self, Write as _},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;
use watchfloor_channel::{Body, ChannelAdapter, FileRef, MessageId, Operation, SendError, Sign};
use watchfloor_sim::telegram::{ALICE, BOT_TOKEN, Fault, OPS};

use crate::desk::{Bot, conversation, named, number, outcome, question, world};

const POST: &str = "sendMessage";
const EDIT: &str = "editMessageText";

async fn bot() -> Bot {
    Bot::idle(world(), |_| {}).await
}

/// Post, edit, delete, typing, react.
async fn outcomes(bot: &Bot, asked: i64, ours: &MessageId, fault: &Fault) -> [String; 5] {
    for method in [POST, EDIT, "deleteMessage", "sendChatAction", "setMessageReaction"] {
        bot.telegram.fault(method, fault.clone());
    }
    let outcomes = [
        outcome(bot.answer(OPS, "", asked, Body::Markdown("**looking** …".into())).await),
        outcome(bot.edit(ours, "**found** it").await),
        outcome(bot.delete(ours).await),
        outcome(bot.adapter.typing(&conversation(OPS, "")).await),
        outcome(bot.adapter.react(&named(OPS, asked), Sign::Taken).await),
    ];
    bot.telegram.clear_faults();
    outcomes
}

#[tokio::test]
async fn every_description_means_the_right_thing_for_every_call() {
    let bot = bot().await;
    let asked = bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    let table: &[(&[&str; 5], u16, &[&str])] = &[
        (&["Credentials"; 5], 401, &["Unauthorized"]),
        (&["Credentials"; 5], 404, &["Not Found"]),
        (
            &["Other", "done", "Other", "Other", "Other"],
            400,
            &[
                "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
            ],
        ),
        (&["MessageGone"; 5], 400, &["Bad Request: message to edit not found", "Bad Request: MESSAGE_ID_INVALID"]),
        (
            &["MessageGone", "MessageGone", "done", "MessageGone", "MessageGone"],
            400,
            &["Bad Request: message to delete not found"],
        ),
        (
            &["NotEditable"; 5],
            400,
            &["Bad Request: message can't be edited", "Bad Request: there is no text in the message to edit"],
        ),
        (&["Other"; 5], 400, &["Bad Request: message can't be deleted"]),
        (&["Content"; 5], 400, &["Bad Request: message text is empty", "Bad Request: BUTTON_DATA_INVALID"]),
        (
            &["done", "done", "Content", "Content", "Content"],
            400,
            &[
                "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 7",
                "Bad Request: can't parse entities: Unmatched end tag at byte offset 7, expected \"</b>\", found \"</i>\"",
                "Bad Request: can't parse entities: Can't find end tag corresponding to start tag \"b\"",
                "Bad Request: can't parse entities: Can't find end of Bold entity at byte offset 3",
                "Bad Request: can't parse entities: Character '-' is reserved and must be escaped",
                "Bad Request: ENTITY_BOUNDS_INVALID",
            ],
        ),
        (
            &["TooLong"; 5],
            400,
            &["Bad Request: message is too long", "Bad Request: MESSAGE_TOO_LONG", "Bad Request: text is too long"],
        ),
        (&["TooLong"; 5], 413, &["Request Entity Too Large"]),
        (&["done", "Other", "Other", "Other", "Other"], 400, &["Bad Request: message to be replied not found"]),
        (&["Room"; 5], 400, &["Bad Request: message thread not found", "Bad Request: TOPIC_DELETED"]),
        (
            &["Room"; 5],
            400,
            &[
                "Bad Request: TOPIC_CLOSED",
                "Bad Request: chat not found",
                "Bad Request: not enough rights to send text messages to the chat",
                "Bad Request: CHAT_WRITE_FORBIDDEN",
                "Bad Request: need administrator rights in the channel chat",
            ],
        ),
        (
            &["Room"; 5],
            403,
            &[
                "Forbidden: bot was blocked by the user",
                "Forbidden: user is deactivated",
                "Forbidden: bot can't initiate conversation with a user",
                "Forbidden: bot was kicked from the group chat",
                "Forbidden: bot was kicked from the supergroup chat",
                "Forbidden: bot is not a member of the supergroup chat",
                "Forbidden: the group chat was deleted",
            ],
        ),
        (
            &["Other"; 5],
            400,
            &["Bad Request: query is too old and response timeout expired or query id is invalid", "Bad Request: new"],
        ),
        (&["unavailable"; 5], 409, &["Conflict: terminated by setWebhook request"]),
        (&["wait 10"; 5], 429, &["Too Many Requests"]),
        (&["uncertain"; 5], 500, &["Internal Server Error"]),
        (&["unavailable"; 5], 503, &["Service Unavailable"]),
    ];
    for (expected, status, descriptions) in table {
        for description in *descriptions {
            let ours = bot.post(OPS, "", "looking …").await.unwrap();
            let came = outcomes(&bot, asked, &ours, &Fault::error(*status, description)).await;
            assert_eq!(came, **expected, "{status} {description}");
        }
    }
}

#[tokio::test]
async fn what_is_no_answer_of_telegrams_is_sorted_by_whether_it_may_have_happened() {
    let bot = bot().await;
    let asked = bot.telegram.say(ALICE, OPS, "@ops_bot why?").await;
    let table = [
        ("uncertain", Fault::HtmlPage(502)),
        ("uncertain", Fault::HtmlPageAfter(504)),
        ("uncertain", Fault::HtmlPage(408)),
        ("uncertain", Fault::Garbage),
        ("uncertain", Fault::DropResponse),
        ("uncertain", Fault::DropRequest),
        ("unavailable", Fault::HtmlPage(503)),
        ("wait 10", Fault::HtmlPage(429)),
        ("wait 7", Fault::retry_after(7)),
        ("Other", Fault::HtmlPage(403)),
        ("Other", Fault::HtmlPage(302)),
    ];
    for (expected, fault) in table {
        let ours = bot.post(OPS, "", "looking …").await.unwrap();
        // What has happened all the same is no second message.
        let came = outcomes(&bot, asked, &ours, &fault).await;
        assert_eq!(came, [expected; 5], "{fault:?}");
    }
    let hurried = Bot::idle(world(), |config| config.call_timeout = Duration::from_millis(200)).await;
    let came = outcomes(&hurried, asked, &named(OPS, 77), &Fault::Hang).await;
    assert_eq!(came, ["uncertain"; 5]);
    bot.telegram.stop().await;
    let nobody = bot.adapter.typing(&conversation(OPS, "")).await;
    assert_eq!(outcome(nobody), "unavailable");
}

#[tokio::test]
async fn a_gateways_page_is_known_at_once_by_its_status() {
    let bot = bot().await;
    bot.telegram.fault(POST, Fault::HtmlPage(502));
    let Err(SendError::Uncertain(why)) = bot.post(OPS, "", "looking …").await else { panic!() };
    assert_eq!(why, "HTTP 502");
}

/// B018
#[tokio::test]
async fn a_text_whose_markup_is_refused_goes_as_plain_text_at_once_and_once() {
    let bot = bot().await;
    let broken =
        || Fault::error(400, "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 7");
    bot.telegram.fault(POST, broken());
    let ours = bot.post(OPS, "", "**full** of <x> & [tea](https://example.org/)").await.unwrap();
    let shown = bot.telegram.message(OPS, number(&ours));
    assert_eq!((shown.text(), shown.entities().is_empty()), ("full of <x> & tea (https://example.org/)", false));
    assert_eq!(shown.marked("bold"), Vec::<String>::new());
    assert_eq!(bot.telegram.messages(OPS).len(), 1);
    let modes: Vec<_> = bot.telegram.calls(POST).iter().map(|call| call.args["parse_mode"].clone()).collect();
    assert_eq!(modes, [json!("HTML"), json!(null)]);

    bot.change(Operation::Edit(ours.clone()), question()).await.unwrap();
    let asked = bot.telegram.message(OPS, number(&ours));
    bot.edit(&ours, "…").await.unwrap();
    bot.telegram.fault(EDIT, broken());
    bot.change(Operation::Edit(ours.clone()), question()).await.unwrap();
    let again = bot.telegram.message(OPS, number(&ours));
    assert_eq!((again.text(), again.marked("bold").len()), ("Restart checkout?", 0));
    assert_eq!(again.keyboard(), asked.keyboard());
    assert!(again.keyboard().is_some());
}

#[tokio::test]
async fn a_post_whose_answer_holds_what_nobody_knows_yet_is_not_lost() {
    let bot = bot().await;
    let answer = json!({"ok": true, "result": {"message_id": 77, "date": "soon", "from": {"is_bot": "yes"},
        "chat": {"id": OPS, "type": "galaxy"}, "rich_message": {"blocks": [1]}, "entities": [{"type": "date_time"}]}});
    bot.telegram.fault(POST, Fault::Answer(200, answer.clone()));
    assert_eq!(bot.post(OPS, "", "looking …").await.unwrap(), named(OPS, 77));
    bot.telegram.fault(EDIT, Fault::Answer(200, answer));
    bot.edit(&named(OPS, 77), "found it").await.unwrap();
    for nameless in
        [json!({"ok": true, "result": {"message_id": 0}}), json!({"ok": true}), json!({"ok": true, "result": []})]
    {
        bot.telegram.fault(POST, Fault::Answer(200, nameless.clone()));
        assert_eq!(outcome(bot.post(OPS, "", "looking …").await), "uncertain", "{nameless}");
    }
}

/// Everything that was written, whoever wrote it.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_token_is_in_no_error_and_in_no_log() {
    let paper = Paper::default();
    let writer = paper.clone();
    let log = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone());
    let _ = log.try_init();
    // One that is good, one that looks so, and one that does not.
    for token in [BOT_TOKEN, "6000:AAanother-token_that_is_unknown_here", "bad token/with?signs#of<its>own"] {
        let bot = Bot::idle(world(), |config| config.bot_token = token.into()).await;
        let file = FileRef { id: "BQAC".into(), name: "a.log".into(), media_type: String::new(), bytes: 1, url: None };
        let write = |said: String| writeln!(paper.clone(), "{said}").unwrap();
        write(format!("{:?}", bot.adapter));
        write(format!("{:?}", bot.post(OPS, "", "looking …").await));
        write(format!("{:?}", bot.adapter.fetch(&conversation(OPS, ""), &file, 10).await));
        for fault in [Fault::DropResponse, Fault::HtmlPage(404), Fault::Garbage] {
            bot.telegram.fault("sendChatAction", fault);
            write(format!("{:?}", bot.adapter.typing(&conversation(OPS, "")).await));
        }
        bot.telegram.stop().await;
        let error = bot.adapter.typing(&conversation(OPS, "")).await.unwrap_err();
        write(format!("{error} {error:?}"));
    }
    let written = String::from_utf8_lossy(&paper.0.lock().unwrap()).into_owned();
    assert!(written.contains("Telegram refused a call"), "{written}");
    for line in written.lines() {
        for secret in ["AAsimulated", "AAanother", "with?signs", "with%3Fsigns", "bot6000"] {
            assert!(!line.contains(secret), "{line}");
        }
    }
}
