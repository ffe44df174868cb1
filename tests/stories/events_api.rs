//! Slack over signed HTTP requests: the same answers as over sockets, whatever happens to a request.

use std::time::Duration;

use sqlx::{Connection, SqliteConnection};
use watchfloor_sim::{
    model::Rule,
    slack::{EventId, HttpFault},
};

use crate::{
    setting::Setting,
    stage::{ALICE, BOB, PLACEHOLDER, Stage},
};

fn over_http() -> Setting {
    Setting::default().rules([Rule::reply("Yes.")]).over_http().slack(|slack| {
        slack.redeliver_after = vec![Duration::from_millis(100); 50];
    })
}

async fn answered_once(stage: &Stage, thread: &str) {
    stage.idle().await;
    assert_eq!(stage.shown(thread), ["Yes."]);
    let tally = stage.tally().await;
    assert_eq!((tally.turns, tally.messages), (1, 1));
}

#[tokio::test]
async fn a_mention_becomes_one_message_that_ends_as_the_answer() {
    let stage = over_http().open().await;
    let question = stage.ask(ALICE, "is it up?").await;
    let shown = stage.placeholder().await;
    answered_once(&stage, &question).await;
    let texts: Vec<_> = stage.slack.edits(&shown.ts).into_iter().map(|edit| edit.text).collect();
    assert_eq!(texts, [PLACEHOLDER, "Yes."]);
    stage.ask_in(&question, BOB, "sure?").await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["Yes.", "Yes."]);
    assert_eq!(stage.slack.connections(), 0);
    assert!(stage.slack.http_answers().iter().all(|answer| answer.status == 200), "{:?}", stage.slack.http_answers());
    stage.done().await;
}

#[tokio::test]
async fn b004_a_message_of_which_only_retries_arrive_is_answered() {
    let stage = over_http().open().await;
    for _ in 0..2 {
        stage.slack.http_fault(HttpFault::NeverArrives);
    }
    let question = stage.ask(ALICE, "is it up?").await;
    stage.placeholder().await;
    answered_once(&stage, &question).await;
    let first = stage.slack.acks().into_iter().filter(|ack| ack.attempt > 0).count();
    assert_eq!(first, 2, "both events of the mention came as retries: {:?}", stage.slack.acks());
    stage.done().await;
}

#[tokio::test]
async fn b001_b010_an_event_whose_acknowledgement_is_lost_is_answered_once() {
    let stage = over_http().slack(|slack| slack.ack_deadline = Duration::from_secs(1)).open().await;
    stage.slack.http_fault(HttpFault::ResponseLost);
    stage.slack.http_fault(HttpFault::ResponseLost);
    let question = stage.ask(ALICE, "is it up?").await;
    stage.placeholder().await;
    answered_once(&stage, &question).await;
    stage.slack.redeliver(&question, EventId::Same).await;
    stage.slack.redeliver(&question, EventId::New).await;
    answered_once(&stage, &question).await;
    stage.done().await;
}

#[tokio::test]
async fn while_the_store_is_stuck_slack_is_asked_to_try_again_and_one_answer_follows() {
    let stage = over_http().open().await;
    let file = stage.place.path().join("story.db");
    let mut other = SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let question = stage.ask(ALICE, "is it up?").await;
    let answers = stage.slack.wait_for_http_answers(2).await;
    assert!(answers.iter().all(|answer| answer.status == 503 && !answer.no_retry), "{answers:?}");
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    stage.placeholder().await;
    answered_once(&stage, &question).await;
    stage.done().await;
}

#[tokio::test]
async fn what_is_said_while_the_service_is_down_is_answered_by_a_retry_after_its_start() {
    let setting = over_http();
    let Stage { slack, model, telemetry, app, place, .. } = setting.clone().open().await;
    app.stop(Duration::from_secs(5)).await;
    let question = slack.say(ALICE, crate::stage::ROOM, "<@U0BOT> is it up?").await;
    let (text, app) = setting.start(&slack, &model, &telemetry, place.path()).await;
    let stage = Stage { slack, model, telemetry, app, text, place };
    stage.placeholder().await;
    answered_once(&stage, &question).await;
    assert!(stage.slack.acks().iter().any(|ack| ack.attempt > 0), "{:?}", stage.slack.acks());
    stage.done().await;
}

#[tokio::test]
async fn a_forged_request_starts_nothing() {
    let stage = over_http().open().await;
    for _ in 0..2 {
        stage.slack.http_fault(HttpFault::BadSignature);
    }
    let question = stage.ask(ALICE, "is it up?").await;
    stage.placeholder().await;
    answered_once(&stage, &question).await;
    let statuses: Vec<_> = stage.slack.http_answers()[..2].iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [401, 401]);
    stage.done().await;
}
