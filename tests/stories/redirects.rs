//! Tools that the coordinator doesn't have: it is told whom to send, and the answer comes in the same turn.

use serde_json::{Value, json};
use watchfloor_sim::model::Rule;

use crate::{asked, setting::Setting, stage::ALICE};

const WORLD: &str = r#"
prometheus:
  queries:
    - contains: node_load1
      result:
        resultType: matrix
        result: [{metric: {__name__: node_load1, instance: node-01}, values: [["-1m", "7.5"]]}]
"#;

fn coordinator(rule: Rule, step: usize) -> Rule {
    rule.when_persona("default").when_step(step)
}

#[tokio::test]
async fn a_question_about_load_is_redirected_to_the_specialist_and_answered_in_one_turn() {
    let send = json!({"description": "load of node-01", "subagent_type": "specialist-compute",
        "prompt": "What is the load on node-01 now?"});
    let worker = |rule: Rule, step: usize| rule.when_persona("specialist-compute").when_step(step);
    let rules = [
        coordinator(Rule::call("get_host_load", json!({"host": "node-01"})), 0),
        coordinator(Rule::call("AgentTool", send), 1),
        coordinator(Rule::reply("The load on node-01 is 7.5 [E1]."), 2),
        worker(Rule::call("query_promql", json!({"query": "node_load1"})), 0),
        worker(Rule::reply("7.5 [E1]."), 1),
    ];
    let stage = Setting::default().rules(rules).world(WORLD).made_up("get_host_load").open().await;
    let thread = stage.ask(ALICE, "what's the load on node-01?").await;
    let answer = stage.answer().await;
    assert!(answer.starts_with("The load on node-01 is 7.5 [E1]."), "{answer}");

    let tally = stage.tally().await;
    assert_eq!((tally.turns, tally.workers), (1, vec!["specialist-compute".to_owned()]));
    let requests = stage.model.requests();
    assert!(requests.iter().all(|request| !asked::tools(request).contains(&"get_host_load".to_owned())));
    let redirected = asked::results(&requests[1]).remove(0);
    let told: Value = serde_json::from_str(redirected.lines().nth(1).unwrap()).unwrap();
    let expected = json!({
        "status": "redirect",
        "hint": "This tool is not available in coordinator scope. Re-invoke via AgentTool to dispatch to specialist-compute.",
        "reason": told["reason"],
        "suggested_call":
            "AgentTool(description=\"…\", subagent_type=\"specialist-compute\", prompt=\"<self-contained task>\")",
        "why_stub_exists": told["why_stub_exists"],
    });
    assert_eq!(told, expected);
    let session = stage.session(&thread).await.unwrap();
    let audit = stage.app.store.audit().list(&session.id).await.unwrap();
    let calls: Vec<_> = audit.iter().map(|row| (row.tool.as_str(), row.outcome.as_str())).collect();
    assert_eq!(calls, [("get_host_load", "redirected"), ("AgentTool", "something")]);
    stage.done().await;
}

#[tokio::test]
async fn an_offered_stub_of_the_configuration_is_listed_and_one_without_its_persona_does_nothing() {
    let agents = "[[agents.redirects]]\nname = \"kubectl\"\ntarget = \"Specialist_Compute\"\noffered = true\n\
        [[agents.redirects]]\nname = \"mysql\"\ntarget = \"nobody\"\noffered = true\n";
    let rules = [
        coordinator(Rule::calls([("kubectl", json!({})), ("mysql", json!({}))]), 0),
        coordinator(Rule::reply("I can't."), 1),
    ];
    let stage = Setting::default().rules(rules).made_up("mysql").more(agents).open().await;
    stage.ask(ALICE, "which pods are down?").await;
    assert_eq!(stage.answer().await, "I can't.");
    let requests = stage.model.requests();
    let tools = asked::tools(&requests[0]);
    assert_eq!(["kubectl", "mysql"].map(|name| tools.contains(&name.to_owned())), [true, false], "{tools:?}");
    let results = asked::results(&requests[1]);
    assert!(results[0].contains("dispatch to specialist-compute."), "{results:?}");
    assert!(results[1].contains("there is no tool"), "{results:?}");
    stage.done().await;
}

#[tokio::test]
async fn a_viewer_asks_and_is_answered_with_tools_that_read() {
    let rules = [coordinator(Rule::reply("All is well."), 0)];
    let channel = "operators = [\"U0BOB\"]\nallow_rooms = [\"*\"]\n";
    let stage = Setting::default().rules(rules).channel(channel).open().await;
    stage.ask(ALICE, "is it well?").await;
    assert_eq!(stage.answer().await, "All is well.");
    assert!(asked::tools(&stage.model.requests()[0]).contains(&"query_promql".to_owned()));
    stage.done().await;
}

#[tokio::test]
async fn a_tool_of_a_specialist_is_answered_with_who_has_it() {
    let rules =
        [coordinator(Rule::call("query_promql", json!({"query": "up"})), 0), coordinator(Rule::reply("I can't."), 1)];
    let persona = "---\nname: default\ndescription: Coordinates.\nwhen_to_use: Every conversation begins here.\n\
        tools: [AgentTool, read_result]\n---\nYou coordinate.\n";
    let stage = Setting::default().rules(rules).made_up("query_promql").file("default.md", persona).open().await;
    stage.ask(ALICE, "is it up?").await;
    assert_eq!(stage.answer().await, "I can't.");
    let result = asked::results(&stage.model.requests()[1]).remove(0);
    assert!(result.contains("query_promql belongs to incident-investigator"), "{result}");
    stage.done().await;
}
