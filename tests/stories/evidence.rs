//! What an answer rests on: numbered results, the record of every call, long results read page by page, and changes that
//! were reported from outside.

use serde_json::json;
use watchfloor_sim::model::Rule;

use crate::{
    asked,
    setting::Setting,
    stage::{ALICE, CHANGES_TOKEN, Stage},
};

#[tokio::test]
async fn results_are_numbered_in_the_order_of_the_calls_across_coordinator_and_worker() {
    let send = json!({"description": "look at errors", "subagent_type": "looker", "prompt": "Errors of checkout?"});
    let rules = [
        Rule::call("query_promql", json!({"query": "error_rate"})).when_persona("looker").when_step(0),
        Rule::reply("20 % errors [E3].").when_persona("looker").when_step(1),
        Rule::calls([
            ("query_promql", json!({"query": "pool_in_use"})),
            ("get_active_incidents", json!({})),
            ("AgentTool", send),
        ])
        .when_persona("default")
        .when_step(0),
        Rule::reply("Pool full [E1], alert firing [E2], errors [E3].").when_persona("default").when_step(1),
    ];
    let stage = Setting::default().rules(rules).persona("looker", "query_promql", 5).open().await;
    let thread = stage.ask(ALICE, "what is it?").await;
    let answer = stage.answer().await;
    let requests = stage.model.requests();
    let results = asked::results(requests.last().unwrap());
    assert!(results[0].starts_with("[E1] <result tool=\"query_promql\""), "{}", results[0]);
    assert!(results[1].starts_with("[E2] <result tool=\"get_active_incidents\""), "{}", results[1]);
    assert!(results[2].contains("20 % errors [E3]."), "{}", results[2]);
    let of_worker = asked::results(&requests[2]);
    assert!(of_worker[0].starts_with("[E3] <result tool=\"query_promql\""), "{}", of_worker[0]);

    let (said, sources) = answer.split_once("*Sources*").unwrap();
    assert_eq!(said.trim(), "Pool full [E1], alert firing [E2], errors [E3].");
    let sources: Vec<_> = sources.trim().lines().collect();
    assert_eq!(sources.len(), 3, "{sources:#?}");
    for (line, (number, query)) in
        sources.iter().zip([("E1", "pool_in_use"), ("E2", "get_active_incidents"), ("E3", "error_rate")])
    {
        assert!(line.contains(number) && line.contains(query), "{line}");
    }

    let session = stage.session(&thread).await.unwrap();
    let stored = stage.app.store.artifacts().by_evidence(&session.id, "E3").await.unwrap().unwrap();
    assert!(stored.content.contains("error_rate"), "{}", stored.content);
    stage.done().await;
}

#[tokio::test]
async fn every_call_has_its_line_in_the_audit_also_one_that_never_ran() {
    let calls = [
        ("query_promql", json!({"query": "pool_in_use"})),
        ("delete_volume", json!({"name": "data"})),
        ("query_promql", json!({"query": "nothing_like_it"})),
    ];
    let rules = [Rule::calls(calls).when_step(0), Rule::reply("Full [E1], and [E9] is made up.").when_step(1)];
    let stage = Setting::default().rules(rules).made_up("delete_volume").open().await;
    let thread = stage.ask(ALICE, "what is it?").await;
    let answer = stage.answer().await;
    let session = stage.session(&thread).await.unwrap();
    let mut audit: Vec<_> = stage
        .app
        .store
        .audit()
        .list(&session.id)
        .await
        .unwrap()
        .into_iter()
        .map(|row| (row.tool, row.decision, row.outcome, row.evidence, row.asker, row.persona))
        .collect();
    audit.sort();
    let line = |tool: &str, decision: &str, outcome: &str, evidence: Option<&str>| {
        let texts = [tool, decision, outcome].map(str::to_owned);
        let [tool, decision, outcome] = texts;
        (tool, decision, outcome, evidence.map(str::to_owned), ALICE.to_owned(), "default".to_owned())
    };
    let expected = [
        line("delete_volume", "none", "unknown", None),
        line("query_promql", "allowed", "nothing", Some("E2")),
        line("query_promql", "allowed", "something", Some("E1")),
    ];
    assert_eq!(audit, expected);
    // A number that no result has is no source, and the reader is told so.
    let (_, sources) = answer.split_once("*Sources*").unwrap();
    assert!(sources.contains("E1 `query_promql") && sources.contains("E9: no result"), "{sources}");
    stage.done().await;
}

#[tokio::test]
async fn numbers_go_on_in_the_next_question_of_a_thread() {
    let look = |step| Rule::call("query_promql", json!({"query": "pool_in_use"})).when_step(step);
    let rules = [look(0), Rule::reply("Full.").when_step(1), look(2), Rule::reply("Still [E2].").when_step(3)];
    let stage = Stage::with(rules).await;
    let thread = stage.ask(ALICE, "how full?").await;
    stage.answer().await;
    stage.say_in(&thread, ALICE, "and now?").await;
    assert!(stage.answer().await.starts_with("Still [E2]."));
    let results = asked::results(stage.model.requests().last().unwrap());
    assert!(results[0].starts_with("[E1]") && results[1].starts_with("[E2]"), "{results:#?}");
    stage.done().await;
}

#[tokio::test]
async fn b077_a_huge_result_is_cut_before_it_reaches_the_model_and_can_be_read_on() {
    let rules = [
        Rule::call("query_change_events", json!({})).when_step(0),
        Rule::call("read_result", json!({"id": "E1", "offset": 15_000})).when_step(1),
        Rule::reply("A lot.").when_step(2),
    ];
    let stage = Stage::with(rules).await;
    let changes: Vec<_> = (0..100)
        .map(|n| json!({"kind": "deploy", "title": format!("change {n} {}", "x".repeat(400)), "service": "checkout"}))
        .collect();
    assert_eq!(stage.report_changes(CHANGES_TOKEN, &json!(changes)).await, 202);
    stage.ask(ALICE, "what changed?").await;
    assert_eq!(stage.answer().await, "A lot.");
    let results = asked::results(stage.model.requests().last().unwrap());
    for result in &results {
        let length = result.chars().count();
        assert!((10_000..17_000).contains(&length), "{length}");
    }
    assert!(results[0].contains("read_result"), "how to go on is missing");
    assert!(results[1].contains("E1 (query_change_events), characters 15000 to"), "{}", &results[1][..200]);
    stage.done().await;
}

#[tokio::test]
async fn a_change_that_was_reported_is_found_when_somebody_asks() {
    let rules = [
        Rule::call("query_change_events", json!({"service": "checkout"})).when_step(0),
        Rule::reply("Deploy 42 went out.").when_tool_result_contains("deploy 42"),
    ];
    let stage = Stage::with(rules).await;
    let change = json!([{"kind": "deploy", "title": "deploy 42", "service": "checkout", "author": "Bob"}]);
    assert_eq!(stage.report_changes("wrong", &change).await, 401);
    assert_eq!(stage.report_changes(CHANGES_TOKEN, &change).await, 202);
    stage.ask(ALICE, "what changed?").await;
    assert_eq!(stage.answer().await, "Deploy 42 went out.");
    stage.done().await;
}
