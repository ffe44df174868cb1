//! Scenarios, shipped ones and one's own: played, judged, recorded, talked to afterwards, and told apart when they are wrong.

use serde_json::{Value, json};
use watchfloor_sim::{ModelScript, ModelSim, model::API_KEY};

use crate::process::{Watchfloor, client};

const SHIPPED: &str = include_str!("../../src/cli/drill/scenarios/checkout-502.yaml");

/// The shipped incident as a file of one's own, with a model that answers at once: too quick for anybody to see the
/// specialist's calls, so that isn't expected.
fn own(change: impl FnOnce(String) -> String) -> Watchfloor {
    let quick = SHIPPED.lines().filter(|line| !line.trim_start().starts_with("delay:"));
    let quick = quick.collect::<Vec<_>>().join("\n").replace("name: checkout-502", "name: my-incident");
    let quick = quick.replace("platforms: [slack, telegram, feishu]", "platforms: [slack]");
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
    let verdicts = outcome.as_object_mut().unwrap().remove("verdicts").unwrap();
    assert_eq!(
        outcome,
        json!({"scenario": "my-incident", "passed": true, "failures": [], "channels": {"slack": null}, "turns": 1,
            "model_calls": 6, "tool_calls": 9, "workers": 1, "live": false, "score": {"held": 15, "of": 15}})
    );
    assert_eq!(verdicts.as_array().unwrap()[0], json!({"expected": "a placeholder becomes the answer", "held": true}));
    assert!(slack["placeholder_ms"].is_number() && slack["edits"].is_u64(), "{slack}");
    assert_eq!(slack["messages"], 1);
    assert!(slack["final_text"].as_str().unwrap().contains("connection pool"), "{slack}");
}

#[tokio::test]
async fn the_shipped_incident_is_played_on_all_three_platforms_at_once() {
    let ended = Watchfloor::new().run(&["drill", "--json"]).await;
    let outcome: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &outcome["failures"]), (Some(0), &json!([])), "{outcome:#}");
    let channels = outcome["channels"].as_object().unwrap();
    let seen: Vec<_> = channels.iter().map(|(name, channel)| (name.as_str(), channel["messages"].clone())).collect();
    assert_eq!(seen, [("feishu", json!(1)), ("slack", json!(1)), ("telegram", json!(1))]);
    assert_eq!((&outcome["turns"], &outcome["workers"]), (&json!(3), &json!(3)));
}

#[tokio::test]
async fn any_scenario_is_played_where_one_asks_for_it() {
    let ended = Watchfloor::new().run(&["drill", "two-threads", "--on", "telegram,feishu", "--json"]).await;
    let outcome: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &outcome["failures"]), (Some(0), &json!([])), "{outcome:#}");
    assert_eq!(outcome["channels"].as_object().unwrap().keys().collect::<Vec<_>>(), ["feishu", "telegram"]);
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
    let told = "watchfloor: mine.yaml:42:3: expect.place_holder: unknown key (did you mean \"placeholder\"?)\n";
    assert_eq!(ended.err, told);
    let ended = Watchfloor::new().run(&["drill", "nowhere.yaml"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("nowhere.yaml") && ended.err.contains("checkout-502"), "{}", ended.err);
}

async fn passes(scenario: &str) {
    let ended = Watchfloor::new().run(&["drill", scenario, "--json"]).await;
    let outcome: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &outcome["failures"]), (Some(0), &json!([])), "{outcome:#}");
}

#[tokio::test]
async fn an_asker_who_steers_and_stops_gets_what_she_asked_for_last() {
    passes("steer-and-stop").await;
}

#[tokio::test]
async fn an_answer_comes_also_without_metrics_from_a_model_that_is_limited_and_mistaken() {
    passes("metrics-down").await;
}

#[tokio::test]
async fn two_threads_are_answered_at_once_and_each_in_its_own() {
    passes("two-threads").await;
}

#[tokio::test]
async fn the_shipped_scenarios_are_listed_with_what_each_is_about() {
    let ended = Watchfloor::new().run(&["drill", "--list"]).await;
    let names: Vec<_> =
        ended.out.lines().filter_map(|line| line.split_once("  ")).map(|(name, _)| name.trim()).collect();
    assert_eq!(names, ["checkout-502", "steer-and-stop", "metrics-down", "two-threads"], "{ended:?}");
    assert!(ended.out.contains("502s on the order service"), "{ended:?}");
}

/// The recorded model of a scenario as one that an operator configured.
async fn configured(scenario: &str, change: impl Fn(&mut serde_json::Map<String, Value>)) -> (ModelSim, String) {
    let scenario: Value = serde_yaml::from_str(scenario).unwrap();
    let mut script = scenario["model"].clone();
    script["rules"].as_array_mut().unwrap().iter_mut().filter_map(Value::as_object_mut).for_each(change);
    let model = ModelSim::start(serde_json::from_value::<ModelScript>(script).unwrap()).await.unwrap();
    let config = format!(
        "models.default = \"mine/m\"\n[models.providers.mine]\nbase_url = \"{}\"\napi_key = \"{API_KEY}\"\n",
        model.base_url()
    );
    (model, config)
}

#[tokio::test]
async fn a_live_run_is_scored_and_its_recording_plays_without_the_model() {
    let (model, config) = configured(SHIPPED, |rule| drop(rule.remove("delay"))).await;
    // One expectation that can't hold: it costs a point and no more.
    let watchfloor = own(|text| text.replace("messages: 1", "messages: 7")).file(&config);
    let ended = watchfloor.run(&["drill", "mine.yaml", "--live", "--record", "seen.yaml"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("not held     the bot writes 7 messages\n"), "{}", ended.out);
    assert!(ended.out.ends_with("my-incident: 14 of 15 held\n"), "{}", ended.out);
    assert_eq!(model.complaints(), [""; 0]);

    let written = std::fs::read_to_string(watchfloor.home().join("seen.yaml")).unwrap();
    let ended = watchfloor.run(&["drill", "seen.yaml", "--json"]).await;
    let outcome: Value = serde_json::from_str(&ended.out).unwrap_or_default();
    assert_eq!((ended.code, &outcome["failures"]), (Some(0), &json!([])), "{ended:?}\n{written}");
    assert_eq!(
        (&outcome["scenario"], &outcome["model_calls"], &outcome["tool_calls"]),
        (&json!("seen"), &json!(6), &json!(9))
    );

    let ended = watchfloor.run(&["drill", "mine.yaml", "--live", "--min-score", "15"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    model.stop().await;
}

#[tokio::test]
async fn a_recorded_stop_plays_again() {
    const STOPPED: &str = include_str!("../../src/cli/drill/scenarios/steer-and-stop.yaml");
    let (model, config) = configured(STOPPED, |_| {}).await;
    let watchfloor = Watchfloor::new().file(&config);
    let ended =
        watchfloor.run(&["drill", "steer-and-stop", "--live", "--record", "seen.yaml", "--min-score", "10"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let written = std::fs::read_to_string(watchfloor.home().join("seen.yaml")).unwrap();
    let ended = watchfloor.run(&["drill", "seen.yaml"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}\n{written}");
    model.stop().await;
}

#[tokio::test]
async fn a_live_run_without_a_model_says_what_to_set() {
    let ended = Watchfloor::new().file("models.default = \"openai/gpt\"\n").run(&["drill", "--live"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("models.providers.openai.api_key"), "{ended:?}");
}

#[tokio::test]
async fn a_drill_that_is_kept_can_be_talked_to_and_ends_with_a_signal() {
    let mut drill = own(|text| text).start(&["drill", "mine.yaml", "--keep"]);
    let line = drill.line("  script ").await;
    let door = line.split_whitespace().last().unwrap().to_owned();
    drill.line("my-incident: passed").await;
    let say = |form: &'static [(&'static str, &'static str)]| client().post(&door).form(form).send();

    let said = say(&[("text", "@watchfloor and the mail?"), ("person", "Maya")]).await.unwrap();
    assert_eq!(said.status(), 200);
    drill.line("             The recording has no answer to this.").await;
    let refused = say(&[("text", "hello"), ("person", "Bob")]).await.unwrap();
    assert_eq!(
        (refused.status().as_u16(), refused.text().await.unwrap().as_str()),
        (422, "there is no person \"Bob\", only Maya, Jon\n")
    );
    let foreign = client().post(&door).header("origin", "https://elsewhere.example").form(&[("text", "hello")]);
    assert_eq!(foreign.send().await.unwrap().status(), 403);
    drill.signal("INT").await;
    assert_eq!(drill.ended().await, Some(0));
}

#[tokio::test]
async fn a_signal_ends_a_drill_in_the_middle_of_its_play() {
    let mut drill = Watchfloor::new().start(&["drill"]);
    drill.line("checkout-502: ").await;
    drill.signal("INT").await;
    assert_eq!(drill.ended().await, Some(130));
    assert_eq!(drill.told().last().map(String::as_str), Some("interrupted"));
}
