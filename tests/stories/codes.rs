//! What Slack's refusals lead to, a whole turn each: the answer in a plainer form, the answer elsewhere, or a person who learns
//! why there is none.

use std::time::Duration;

use serde_json::{Value, json};
use watchfloor::store::TurnStatus;
use watchfloor_channel::ChannelState;
use watchfloor_sim::{model::Rule, slack::Fault};

use crate::{
    asked,
    setting::Setting,
    stage::{ALICE, BOB, PLACEHOLDER, ROOM, Stage, by_step},
};

const POST: &str = "chat.postMessage";
const UPDATE: &str = "chat.update";

/// A turn whose placeholder stands and whose model waits.
async fn thinking(stage: &Stage) -> String {
    stage.model.hold();
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    stage.model.wait_for_open_streams(1).await;
    thread
}

async fn ended_as(stage: &Stage, thread: &str, status: TurnStatus, reason: Option<&str>) {
    stage.idle().await;
    let turn = stage.turn(thread).await;
    assert_eq!((turn.status, turn.reason.as_deref()), (status, reason));
}

// Content.

#[tokio::test]
async fn b016_an_answer_whose_blocks_are_refused_stays_one_message_and_is_text() {
    for code in
        ["invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "block_mismatch", "markdown_text_conflict"]
    {
        let stage = Stage::with([Rule::reply("**Full**.")]).await;
        let thread = thinking(&stage).await;
        stage.slack.fault(UPDATE, Fault::Error(code));
        stage.model.release();
        ended_as(&stage, &thread, TurnStatus::Answered, None).await;
        assert_eq!(stage.shown(&thread), ["*Full*."], "{code}");
        assert_eq!((stage.slack.calls(POST).len(), stage.slack.calls(UPDATE).len()), (1, 2), "{code}");
        stage.done().await;
    }
}

#[tokio::test]
async fn a_table_beyond_every_limit_is_shown_whole() {
    let rows: Vec<_> = (0..300).map(|n| format!("| host-{n:03} | {n} % | waits for a connection |")).collect();
    let table = format!("| host | use | state |\n|---|---|---|\n{}", rows.join("\n"));
    let stage = Stage::with([Rule::reply(format!("All of them:\n\n{table}\n\nThat is all."))]).await;
    let thread = stage.ask(ALICE, "which hosts?").await;
    stage.idle().await;
    let whole = stage.shown(&thread).join("\n");
    let hosts: Vec<_> = whole.split("host-").skip(1).map(|rest| rest[..3].to_owned()).collect();
    assert_eq!(hosts, (0..300).map(|n| format!("{n:03}")).collect::<Vec<_>>());
    for method in [POST, UPDATE] {
        assert!(stage.slack.calls(method).iter().all(|call| call.error().is_none()), "{method}");
    }
    stage.done().await;
}

#[tokio::test]
async fn b022_an_answer_that_slack_finds_fault_with_is_shown_without_markup() {
    let stage = Stage::with([Rule::reply("a lone _ and **bold**")]).await;
    let thread = thinking(&stage).await;
    stage.slack.fault(UPDATE, Fault::Error("invalid_attachments"));
    stage.model.release();
    ended_as(&stage, &thread, TurnStatus::Answered, None).await;
    assert_eq!(stage.shown(&thread), ["a lone _ and **bold**"]);
    stage.done().await;
}

#[tokio::test]
async fn an_answer_that_slack_finds_too_long_is_cut_smaller_and_nothing_is_lost() {
    let stage = Stage::with([Rule::reply(format!("{}\n\n{}", "First. ".repeat(20), "Second. ".repeat(20)))]).await;
    let thread = thinking(&stage).await;
    stage.slack.fault(UPDATE, Fault::Error("msg_too_long"));
    stage.model.release();
    ended_as(&stage, &thread, TurnStatus::Answered, None).await;
    let whole = stage.shown(&thread).join("\n");
    assert_eq!((whole.matches("First.").count(), whole.matches("Second.").count()), (20, 20));
    stage.done().await;
}

#[tokio::test]
async fn an_answer_with_nothing_but_markup_says_that_there_is_none() {
    let stage = Stage::with([Rule::reply("---\n\n***")]).await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.idle().await;
    let shown = stage.shown(&thread);
    assert_eq!(shown.len(), 1);
    assert!(shown[0] != PLACEHOLDER && !shown[0].is_empty(), "{shown:?}");
    stage.done().await;
}

// The message, or what was wrong with the call.

#[tokio::test]
async fn a_placeholder_that_can_not_be_edited_gives_way_to_a_fresh_answer() {
    for code in
        ["message_not_found", "cant_update_message", "edit_window_closed", "invalid_arguments", "a_code_of_next_year"]
    {
        let stage = Stage::with(by_step()).await;
        let thread = thinking(&stage).await;
        stage.slack.fault(UPDATE, Fault::Error(code));
        stage.model.release();
        ended_as(&stage, &thread, TurnStatus::Answered, None).await;
        assert_eq!(stage.shown(&thread), ["One."], "{code}");
        assert_eq!((stage.slack.calls(POST).len(), stage.slack.calls("chat.delete").len()), (2, 1), "{code}");
        stage.done().await;
    }
}

#[tokio::test]
async fn a_fresh_answer_whose_blocks_are_refused_too_is_text() {
    let stage = Stage::with(by_step()).await;
    let thread = thinking(&stage).await;
    stage.slack.fault(UPDATE, Fault::Error("message_not_found"));
    stage.slack.fault(POST, Fault::Error("invalid_blocks"));
    stage.model.release();
    ended_as(&stage, &thread, TurnStatus::Answered, None).await;
    assert_eq!(stage.shown(&thread), ["One."]);
    stage.done().await;
}

// The place.

async fn told_in_private(stage: &Stage, why: &str) {
    let chat = stage.slack.open_dm(ALICE).await;
    let told = stage.slack.next_message(&chat).await;
    let expected = format!(
        "I can't answer in the room where you asked “why is it slow?”: {why}. Once that is mended, ask me there again."
    );
    assert_eq!((told.text(), told.thread_ts.as_deref()), (expected.as_str(), None));
}

#[tokio::test]
async fn an_answer_that_its_room_does_not_take_is_explained_to_the_asker_in_private() {
    for (code, why) in [
        ("is_archived", "the channel is archived"),
        ("channel_not_found", "the bot is not in this channel: invite it there"),
        ("not_in_channel", "the bot is not in this channel: invite it there"),
        ("is_inactive", "the bot can't write there"),
        ("restricted_action_thread_locked", "the channel's posting rules keep the bot from writing there"),
    ] {
        let stage = Stage::with(by_step()).await;
        let thread = thinking(&stage).await;
        stage.slack.fault(UPDATE, Fault::Error(code));
        stage.model.release();
        told_in_private(&stage, why).await;
        ended_as(&stage, &thread, TurnStatus::Answered, None).await;
        assert_eq!((stage.slack.calls(POST).len(), stage.slack.calls(UPDATE).len()), (2, 1), "{code}");
        stage.done().await;
    }
}

#[tokio::test]
async fn a_question_from_a_room_without_us_is_explained_to_the_asker_in_private() {
    let stage = Stage::with(by_step()).await;
    stage.slack.fault(POST, Fault::Error("not_in_channel"));
    let thread = stage.ask(ALICE, "why is it slow?").await;
    told_in_private(&stage, "the bot is not in this channel: invite it there").await;
    ended_as(&stage, &thread, TurnStatus::Failed, Some("not_in_channel")).await;
    stage.done().await;
}

#[tokio::test]
async fn a_channel_that_is_archived_during_the_work_ends_it_and_the_asker_is_told() {
    let look = Rule::call("query_promql", json!({"query": "pool_in_use"})).when_step(0);
    let stage = Stage::with([look, Rule::reply("Full.").when_step(1)]).await;
    stage.model.hold();
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    stage.slack.archive(ROOM).await;
    stage.model.release();
    told_in_private(&stage, "the channel is archived").await;
    stage.idle().await;
    assert_eq!(stage.turn(&thread).await.session_id, stage.session(&thread).await.unwrap().id);
    stage.done().await;
}

#[tokio::test]
async fn where_the_asker_can_not_be_told_either_the_turn_just_ends() {
    for method in [POST, "conversations.open"] {
        let stage = Stage::with(by_step()).await;
        stage.slack.fault(POST, Fault::Error("is_archived"));
        stage.slack.fault(method, Fault::Error("messages_tab_disabled"));
        let thread = stage.ask(ALICE, "why is it slow?").await;
        ended_as(&stage, &thread, TurnStatus::Failed, Some("is_archived")).await;
        assert!(stage.slack.calls(POST).len() <= 2);
        stage.done().await;
    }
}

#[tokio::test]
async fn in_a_channel_without_threads_the_question_is_answered_beside_it() {
    let stage = Stage::with(by_step()).await;
    stage.slack.fault(POST, Fault::Error("restricted_action_non_threadable_channel"));
    stage.ask(ALICE, "why is it slow?").await;
    let message = stage.placeholder().await;
    stage.idle().await;
    let message = stage.slack.message(&message.ts);
    assert_eq!((message.thread_ts.as_deref(), message.text()), (None, "One."));
    stage.done().await;
}

// The account and its scopes.

#[tokio::test]
async fn a_revoked_token_turns_the_channel_off_and_health_says_so() {
    let stage = Stage::with(by_step()).await;
    thinking(&stage).await;
    stage.slack.revoke_token().await;
    stage.model.release();
    stage.idle().await;
    let mut state = stage.app.channels()[0].state.clone();
    let off = state.wait_for(|state| matches!(state, ChannelState::Off(_)));
    tokio::time::timeout(Duration::from_secs(10), off).await.unwrap().unwrap();
    let url = format!("http://{}/readyz", stage.app.address());
    let client = reqwest::Client::builder().timeout(Duration::from_secs(10)).build().unwrap();
    let answer = client.get(url).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 503);
    let health: Value = answer.json().await.unwrap();
    assert_eq!(health["channels"][0]["state"], "off");
    assert!(health["channels"][0]["reason"].as_str().unwrap().starts_with("Slack does not accept the token"));
    assert_eq!(stage.slack.connections(), 0);
    stage.done().await;
}

#[tokio::test]
async fn a_missing_scope_ends_the_turn_without_a_loop() {
    let stage = Stage::with(by_step()).await;
    let answer = json!({"ok": false, "error": "missing_scope", "needed": "chat:write", "provided": ""});
    stage.slack.fault_times(POST, Fault::Answer(answer), 5);
    let thread = stage.ask(ALICE, "why is it slow?").await;
    ended_as(&stage, &thread, TurnStatus::Failed, Some("missing_scope")).await;
    assert_eq!(stage.slack.calls(POST).len(), 1);
    stage.done().await;
}

#[tokio::test]
async fn a_thread_that_can_not_be_read_is_answered_and_the_model_knows_which_scope_is_missing() {
    let stage = Stage::with(by_step()).await;
    let thread = stage.slack.say(BOB, ROOM, "checkout is slow").await;
    let answer = json!({"ok": false, "error": "missing_scope", "needed": "groups:history", "provided": "chat:write"});
    stage.slack.fault("conversations.replies", Fault::Answer(answer));
    stage.ask_in(&thread, ALICE, "why?").await;
    assert_eq!(stage.answer().await, "One.");
    let said = asked::said(&stage.model.requests()[0]);
    assert!(said[0].starts_with("<thread>") && said[0].contains("groups:history"), "{}", said[0]);
    stage.done().await;
}

// What may or may not have happened.

/// For each post that has no clear answer: it is looked for, and stands once.
async fn looked_up(stage: &Stage, posts: usize) {
    stage.idle().await;
    let calls = stage.slack.calls(POST);
    assert_eq!(calls.len(), posts, "{calls:#?}");
    assert!(!stage.slack.calls("conversations.replies").is_empty(), "nobody looked");
}

#[tokio::test]
async fn a_post_that_slack_itself_failed_at_is_looked_for_and_then_made_again() {
    for code in ["fatal_error", "internal_error", "service_unavailable", "request_timeout"] {
        let stage = Stage::with(by_step()).await;
        stage.slack.fault(POST, Fault::Error(code));
        let thread = stage.ask(ALICE, "why is it slow?").await;
        stage.placeholder().await;
        looked_up(&stage, 2).await;
        assert_eq!(stage.shown(&thread), ["One."], "{code}");
        stage.done().await;
    }
}

#[tokio::test]
async fn a_later_part_and_a_notice_without_an_answer_are_found_and_not_posted_again() {
    for fault in [Fault::DropResponse, Fault::HttpAfter(502)] {
        let long = format!("{}\n\n{}", "First. ".repeat(400), "Second. ".repeat(400));
        let slow = Rule::reply(long).delay(Duration::from_millis(1_100));
        let stage = Setting::default().rules([slow]).limit("notify_after = \"1s\"").open().await;
        let thread = stage.ask(ALICE, "why is it slow?").await;
        stage.placeholder().await;
        // One after the other: every part and the notice.
        stage.slack.fault_times(POST, fault.clone(), 2);
        stage.idle().await;
        let shown = stage.shown(&thread);
        assert_eq!(shown.last().unwrap(), "<@U0ALICE> done: the answer is in my message above.");
        let whole = shown.join("\n");
        assert_eq!((whole.matches("First.").count(), whole.matches("Second.").count()), (400, 400), "{fault:?}");
        assert_eq!(shown.iter().filter(|text| text.contains("done: the answer")).count(), 1);
        looked_up(&stage, shown.len()).await;
        stage.done().await;
    }
}

#[tokio::test]
async fn a_refusal_line_without_an_answer_is_not_posted_again() {
    let access = "allow_rooms = [\"*\"]\nallow_from = [\"U0BOB\"]\n";
    let stage = Setting::default().channel(access).open().await;
    stage.slack.fault(POST, Fault::DropResponse);
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    stage.ask_in(&thread, ALICE, "hello?").await;
    stage.idle().await;
    assert_eq!((stage.shown(&thread).len(), stage.slack.calls(POST).len()), (1, 1));
    stage.done().await;
}

#[tokio::test]
async fn a_warning_beside_a_good_answer_changes_nothing() {
    let stage = Stage::with(by_step()).await;
    let beside = json!({"warning": "missing_charset", "response_metadata": {"warnings": ["missing_charset"]}});
    for method in [POST, UPDATE] {
        stage.slack.fault(method, Fault::Besides(beside.clone()));
    }
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["One."]);
    stage.done().await;
}
