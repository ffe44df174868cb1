//! How an answer gets into its one message, whatever Telegram makes of the edits.

use std::time::Duration;

use serde_json::json;
use watchfloor::store::TurnStatus;
use watchfloor_sim::{
    model::Rule,
    telegram::{ALICE, Fault, Message, OPS},
};

use super::{
    setting::Setting,
    stage::{EDIT, POST, Stage, chain},
};
use crate::stage::{PLACEHOLDER, by_step};

fn tell(step: usize, text: &str) -> Rule {
    Rule::call("SendMessage", json!({"message": text})).when_step(step)
}

/// The placeholder of a question whose answer waits.
async fn thinking(stage: &Stage) -> (i64, Message) {
    stage.model.hold();
    let question = stage.ask(ALICE, "why is it slow?").await;
    let placeholder = stage.placeholder().await;
    stage.model.wait_for_open_streams(1).await;
    (question, placeholder)
}

async fn the_answer_gets_through(fault: Fault) {
    let stage = Stage::with(by_step()).await;
    let (question, placeholder) = thinking(&stage).await;
    stage.telegram.fault(EDIT, fault.clone());
    stage.model.release();
    stage.idle().await;
    assert_eq!(stage.shown(OPS), ["One."], "{fault:?}");
    assert_eq!(stage.ours(OPS)[0].id, placeholder.id, "{fault:?}");
    assert_eq!(stage.turn(OPS, &chain(question)).await.status, TurnStatus::Answered);
    stage.done().await;
}

#[tokio::test]
async fn what_the_model_tells_the_asker_is_shown_before_the_answer() {
    let stage = Stage::with([tell(0, "Looking at the pool first."), Rule::reply("Full.").when_step(1)]).await;
    stage.ask(ALICE, "why is it slow?").await;
    let placeholder = stage.placeholder().await;
    stage.idle().await;
    assert_eq!(stage.versions(OPS, placeholder.id), [PLACEHOLDER, "Looking at the pool first.", "Full."]);
    stage.done().await;
}

#[tokio::test]
async fn b013_an_answer_that_is_shown_already_is_neither_an_error_nor_sent_again() {
    let stage = Stage::with([tell(0, "The pool is full."), Rule::reply("The pool is full.").when_step(1)]).await;
    stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "The pool is full.");
    assert_eq!((stage.shown(OPS).len(), stage.telegram.calls(POST).len()), (1, 1));
    stage.done().await;
}

#[tokio::test]
async fn b013_a_last_edit_that_is_not_modified_is_done() {
    // Its answer was lost, and the repetition finds the message as it should be.
    the_answer_gets_through(Fault::DropResponse).await;
    the_answer_gets_through(Fault::HtmlPageAfter(502)).await;
}

#[tokio::test]
async fn a_last_edit_whose_fate_is_unknown_is_repeated_and_never_posted() {
    let broken = Fault::error(500, "Internal Server Error");
    for fault in [broken, Fault::HtmlPage(502), Fault::Garbage, Fault::DropRequest] {
        the_answer_gets_through(fault).await;
    }
}

#[tokio::test]
async fn b014_nothing_that_comes_after_an_answer_changes_it() {
    let stage = Stage::with(by_step()).await;
    stage.ask(ALICE, "why is it slow?").await;
    let answer = stage.answer_in(OPS).await;
    stage.telegram.redeliver();
    stage.reply(ALICE, answer.id, "/stop").await;
    stage.reply(ALICE, answer.id, "and now?").await;
    assert_eq!(stage.answer().await, "Two.");
    assert_eq!(stage.versions(OPS, answer.id), [PLACEHOLDER, "One."]);
    assert_eq!(stage.shown(OPS), ["One.", "Two."]);
    stage.done().await;
}

#[tokio::test]
async fn b017_b059_a_wait_before_the_last_edit_is_sat_out_and_nothing_is_posted_instead() {
    let stage = Stage::with(by_step()).await;
    let (_, placeholder) = thinking(&stage).await;
    stage.telegram.flood(OPS, 2);
    stage.model.release();
    stage.idle().await;
    assert_eq!(stage.versions(OPS, placeholder.id), [PLACEHOLDER, "One."]);
    let calls = stage.telegram.calls(EDIT);
    assert!(calls.len() == 2 && calls[1].at - calls[0].at >= Duration::from_secs(2), "{calls:#?}");
    assert_eq!(stage.telegram.calls(POST).len(), 1);
    stage.done().await;
}

#[tokio::test]
async fn b017_during_a_wait_the_newest_text_wins() {
    let rules = [tell(0, "Step 0."), tell(1, "Step 1."), Rule::reply("Full.").when_step(2)];
    let stage = Stage::with(rules).await;
    stage.telegram.fault(EDIT, Fault::retry_after(2));
    stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    stage.idle().await;
    assert_eq!(stage.shown(OPS), ["Full."]);
    let calls = stage.telegram.calls(EDIT);
    assert!(calls.len() <= 4 && calls[1].at - calls[0].at >= Duration::from_secs(2), "{calls:#?}");
    stage.done().await;
}

#[tokio::test]
async fn b017_several_questions_at_once_are_answered_and_no_wait_is_cut_short() {
    let setting = Setting::default().rules(by_step());
    let stage = setting.telegram(|telegram| telegram.enforce_rates = true).open().await;
    for n in 0..3 {
        stage.ask(ALICE, &format!("question {n}?")).await;
    }
    stage.idle().await;
    assert_eq!(stage.shown(OPS), ["One."; 3]);
    assert!(stage.refused().is_empty(), "our own pace: {:#?}", stage.refused());
    stage.done().await;
}

#[tokio::test]
async fn b022_an_answer_whose_markup_telegram_can_not_parse_is_shown_without_it() {
    let stage = Stage::with([Rule::reply("The **pool** is `full` & slow.")]).await;
    let (_, placeholder) = thinking(&stage).await;
    stage.telegram.fault(EDIT, Fault::error(400, "Bad Request: can't parse entities: unsupported start tag \"x\""));
    stage.model.release();
    stage.idle().await;
    let answer = stage.telegram.message(OPS, placeholder.id);
    assert_eq!((answer.text(), answer.entities().len()), ("The pool is full & slow.", 0));
    assert_eq!((stage.shown(OPS).len(), stage.telegram.calls(EDIT).len()), (1, 2));
    stage.done().await;
}

#[tokio::test]
async fn an_answer_whose_placeholder_was_deleted_is_posted() {
    let stage = Stage::with(by_step()).await;
    let (question, placeholder) = thinking(&stage).await;
    stage.telegram.delete(OPS, placeholder.id).await;
    stage.model.release();
    let posted = stage.answer_in(OPS).await;
    assert_eq!((posted.text(), posted.reply_to), ("One.", Some(question)));
    assert_eq!(stage.shown(OPS), ["One."]);
    stage.done().await;
}

#[tokio::test]
async fn a_deleted_question_does_not_lose_its_answer() {
    let stage = Stage::with(by_step()).await;
    let (question, placeholder) = thinking(&stage).await;
    stage.telegram.delete(OPS, question).await;
    stage.telegram.delete(OPS, placeholder.id).await;
    stage.model.release();
    let posted = stage.answer_in(OPS).await;
    assert_eq!((posted.text(), posted.reply_to), ("One.", None));
    stage.done().await;
}

#[tokio::test]
async fn a_placeholder_of_which_nothing_is_known_is_posted_once_more_and_no_further() {
    for (fault, shown) in [
        (Fault::DropResponse, &[PLACEHOLDER, "One."][..]),
        (Fault::HtmlPageAfter(502), &[PLACEHOLDER, "One."]),
        // Nothing had come of it.
        (Fault::HtmlPage(502), &["One."]),
    ] {
        let stage = Stage::with(by_step()).await;
        stage.telegram.fault(POST, fault.clone());
        stage.ask(ALICE, "why is it slow?").await;
        stage.idle().await;
        assert_eq!(stage.shown(OPS), shown, "{fault:?}");
        assert_eq!(stage.telegram.calls(POST).len(), 2, "{fault:?}");
        stage.done().await;
    }
}

#[tokio::test]
async fn b012_a_long_answer_begins_in_its_placeholder_and_nothing_is_sent_twice() {
    let lines: Vec<_> = (0..300).map(|n| format!("checkout pool {n:03} waits for a connection")).collect();
    let stage = Stage::with([tell(0, "Reading the log."), Rule::reply(lines.join("\n\n")).when_step(1)]).await;
    stage.ask(ALICE, "what does the log say?").await;
    let placeholder = stage.placeholder().await;
    stage.idle().await;
    let parts = stage.ours(OPS);
    assert!((3..=5).contains(&parts.len()), "{}", parts.len());
    assert_eq!(parts[0].id, placeholder.id);
    assert!(parts.iter().all(|part| part.text().encode_utf16().count() <= 4_096));
    let shown: Vec<_> = parts.iter().flat_map(|part| part.text().lines()).filter(|line| !line.is_empty()).collect();
    assert_eq!(shown, lines);
    stage.done().await;
}

#[tokio::test]
async fn a_very_long_answer_goes_up_as_a_file_and_the_placeholder_holds_its_beginning() {
    let text: String = (0..2_000).map(|n| format!("Line {n} of a very long report.\n\n")).collect();
    let stage = Stage::with([Rule::reply(text)]).await;
    stage.ask(ALICE, "everything, please").await;
    let placeholder = stage.placeholder().await;
    stage.idle().await;
    let shown = stage.telegram.message(OPS, placeholder.id);
    assert!(shown.text().starts_with("Line 0 of"), "{}", shown.text());
    assert!(shown.text().ends_with("the whole answer is in the file answer.md below."), "{}", shown.text());
    let files = stage.telegram.sent_files();
    assert_eq!((files.len(), stage.ours(OPS).len()), (1, 2));
    let file = files[0].file.as_ref().unwrap();
    let content = String::from_utf8_lossy(&file.content);
    assert_eq!((file.name.as_str(), content.matches("of a very long report").count()), ("answer.md", 2_000));
    stage.done().await;
}

#[tokio::test]
async fn a_long_turn_ends_with_one_reply_that_mentions_the_asker() {
    let slow = Rule::reply("Full.").delay(Duration::from_millis(1100));
    let stage = Setting::default().rules([slow]).limit("notify_after = \"1s\"").open().await;
    stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    let notice = stage.placeholder().await;
    assert_eq!(notice.text(), "Alice done: the answer is in my message above.");
    assert_eq!(notice.marked("text_mention"), ["Alice"]);
    stage.idle().await;
    assert_eq!(stage.shown(OPS).len(), 2);
    stage.done().await;
}
