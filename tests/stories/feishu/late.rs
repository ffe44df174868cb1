//! Messages that Feishu brings long after they were said, as it does after an outage.

use std::time::Duration;

use watchfloor_sim::{
    feishu::{ALICE, GROUP, MENTION},
    model::Rule,
};

use super::{setting::Setting, stage::Stage};
use crate::stage::PLACEHOLDER;

const LATE: Duration = Duration::from_secs(42 * 60);
const NOTE: &str = "Your message reached me 42 min late.";

/// What finds no connection comes again in a moment.
fn yes() -> Setting {
    let again = vec![Duration::from_millis(200); 100];
    Setting::new([Rule::reply("Yes.")]).feishu(|feishu| feishu.redeliver_after = again)
}

/// The connection ends; what was said meanwhile comes with the next one.
async fn ask_late(stage: &Stage) -> String {
    stage.feishu.cut_connections();
    stage.feishu.say_late(ALICE, GROUP, &format!("{MENTION} is it up?"), LATE).await
}

#[tokio::test]
async fn a_late_message_is_answered_and_everybody_sees_how_late_it_came() {
    for webhook in [false, true] {
        let stage = yes().webhook(webhook).open().await;
        stage.model.hold();
        let question = ask_late(&stage).await;
        assert_eq!(stage.feishu.next_message(GROUP).await.text(), format!("{NOTE}\n\n{PLACEHOLDER}"));
        assert_eq!(stage.goes_on(&question).await, [format!("{NOTE}\n\nYes.")]);
        stage.done().await;
    }
}

#[tokio::test]
async fn a_channel_may_skip_what_comes_late() {
    let stage = yes().line("late = \"skip\"").open().await;
    let question = ask_late(&stage).await;
    stage.idle().await;
    assert_eq!((stage.shown(&question).len(), stage.tally().await.messages), (0, 0));
    let question = stage.ask(ALICE, "is it up?").await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["Yes."]);
    stage.done().await;
}

#[tokio::test]
async fn where_nothing_is_late_no_word_is_lost_about_it() {
    let stage = yes().line("late_after = \"1h\"").open().await;
    let question = ask_late(&stage).await;
    stage.feishu.next_message(GROUP).await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["Yes."]);
    stage.done().await;
}
