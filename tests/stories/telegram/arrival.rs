//! In however many pieces, copies and versions Telegram brings a message, it is one question; and what is no message.

use serde_json::json;
use watchfloor::clock::{Clock, SystemClock};
use watchfloor_sim::{
    model::Rule,
    telegram::{ALICE, BOB, OPS, Post, SimFile},
};

use super::{
    setting::Setting,
    stage::{POST, Stage},
};
use crate::{
    asked,
    stage::{PLACEHOLDER, by_step},
};

const NOTE: &str = "Your message reached me 42 min late.";

#[tokio::test]
async fn a_long_paste_is_one_question_whatever_its_pieces() {
    let stage = Stage::with([Rule::reply("Yes.")]).await;
    let log: String = (0..300).map(|n| format!("line {n} of a log that somebody pasted\n")).collect();
    let pieces = stage.telegram.paste(ALICE, OPS, &format!("@ops_bot what is this?\n{log}")).await;
    assert!(pieces.len() >= 3, "{pieces:?}");
    stage.idle().await;
    assert_eq!((stage.shown(OPS), stage.counted().await), (vec!["Yes.".to_owned()], (1, 1)));
    let said = asked::said(&stage.model.requests()[0]);
    assert_eq!((said.len(), said[0].matches("of a log that somebody pasted").count()), (1, 300));
    // Its pieces stay pieces when they come once more, and an answer to one of them is in the same chain.
    stage.telegram.redeliver();
    stage.idle().await;
    assert_eq!(stage.counted().await, (1, 1));
    stage.reply(ALICE, *pieces.last().unwrap(), "and the end of it?").await;
    assert_eq!(stage.answer().await, "Yes.");
    assert_eq!(asked::said(&stage.model.requests()[1]).len(), 2);
    stage.done().await;
}

#[tokio::test]
async fn an_album_is_one_question_with_all_its_pictures() {
    let stage = Stage::with([Rule::reply("Two graphs.")]).await;
    let pictures = vec![SimFile::photo(&b"\xff\xd8\xff one"[..]), SimFile::photo(&b"\xff\xd8\xff two"[..])];
    stage.telegram.album(ALICE, OPS, pictures, "@ops_bot what is this?").await;
    stage.idle().await;
    assert_eq!((stage.shown(OPS), stage.counted().await), (vec!["Two graphs.".to_owned()], (1, 1)));
    let said = asked::said(&stage.model.requests()[0]);
    assert!(said[0].contains("what is this?") && said[0].matches("[file ").count() == 2, "{said:#?}");
    stage.done().await;
}

#[tokio::test]
async fn a_document_is_read_and_its_content_is_evidence() {
    let stage = Stage::with([Rule::reply("The pool is exhausted [E1].")]).await;
    let log = SimFile::new("checkout.log", "text/plain", "10:02 pool exhausted\npassword=hunter2 for db-1\n");
    stage.telegram.attach(ALICE, OPS, log, "@ops_bot log attached").await;
    let answer = stage.answer().await;
    assert!(answer.contains("E1 checkout.log (47 bytes"), "{answer}");
    let said = asked::said(&stage.model.requests()[0]);
    assert_eq!(asked::words(&said[0]), "log attached\n[file checkout.log]");
    assert!(said[1].contains("10:02 pool exhausted\npassword=[redacted] for db-1"), "{}", said[1]);
    assert_eq!(stage.telegram.downloads().len(), 1);
    stage.done().await;
}

#[tokio::test]
async fn an_edit_of_a_question_that_was_taken_starts_nothing() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let question = stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    stage.telegram.edit(ALICE, OPS, question, "@ops_bot why is it slow in eu?").await;
    stage.telegram.heard().await;
    stage.model.release();
    stage.idle().await;
    stage.telegram.edit(ALICE, OPS, question, "@ops_bot why is it so slow?").await;
    stage.telegram.edit(ALICE, OPS, question, "never mind").await;
    stage.idle().await;
    assert_eq!((stage.shown(OPS), stage.counted().await), (vec!["One.".to_owned()], (1, 1)));
    stage.done().await;
}

#[tokio::test]
async fn b034_a_link_preview_that_arrives_later_starts_nothing() {
    let stage = Stage::with(by_step()).await;
    let question = stage.ask(ALICE, "what does https://example.org/runbook say?").await;
    stage.telegram.touch(OPS, question).await;
    let answer = stage.answer_in(OPS).await;
    stage.telegram.touch(OPS, question).await;
    stage.telegram.touch(OPS, answer.id).await;
    stage.idle().await;
    assert_eq!((stage.shown(OPS), stage.counted().await), (vec!["One.".to_owned()], (1, 1)));
    stage.done().await;
}

#[tokio::test]
async fn a_message_that_is_edited_to_mention_the_bot_is_answered() {
    let stage = Stage::with(by_step()).await;
    let remark = stage.telegram.say(ALICE, OPS, "why is it slow?").await;
    stage.idle().await;
    stage.telegram.edit(ALICE, OPS, remark, "@ops_bot why is it slow?").await;
    let answer = stage.answer_in(OPS).await;
    assert_eq!((answer.text(), answer.reply_to), ("One.", Some(remark)));
    stage.done().await;
}

#[tokio::test]
async fn a_click_on_any_button_is_answered_at_once_and_changes_nothing() {
    let stage = Stage::with(by_step()).await;
    stage.ask(ALICE, "why is it slow?").await;
    let answer = stage.answer_in(OPS).await;
    for data in ["a:r7:Zk3v9QmN", "", "whatever a modified app may send"] {
        let press = stage.telegram.press(BOB, OPS, answer.id, data).await;
        let told = stage.telegram.wait_for_answer(&press).await;
        assert!(told.text.starts_with("This button is no longer valid."), "{told:?}");
    }
    // Under a message that Telegram itself does not show any more.
    let press = stage.telegram.press(BOB, OPS, 9_999, "a:r7:Zk3v9QmN").await;
    stage.telegram.wait_for_answer(&press).await;
    stage.idle().await;
    assert_eq!((stage.shown(OPS), stage.counted().await), (vec!["One.".to_owned()], (1, 1)));
    stage.done().await;
}

fn said_42_minutes_ago() -> Post {
    let date = SystemClock.now_ms() / 1000 - 42 * 60;
    Post::text("@ops_bot is it up?").with("date", json!(date))
}

#[tokio::test]
async fn a_late_message_is_answered_and_everybody_sees_how_late_it_came() {
    let stage = Stage::with([Rule::reply("Yes.")]).await;
    stage.model.hold();
    stage.telegram.post(ALICE, OPS, said_42_minutes_ago()).await;
    let placeholder = stage.placeholder().await;
    assert_eq!(placeholder.text(), format!("{NOTE}\n\n{PLACEHOLDER}"));
    stage.model.release();
    stage.idle().await;
    assert_eq!(stage.shown(OPS), [format!("{NOTE}\n\nYes.")]);
    stage.done().await;
}

#[tokio::test]
async fn a_channel_may_skip_what_comes_late() {
    let setting = Setting::default().rules([Rule::reply("Yes.")]);
    let stage = setting.channel("allow_rooms = [\"*\"]\nlate = \"skip\"").open().await;
    stage.telegram.post(ALICE, OPS, said_42_minutes_ago()).await;
    stage.idle().await;
    assert_eq!((stage.shown(OPS), stage.counted().await), (vec![], (0, 0)));
    stage.ask(ALICE, "is it up?").await;
    assert_eq!(stage.answer().await, "Yes.");
    stage.done().await;
}

#[tokio::test]
async fn b001_b002_b003_b004_copies_of_an_update_are_answered_once_during_and_after_the_answer() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let question = stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    stage.telegram.heard().await;
    let copy = json!({"message": {"message_id": question, "date": SystemClock.now_ms() / 1000,
        "from": {"id": ALICE, "is_bot": false, "first_name": "Alice"},
        "chat": {"id": OPS, "type": "supergroup", "title": "Ops"}, "text": "@ops_bot why is it slow?",
        "entities": [{"type": "mention", "offset": 0, "length": 8}]}});
    stage.telegram.redeliver();
    for _ in 0..3 {
        // Under an id of its own.
        stage.telegram.raw(copy.clone()).await;
    }
    stage.telegram.heard().await;
    stage.model.release();
    stage.idle().await;
    stage.telegram.raw(copy).await;
    stage.idle().await;
    assert_eq!((stage.shown(OPS), stage.counted().await), (vec!["One.".to_owned()], (1, 1)));
    assert_eq!(stage.telegram.calls(POST).len(), 1);
    stage.done().await;
}

#[tokio::test]
async fn b010_an_update_is_confirmed_while_the_model_still_thinks() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    stage.ask(ALICE, "why is it slow?").await;
    stage.model.wait_for_open_streams(1).await;
    stage.telegram.heard().await;
    stage.model.release();
    assert_eq!(stage.answer().await, "One.");
    stage.done().await;
}

#[tokio::test]
async fn b011_a_burst_of_messages_is_taken_once_each() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    stage.ask(ALICE, "why is it slow?").await;
    let placeholder = stage.placeholder().await;
    stage.model.wait_for_open_streams(1).await;
    for n in 0..12 {
        stage.reply(ALICE, placeholder.id, &format!("@ops_bot and pod {n}?")).await;
    }
    stage.telegram.heard().await;
    stage.telegram.redeliver();
    stage.telegram.heard().await;
    stage.model.release();
    stage.idle().await;
    assert_eq!((stage.shown(OPS), stage.counted().await), (vec!["One.".to_owned(), "Two.".to_owned()], (2, 13)));
    let asked = stage.model.requests()[1].to_string();
    assert!((0..12).all(|n| asked.matches(&format!("and pod {n}?")).count() == 1), "{asked}");
    stage.done().await;
}

#[tokio::test]
async fn updates_that_nobody_knows_hold_nothing_up() {
    let stage = Stage::with(by_step()).await;
    stage.telegram.raw(json!({"purchased_galaxy": {"id": 7}})).await;
    stage.telegram.raw(json!({"message": "not even a message"})).await;
    stage.telegram.skip_update_ids(1_000);
    let post = Post::text("@ops_bot why at 10:02?").marked("10:02", "date_time", json!({"unix_time": 1}));
    stage.telegram.post(ALICE, OPS, post).await;
    assert_eq!(stage.answer().await, "One.");
    let said = asked::said(&stage.model.requests()[0]);
    assert_eq!(asked::words(&said[0]), "why at 10:02?");
    stage.done().await;
}

#[tokio::test]
async fn b053_b055_a_line_that_went_silent_is_replaced() {
    let setting = Setting::default().rules(by_step());
    let lines = "allow_rooms = [\"*\"]\npoll_timeout = \"1s\"\ninbound_deadline = \"200ms\"";
    let stage = setting.channel(lines).open().await;
    stage.telegram.hang_polls(true);
    stage.ask(ALICE, "why is it slow?").await;
    let polls = stage.telegram.calls("getUpdates").len();
    stage.telegram.wait_for_calls("getUpdates", polls + 1).await;
    stage.telegram.hang_polls(false);
    assert_eq!(stage.answer().await, "One.");
    stage.done().await;
}

#[tokio::test]
async fn b056_b058_a_network_that_comes_back_finds_the_bot_waiting_and_a_stop_does_not_wait_for_it() {
    let stage = Stage::with(by_step()).await;
    stage.telegram.down(true);
    let mut state = stage.app.channels()[0].state.clone();
    state.wait_for(|state| matches!(state, watchfloor_channel::ChannelState::Disconnected(_))).await.unwrap();
    stage.telegram.down(false);
    stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "One.");
    stage.telegram.down(true);
    let mut state = stage.app.channels()[0].state.clone();
    state.wait_for(|state| matches!(state, watchfloor_channel::ChannelState::Disconnected(_))).await.unwrap();
    stage.ended().await;
}

#[tokio::test]
async fn b060_another_poller_that_goes_away_is_sat_out() {
    let stage = Stage::with(by_step()).await;
    stage.telegram.conflict(2);
    stage.telegram.cut_connections();
    stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "One.");
    let calls = stage.telegram.calls("getUpdates");
    assert!(calls.iter().filter(|call| call.error().is_some()).count() <= 2, "{calls:#?}");
    stage.idle().await;
    stage.done().await;
}

#[tokio::test]
async fn b061_a_sign_in_page_never_reaches_the_model() {
    let stage = Stage::with([Rule::reply("I can't read it.")]).await;
    // What a proxy answers in the place of the file that Telegram announced.
    let page = SimFile::new("graph.png", "image/png", "<!DOCTYPE html><title>Sign in</title>");
    let page = SimFile { size: Some(5_120), ..page };
    stage.telegram.attach(ALICE, OPS, page, "@ops_bot what is this?").await;
    assert_eq!(stage.answer().await, "I can't read it.");
    let said = asked::said(&stage.model.requests()[0]);
    assert!(said[1].contains("graph.png") && said[1].contains("Not read: the platform did not"), "{said:#?}");
    assert!(!said[1].contains("Sign in"), "{}", said[1]);
    stage.done().await;
}

#[tokio::test]
async fn a_download_that_fails_is_told_to_the_model_and_holds_nobody_up() {
    let stage = Stage::with([Rule::reply("Noted.")]).await;
    let gone = SimFile { size: Some(25_000_000), ..SimFile::new("huge.log", "text/plain", "x") };
    stage.telegram.attach(ALICE, OPS, gone, "@ops_bot why?").await;
    assert_eq!(stage.answer().await, "Noted.");
    let said = asked::said(&stage.model.requests()[0]);
    assert!(said[1].contains("huge.log") && said[1].contains("Not read: "), "{said:#?}");
    stage.done().await;
}
