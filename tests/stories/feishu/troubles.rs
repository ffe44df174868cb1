//! What Feishu, its administrators and its people do to an answer that is under way.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use watchfloor::{store::TurnStatus, wording};
use watchfloor_channel::ChannelState;
use watchfloor_sim::{
    feishu::{ALICE, BOB, Fault, GROUP, MENTION, TOPICS},
    model::Rule,
};

use super::{
    setting::Setting,
    stage::{PATIENCE, Stage},
};
use crate::stage::{PLACEHOLDER, by_step};

#[tokio::test]
async fn a_recalled_question_ends_its_turn_and_its_placeholder_goes() {
    let stage = Stage::with(by_step()).await;
    let (question, placeholder) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
    stage.feishu.recall(&question).await;
    stage.model.wait_for_open_streams(0).await;
    stage.idle().await;
    assert!(stage.feishu.message(&placeholder.id).recalled);
    let turn = stage.turn(GROUP, &question).await;
    assert_eq!((turn.status, turn.reason.as_deref()), (TurnStatus::Stopped, Some("retracted")));
    stage.model.release();
    stage.done().await;
}

#[tokio::test]
async fn a_question_recalled_before_anything_stood_beneath_it_leaves_nothing() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    stage.feishu.hold("reply");
    let question = stage.ask(ALICE, "why is it slow?").await;
    stage.feishu.wait_for_calls("reply", 1).await;
    stage.feishu.recall(&question).await;
    stage.feishu.heard().await;
    stage.feishu.let_go("reply");
    stage.model.release();
    stage.idle().await;
    assert!(!stage.feishu.messages(GROUP).iter().any(|message| message.is_of_bot()));
    stage.done().await;
}

#[tokio::test]
async fn an_answer_outlives_the_message_that_began_its_thread() {
    let stage = Stage::with(by_step()).await;
    let parent = stage.feishu.say(BOB, GROUP, "checkout is slow").await;
    stage.model.hold();
    let question = stage.feishu.reply(ALICE, &parent, &format!("{MENTION} why?")).await;
    stage.feishu.next_message(GROUP).await;
    stage.model.wait_for_open_streams(1).await;
    stage.feishu.recall(&parent).await;
    stage.feishu.heard().await;
    assert_eq!(stage.goes_on(&question).await, ["One."]);
    stage.done().await;
}

#[tokio::test]
async fn b027_a_topic_deleted_under_way_ends_the_matter() {
    let stage = Stage::with(by_step()).await;
    let (question, _) = stage.ask_and_hold(TOPICS, ALICE, "why is it slow?").await;
    stage.feishu.delete_topic(&question);
    assert_eq!(stage.goes_on(&question).await, [PLACEHOLDER]);
    assert!(stage.refused().contains(&("reply".into(), 230_019)), "{:?}", stage.refused());
    stage.done().await;
}

#[tokio::test]
async fn a_bot_that_is_thrown_out_tells_the_asker_in_private() {
    let stage = Stage::with(by_step()).await;
    let (question, _) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
    stage.feishu.kick_bot(GROUP).await;
    assert_eq!(stage.goes_on(&question).await, [PLACEHOLDER]);
    let told = stage.feishu.next_message(&stage.feishu.p2p(ALICE)).await.text();
    assert!(told.contains("why is it slow?") && told.contains("the bot is not in this group"), "{told}");
    stage.done().await;
}

#[tokio::test]
async fn a_token_revoked_in_mid_turn_is_fetched_anew_and_nobody_notices() {
    for status in [400, 200] {
        let stage = Stage::with(by_step()).await;
        stage.feishu.set_stale_status(status);
        let (question, _) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
        stage.feishu.expire_tokens();
        assert_eq!(stage.goes_on(&question).await, ["One."]);
        assert_eq!(stage.feishu.calls("token").len(), 2);
        stage.done().await;
    }
}

#[tokio::test]
async fn b054_a_token_that_can_not_be_fetched_at_once_is_fetched_later() {
    let stage = Stage::with(by_step()).await;
    let (question, placeholder) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
    stage.feishu.fault_times("token", Fault::Http(503), 2);
    stage.feishu.expire_tokens();
    assert_eq!(stage.goes_on(&question).await, ["One."]);
    assert_eq!(stage.beneath(&question)[0].id, placeholder.id);
    stage.done().await;
}

#[tokio::test]
async fn a_month_without_calls_left_leaves_the_answer_in_the_store() {
    let stage = Stage::with(by_step()).await;
    let (question, _) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
    stage.feishu.set_monthly_calls(Some(0));
    assert_eq!(stage.goes_on(&question).await, [PLACEHOLDER]);
    let turn = stage.turn(GROUP, &question).await;
    assert_eq!(turn.answer.as_deref(), Some("One."));
    let owed = stage.app.store.deliveries().of_turn(&turn.id).await.unwrap();
    let reasons: Vec<_> = owed.iter().filter_map(|row| row.reason.as_deref()).collect();
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| *reason == "99991403"), "{reasons:?}");
    let refused = stage.refused();
    assert!(refused.iter().all(|(_, code)| *code == 99_991_403) && refused.len() <= 6, "{refused:?}");
    // Nobody can be told in the chat, so health tells.
    let mut state = stage.app.channels()[0].state.clone();
    let shown = state.borrow().clone();
    let ChannelState::Degraded(why) = &shown else { panic!("{shown:?}") };
    assert!(why.contains("the month's calls are used up") && why.contains("-01 in China"), "{why}");
    // What is asked meanwhile is neither lost nor tried again and again: its row says why there is no answer.
    let before = stage.refused().len();
    let unheard = stage.ask(BOB, "and now?").await;
    stage.idle().await;
    let turn = stage.turn(GROUP, &unheard).await;
    assert_eq!((turn.status, turn.reason.as_deref()), (TurnStatus::Failed, Some("99991403")));
    assert!(stage.refused().len() - before <= 4, "{:?}", stage.refused());
    // Somebody bought more.
    stage.feishu.set_monthly_calls(None);
    let question = stage.ask(ALICE, "and today?").await;
    stage.idle().await;
    assert_eq!(stage.shown(&question).len(), 1);
    timeout(PATIENCE, state.wait_for(|state| *state == ChannelState::Connected)).await.unwrap().unwrap();
    stage.done().await;
}

#[tokio::test]
async fn b017_b059_a_rate_limit_is_sat_out_and_the_newest_text_wins() {
    let tell = |step: usize| Rule::call("SendMessage", json!({"message": format!("Step {step}.")})).when_step(step);
    let stage = Stage::with([tell(0), tell(1), Rule::reply("Full.").when_step(2)]).await;
    stage.feishu.fault("edit", Fault::RateLimited { reset_secs: 2, http: 429 });
    let question = stage.ask(ALICE, "why is it slow?").await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["Full."]);
    let calls = stage.feishu.calls("edit");
    assert!(calls[1].at - calls[0].at >= Duration::from_secs(2), "{calls:#?}");
    assert!(calls.len() <= 4, "{calls:#?}");
    stage.done().await;
}

#[tokio::test]
async fn an_answer_with_words_that_are_barred_gives_way_to_a_sentence_that_says_so() {
    for code in [230_028, 230_022] {
        let stage = Setting::new(by_step()).hears_all().open().await;
        let (question, placeholder) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
        stage.feishu.fault_times("edit", Fault::Code { code, http: 400 }, 2);
        stage.feishu.fault_times("reply", Fault::Code { code, http: 400 }, 2);
        let why = "the company's rules do not let this text pass: it holds words, numbers or addresses that they bar";
        assert_eq!(stage.goes_on(&question).await, [wording::not_let_through(why)]);
        assert!(stage.feishu.message(&placeholder.id).recalled);
        assert_eq!(stage.turn(GROUP, &question).await.answer.as_deref(), Some("One."));
        // The conversation goes on as if nothing had been.
        stage.feishu.reply(ALICE, &question, &format!("{MENTION} in other words?")).await;
        stage.idle().await;
        assert_eq!(stage.shown(&question).last().unwrap(), "Two.");
        stage.done().await;
    }
}
