//! What a model says and isn't for people, each fault by its number: it stands in no version of any message.

use serde_json::json;
use watchfloor_sim::{feishu::ALICE, model::Rule};

use super::{setting::Setting, stage::Stage};
use crate::field::OPENINGS;

#[tokio::test]
async fn b070_what_the_runtime_told_the_model_is_not_shown() {
    let reply = "<system-reminder>You have 2 steps left.</system-reminder>\n\nThe pool is full.";
    let stage = Stage::with([Rule::reply(reply)]).await;
    let question = stage.ask(ALICE, "why is it slow?").await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["The pool is full."]);
    stage.done().await;
}

#[tokio::test]
async fn b005_b070_what_opens_a_text_and_is_not_for_people_is_never_shown() {
    for (opening, mode) in OPENINGS.into_iter().zip(["text", "card", "text", "card"]) {
        let tell = Rule::call("SendMessage", json!({"message": format!("{opening}Looking.")})).when_step(0);
        let setting = Setting::new([tell, Rule::reply(format!("{opening}The pool is full.")).when_step(1)]);
        let stage = setting.line(&format!("reply_mode = \"{mode}\"")).open().await;
        let question = stage.feishu.say(ALICE, &stage.feishu.p2p(ALICE), "why is it slow?").await;
        stage.idle().await;
        assert_eq!(stage.shown(&question), ["The pool is full."], "{opening}");
        let texts: Vec<_> =
            stage.feishu.edits(&stage.beneath(&question)[0].id).iter().map(|edit| edit.text()).collect();
        assert!(texts.iter().all(|text| !opening.lines().any(|line| text.contains(line))), "{texts:#?}");
        assert_eq!(stage.feishu.calls("reply").len(), 1, "{opening}");
        stage.done().await;
    }
}

#[tokio::test]
async fn b071_neither_thoughts_nor_narration_nor_tool_markup_are_shown() {
    let look = Rule::call("query_promql", json!({"query": "pool_in_use"})).with_text("I will look.").when_step(0);
    let reply = "<think>is it the disk?</think>The pool is full.\n<tool_call>{\"name\": \"x\"}</tool_call>";
    let stage = Stage::with([look, Rule::reply(reply).thinking("hm").when_step(1)]).await;
    let question = stage.ask(ALICE, "why is it slow?").await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["The pool is full."]);
    for edit in stage.feishu.edits(&stage.beneath(&question)[0].id) {
        let text = edit.text();
        assert!(
            !["I will look", "is it the disk", "<think", "tool_call"].iter().any(|leak| text.contains(leak)),
            "{text}"
        );
    }
    stage.done().await;
}

#[tokio::test]
async fn b071_a_thought_left_open_at_the_end_does_not_take_the_sources_along() {
    let look = Rule::call("query_promql", json!({"query": "pool_in_use"})).when_step(0);
    let reply = Rule::reply("The pool is full [E1].\n<think>or is it").when_step(1);
    let stage = Stage::with([look, reply]).await;
    let question = stage.ask(ALICE, "why is it slow?").await;
    stage.idle().await;
    let answer = stage.shown(&question).concat();
    assert!(answer.starts_with("The pool is full") && answer.contains("pool_in_use"), "{answer}");
    assert!(answer.contains("Sources") && !answer.contains("or is it"), "{answer}");
    stage.done().await;
}
