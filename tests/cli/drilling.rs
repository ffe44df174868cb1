//! Scenarios of one's own: judged, and told apart when they are wrong.

use serde_json::{Value, json};

use crate::process::Watchfloor;

const SHIPPED: &str = include_str!("../../src/cli/drill/scenarios/checkout-502.yaml");

/// The shipped incident as a file of one's own, with a model that answers at once: too quick for anybody to see the
/// specialist's calls, so that isn't expected.
fn own(change: impl FnOnce(String) -> String) -> Watchfloor {
    let quick = SHIPPED.lines().filter(|line| !line.trim_start().starts_with("delay:"));
    let quick = quick.collect::<Vec<_>>().join("\n").replace("name: checkout-502", "name: my-incident");
    let quick = quick.replace(", \"incident-investigator: query_promql\"", "");
    let watchfloor = Watchfloor::new();
    std::fs::write(watchfloor.home().join("mine.yaml"), change(quick)).unwrap();
    watchfloor
}

#[tokio::test]
async fn a_scenario_of_ones_own_is_played_and_judged() {
    let ended = own(|text| text).run(&["drill", "mine.yaml", "--json"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut outcome: Value = serde_json::from_str(&ended.out).unwrap();
    let slack = outcome["channels"]["slack"].take();
    assert_eq!(
        outcome,
        json!({"scenario": "my-incident", "passed": true, "failures": [], "channels": {"slack": null}, "turns": 1,
            "tool_calls": 9, "workers": 1})
    );
    assert!(slack["placeholder_ms"].is_number() && slack["edits"].is_u64(), "{slack}");
    assert_eq!(slack["messages"], 1);
    assert!(slack["final_text"].as_str().unwrap().contains("connection pool"), "{slack}");
}

#[tokio::test]
async fn an_expectation_that_did_not_hold_is_named_and_fails_the_drill() {
    let ended = own(|text| text.replace("messages: 1", "messages: 2")).run(&["drill", "mine.yaml", "--json"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let outcome: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(outcome["passed"], json!(false));
    assert_eq!(outcome["failures"], json!(["expected 2 messages of the bot, there were 1"]));
}

#[tokio::test]
async fn a_scenario_that_is_wrong_or_missing_is_told_with_its_place() {
    let ended = own(|text| text.replace("placeholder: true", "place_holder: true")).run(&["drill", "mine.yaml"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("mine.yaml") && ended.err.contains("place_holder"), "{}", ended.err);
    assert!(ended.err.contains("line"), "{}", ended.err);
    let ended = Watchfloor::new().run(&["drill", "nowhere.yaml"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("nowhere.yaml") && ended.err.contains("checkout-502"), "{}", ended.err);
}
