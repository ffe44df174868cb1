//! What the asker sees while the bot works, and how an answer gets through when Slack makes trouble.

use serde_json::json;
use watchfloor::store::TurnStatus;
use watchfloor_sim::{model::Rule, slack::Fault};

use crate::{
    setting::Setting,
    stage::{ALICE, PLACEHOLDER, ROOM, Stage, by_step},
};

#[tokio::test]
async fn what_the_model_tells_the_asker_is_shown_before_the_answer() {
    let tell = Rule::call("SendMessage", json!({"message": "Looking at the pool first."})).when_step(0);
    let stage = Stage::with([tell, Rule::reply("Full.").when_step(1)]).await;
    stage.ask(ALICE, "why is it slow?").await;
    let placeholder = stage.placeholder().await;
    stage.idle().await;
    let texts: Vec<_> = stage.slack.edits(&placeholder.ts).into_iter().map(|edit| edit.text).collect();
    assert_eq!(texts, [PLACEHOLDER, "Looking at the pool first.", "Full."]);
    stage.done().await;
}

#[tokio::test]
async fn b013_an_answer_that_is_shown_already_is_not_sent_again() {
    let tell = Rule::call("SendMessage", json!({"message": "The pool is full."})).when_step(0);
    let stage = Stage::with([tell, Rule::reply("The pool is full.").when_step(1)]).await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "The pool is full.");
    assert_eq!(stage.shown(&thread), ["The pool is full."]);
    stage.done().await;
}

#[tokio::test]
async fn b041_telling_the_asker_something_ends_neither_the_turn_nor_starts_another() {
    let tell = |step| Rule::call("SendMessage", json!({"message": format!("Step {step}.")})).when_step(step);
    let stage = Stage::with([tell(0), tell(1), Rule::reply("Done.").when_step(2)]).await;
    stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "Done.");
    let tally = stage.tally().await;
    assert_eq!((tally.turns, tally.messages, tally.calls.len()), (1, 1, 2));
    stage.done().await;
}

#[tokio::test]
async fn six_questions_at_once_stay_within_what_slack_allows() {
    let setting = Setting::default().rules(by_step());
    let stage = setting.slack(|slack| slack.enforce_rates = true).open().await;
    let mut questions = Vec::new();
    for n in 0..6 {
        questions.push(stage.ask(ALICE, &format!("question {n}?")).await);
    }
    stage.idle().await;
    for question in &questions {
        assert_eq!(stage.shown(question), ["One."]);
    }
    for method in ["chat.postMessage", "chat.update"] {
        let refused: Vec<_> = stage.slack.calls(method).into_iter().filter(|call| call.error().is_some()).collect();
        assert!(refused.is_empty(), "{refused:#?}");
    }
    stage.done().await;
}

#[tokio::test]
async fn a_call_under_way_is_shown_while_it_runs() {
    let look = Rule::call("query_promql", json!({"query": "pool_in_use > 10"})).when_step(0);
    let stage = Stage::with([look, Rule::reply("Full.").when_step(1)]).await;
    stage.telemetry.hold();
    stage.ask(ALICE, "why is it slow?").await;
    let placeholder = stage.placeholder().await;
    stage.slack.wait_for_text(&placeholder.ts, |text| text.contains("⏳")).await;
    let shown = stage.slack.message(&placeholder.ts).text().to_owned();
    assert!(shown.starts_with(PLACEHOLDER) && shown.contains("pool_in_use &gt; 10"), "{shown}");
    stage.telemetry.release();
    stage.slack.wait_for_text(&placeholder.ts, |text| text == "Full.").await;
    stage.done().await;
}

#[tokio::test]
async fn b012_b018_a_long_answer_is_split_and_its_code_stays_code() {
    let log: Vec<_> = (0..150)
        .map(|n| format!("09:{:02}:{:02} checkout pool {n:03} of 150 waits for a connection", n / 60, n % 60))
        .collect();
    let text = format!("The log says:\n\n```\n{}\n```\n\nThat is all.", log.join("\n"));
    assert!(text.len() > 8_000);
    let stage = Stage::with([Rule::reply(text)]).await;
    let thread = stage.ask(ALICE, "what does the log say?").await;
    stage.placeholder().await;
    stage.idle().await;
    let parts = stage.shown(&thread);
    assert!(parts.len() >= 3, "{}", parts.len());
    for part in &parts {
        assert!(part.encode_utf16().count() <= 4_000, "{}", part.len());
        assert_eq!(part.matches("```").count() % 2, 0, "{part}");
    }
    assert!(parts[0].starts_with("The log says:") && parts.last().unwrap().ends_with("That is all."));
    // Every line once, in order: the placeholder is the first part and nothing is sent twice.
    let whole = parts.join("\n");
    let lines: Vec<_> = whole.lines().filter(|line| line.starts_with("09:")).collect();
    assert_eq!(lines, log);
    assert_eq!(stage.slack.calls("chat.update").len(), 1);
    stage.done().await;
}

async fn the_answer_gets_through(method: &str, faults: &[Fault]) {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    for fault in faults {
        stage.slack.fault(method, fault.clone());
    }
    stage.model.release();
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["One."], "{faults:?}");
    assert_eq!(stage.slack.calls("chat.postMessage").len(), 1, "{faults:?}");
    assert_eq!(stage.turn(&thread).await.status, TurnStatus::Answered);
    stage.done().await;
}

#[tokio::test]
async fn a_last_edit_that_is_rate_limited_is_repeated() {
    let limited = Fault::RateLimited { retry_after_secs: 1, http_200: false };
    the_answer_gets_through("chat.update", &[limited]).await;
}

#[tokio::test]
async fn a_last_edit_whose_fate_is_unknown_is_repeated() {
    for fault in [Fault::Http(500), Fault::HttpAfter(502), Fault::HtmlPage(503), Fault::DropResponse] {
        the_answer_gets_through("chat.update", &[fault]).await;
    }
}

#[tokio::test]
async fn an_answer_whose_placeholder_is_gone_is_posted() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    stage.slack.fault("chat.update", Fault::Error("message_not_found"));
    stage.model.release();
    let posted = stage.placeholder().await;
    assert_eq!((posted.text(), posted.thread_ts.as_ref()), ("One.", Some(&thread)));
    stage.idle().await;
    assert_eq!(stage.slack.calls("chat.postMessage").len(), 2);
    stage.done().await;
}

#[tokio::test]
async fn a_placeholder_whose_post_got_no_answer_is_found_and_not_posted_twice() {
    for fault in [Fault::DropResponse, Fault::HttpAfter(500)] {
        let stage = Stage::with(by_step()).await;
        stage.slack.fault("chat.postMessage", fault);
        let thread = stage.ask(ALICE, "why is it slow?").await;
        stage.placeholder().await;
        stage.idle().await;
        assert_eq!(stage.shown(&thread), ["One."]);
        stage.done().await;
    }
}

/// The turn fails without a word, after a handful of calls.
async fn gives_up(stage: Stage, code: &str) {
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.idle().await;
    assert_eq!(stage.shown(&thread), [""; 0]);
    let turn = stage.turn(&thread).await;
    assert_eq!((turn.status, turn.reason.as_deref()), (TurnStatus::Failed, Some(code)));
    assert!(stage.slack.calls("chat.postMessage").len() <= 2, "{code}");
    stage.model.release();
    stage.done().await;
}

#[tokio::test]
async fn where_nothing_can_be_posted_the_turn_ends_without_a_loop() {
    for code in ["not_in_channel", "is_archived", "restricted_action"] {
        let stage = Stage::with(by_step()).await;
        stage.model.hold();
        stage.slack.fault_times("chat.postMessage", Fault::Error(code), 10);
        gives_up(stage, code).await;
    }
}

#[tokio::test]
async fn a_revoked_token_ends_the_turn_without_a_loop() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    stage.slack.revoke_token().await;
    gives_up(stage, "token_revoked").await;
}

#[tokio::test]
async fn b027_a_placeholder_whose_thread_is_deleted_leaves_nothing_in_the_channel() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    stage.slack.fault("chat.postMessage", Fault::RateLimited { retry_after_secs: 1, http_200: false });
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.slack.wait_for_calls("chat.postMessage", 1).await;
    stage.slack.delete(ROOM, &thread).await;
    let removed = stage.slack.wait_for_calls("chat.delete", 1).await;
    assert_eq!(removed.len(), 1);
    stage.idle().await;
    stage.model.wait_for_open_streams(0).await;
    assert_eq!(stage.slack.messages(ROOM, None), []);
    let turn = stage.turn(&thread).await;
    assert_eq!((turn.status, turn.reason.as_deref()), (TurnStatus::Stopped, Some("retracted")));
    stage.model.release();
    stage.done().await;
}

#[tokio::test]
async fn a_long_turn_ends_with_one_reply_that_mentions_the_asker() {
    let slow = Rule::reply("Full.").delay(std::time::Duration::from_millis(1100));
    let stage = Setting::default().rules([slow]).limit("notify_after = \"1s\"").open().await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    let notice = stage.placeholder().await;
    assert_eq!(notice.text(), "<@U0ALICE> done: the answer is in my message above.");
    stage.idle().await;
    assert_eq!(stage.shown(&thread).len(), 2);
    stage.done().await;
}
