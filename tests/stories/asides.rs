//! Clicks and slash commands: one sentence, for that person alone, and no turn.

use crate::{
    setting::Setting,
    stage::{ALICE, ROOM, Stage},
};

const EVE: &str = "U0EVE";
const EXPIRED: &str = "This button is no longer valid. Mention me in the thread if you still need what it was for.";
const HELP: &str = "I answer in threads. Send this as a message, in a channel or in the thread of an alert: <@U0BOT> ";

async fn on_both_transports() -> [Stage; 2] {
    let setting = || Setting::default().rules([watchfloor_sim::model::Rule::reply("Yes.")]);
    [setting().open().await, setting().over_http().open().await]
}

#[tokio::test]
async fn a_click_on_a_button_that_nobody_knows_is_answered_for_that_person_alone() {
    for stage in on_both_transports().await {
        let question = stage.ask(ALICE, "is it up?").await;
        let answer = stage.placeholder().await;
        stage.idle().await;
        for _ in 0..2 {
            stage.slack.press_gone(ALICE, ROOM, &answer.ts, "approve", "r7.nonce").await;
        }
        for _ in 0..2 {
            let told = stage.slack.next_ephemeral(ALICE).await;
            assert_eq!((told.text(), told.thread_ts.as_deref()), (EXPIRED, Some(question.as_str())));
        }
        assert_eq!(stage.shown(&question), ["Yes."]);
        assert_eq!(stage.tally().await.turns, 1);
        stage.done().await;
    }
}

#[tokio::test]
async fn a_slash_command_is_told_what_to_type_where() {
    for stage in on_both_transports().await {
        stage.slack.slash(ALICE, ROOM, "/watchfloor", "why is a < b?").await;
        assert_eq!(stage.slack.next_ephemeral(ALICE).await.text(), format!("{HELP}why is a &lt; b?"));
        stage.slack.kick_bot(ROOM).await;
        stage.slack.slash(ALICE, ROOM, "/watchfloor", "").await;
        assert_eq!(stage.slack.next_ephemeral(ALICE).await.text(), format!("{HELP}what you want to know"));
        assert_eq!(stage.tally().await.turns, 0);
        stage.done().await;
    }
}

#[tokio::test]
async fn who_is_of_another_organisation_gets_no_answer_to_a_click_or_a_command() {
    for stage in on_both_transports().await {
        stage.slack.add_person_of("T0FAR", None, EVE, "Eve").await;
        stage.slack.share_channel(ROOM).await;
        stage.ask(ALICE, "is it up?").await;
        let answer = stage.placeholder().await;
        stage.idle().await;
        stage.slack.slash(EVE, ROOM, "/watchfloor", "").await;
        stage.slack.press_gone(EVE, ROOM, &answer.ts, "approve", "r7.nonce").await;
        // Alice's name, then whose Eve is.
        stage.slack.wait_for_calls("users.info", 2).await;
        stage.slack.press_gone(ALICE, ROOM, &answer.ts, "approve", "r7.nonce").await;
        assert_eq!(stage.slack.next_ephemeral(ALICE).await.text(), EXPIRED);
        stage.done().await;
    }
}
