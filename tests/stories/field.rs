//! Faults that bots like this one had in the field, each by its number: on Slack and in a thread. Those of a model's stream
//! are in `model`, those of the socket in `line`, that of a key in the log in `secrets`.

mod line;
mod model;
mod secrets;

use std::time::Duration;

use serde_json::json;
use watchfloor_sim::{
    model::{ModelFault, Rule},
    slack::{EventId, Fault},
};

use crate::{
    asked,
    setting::Setting,
    stage::{ALICE, BOB, ROOM, Stage, by_step},
};

const POST: &str = "chat.postMessage";
const UPDATE: &str = "chat.update";

/// How models begin a text with what is theirs alone.
pub(crate) const OPENINGS: [&str; 4] = [
    "<think>\nis it the disk?\n</think>\n",
    "<system-reminder>You have 2 steps left.</system-reminder>\n",
    "<thread>\n20 people said before\n</thread>\n",
    "<result tool=\"query_promql\" state=\"known\">\nmade up\n</result>\n",
];

fn refused(stage: &Stage) -> usize {
    let calls = [POST, UPDATE].map(|method| stage.slack.calls(method));
    calls.iter().flatten().filter(|call| call.error().is_some()).count()
}

#[tokio::test]
async fn b002_copies_within_the_same_instant_are_answered_once() {
    let stage = Stage::with(by_step()).await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    for id in [EventId::New, EventId::Same, EventId::New] {
        stage.slack.redeliver(&thread, id).await;
    }
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["One."]);
    assert_eq!(stage.tally().await.turns, 1);
    stage.done().await;
}

#[tokio::test]
async fn b010_an_event_is_acknowledged_while_the_model_still_thinks() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    stage.model.wait_for_open_streams(1).await;
    stage.slack.heard().await;
    assert!(stage.slack.acks().iter().all(|ack| ack.attempt == 0), "{:?}", stage.slack.acks());
    stage.model.release();
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["One."]);
    stage.done().await;
}

#[tokio::test]
async fn b014_nothing_that_comes_after_an_answer_changes_it() {
    let stage = Stage::with(by_step()).await;
    let thread = stage.ask(ALICE, "why is it slow?").await;
    let answer = stage.placeholder().await;
    stage.idle().await;
    let edits = stage.slack.edits(&answer.ts).len();
    stage.say_in(&thread, ALICE, "stop").await;
    stage.slack.redeliver(&thread, EventId::New).await;
    stage.say_in(&thread, ALICE, "and now?").await;
    assert_eq!(stage.answer().await, "Two.");
    assert_eq!(stage.slack.edits(&answer.ts).len(), edits);
    assert_eq!(stage.shown(&thread), ["One.", "Two."]);
    stage.done().await;
}

#[tokio::test]
async fn b017_b059_a_rate_limit_is_sat_out_and_the_newest_text_wins() {
    let tell = |step: usize| Rule::call("SendMessage", json!({"message": format!("Step {step}.")})).when_step(step);
    let stage = Stage::with([tell(0), tell(1), Rule::reply("Full.").when_step(2)]).await;
    stage.slack.fault(UPDATE, Fault::RateLimited { retry_after_secs: 2, http_200: false });
    let thread = stage.ask(ALICE, "why is it slow?").await;
    stage.placeholder().await;
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["Full."]);
    let calls = stage.slack.calls(UPDATE);
    assert!(calls[1].at - calls[0].at >= Duration::from_secs(2), "{calls:#?}");
    assert!(calls.len() <= 4, "{calls:#?}");
    stage.done().await;
}

#[tokio::test]
async fn b019_a_table_inside_a_fence_stays_as_it_is() {
    let fence = "```\n| host | *use* |\n|---|---|\n| db-1 | **97 %** |\n```";
    let stage = Stage::with([Rule::reply(format!("```text{}", &fence[3..]))]).await;
    stage.ask(ALICE, "show me the file").await;
    assert_eq!(stage.answer().await, fence);
    stage.done().await;
}

#[tokio::test]
async fn b020_b021_what_grows_on_its_way_is_split_by_what_is_really_sent() {
    for (text, counted) in [("&".repeat(3_000), "&amp;"), ("😀".repeat(5_000), "😀"), ("<_*~`>".repeat(700), "&lt;")]
    {
        let count = text.chars().filter(|c| "&😀<".contains(*c)).count();
        let stage = Stage::with([Rule::reply(text)]).await;
        let thread = stage.ask(ALICE, "show me the file").await;
        stage.idle().await;
        let parts = stage.shown(&thread);
        assert!(parts.len() > 1 && parts.iter().all(|part| part.encode_utf16().count() <= 4_000));
        assert_eq!((parts.concat().matches(counted).count(), refused(&stage)), (count, 0), "{counted}");
        stage.done().await;
    }
}

#[tokio::test]
async fn b023_our_own_sentence_about_an_error_can_not_go_wrong_itself() {
    let query = json!({"query": "x{a=\"_*`<"});
    let look = Rule::call("query_promql", query).when_step(0);
    let stage = Stage::with([look, Rule::fault(ModelFault::Status { status: 400, retry_after: None })]).await;
    let thread = stage.ask(ALICE, "why *is* it _slow_ <here>?").await;
    let message = stage.placeholder().await;
    stage.idle().await;
    let shown = stage.shown(&thread);
    assert!(shown.len() == 1 && shown[0].starts_with("The model's provider rejected the request"), "{shown:?}");
    assert_eq!((stage.slack.message(&message.ts).blocks, refused(&stage)), (None, 0));
    stage.done().await;
}

#[tokio::test]
async fn b024_letters_of_several_bytes_are_never_cut_in_two() {
    let query = json!({"query": format!("up{{service=\"{}\"}}", "结账服务".repeat(100))});
    let rules = [
        Rule::call("query_promql", query).when_step(0),
        Rule::reply("连接池已满，结账很慢。".repeat(600)).when_step(1),
        Rule::reply("네, 지금도요.").when_step(2),
    ];
    let stage = Stage::with(rules).await;
    let thread = stage.ask(ALICE, &"为什么结账这么慢？".repeat(200)).await;
    stage.idle().await;
    let whole = stage.shown(&thread).concat();
    assert_eq!(whole.matches("连接池已满").count(), 600);
    stage.say_in(&thread, ALICE, "그리고 지금은?").await;
    stage.idle().await;
    assert_eq!(stage.shown(&thread).last().unwrap(), "네, 지금도요.");
    stage.done().await;
}

#[tokio::test]
async fn b028_b031_everything_of_a_turn_goes_into_the_thread_it_was_asked_in() {
    let send = json!({"description": "look", "subagent_type": "looker", "prompt": "Errors?"});
    let long = format!("{}\n\n{}", "First. ".repeat(400), "Second. ".repeat(400));
    let rules = [
        Rule::reply("20 % errors.").when_persona("looker"),
        Rule::calls([("SendMessage", json!({"message": "Looking."})), ("AgentTool", send)])
            .when_persona("default")
            .when_step(0),
        Rule::reply(long).when_persona("default").when_step(1),
    ];
    let setting = Setting::default().rules(rules).persona("looker", "query_promql", 5);
    let stage = setting.limit("notify_after = \"1ms\"").open().await;
    let parent = stage.slack.say(BOB, ROOM, "checkout is slow").await;
    let threads = [stage.ask_in(&parent, ALICE, "why?").await, stage.ask(BOB, "and why here?").await];
    stage.idle().await;
    let expected = [parent.clone(), threads[1].clone()];
    for call in stage.slack.calls(POST) {
        assert!(expected.iter().any(|thread| call.args["thread_ts"] == **thread), "{call:#?}");
    }
    assert_eq!(stage.shown(&expected[0]).len(), stage.shown(&expected[1]).len());
    stage.done().await;
}

#[tokio::test]
async fn b042_a_preview_of_its_own_link_starts_nothing() {
    let stage = Stage::with([Rule::reply("See https://example.org/runbook, <@U0BOT>.")]).await;
    let thread = stage.ask(ALICE, "where is the runbook?").await;
    let answer = stage.placeholder().await;
    stage.idle().await;
    let text = stage.slack.message(&answer.ts).text().to_owned();
    let before = json!({"type": "message", "user": "U0BOT", "bot_id": "B0BOT", "ts": answer.ts, "thread_ts": thread,
        "text": text});
    let mut after = before.clone();
    after["attachments"] = json!([{"id": 1, "from_url": "https://example.org/runbook", "title": "<@U0BOT> runbook"}]);
    let ts = "1767225900.000500";
    let preview = json!({"type": "message", "subtype": "message_changed", "hidden": true, "channel": ROOM,
        "channel_type": "channel", "ts": ts, "event_ts": ts, "message": after, "previous_message": before});
    stage.slack.say_raw(preview).await;
    stage.idle().await;
    assert_eq!(stage.tally().await.messages, 1);
    stage.done().await;
}

#[tokio::test]
async fn b047_b050_a_new_thread_begins_empty_also_beside_another() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let first = stage.ask(ALICE, "why is checkout slow?").await;
    let second = stage.ask(BOB, "who deployed billing?").await;
    stage.model.wait_for_open_streams(2).await;
    stage.model.release();
    stage.idle().await;
    let third = stage.ask(ALICE, "a third thing?").await;
    stage.idle().await;
    for request in stage.model.requests() {
        assert_eq!((asked::said(&request).len(), asked::results(&request).len()), (1, 0));
    }
    for thread in [&first, &second, &third] {
        assert_eq!(stage.shown(thread), ["One."]);
    }
    stage.done().await;
}

#[tokio::test]
async fn b015_an_answer_that_is_ready_before_its_placeholder_stands_is_one_message() {
    let slow = Duration::from_millis(700);
    for fault in [Fault::DelayBefore(slow), Fault::DelayAfter(slow)] {
        let stage = Stage::with(by_step()).await;
        stage.slack.fault(POST, fault);
        let thread = stage.ask(ALICE, "why is it slow?").await;
        stage.model.next_request().await;
        stage.model.wait_for_open_streams(0).await;
        stage.idle().await;
        assert_eq!((stage.shown(&thread), stage.slack.calls(POST).len()), (vec!["One.".to_owned()], 1));
        stage.done().await;
    }
}

#[tokio::test]
async fn b005_b070_what_opens_a_text_and_is_not_for_people_is_never_shown() {
    for opening in OPENINGS {
        let tell = Rule::call("SendMessage", json!({"message": format!("{opening}Looking.")})).when_step(0);
        let stage = Stage::with([tell, Rule::reply(format!("{opening}The pool is full.")).when_step(1)]).await;
        let room = stage.slack.open_dm(ALICE).await;
        stage.slack.say(ALICE, &room, "why is it slow?").await;
        let message = stage.slack.next_message(&room).await;
        stage.idle().await;
        let texts: Vec<_> = stage.slack.edits(&message.ts).into_iter().map(|edit| edit.text).collect();
        assert_eq!(texts.last().map(String::as_str), Some("The pool is full."), "{opening}");
        assert!(texts.iter().all(|text| !opening.lines().any(|line| text.contains(line))), "{texts:#?}");
        assert_eq!(stage.slack.calls(POST).len(), 1, "{opening}");
        stage.done().await;
    }
}

#[tokio::test]
async fn b070_what_the_runtime_told_the_model_is_not_shown() {
    let reply = "<system-reminder>You have 2 steps left.</system-reminder>\n\nThe pool is full.";
    let stage = Stage::with([Rule::reply(reply)]).await;
    stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "The pool is full.");
    stage.done().await;
}

#[tokio::test]
async fn b071_a_thought_left_open_at_the_end_does_not_take_the_sources_along() {
    let look = Rule::call("query_promql", json!({"query": "pool_in_use"})).when_step(0);
    let reply = Rule::reply("The pool is full [E1].\n<think>or is it").when_step(1);
    let stage = Stage::with([look, reply]).await;
    stage.ask(ALICE, "why is it slow?").await;
    let answer = stage.answer().await;
    let (said, sources) = answer.split_once("*Sources*").unwrap();
    assert_eq!(said.trim(), "The pool is full [E1].");
    assert!(sources.contains("pool_in_use"), "{sources}");
    stage.done().await;
}

#[tokio::test]
async fn a_citation_of_nothing_is_marked_as_such() {
    let look = Rule::call("query_promql", json!({"query": "pool_in_use"})).when_step(0);
    let reply = Rule::reply("Full [E1] since the deploy [E9], on an E5 host.").when_step(1);
    let stage = Stage::with([look, reply]).await;
    stage.ask(ALICE, "why is it slow?").await;
    let answer = stage.answer().await;
    let (_, sources) = answer.split_once("*Sources*").unwrap();
    let sources: Vec<_> = sources.trim().lines().collect();
    assert_eq!(sources.len(), 2, "{sources:#?}");
    assert_eq!(sources[1], "• E9: no result of this conversation. Don't rely on what I said it shows.");
    stage.done().await;
}
