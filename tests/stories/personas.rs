//! Personas that change while the bot runs: the next turn has them, a running one doesn't.

use std::{fs, path::PathBuf, time::Duration};

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use watchfloor::persona::Registry;
use watchfloor_sim::model::Rule;

use crate::{
    asked,
    setting::Setting,
    stage::{ALICE, Stage},
};

fn send() -> Value {
    json!({"description": "look at the pool", "subagent_type": "looker", "prompt": "How full?"})
}

fn persona(name: &str, more: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: Looks at one thing.\nwhen_to_use: In a story.\n{more}---\n\n{body}\n")
}

fn path(stage: &Stage, name: &str) -> PathBuf {
    stage.place.path().join("agents").join(format!("{name}.md"))
}

/// Changes a file and waits until the bot has seen it.
async fn write(stage: &Stage, name: &str, text: &str, seen: impl Fn(&Registry) -> bool) {
    fs::write(path(stage, name), text).unwrap();
    wait(stage, seen).await;
}

async fn wait(stage: &Stage, seen: impl Fn(&Registry) -> bool) {
    let personas = stage.app.personas().personas();
    let looked = async {
        while !seen(&personas.now()) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(15), looked).await.expect("the change wasn't seen");
}

fn body_is(body: &'static str) -> impl Fn(&Registry) -> bool {
    move |registry| registry.get("looker").is_some_and(|persona| persona.body.contains(body))
}

/// What the model was asked as this persona, newest last.
fn requests_of(stage: &Stage, mark: &str) -> Vec<Value> {
    stage.model.requests().into_iter().filter(|request| asked::system(request).contains(mark)).collect()
}

fn coordinator(rule: Rule, step: usize) -> Rule {
    rule.when_persona("default").when_step(step)
}

/// Each question sends `looker`, which answers at once.
async fn sending() -> Stage {
    let rules = [
        coordinator(Rule::call("AgentTool", send()), 0),
        coordinator(Rule::reply("Done."), 1),
        Rule::reply("Half full.").when_persona("looker"),
    ];
    Setting::default().rules(rules).persona("looker", "query_promql", 5).open().await
}

#[tokio::test]
async fn a_changed_body_changed_tools_and_another_model_act_at_the_next_question() {
    let stage = sending().await;
    stage.ask(ALICE, "how full?").await;
    stage.answer().await;
    let text = persona("looker", "tools: [query_change_events]\nmodel: openai/second\n", "Look twice.");
    write(&stage, "looker", &text, body_is("Look twice.")).await;
    stage.ask(ALICE, "and now?").await;
    stage.answer().await;
    let before = requests_of(&stage, "Look and report.");
    let after = requests_of(&stage, "Look twice.");
    assert_eq!((before.len(), after.len()), (1, 1));
    assert_eq!(
        (asked::tools(&before[0]), asked::tools(&after[0])),
        (vec!["query_promql".into()], vec!["query_change_events".into()])
    );
    assert_eq!((before[0]["model"].as_str(), after[0]["model"].as_str()), (Some("story"), Some("second")));
    stage.done().await;
}

#[tokio::test]
async fn a_changed_limit_acts_at_the_next_question() {
    let rules = [
        coordinator(Rule::call("AgentTool", send()), 0),
        coordinator(Rule::reply("Done."), 1),
        Rule::call("get_active_incidents", json!({})).when_persona("looker").when_step(0),
        Rule::reply("Half full.").when_persona("looker").when_step(1),
    ];
    let stage = Setting::default().rules(rules).persona("looker", "get_active_incidents", 5).open().await;
    stage.ask(ALICE, "how full?").await;
    stage.answer().await;
    let report = |stage: &Stage| asked::results(stage.model.requests().last().unwrap()).concat();
    assert!(!report(&stage).contains("max_turns"), "{}", report(&stage));
    let text = persona("looker", "tools: [get_active_incidents]\nmax_turns: 1\n", "Look once.");
    write(&stage, "looker", &text, body_is("Look once.")).await;
    stage.ask(ALICE, "and now?").await;
    stage.answer().await;
    assert!(report(&stage).contains("reason=\"max_turns\""), "{}", report(&stage));
    stage.done().await;
}

#[tokio::test]
async fn a_running_question_keeps_the_personas_it_began_with() {
    let rules = [
        coordinator(Rule::call("get_active_incidents", json!({})), 0),
        coordinator(Rule::call("AgentTool", send()), 1),
        coordinator(Rule::reply("Done."), 2),
        Rule::reply("Half full.").when_persona("looker"),
    ];
    let stage = Setting::default().rules(rules).persona("looker", "query_promql", 5).open().await;
    stage.telemetry.hold();
    stage.ask(ALICE, "how full?").await;
    stage.telemetry.wait_for_waiting(1).await;
    write(&stage, "looker", &persona("looker", "", "Look twice."), body_is("Look twice.")).await;
    stage.telemetry.release();
    assert_eq!(stage.answer().await, "Done.");
    assert_eq!(requests_of(&stage, "Look and report.").len(), 1);
    assert_eq!(requests_of(&stage, "Look twice.").len(), 0);
    stage.done().await;
}

#[tokio::test]
async fn a_file_dropped_in_is_sent_at_the_next_question_and_gone_with_its_file() {
    let rules = [
        coordinator(Rule::call("AgentTool", send()), 0),
        coordinator(Rule::reply("Done."), 1),
        Rule::reply("Half full.").when_persona("looker"),
    ];
    let stage = Setting::default().rules(rules).open().await;
    stage.ask(ALICE, "how full?").await;
    stage.answer().await;
    let results = |stage: &Stage| asked::results(stage.model.requests().last().unwrap()).concat();
    assert!(results(&stage).contains("specialist-disk"), "the names that there are: {}", results(&stage));
    write(&stage, "looker", &persona("looker", "", "Look."), body_is("Look.")).await;
    stage.ask(ALICE, "and now?").await;
    stage.answer().await;
    assert!(results(&stage).contains("Half full."), "{}", results(&stage));
    fs::remove_file(path(&stage, "looker")).unwrap();
    wait(&stage, |registry| registry.get("looker").is_none()).await;
    stage.ask(ALICE, "and in the end?").await;
    stage.answer().await;
    assert!(!results(&stage).contains("Half full."), "{}", results(&stage));
    stage.done().await;
}

#[tokio::test]
async fn an_override_of_the_coordinator_answers_the_next_question() {
    let stage = Stage::with([Rule::reply("One.")]).await;
    stage.ask(ALICE, "who are you?").await;
    stage.answer().await;
    let ours = persona("default", "tools: [AgentTool]\n", "You are ours.");
    write(&stage, "default", &ours, |registry| registry.coordinator().body.contains("You are ours.")).await;
    stage.ask(ALICE, "and now?").await;
    stage.answer().await;
    assert_eq!(requests_of(&stage, "You are ours.").len(), 1);
    write(&stage, "default", "---\nname: default\n", |registry| registry.degraded().is_some()).await;
    let url = format!("http://{}/readyz", stage.app.address());
    let health: Value = reqwest::get(url).await.unwrap().json().await.unwrap();
    assert_eq!(health["status"], "degraded", "{health}");
    stage.ask(ALICE, "still there?").await;
    assert_eq!(stage.answer().await, "One.");
    assert_eq!(requests_of(&stage, "You are ours.").len(), 1);
    stage.done().await;
}

#[tokio::test]
async fn a_persona_that_was_written_acts_at_the_next_question_and_outlives_the_process() {
    let stage = sending().await;
    let keeper = stage.app.personas().clone();
    let written = json!({
        "name": "looker", "description": "Ours.", "when_to_use": "In a story.", "tools": ["query_promql"],
        "body": "Look thrice.\n",
    });
    assert_eq!(keeper.put(&written).await.unwrap().shadows, ["disk"]);
    stage.ask(ALICE, "how full?").await;
    stage.answer().await;
    assert_eq!(requests_of(&stage, "Look thrice.").len(), 1);
    let stage = stage.restarted("", "").await;
    stage.ask(ALICE, "and now?").await;
    stage.answer().await;
    assert_eq!(requests_of(&stage, "Look thrice.").len(), 2);
    stage.app.personas().delete("looker").await.unwrap();
    stage.ask(ALICE, "and in the end?").await;
    stage.answer().await;
    assert_eq!(requests_of(&stage, "Look and report.").len(), 1);
    stage.done().await;
}

#[tokio::test]
async fn a_hangup_reads_personas_anew_where_folders_arent_watched() {
    let setting = Setting::default().rules([Rule::reply("One.")]).limit("[agents]\nwatch = false");
    let stage = setting.persona("looker", "query_promql", 5).open().await;
    fs::write(path(&stage, "looker"), persona("looker", "", "Look twice.")).unwrap();
    let pid = std::process::id().to_string();
    assert!(std::process::Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    wait(&stage, body_is("Look twice.")).await;
    stage.done().await;
}
