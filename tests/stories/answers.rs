//! The usual case: somebody asks, one message in the thread becomes the answer, and the thread is one conversation.

use serde_json::json;
use watchfloor_sim::model::Rule;

use crate::{
    asked,
    stage::{ALICE, BOB, PLACEHOLDER, ROOM, Stage},
};

#[tokio::test]
async fn a_mention_is_answered_by_editing_one_message_in_its_thread() {
    let stage = Stage::with([Rule::reply("Checkout is fine.")]).await;
    stage.model.hold();
    let question = stage.ask(ALICE, "is checkout fine?").await;
    let placeholder = stage.placeholder().await;
    assert_eq!(placeholder.thread_ts.as_ref(), Some(&question));
    stage.model.release();
    stage.slack.wait_for_text(&placeholder.ts, |text| text == "Checkout is fine.").await;
    stage.idle().await;
    let texts: Vec<_> = stage.slack.edits(&placeholder.ts).into_iter().map(|edit| edit.text).collect();
    assert_eq!(texts, [PLACEHOLDER, "Checkout is fine."]);
    assert_eq!(stage.shown(&question), ["Checkout is fine."]);
    assert_eq!(stage.slack.calls("chat.postMessage").len(), 1);
    stage.done().await;
}

#[tokio::test]
async fn a_mention_inside_a_thread_is_answered_in_that_thread() {
    let stage = Stage::with([Rule::reply("Looks full.")]).await;
    let parent = stage.slack.say(BOB, ROOM, "checkout is slow").await;
    stage.ask_in(&parent, ALICE, "why?").await;
    let placeholder = stage.placeholder().await;
    assert_eq!(placeholder.thread_ts.as_ref(), Some(&parent));
    stage.idle().await;
    assert_eq!(stage.shown(&parent), ["Looks full."]);
    assert_eq!(stage.session(&parent).await.unwrap().user_id, ALICE);
    stage.done().await;
}

#[tokio::test]
async fn b030_a_second_question_in_a_thread_goes_on_with_the_same_conversation() {
    let stage =
        Stage::with([Rule::reply("The pool is full.").when_step(0), Rule::reply("Since 09:05.").when_step(1)]).await;
    let thread = stage.ask(ALICE, "why is checkout slow?").await;
    assert_eq!(stage.answer().await, "The pool is full.");
    let session = stage.session(&thread).await.unwrap();
    stage.ask_in(&thread, ALICE, "since when?").await;
    assert_eq!(stage.answer().await, "Since 09:05.");
    assert_eq!(stage.session(&thread).await.unwrap().id, session.id);
    let requests = stage.model.requests();
    assert_eq!(asked::roles(&requests[1]), ["system", "user", "assistant", "user"]);
    let said = asked::said(&requests[1]);
    assert_eq!([asked::words(&said[0]), asked::words(&said[1])], ["why is checkout slow?", "since when?"]);
    assert_eq!(requests[1]["messages"][2]["content"], "The pool is full.");
    stage.done().await;
}

#[tokio::test]
async fn b049_a_thread_is_one_conversation_for_everybody_and_names_who_said_what() {
    let stage = Stage::with([Rule::reply("One.").when_step(0), Rule::reply("Two.").when_step(1)]).await;
    let thread = stage.ask(ALICE, "what is it?").await;
    stage.answer().await;
    stage.ask_in(&thread, BOB, "and now?").await;
    assert_eq!(stage.answer().await, "Two.");
    let said = asked::said(&stage.model.requests()[1]);
    assert!(said[0].contains("id=\"U0ALICE\"") && said[1].contains("id=\"U0BOB\""), "{said:#?}");
    stage.done().await;
}

#[tokio::test]
async fn a_question_is_answered_from_what_a_tool_showed() {
    let look = Rule::call("query_promql", json!({"query": "pool_in_use"})).when_step(0);
    let stage = Stage::with([look, Rule::reply("20 of 20 in use.").when_tool_result_contains("20")]).await;
    stage.ask(ALICE, "how full is the pool?").await;
    assert_eq!(stage.answer().await, "20 of 20 in use.");
    let tally = stage.tally().await;
    assert_eq!((tally.turns, tally.calls), (1, vec!["query_promql".to_owned()]));
    stage.done().await;
}
