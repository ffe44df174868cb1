//! Specialists: a worker is its own conversation with its own tools, and its report comes back as a result.

use serde_json::{Value, json};
use watchfloor::store::{SessionKind, SessionStatus};
use watchfloor_sim::{
    model::{ModelFault, Rule},
    slack::SimFile,
};

use crate::{
    asked,
    setting::Setting,
    stage::{ALICE, Stage},
};

fn send(persona: &str, prompt: &str) -> (&'static str, Value) {
    ("AgentTool", json!({"description": "have a look", "subagent_type": persona, "prompt": prompt}))
}

fn coordinator(rule: Rule, step: usize) -> Rule {
    rule.when_persona("default").when_step(step)
}

#[tokio::test]
async fn a_worker_sees_its_prompt_alone_and_its_report_comes_back_unchanged() {
    let rules = [
        coordinator(Rule::calls([send("looker", "How full is checkout's pool?")]), 0),
        coordinator(Rule::reply("It is full."), 1),
        Rule::reply("20 of 20.\n\n- since 09:05").when_persona("looker"),
    ];
    let stage = Setting::default().rules(rules).persona("looker", "query_promql", 5).open().await;
    let thread = stage.ask(ALICE, "why is the shop slow?").await;
    assert_eq!(stage.answer().await, "It is full.");
    let requests = stage.model.requests();
    assert_eq!(asked::said(&requests[1]), ["How full is checkout's pool?"]);
    assert_eq!(asked::tools(&requests[1]), ["query_promql"]);
    let report = &asked::results(&requests[2])[0];
    assert!(report.contains("persona=\"looker\"") && report.contains("status=\"completed\""), "{report}");
    assert!(report.contains("\n20 of 20.\n\n- since 09:05\n"), "{report}");

    // Two conversations, one inside the other, each with its own transcript.
    let parent = stage.session(&thread).await.unwrap();
    let task = report.split_once("task_id=\"").and_then(|(_, rest)| rest.split_once('"')).unwrap().0;
    let worker = stage.app.store.sessions().get(task).await.unwrap().unwrap();
    assert_eq!(worker.parent_session_id.as_deref(), Some(parent.id.as_str()));
    assert_eq!(
        (worker.kind, worker.status, worker.agent_id.as_str(), worker.title.as_str()),
        (SessionKind::Worker, SessionStatus::Completed, "looker", "have a look")
    );
    let kinds = async |session: &str| {
        let rows = stage.app.store.messages().transcript(session).await.unwrap();
        rows.into_iter().map(|row| row.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(task).await, ["user", "assistant"]);
    assert_eq!(kinds(&parent.id).await, ["user", "assistant", "tool", "assistant"]);
    stage.done().await;
}

#[tokio::test]
async fn a_worker_can_read_what_the_asker_attached() {
    let rules = [
        coordinator(Rule::calls([send("looker", "What does E1 say?")]), 0),
        coordinator(Rule::reply("The pool is exhausted [E1]."), 1),
        Rule::call("read_result", json!({"id": "E1"})).when_persona("looker").when_step(0),
        Rule::reply("Exhausted [E1].").when_persona("looker").when_step(1),
    ];
    let stage = Setting::default().rules(rules).persona("looker", "read_result", 5).open().await;
    stage.ask_with(None, "why?", vec![SimFile::text("checkout.log", "10:02 pool exhausted\n")]).await;
    let answer = stage.answer().await;
    assert!(answer.contains("E1 `checkout.log (21 bytes"), "{answer}");
    let requests = stage.model.requests();
    assert_eq!(asked::said(&requests[1]), ["What does E1 say?"]);
    assert!(asked::results(&requests[2])[0].contains("10:02 pool exhausted"), "{:?}", asked::results(&requests[2]));
    stage.done().await;
}

#[tokio::test]
async fn each_worker_of_a_step_reports_to_its_own_call() {
    let rules = [
        coordinator(Rule::calls([send("looker", "The pool?"), send("looker", "The disk?")]), 0),
        coordinator(Rule::reply("Both fine."), 1),
        Rule::reply("Pool fine.").when_persona("looker").when_last_user_contains("pool"),
        Rule::reply("Disk fine.").when_persona("looker").when_last_user_contains("disk"),
    ];
    let stage = Setting::default().rules(rules).persona("looker", "query_promql", 5).open().await;
    stage.ask(ALICE, "what is it?").await;
    assert_eq!(stage.answer().await, "Both fine.");
    let results = asked::results(stage.model.requests().last().unwrap());
    assert!(results[0].contains("Pool fine.") && results[1].contains("Disk fine."), "{results:#?}");
    assert_eq!(stage.tally().await.workers, ["looker", "looker"]);
    stage.done().await;
}

#[tokio::test]
async fn workers_of_one_step_ask_their_sources_at_the_same_time() {
    let rules = [
        coordinator(Rule::calls([send("looker", "The pool?"), send("looker", "The errors?")]), 0),
        coordinator(Rule::reply("Both bad."), 1),
        Rule::call("query_promql", json!({"query": "pool_in_use"})).when_persona("looker").when_step(0),
        Rule::reply("Bad.").when_persona("looker").when_step(1),
    ];
    let stage = Setting::default().rules(rules).persona("looker", "query_promql", 5).open().await;
    stage.telemetry.hold();
    stage.ask(ALICE, "what is it?").await;
    stage.telemetry.wait_for_waiting(2).await;
    stage.telemetry.release();
    assert_eq!(stage.answer().await, "Both bad.");
    stage.done().await;
}

#[tokio::test]
async fn a_persona_that_does_not_exist_is_answered_with_the_names_that_do() {
    for name in ["lookup", "default", ""] {
        let rules = [coordinator(Rule::calls([send(name, "Look.")]), 0), coordinator(Rule::reply("I can't."), 1)];
        let stage = Setting::default().rules(rules).persona("looker", "query_promql", 5).open().await;
        stage.ask(ALICE, "what is it?").await;
        assert_eq!(stage.answer().await, "I can't.");
        let results = asked::results(stage.model.requests().last().unwrap());
        assert!(results[0].contains("looker") && results[0].contains("incident-investigator"), "{}", results[0]);
        assert!(stage.tally().await.workers.is_empty());
        stage.done().await;
    }
}

#[tokio::test]
async fn the_list_of_specialists_is_a_reminder_for_the_coordinator_and_never_stored() {
    let rules = [
        coordinator(Rule::calls([send("looker", "The pool?")]), 0),
        coordinator(Rule::reply("Full."), 1),
        Rule::reply("Full.").when_persona("looker"),
    ];
    let stage = Setting::default().rules(rules).persona("looker", "query_promql", 5).open().await;
    let thread = stage.ask(ALICE, "what is it?").await;
    stage.answer().await;
    for request in stage.model.requests() {
        let of_worker = asked::system(&request).contains("You are the persona looker.");
        let reminders = asked::reminders(&request);
        let last = request["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
        assert_eq!(reminders.last().map(String::as_str), Some(last), "the reminder comes last");
        assert_eq!(reminders.len(), 1);
        assert_eq!(last.contains("incident-investigator"), !of_worker, "{last}");
        let own = ["AgentTool", "SendMessage", "TaskStop"]
            .iter()
            .filter(|name| asked::tools(&request).contains(&(**name).to_owned()));
        assert_eq!(own.count(), if of_worker { 0 } else { 3 });
    }
    let session = stage.session(&thread).await.unwrap();
    for row in stage.app.store.messages().transcript(&session.id).await.unwrap() {
        assert!(!row.body.contains("system-reminder"), "{}", row.body);
    }
    stage.done().await;
}

#[tokio::test]
async fn b029_the_answer_from_a_workers_report_stays_in_the_thread() {
    let rules = [
        coordinator(Rule::calls([send("reviewer", "Is it the pool?")]), 0),
        coordinator(Rule::reply("The reviewer looks at it."), 1),
        coordinator(Rule::reply("It is."), 2),
        Rule::reply("Yes.").when_persona("reviewer"),
    ];
    let stage = Stage::with(rules).await;
    let parent = stage.slack.say(ALICE, crate::stage::ROOM, "checkout is slow").await;
    stage.ask_in(&parent, ALICE, "is it the pool?").await;
    // The reviewer works in the background: nobody waits for it.
    stage.placeholder().await;
    stage.placeholder().await;
    stage.idle().await;
    assert_eq!(stage.shown(&parent), ["The reviewer looks at it.", "<@U0ALICE> It is."]);
    let posts = stage.slack.calls("chat.postMessage");
    assert!(posts.iter().all(|call| call.args["thread_ts"] == parent.as_str()), "{posts:#?}");
    stage.done().await;
}

#[tokio::test]
async fn a_worker_whose_model_fails_is_a_failed_report_and_the_turn_goes_on() {
    let rules = [
        coordinator(Rule::calls([send("looker", "The pool?")]), 0),
        coordinator(Rule::reply("I could not look."), 1),
        Rule::fault(ModelFault::Status { status: 400, retry_after: None }).when_persona("looker"),
    ];
    let stage = Setting::default().rules(rules).persona("looker", "query_promql", 5).open().await;
    stage.ask(ALICE, "what is it?").await;
    assert_eq!(stage.answer().await, "I could not look.");
    let report = asked::results(stage.model.requests().last().unwrap()).remove(0);
    assert!(report.contains("status=\"failed\"") && report.contains("reason=\"model\""), "{report}");
    stage.done().await;
}

#[tokio::test]
async fn workers_beyond_the_limit_wait_for_those_before_them() {
    let rules = [
        coordinator(Rule::calls([send("looker", "The pool?"), send("looker", "The errors?")]), 0),
        coordinator(Rule::reply("Both bad."), 1),
        Rule::call("query_promql", json!({"query": "pool_in_use"})).when_persona("looker").when_step(0),
        Rule::reply("Bad.").when_persona("looker").when_step(1),
    ];
    let setting = Setting::default().rules(rules).persona("looker", "query_promql", 5);
    let stage = setting.limit("workers_per_session = 1").open().await;
    stage.telemetry.hold();
    let thread = stage.ask(ALICE, "what is it?").await;
    stage.telemetry.wait_for_waiting(1).await;
    let session = stage.session(&thread).await.unwrap();
    let workers = stage.app.store.sessions().running_workers(&session.id).await.unwrap();
    let mut statuses: Vec<_> = workers.iter().map(|worker| worker.status.as_str()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, ["pending", "running"]);
    stage.telemetry.release();
    assert_eq!(stage.answer().await, "Both bad.");
    assert_eq!(stage.tally().await.workers, ["looker", "looker"]);
    stage.done().await;
}

#[tokio::test]
async fn stopping_a_task_that_does_not_exist_is_answered_and_the_turn_goes_on() {
    let rules = [
        coordinator(Rule::call("TaskStop", json!({"task_id": "nope"})), 0),
        coordinator(Rule::reply("There is none."), 1),
    ];
    let stage = Stage::with(rules).await;
    stage.ask(ALICE, "stop the worker, please").await;
    assert_eq!(stage.answer().await, "There is none.");
    let results = asked::results(stage.model.requests().last().unwrap());
    assert!(results[0].contains("none yet"), "{}", results[0]);
    stage.done().await;
}

#[tokio::test]
async fn a_worker_cannot_send_another_worker() {
    let rules = [
        coordinator(Rule::calls([send("looker", "The pool?")]), 0),
        coordinator(Rule::reply("Full."), 1),
        Rule::calls([send("looker", "You do it.")]).when_persona("looker").when_step(0),
        Rule::reply("Full.").when_persona("looker").when_step(1),
    ];
    let setting = Setting::default().rules(rules).made_up("AgentTool");
    let stage = setting.persona("looker", "query_promql, AgentTool", 5).open().await;
    stage.ask(ALICE, "what is it?").await;
    assert_eq!(stage.answer().await, "Full.");
    assert_eq!(stage.tally().await.workers, ["looker"]);
    let of_worker = &asked::results(&stage.model.requests()[2])[0];
    assert!(of_worker.contains("there is no tool"), "{of_worker}");
    stage.done().await;
}
