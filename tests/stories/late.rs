//! Messages that Slack brings long after they were said.

use std::time::Duration;

use watchfloor_sim::model::Rule;

use crate::{
    asked,
    setting::{Setting, start},
    stage::{ALICE, PLACEHOLDER, ROOM, Stage, by_step},
};

const MINUTE: Duration = Duration::from_secs(60);
const NOTE: &str = "Your message reached me 42 min late.";

async fn ask_late(stage: &Stage) -> String {
    stage.slack.say_late(ALICE, ROOM, None, "<@U0BOT> is it up?", 42 * MINUTE).await
}

fn lines(lines: &str) -> Setting {
    Setting::default().rules([Rule::reply("Yes.")]).channel(&format!("allow_rooms = [\"*\"]\n{lines}\n"))
}

#[tokio::test]
async fn a_late_message_is_answered_and_everybody_sees_how_late_it_came() {
    for stage in [lines("").open().await, lines("").over_http().open().await] {
        stage.model.hold();
        let question = ask_late(&stage).await;
        assert_eq!(stage.placeholder().await.text(), format!("{NOTE}\n\n{PLACEHOLDER}"));
        stage.model.release();
        stage.idle().await;
        assert_eq!(stage.shown(&question), [format!("{NOTE}\n\nYes.")]);
        let said = asked::said(&stage.model.requests()[0]);
        assert!(said.len() == 1 && said[0].contains(" late=\"42 min\">"), "{said:#?}");
        // What is asked now is not late, and knows nothing of it.
        stage.say_in(&question, ALICE, "and now?").await;
        assert_eq!(stage.answer().await, "Yes.");
        stage.done().await;
    }
}

#[tokio::test]
async fn a_restart_does_not_forget_that_a_message_was_late() {
    let mut stage = lines("").open().await;
    stage.model.hold();
    let question = ask_late(&stage).await;
    stage.placeholder().await;
    stage.model.wait_for_open_streams(1).await;
    stage.app.stop(Duration::ZERO).await;
    stage.model.release();
    stage.app = start(&stage.text, stage.place.path()).await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), [format!("{NOTE}\n\nYes.")]);
    stage.done().await;
}

#[tokio::test]
async fn a_channel_may_skip_what_comes_late() {
    let stage = lines("late = \"skip\"").open().await;
    let question = ask_late(&stage).await;
    stage.idle().await;
    assert_eq!((stage.shown(&question), stage.tally().await.messages), (vec![], 0));
    stage.ask(ALICE, "is it up?").await;
    assert_eq!(stage.answer().await, "Yes.");
    stage.done().await;
}

#[tokio::test]
async fn where_nothing_is_late_no_word_is_lost_about_it() {
    for line in ["late_after = \"0s\"", "late_after = \"1h\""] {
        let stage = lines(line).open().await;
        let question = ask_late(&stage).await;
        stage.idle().await;
        assert_eq!(stage.shown(&question), ["Yes."]);
        stage.done().await;
    }
}

#[tokio::test]
async fn a_late_stop_ends_the_question_before_it() {
    let stage = lines("").open().await;
    stage.model.hold();
    let question = ask_late(&stage).await;
    stage.model.wait_for_open_streams(1).await;
    let placeholder = stage.placeholder().await;
    stage.slack.say_late(ALICE, ROOM, Some(&question), "stop", 41 * MINUTE).await;
    stage.slack.wait_for_text(&placeholder.ts, |text| text.starts_with("Stopped by ")).await;
    stage.model.release();
    stage.done().await;
}

#[tokio::test]
async fn a_late_stop_leaves_the_question_after_it() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let thread = stage.ask(ALICE, "is it up?").await;
    stage.model.wait_for_open_streams(1).await;
    stage.slack.say_late(ALICE, ROOM, Some(&thread), "stop", 10 * MINUTE).await;
    stage.slack.heard().await;
    // It holds up nothing that comes after it either.
    let more = stage.say_in(&thread, ALICE, "and the disk?").await;
    stage.slack.wait_for_reactions(&more, &["eyes"]).await;
    stage.model.release();
    stage.idle().await;
    assert_eq!(stage.shown(&thread).last().unwrap(), "Two.");
    stage.done().await;
}
