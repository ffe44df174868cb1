//! Messages of the bot: what is kept, and each refusal in Telegram's words.

use std::collections::BTreeMap;

use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use watchfloor_sim::telegram::{ALICE, Action, BOB, BOT_TOKEN, FORUM, OPS, SMALL_GROUP, SimFile};

use crate::{support::http, telegram_support::telegram};

#[tokio::test]
async fn a_placeholder_is_posted_edited_and_kept_with_its_history() {
    let (sim, bot) = telegram().await;
    let asked = sim.say(ALICE, OPS, "@ops_bot why is checkout slow?").await;
    let keyboard = json!({"inline_keyboard": [[{"text": "Stop", "callback_data": "s:1"}]]});
    let reply = json!({"message_id": asked, "allow_sending_without_reply": true});
    let args = json!({"chat_id": OPS, "text": "Looking …", "reply_parameters": reply, "reply_markup": keyboard,
        "disable_notification": true});
    let posted = bot.ok("SendMessage", args).await;
    assert_eq!(posted["reply_to_message"]["text"], "@ops_bot why is checkout slow?");
    assert_eq!((&posted["message_thread_id"], &posted["reply_markup"]), (&json!(asked), &keyboard));
    let message = sim.next_message(OPS).await;
    assert_eq!(
        (message.reply_to, message.silent, json!(message.id)),
        (Some(asked), true, posted["message_id"].clone())
    );
    assert_eq!(message.buttons(), [("Stop".to_owned(), "s:1".to_owned())]);

    let html = "  <b>Pool</b> is full: see <a href=\"https://e.org/a\">the graph</a> &amp; <code>a &lt; b</code>\n";
    let edit = json!({"chat_id": OPS.to_string(), "message_id": message.id, "text": html, "parse_mode": "HTML"});
    let edited = bot.ok("editMessageText", edit.clone()).await;
    assert_eq!(edited["text"], "Pool is full: see the graph & a < b");
    // The edit came without a keyboard.
    assert_eq!(edited.get("reply_markup"), None);
    let same = bot.refused("editMessageText", edit).await;
    assert!(same.starts_with("400 Bad Request: message is not modified"), "{same}");
    let text = sim.wait_for_text(OPS, message.id, |text| text.starts_with("Pool")).await;
    assert_eq!(text, "Pool is full: see the graph & a < b");
    let edits = sim.edits(OPS, message.id);
    let seen: Vec<_> = edits.iter().map(|edit| (edit.text.as_str(), edit.keyboard.is_some())).collect();
    assert_eq!(seen, [("Looking …", true), (text.as_str(), false)]);
    let now = sim.message(OPS, message.id);
    assert_eq!(now.marked("bold"), ["Pool"]);
    assert_eq!(now.marked("code"), ["a < b"]);
    assert_eq!(now.marked("text_link"), ["the graph"]);
    // The keyboard alone is a change as well.
    let args = json!({"chat_id": OPS, "message_id": message.id, "reply_markup": keyboard});
    assert_eq!(bot.ok("editMessageReplyMarkup", args).await["reply_markup"], keyboard);
    assert_eq!((sim.unseen(), sim.complaints()), (vec![], vec![]));
    sim.stop().await;
}

#[tokio::test]
async fn each_mistake_has_its_real_text() {
    let (sim, bot) = telegram().await;
    let hers = sim.say(ALICE, OPS, "hello").await;
    let ours = bot.say(OPS, "ours").await;
    let gone = bot.say(OPS, "gone").await;
    sim.delete(OPS, gone).await;
    let topic = sim.new_topic(FORUM, "Checkout").await;
    let closed = sim.new_topic(FORUM, "Closed").await;
    sim.close_topic(FORUM, closed).await;
    let deleted = sim.new_topic(FORUM, "Deleted").await;
    sim.delete_topic(FORUM, deleted).await;
    let in_general = sim.say(ALICE, FORUM, "hello").await;
    let button = |data: &str| json!({"inline_keyboard": [[{"text": "x", "callback_data": data}]]});
    let send = |mut args: Value| {
        let Value::Object(defaults) = json!({"chat_id": OPS, "text": "x"}) else { unreachable!() };
        for (key, value) in defaults {
            args.as_object_mut().unwrap().entry(key).or_insert(value);
        }
        ("sendMessage", args)
    };
    let edit = |id: i64, text: &str| ("editMessageText", json!({"chat_id": OPS, "message_id": id, "text": text}));
    let html = |text: &str| send(json!({"text": text, "parse_mode": "HTML"}));
    let in_topic = |topic: i64| send(json!({"chat_id": FORUM, "message_thread_id": topic}));
    for ((method, args), wanted) in [
        (send(json!({"chat_id": -5})), "chat not found"),
        (send(json!({"chat_id": "@nobody"})), "chat not found"),
        (send(json!({"chat_id": null})), "chat_id is empty"),
        (send(json!({"text": ""})), "message text is empty"),
        (send(json!({"text": " \n\u{200b}"})), "message text is empty"),
        (send(json!({"text": "🔥".repeat(4097)})), "message is too long"),
        (send(json!({"text": "<".repeat(32_769)})), "text is too long"),
        (html("<p>x</p>"), "can't parse entities: Unsupported start tag \"p\" at byte offset 0"),
        (html("<b>x"), "can't parse entities: Can't find end tag corresponding to start tag \"b\""),
        (send(json!({"reply_parameters": {"message_id": gone}})), "message to be replied not found"),
        (send(json!({"reply_markup": button(&"é".repeat(33))})), "BUTTON_DATA_INVALID"),
        (send(json!({"reply_markup": button("")})), "BUTTON_DATA_INVALID"),
        (in_topic(1), "message thread not found"),
        (in_topic(deleted), "message thread not found"),
        (in_topic(closed), "TOPIC_CLOSED"),
        (
            send(json!({"chat_id": FORUM, "message_thread_id": topic,
                "reply_parameters": {"message_id": in_general, "allow_sending_without_reply": true}})),
            "message to be replied not found",
        ),
        (edit(gone, "y"), "message to edit not found"),
        (edit(hers, "y"), "message can't be edited"),
        (edit(ours, ""), "message text is empty"),
        (edit(ours, &"x".repeat(4097)), "MESSAGE_TOO_LONG"),
        (("deleteMessage", json!({"chat_id": OPS, "message_id": gone})), "message to delete not found"),
        (("sendChatAction", json!({"chat_id": OPS, "action": "dancing"})), "wrong parameter action in request"),
        (("setMyCommands", json!({"commands": [{"command": "Stop", "description": "x"}]})), "BOT_COMMAND_INVALID"),
        (("getFile", json!({"file_id": "BQAC-no"})), "invalid file_id"),
    ] {
        assert_eq!(bot.refused(method, args.clone()).await, format!("400 Bad Request: {wanted}"), "{method} {args}");
    }
    assert_eq!(bot.refused("sendPigeon", json!({})).await, "404 Not Found: method not found");
    // What just fits.
    bot.ok("sendMessage", json!({"chat_id": OPS, "text": "🔥".repeat(4096)})).await;
    bot.ok("sendMessage", json!({"chat_id": OPS, "text": "x", "reply_markup": button(&"é".repeat(32))})).await;
    let lenient = json!({"message_id": gone, "allow_sending_without_reply": true});
    let sent = bot.ok("sendMessage", json!({"chat_id": OPS, "text": "x", "reply_parameters": lenient})).await;
    assert_eq!(sent.get("reply_to_message"), None);
}

#[tokio::test]
async fn who_may_not_write_is_told_why() {
    let (sim, bot) = telegram().await;
    let text = |chat: i64| json!({"chat_id": chat, "text": "hello"});
    let mut seen = BTreeMap::new();
    seen.insert("never started", bot.refused("sendMessage", text(BOB)).await);
    sim.say(ALICE, ALICE, "/start").await;
    bot.ok("sendMessage", text(ALICE)).await;
    sim.block_bot(ALICE).await;
    seen.insert("blocked", bot.refused("sendMessage", text(ALICE)).await);
    sim.kick_bot(SMALL_GROUP).await;
    seen.insert("kicked", bot.refused("sendMessage", text(SMALL_GROUP)).await);
    sim.kick_bot(OPS).await;
    seen.insert("kicked from a supergroup", bot.refused("sendMessage", text(OPS)).await);
    sim.mute_bot(FORUM).await;
    seen.insert("muted", bot.refused("sendMessage", text(FORUM)).await);
    assert_eq!(
        seen,
        BTreeMap::from([
            ("never started", "403 Forbidden: bot can't initiate conversation with a user".to_owned()),
            ("blocked", "403 Forbidden: bot was blocked by the user".to_owned()),
            ("kicked", "403 Forbidden: bot was kicked from the group chat".to_owned()),
            ("kicked from a supergroup", "403 Forbidden: bot was kicked from the supergroup chat".to_owned()),
            ("muted", "400 Bad Request: not enough rights to send text messages to the chat".to_owned()),
        ])
    );
    sim.add_bot(OPS).await;
    bot.ok("sendMessage", text(OPS)).await;
}

#[tokio::test]
async fn answers_go_to_the_topic_and_mistaken_thread_ids_are_complained_about() {
    let (sim, bot) = telegram().await;
    let topic = sim.new_topic(FORUM, "Checkout").await;
    let asked = sim.say_in_topic(ALICE, FORUM, topic, "slow?").await;
    let sent = bot.ok("sendMessage", json!({"chat_id": FORUM, "message_thread_id": topic, "text": "Looking"})).await;
    assert_eq!((&sent["message_thread_id"], &sent["is_topic_message"]), (&json!(topic), &json!(true)));
    let reply = json!({"chat_id": FORUM, "text": "Looking", "reply_parameters": {"message_id": asked}});
    assert_eq!(bot.ok("sendMessage", reply).await["message_thread_id"], topic);
    bot.ok("sendChatAction", json!({"chat_id": FORUM, "message_thread_id": topic, "action": "typing"})).await;
    let actions: Vec<_> =
        sim.actions().into_iter().map(|Action { chat, topic, action, .. }| (chat, topic, action)).collect();
    assert_eq!(actions, [(FORUM, Some(topic), "typing".to_owned())]);
    bot.ok("sendMessage", json!({"chat_id": OPS, "message_thread_id": 11, "text": "x"})).await;
    assert_eq!(sim.complaints(), [format!("message_thread_id 11 sent to {OPS}, which has no topics")]);
}

#[tokio::test]
async fn entities_beyond_the_hundredth_are_dropped_and_complained_about() {
    let (sim, bot) = telegram().await;
    let text = "<code>x</code> ".repeat(101);
    let sent = bot.ok("sendMessage", json!({"chat_id": OPS, "text": text, "parse_mode": "html"})).await;
    assert_eq!(sent["entities"].as_array().unwrap().len(), 100);
    assert_eq!(sim.complaints(), ["1 entities dropped: no more than 100 are kept"]);
}

#[tokio::test]
async fn a_press_is_answered_once() {
    let (sim, mut bot) = telegram().await;
    let keyboard = json!({"inline_keyboard": [[{"text": "Approve", "callback_data": "a:1"}]]});
    let args = json!({"chat_id": OPS, "text": "Restart?", "reply_markup": keyboard});
    let ours = bot.ok("sendMessage", args).await["message_id"].as_i64().unwrap();
    let query = sim.press(ALICE, OPS, ours, "a:1").await;
    let update = bot.updates().await[0]["callback_query"].clone();
    assert_eq!((&update["id"], &update["data"], &update["from"]["id"]), (&json!(query), &json!("a:1"), &json!(ALICE)));
    assert_eq!(update["message"]["reply_markup"], keyboard);
    assert_eq!(sim.unanswered(), [query.as_str()]);
    let args = json!({"callback_query_id": query, "text": "No longer valid", "show_alert": true});
    bot.ok("answerCallbackQuery", args.clone()).await;
    let answer = sim.wait_for_answer(&query).await;
    assert_eq!((answer.text.as_str(), answer.alert), ("No longer valid", true));
    let again = bot.refused("answerCallbackQuery", args).await;
    assert!(again.starts_with("400 Bad Request: query is too old"), "{again}");
    sim.delete(OPS, ours).await;
    sim.press(ALICE, OPS, ours, "a:1").await;
    assert_eq!(bot.updates().await[0]["callback_query"]["message"]["date"], 0);
}

#[tokio::test]
async fn files_go_both_ways() {
    let (sim, mut bot) = telegram().await;
    let url = format!("{}/bot{BOT_TOKEN}/sendDocument", sim.api_url());
    let part = Part::bytes(b"# Report".to_vec()).file_name("report.md").mime_str("text/markdown").unwrap();
    let form = Form::new().text("chat_id", OPS.to_string()).text("caption", "the report").part("document", part);
    let sent: Value = http().post(url).multipart(form).send().await.unwrap().json().await.unwrap();
    assert_eq!((&sent["ok"], &sent["result"]["document"]["file_name"]), (&json!(true), &json!("report.md")));
    let files = sim.sent_files();
    let file = files[0].file.as_ref().unwrap();
    assert_eq!(
        (file.name.as_str(), file.content.as_ref(), files[0].text()),
        ("report.md", &b"# Report"[..], "the report")
    );

    sim.attach(ALICE, OPS, SimFile::new("a.log", "text/plain", "full"), "").await;
    let id = bot.messages().await[0]["document"]["file_id"].clone();
    let found = bot.ok("getFile", json!({"file_id": id})).await;
    let path = found["file_path"].as_str().unwrap();
    let fetch = |token: &str| http().get(format!("{}/file/bot{token}/{path}", sim.api_url())).send();
    assert_eq!(fetch(BOT_TOKEN).await.unwrap().text().await.unwrap(), "full");
    assert_eq!(fetch("1:no").await.unwrap().status(), 404);
    assert_eq!(sim.downloads(), [path, path]);
    let big = SimFile { size: Some(20_000_001), ..SimFile::new("b.log", "text/plain", "x") };
    sim.attach(ALICE, OPS, big, "").await;
    let id = bot.messages().await[0]["document"]["file_id"].clone();
    assert_eq!(bot.refused("getFile", json!({"file_id": id})).await, "400 Bad Request: file is too big");
}

#[tokio::test]
async fn menus_members_and_reactions_are_kept() {
    let (sim, bot) = telegram().await;
    let commands = json!([{"command": "stop", "description": "Stops"}]);
    let scope = json!({"type": "all_group_chats"});
    bot.ok("setMyCommands", json!({"commands": commands, "scope": scope})).await;
    assert_eq!(bot.ok("getMyCommands", json!({"scope": scope})).await, commands);
    assert_eq!(bot.ok("getMyCommands", json!({})).await, json!([]));
    assert_eq!(sim.commands().len(), 1);
    let hers = sim.say(ALICE, OPS, "hello").await;
    let eyes = json!([{"type": "emoji", "emoji": "👀"}]);
    bot.ok("setMessageReaction", json!({"chat_id": OPS, "message_id": hers, "reaction": eyes})).await;
    assert_eq!(sim.message(OPS, hers).reactions, ["👀"]);
    let member = bot.ok("getChatMember", json!({"chat_id": OPS, "user_id": 6000})).await;
    assert_eq!((&member["status"], &member["user"]["username"]), (&json!("member"), &json!("ops_bot")));
    assert_eq!(bot.ok("getChat", json!({"chat_id": FORUM})).await["is_forum"], true);
}
