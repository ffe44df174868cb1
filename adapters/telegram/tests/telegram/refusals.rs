//! What becomes of each of Telegram's descriptions, call by call.

use std::time::Duration;

use serde_json::json;
use watchfloor_channel::{Body, ChannelAdapter, MessageId, Operation, SendError, Sign};
use watchfloor_sim::telegram::{ALICE, Fault, OPS};

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
        (&["ThreadGone"; 5], 400, &["Bad Request: message thread not found", "Bad Request: TOPIC_DELETED"]),
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

#[tokio::test]
async fn the_token_is_in_no_error_and_in_nothing_that_is_shown() {
    // One that looks like a token, and one that does not.
    for token in ["6000:AAanother-token_that_is_unknown_here", "bad token/with?signs#of<its>own"] {
        let bot = Bot::idle(world(), |config| config.bot_token = token.into()).await;
        let mut said = vec![format!("{:?}", bot.adapter)];
        said.push(format!("{:?}", bot.post(OPS, "", "looking …").await.unwrap_err()));
        let file = watchfloor_channel::FileRef {
            id: "BQAC".into(),
            name: "a.log".into(),
            media_type: "text/plain".into(),
            bytes: 1,
            url: None,
        };
        said.push(format!("{:?}", bot.adapter.fetch(&conversation(OPS, ""), &file, 10).await.unwrap_err()));
        bot.telegram.stop().await;
        let error = bot.adapter.typing(&conversation(OPS, "")).await.unwrap_err();
        said.extend([format!("{error:?}"), error.to_string()]);
        for text in &said {
            for secret in [token, "another-token", "signs", "bot6000"] {
                assert!(!text.contains(secret), "{text}");
            }
        }
    }
}
