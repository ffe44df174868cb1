//! Specialists that go on while people talk, and after the turn that sent them: nothing they find is lost or said twice.

use serde_json::{Value, json};
use watchfloor::store::{SessionRow, SessionStatus};
use watchfloor_sim::{model::Rule, telemetry::Source};

use crate::{
    asked,
    setting::Setting,
    stage::{ALICE, Stage},
};

fn send(prompt: &str) -> Value {
    json!({"description": "look at the pool", "subagent_type": "looker", "prompt": prompt})
}

fn in_background(prompt: &str) -> Value {
    json!({"description": "look at it", "subagent_type": "looker", "prompt": prompt, "background": true})
}

fn coordinator(rule: Rule, step: usize) -> Rule {
    rule.when_persona("default").when_step(step)
}

fn looks() -> [Rule; 2] {
    [
        Rule::call("query_promql", json!({"query": "pool_in_use"})).when_persona("looker").when_step(0),
        Rule::reply("20 of 20.").when_persona("looker").when_step(1),
    ]
}

async fn open(rules: impl IntoIterator<Item = Rule>) -> Stage {
    Setting::default().rules(rules).persona("looker", "query_promql", 5).open().await
}

async fn workers(stage: &Stage, thread: &str) -> Vec<SessionRow> {
    let session = stage.session(thread).await.unwrap();
    stage.app.store.sessions().workers(&session.id).await.unwrap()
}

async fn statuses(stage: &Stage, thread: &str) -> Vec<SessionStatus> {
    workers(stage, thread).await.iter().map(|worker| worker.status).collect()
}

/// The newest request of the coordinator.
fn newest(stage: &Stage) -> Value {
    let of_coordinator = |request: &Value| asked::system(request).contains("You are the persona default.");
    stage.model.requests().into_iter().rfind(of_coordinator).unwrap()
}

/// A question whose worker waits for its source.
async fn under_way(rules: impl IntoIterator<Item = Rule>) -> (Stage, String) {
    let stage = open(rules.into_iter().chain(looks())).await;
    stage.telemetry.hold();
    let thread = stage.ask(ALICE, "how full is the pool?").await;
    stage.telemetry.wait_for_waiting(1).await;
    (stage, thread)
}

#[tokio::test]
async fn the_asker_is_heard_while_a_specialist_works_and_its_report_comes_later() {
    let (stage, thread) = under_way([
        coordinator(Rule::call("AgentTool", send("How full?")), 0),
        coordinator(Rule::reply("The disk is fine; I'll tell you about the pool."), 1),
        coordinator(Rule::reply("The pool is full."), 2),
    ])
    .await;
    stage.say_in(&thread, ALICE, "and the disk?").await;
    let placeholder = stage.placeholder().await;
    stage.slack.wait_for_text(&placeholder.ts, |text| text.starts_with("The disk is fine")).await;
    let request = newest(&stage);
    assert_eq!(asked::roles(&request), ["system", "user", "assistant", "tool", "user"]);
    let result = asked::results(&request).remove(0);
    let result: Value = serde_json::from_str(result.lines().nth(1).unwrap()).unwrap();
    assert_eq!((result["status"].as_str(), result["persona"].as_str()), (Some("running"), Some("looker")));
    assert_eq!(asked::words(&asked::said(&request)[1]), "and the disk?");
    assert_eq!(statuses(&stage, &thread).await, [SessionStatus::Running]);

    stage.telemetry.release();
    let later = stage.placeholder().await;
    stage.idle().await;
    assert_eq!(stage.slack.message(&later.ts).text(), "<@U0ALICE> The pool is full.");
    assert_eq!(stage.slack.calls("chat.update").iter().filter(|call| call.args["ts"] == later.ts.as_str()).count(), 0);
    let told = asked::said(&newest(&stage)).pop().unwrap();
    assert!(told.starts_with("<task-notification persona=\"looker\"") && told.contains("\n20 of 20.\n"), "{told}");
    assert_eq!(statuses(&stage, &thread).await, [SessionStatus::Completed]);
    assert_eq!((stage.tally().await.turns, stage.shown(&thread).len()), (2, 2));
    stage.done().await;
}

#[tokio::test]
async fn all_specialists_of_a_step_go_on_and_each_call_has_its_result() {
    let two = [("AgentTool", send("How full?")), ("AgentTool", send("How many errors?"))];
    let (stage, thread) = under_way([
        coordinator(Rule::calls(two), 0),
        coordinator(Rule::reply("In a moment."), 1),
        coordinator(Rule::reply("Both are bad."), 2),
    ])
    .await;
    stage.telemetry.wait_for_waiting(2).await;
    stage.say_in(&thread, ALICE, "still there?").await;
    let placeholder = stage.placeholder().await;
    stage.slack.wait_for_text(&placeholder.ts, |text| text == "In a moment.").await;
    let results = asked::results(&newest(&stage));
    assert!(results.len() == 2 && results.iter().all(|result| result.contains("\"running\"")), "{results:?}");
    // Their reports come within two seconds of each other and are answered together.
    stage.telemetry.release();
    stage.placeholder().await;
    stage.idle().await;
    assert_eq!(stage.shown(&thread), ["In a moment.", "<@U0ALICE> Both are bad."]);
    assert_eq!(stage.tally().await.turns, 2);
    stage.done().await;
}

#[tokio::test]
async fn a_report_that_comes_while_the_turn_runs_is_read_at_its_next_step() {
    let (stage, thread) = under_way([
        coordinator(Rule::call("AgentTool", send("How full?")), 0),
        coordinator(Rule::call("get_active_incidents", json!({})), 1),
        coordinator(Rule::reply("The pool is full, and nothing else."), 2),
        // If the report comes after the last step.
        coordinator(Rule::reply("As I said."), 3),
    ])
    .await;
    // The call after the detachment waits for its source like the specialist's.
    stage.say_in(&thread, ALICE, "and incidents?").await;
    stage.telemetry.wait_for_waiting(2).await;
    stage.telemetry.release();
    assert_eq!(stage.answer().await, "The pool is full, and nothing else.");
    stage.idle().await;
    let turns = stage.tally().await.turns;
    let said = asked::said(&newest(&stage)).concat();
    // Whichever source answers first: the report is told once, at the next step or in a turn of its own.
    assert_eq!(said.matches("<task-notification").count(), 1, "{said}");
    if turns == 2 {
        assert_eq!(stage.placeholder().await.text(), "<@U0ALICE> As I said.");
    }
    stage.done().await;
}

#[tokio::test]
async fn a_specialist_that_goes_on_can_be_stopped_by_its_id() {
    let (stage, thread) = under_way([coordinator(Rule::call("AgentTool", send("How full?")), 0)]).await;
    let task = workers(&stage, &thread).await.remove(0).id;
    stage.model.push_rule(coordinator(Rule::call("TaskStop", json!({"task_id": task})), 1));
    stage.model.push_rule(coordinator(Rule::call("TaskStop", json!({"task_id": task})), 2));
    stage.model.push_rule(coordinator(Rule::reply("Stopped looking."), 3));
    stage.say_in(&thread, ALICE, "forget the pool").await;
    assert_eq!(stage.answer().await, "Stopped looking.");
    let results = asked::results(&newest(&stage));
    let ended = ["\nStopped.\n", "\nIt had already ended: killed.\n"];
    assert!(results[1..].iter().zip(ended).all(|(result, text)| result.contains(text)), "{results:?}");
    assert_eq!(statuses(&stage, &thread).await, [SessionStatus::Killed]);
    stage.telemetry.wait_for_waiting(0).await;
    assert_eq!((stage.shown(&thread).len(), stage.tally().await.turns), (1, 1));
    stage.telemetry.release();
    stage.done().await;
}

#[tokio::test]
async fn a_persons_stop_ends_what_works_in_the_background_and_nothing_is_said_of_it() {
    let (stage, thread) = under_way([
        coordinator(Rule::call("AgentTool", in_background("How full?")), 0),
        coordinator(Rule::reply("I'll tell you."), 1),
    ])
    .await;
    assert_eq!(stage.placeholder().await.thread_ts.as_deref(), Some(thread.as_str()));
    stage.slack.heard().await;
    let stop = stage.say_in(&thread, ALICE, "stop").await;
    stage.slack.wait_for_reactions(&stop, &["white_check_mark"]).await;
    stage.telemetry.wait_for_waiting(0).await;
    stage.idle().await;
    assert_eq!(statuses(&stage, &thread).await, [SessionStatus::Killed]);
    assert_eq!(stage.tally().await.turns, 1);
    stage.telemetry.release();
    stage.done().await;
}

#[tokio::test]
async fn a_specialist_in_the_background_reports_in_a_message_of_its_own() {
    for by_call in [true, false] {
        let call = if by_call { in_background("How full?") } else { send("How full?") };
        let rules = [
            coordinator(Rule::call("AgentTool", call), 0),
            coordinator(Rule::reply("I'll tell you."), 1),
            coordinator(Rule::reply("It is full."), 2),
        ];
        let setting = Setting::default().rules(rules.into_iter().chain(looks()));
        let setting = match by_call {
            true => setting.persona("looker", "query_promql", 5),
            false => setting.background_persona("looker", "query_promql"),
        };
        let stage = setting.open().await;
        stage.telemetry.hold();
        let thread = stage.ask(ALICE, "how full is the pool?").await;
        let placeholder = stage.placeholder().await;
        stage.slack.wait_for_text(&placeholder.ts, |text| text == "I'll tell you.").await;
        stage.telemetry.wait_for_waiting(1).await;
        stage.telemetry.release();
        stage.placeholder().await;
        stage.idle().await;
        assert_eq!(stage.shown(&thread), ["I'll tell you.", "<@U0ALICE> It is full."]);
        stage.done().await;
    }
}

#[tokio::test]
async fn the_same_errand_twice_in_one_step_is_run_once() {
    let twice = [("AgentTool", send("How full is the pool?")), ("AgentTool", send("how  full is\nthe POOL?"))];
    let stage =
        open([coordinator(Rule::calls(twice), 0), coordinator(Rule::reply("Full."), 1)].into_iter().chain(looks()))
            .await;
    let thread = stage.ask(ALICE, "how full?").await;
    assert_eq!(stage.answer().await, "Full.");
    let results = asked::results(&newest(&stage));
    assert!(results.iter().all(|result| result.contains("\n20 of 20.\n")), "{results:?}");
    assert_eq!(results.iter().filter(|result| result.contains("nothing was done twice")).count(), 1, "{results:?}");
    assert_eq!(workers(&stage, &thread).await.len(), 1);
    stage.done().await;
}

#[tokio::test]
async fn the_same_errand_a_moment_later_gets_the_report_it_had_but_never_in_another_thread() {
    let rules = [
        coordinator(Rule::call("AgentTool", send("How full?")), 0),
        coordinator(Rule::call("AgentTool", send("how full?")), 1),
        coordinator(Rule::reply("Full."), 2),
    ];
    let stage = open(rules.into_iter().chain(looks())).await;
    let first = stage.ask(ALICE, "how full?").await;
    assert_eq!(stage.answer().await, "Full.");
    let results = asked::results(&newest(&stage));
    assert!(results[1].contains("Nothing was done again.") && results[1].contains("20 of 20."), "{results:?}");
    let second = stage.ask(ALICE, "how full?").await;
    assert_eq!(stage.answer().await, "Full.");
    assert_eq!((workers(&stage, &first).await.len(), workers(&stage, &second).await.len()), (1, 1));
    stage.done().await;
}

#[tokio::test]
async fn what_is_said_to_a_specialist_at_work_stands_in_its_next_request() {
    let (stage, thread) = under_way([coordinator(Rule::call("AgentTool", send("How full?")), 0)]).await;
    let task = workers(&stage, &thread).await.remove(0).id;
    let tell = json!({"message": "Look at /srv too.", "to": task});
    stage.model.push_rule(coordinator(Rule::call("SendMessage", tell), 1));
    stage.model.push_rule(coordinator(Rule::reply("It looks at /srv too."), 2));
    stage.model.push_rule(coordinator(Rule::reply("All of it is full."), 3));
    stage.say_in(&thread, ALICE, "and /srv").await;
    let placeholder = stage.placeholder().await;
    stage.slack.wait_for_text(&placeholder.ts, |text| text.contains("/srv too")).await;
    stage.telemetry.release();
    stage.placeholder().await;
    stage.idle().await;
    let of_worker = |request: &Value| asked::system(request).contains("You are the persona looker.");
    let request = stage.model.requests().into_iter().rfind(of_worker).unwrap();
    assert_eq!(asked::roles(&request), ["system", "user", "assistant", "tool", "user"]);
    assert_eq!(asked::said(&request)[1], "<coordinator>\nLook at /srv too.\n</coordinator>");
    assert_eq!(stage.shown(&thread)[1], "<@U0ALICE> All of it is full.");
    stage.done().await;
}

#[tokio::test]
async fn a_specialist_that_had_ended_goes_on_with_what_it_is_told() {
    let rules = [coordinator(Rule::call("AgentTool", send("How full?")), 0), coordinator(Rule::reply("Full."), 1)];
    let stage = open(rules.into_iter().chain(looks())).await;
    let thread = stage.ask(ALICE, "how full?").await;
    assert_eq!(stage.answer().await, "Full.");
    let task = workers(&stage, &thread).await.remove(0).id;
    let tell = json!({"message": "Since when?", "to": task});
    stage.model.push_rule(coordinator(Rule::call("SendMessage", tell), 2));
    stage.model.push_rule(Rule::reply("Since 09:05.").when_persona("looker").when_step(2));
    stage.model.push_rule(coordinator(Rule::reply("Since five past nine."), 3));
    stage.ask_in(&thread, ALICE, "since when?").await;
    assert_eq!(stage.answer().await, "Since five past nine.");
    let results = asked::results(&newest(&stage));
    assert!(results[1].contains("\nSince 09:05.\n") && results[1].contains(&task), "{results:?}");
    assert_eq!(workers(&stage, &thread).await.len(), 1);
    stage.done().await;
}

#[tokio::test]
async fn an_unknown_task_is_answered_with_those_of_the_conversation() {
    let rules = [
        coordinator(Rule::call("AgentTool", send("How full?")), 0),
        coordinator(Rule::call("SendMessage", json!({"message": "more", "to": "nope"})), 1),
        coordinator(Rule::call("TaskStop", json!({"task_id": "nope"})), 2),
        coordinator(Rule::reply("Full."), 3),
    ];
    let stage = open(rules.into_iter().chain(looks())).await;
    let thread = stage.ask(ALICE, "how full?").await;
    assert_eq!(stage.answer().await, "Full.");
    let task = workers(&stage, &thread).await.remove(0).id;
    let results = asked::results(&newest(&stage));
    for result in &results[1..] {
        assert!(result.contains(&task) && result.contains("looker, completed"), "{result}");
    }
    stage.done().await;
}

#[tokio::test]
async fn a_report_says_what_it_rests_on_and_what_did_not_answer() {
    let rules = [
        coordinator(Rule::call("AgentTool", send("How full?")), 0),
        coordinator(Rule::reply("Full, it seems."), 1),
        Rule::calls([("query_promql", json!({"query": "pool_in_use"})), ("get_active_incidents", json!({}))])
            .when_persona("looker")
            .when_step(0),
        Rule::reply("20 of 20 [E1].").when_persona("looker").when_step(1),
    ];
    let setting = Setting::default().rules(rules).persona("looker", "query_promql, get_active_incidents", 5);
    let stage = setting.open().await;
    stage.telemetry.source_down(Source::Alertmanager, true);
    stage.ask(ALICE, "how full?").await;
    stage.answer().await;
    let report = asked::results(&newest(&stage)).remove(0);
    assert!(report.contains("evidence=\"E1\"") || report.contains("evidence=\"E1, E2\""), "{report}");
    assert!(report.contains("sources_down=\"get_active_incidents\""), "{report}");
    stage.done().await;
}
