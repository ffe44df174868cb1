//! Faults of the way from a model's stream to what is shown: pieces and wholes, long results, providers that refuse.

use serde_json::json;
use watchfloor_sim::model::{ModelFault, Rule};

use crate::{
    asked,
    setting::Setting,
    stage::{ALICE, Stage},
};

fn look(query: &str) -> Rule {
    Rule::call("query_promql", json!({"query": query}))
}

fn fails(status: u16) -> Rule {
    Rule::fault(ModelFault::Status { status, retry_after: None })
}

#[tokio::test]
async fn b006_what_was_shown_before_is_replaced_and_never_doubled() {
    let begins = "The pool is full.";
    let whole = format!("{begins} Since ten minutes.");
    for setting in [Setting::default(), Setting::default().anthropic()] {
        let rules = [
            Rule::call("SendMessage", json!({"message": begins})).with_text(begins).when_step(0),
            // Said once, broken off, and said again from the beginning.
            Rule::reply(whole.repeat(50)).but(ModelFault::CutAfterBytes(2_000)).when_step(1).once(),
            Rule::reply(whole.clone()).when_step(1),
        ];
        let stage = setting.rules(rules).open().await;
        let thread = stage.ask(ALICE, "why is it slow?").await;
        let message = stage.placeholder().await;
        stage.idle().await;
        assert_eq!(stage.shown(&thread), [whole.as_str()]);
        let edits = stage.slack.edits(&message.ts);
        assert!(edits.iter().all(|edit| edit.text.matches(begins).count() <= 1), "{edits:#?}");
        stage.done().await;
    }
}

#[tokio::test]
async fn b018_a_fence_that_is_longer_than_a_message_is_closed_and_opened_again() {
    let lines: Vec<_> = (0..400).map(|n| format!("    at line {n}: connection refused")).collect();
    let stage =
        Stage::with([Rule::reply(format!("The log:\n\n```text\n{}\n```\nThat is all.", lines.join("\n")))]).await;
    let thread = stage.ask(ALICE, "show me the log").await;
    stage.idle().await;
    let parts = stage.shown(&thread);
    assert!(parts.len() > 1, "{parts:#?}");
    let mut seen = Vec::new();
    for part in &parts {
        let mut inside = false;
        for line in part.lines() {
            match line.trim_start().starts_with("```") {
                true => inside = !inside,
                false if line.contains("at line") => {
                    assert!(inside, "outside of a fence: {line}");
                    seen.push(line.to_owned());
                }
                false => {}
            }
        }
        assert!(!inside, "left open: {part}");
    }
    assert_eq!(seen, lines);
    stage.done().await;
}

#[tokio::test]
async fn b068_the_model_is_told_what_the_envelopes_around_a_question_are() {
    let stage = Stage::with([Rule::reply("Yes.")]).await;
    stage.ask(ALICE, "is checkout up?").await;
    stage.answer().await;
    let request = &stage.model.requests()[0];
    let (system, question, reminder) =
        (asked::system(request), asked::said(request).remove(0), asked::reminders(request).remove(0));
    for (tag, text) in [("<message from=", &question), ("<system-reminder>", &reminder)] {
        assert!(text.starts_with(tag) && system.contains(tag), "{tag} is not explained in {system}");
    }
    stage.done().await;
}

#[tokio::test]
async fn b078_a_result_that_is_too_long_is_cut_before_the_model_sees_it() {
    let series = |n: usize| {
        format!(
            "          - {{metric: {{__name__: pool_in_use, pod: checkout-{n}-{}}}, values: [[\"-1m\", {n}]]}}\n",
            "x".repeat(60)
        )
    };
    let all: String = (0..3_000).map(series).collect();
    let world = format!(
        "prometheus:\n  queries:\n    - contains: pool_in_use\n      result:\n        resultType: matrix\n        result:\n{all}"
    );
    let rules = [look("pool_in_use").when_step(0), Rule::reply("Full [E1].").when_step(1)];
    let stage = Setting::default().rules(rules).world(&world).open().await;
    stage.ask(ALICE, "which pods?").await;
    assert!(stage.answer().await.starts_with("Full [E1]."));
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 2, "nothing is summarised first");
    let result = asked::results(&requests[1]).remove(0);
    assert!(result.chars().count() < 20_000, "{}", result.chars().count());
    assert!(result.contains("read_result"), "{result}");
    stage.done().await;
}

#[tokio::test]
async fn b080_a_turn_stays_with_its_model_while_that_is_refused() {
    let rules = [fails(429).once(), fails(503).once(), Rule::reply("The pool.")];
    let stage = Setting::default().rules(rules).open().await;
    stage.ask(ALICE, "why is it slow?").await;
    assert_eq!(stage.answer().await, "The pool.");
    let models: Vec<_> = stage.model.requests().iter().map(|request| request["model"].clone()).collect();
    assert_eq!(models, ["story"; 3]);
    stage.done().await;
}

#[tokio::test]
async fn b081_a_provider_that_stays_overloaded_is_told_after_three_requests() {
    for (setting, status) in [(Setting::default(), 503), (Setting::default().anthropic(), 529)] {
        let stage = setting.rules([fails(status)]).open().await;
        let thread = stage.ask(ALICE, "why is it slow?").await;
        let answer = stage.answer().await;
        assert!(answer.starts_with("The model's provider is overloaded"), "{answer}");
        assert_eq!(stage.model.requests().len(), 3);
        assert_eq!(stage.turn(&thread).await.reason.as_deref(), Some("overloaded"));
        stage.done().await;
    }
}

#[tokio::test]
async fn b081_an_overload_in_the_middle_of_a_stream_is_asked_again() {
    for (setting, kind) in [
        (Setting::default(), "overloaded_error"),
        (Setting::default(), "rate_limit_exceeded"),
        (Setting::default().anthropic(), "overloaded_error"),
    ] {
        let breaks = Rule::reply("The pool is full.").but(ModelFault::ErrorEvent(kind.into())).once();
        let stage = setting.rules([breaks, Rule::reply("The pool.")]).open().await;
        stage.ask(ALICE, "why is it slow?").await;
        assert_eq!(stage.answer().await, "The pool.");
        assert_eq!(stage.model.requests().len(), 2);
        stage.done().await;
    }
}
