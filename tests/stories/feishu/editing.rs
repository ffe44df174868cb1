//! How a placeholder becomes the answer: by PUT within Feishu's twenty edits, as a card where PUT is refused, and as another
//! message where nothing can be edited.

use serde_json::json;
use watchfloor_sim::{
    feishu::{ALICE, EXTERNAL, Fault, GROUP, TOPICS},
    model::Rule,
};

use super::{setting::Setting, stage::Stage};
use crate::stage::by_step;

/// Edits of one message over its life.
const ALL_EDITS: usize = 20;

#[tokio::test]
async fn a_long_investigation_never_runs_out_of_edits() {
    let tells = |step: usize| {
        let messages = (0..8).map(|n| ("SendMessage", json!({"message": format!("Looking at {step}.{n}.")})));
        Rule::calls(messages.collect::<Vec<_>>()).when_step(step)
    };
    let rules = [tells(0), tells(1), tells(2), Rule::reply("The pool is full.").when_step(3)];
    let stage = Setting::new(rules).limit("turn_timeout = \"10m\"").open().await;
    let question = stage.ask(ALICE, "why is it slow?").await;
    let shown = stage.feishu.next_message(GROUP).await;
    stage.feishu.wait_for_text(&shown.id, |text| text == "The pool is full.").await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["The pool is full."]);
    let puts = stage.feishu.message(&shown.id).puts;
    assert!((2..=ALL_EDITS - 3).contains(&puts), "{puts} edits");
    assert_eq!(stage.refused(), []);
    stage.done().await;
}

#[tokio::test]
async fn where_texts_cannot_be_edited_the_answer_is_a_card_and_the_placeholder_goes() {
    let stage = Stage::with(by_step()).await;
    let (question, placeholder) = stage.ask_and_hold(EXTERNAL, ALICE, "why is it slow?").await;
    assert_eq!(placeholder.kind(), "post");
    assert_eq!(stage.goes_on(&question).await, ["One."]);
    let card = &stage.beneath(&question)[0];
    assert_eq!((card.kind(), card.edits.len()), ("interactive", 1));
    assert!(stage.feishu.message(&placeholder.id).recalled);
    // The next one is a card from the start.
    let (question, placeholder) = stage.ask_and_hold(EXTERNAL, ALICE, "and now?").await;
    assert_eq!(placeholder.kind(), "interactive");
    assert_eq!(stage.goes_on(&question).await, ["One."]);
    assert_eq!(stage.beneath(&question)[0].id, placeholder.id);
    assert_eq!((stage.feishu.calls("edit").len(), stage.feishu.calls("patch").len()), (1, 1));
    stage.done().await;
}

#[tokio::test]
async fn a_restart_does_not_forget_where_texts_cannot_be_edited() {
    let stage = Stage::with(by_step()).await;
    stage.ask_at(EXTERNAL, ALICE, "why is it slow?").await;
    stage.idle().await;
    let stage = stage.restarted().await;
    let question = stage.ask_at(EXTERNAL, ALICE, "and now?").await;
    stage.idle().await;
    assert_eq!((stage.shown(&question), stage.feishu.calls("edit").len()), (vec!["One.".to_owned()], 1));
    stage.done().await;
}

#[tokio::test]
async fn b022_a_card_that_is_refused_is_said_as_a_post_and_a_post_as_a_text() {
    for refuses_posts in [false, true] {
        let stage = Stage::with([Rule::reply("The pool is **full**.")]).await;
        stage.feishu.change_chat(EXTERNAL, |chat| chat.no_cards = true).await;
        let (question, placeholder) = stage.ask_and_hold(EXTERNAL, ALICE, "why is it slow?").await;
        if refuses_posts {
            stage.feishu.fault_times("reply", Fault::Code { code: 230_099, http: 400 }, 2);
        }
        let expected = if refuses_posts { "text" } else { "post" };
        let shown = stage.goes_on(&question).await;
        assert!(shown.len() == 1 && shown[0].contains("The pool is"), "{shown:?}");
        assert_eq!(stage.beneath(&question)[0].kind(), expected);
        assert!(stage.feishu.message(&placeholder.id).recalled);
        stage.done().await;
    }
}

#[tokio::test]
async fn after_the_time_for_edits_the_answer_is_a_message_of_its_own() {
    let stage = Stage::with(by_step()).await;
    for chat in [GROUP, TOPICS] {
        let (question, placeholder) = stage.ask_and_hold(chat, ALICE, "why is it slow?").await;
        stage.feishu.close_edits();
        assert_eq!(stage.goes_on(&question).await, ["One."]);
        let answer = &stage.beneath(&question)[0];
        assert_eq!((answer.kind(), answer.parent.as_deref()), ("post", Some(question.as_str())));
        assert!(answer.id != placeholder.id && stage.feishu.message(&placeholder.id).recalled);
    }
    stage.done().await;
}

#[tokio::test]
async fn a_post_whose_answer_is_lost_is_repeated_and_stays_one_message() {
    for fault in [Fault::DropResponse, Fault::HttpAfter(502)] {
        let stage = Stage::with(by_step()).await;
        stage.feishu.fault("reply", fault);
        let question = stage.ask(ALICE, "why is it slow?").await;
        stage.idle().await;
        assert_eq!(stage.shown(&question), ["One."]);
        let keys: Vec<_> = stage.feishu.calls("reply").iter().map(|call| call.body["uuid"].clone()).collect();
        assert!(keys.len() == 2 && keys[0] == keys[1], "{keys:?}");
        stage.done().await;
    }
}

#[tokio::test]
async fn a_last_edit_whose_answer_is_lost_is_repeated_and_not_posted() {
    let stage = Stage::with(by_step()).await;
    let (question, placeholder) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
    stage.feishu.fault("edit", Fault::DropResponse);
    assert_eq!(stage.goes_on(&question).await, ["One."]);
    assert_eq!(stage.beneath(&question)[0].id, placeholder.id);
    assert_eq!((stage.feishu.calls("reply").len(), stage.feishu.calls("edit").len()), (1, 2));
    stage.done().await;
}

#[tokio::test]
async fn a_lost_edit_that_was_the_last_one_allowed_is_looked_up_before_anything_is_posted() {
    let stage = Setting::new(by_step()).hears_all().open().await;
    let (question, placeholder) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
    stage.feishu.fault("edit", Fault::DropResponse);
    stage.feishu.fault("edit", Fault::Code { code: 230_072, http: 400 });
    assert_eq!(stage.goes_on(&question).await, ["One."]);
    assert_eq!(stage.beneath(&question)[0].id, placeholder.id);
    assert_eq!((stage.feishu.calls("reply").len(), stage.feishu.calls("get").len()), (1, 1));
    stage.done().await;
}

#[tokio::test]
async fn cards_alone_are_edited_as_cards() {
    let stage = Setting::new(by_step()).line("reply_mode = \"card\"").open().await;
    let (question, placeholder) = stage.ask_and_hold(GROUP, ALICE, "why is it slow?").await;
    assert_eq!(placeholder.kind(), "interactive");
    assert_eq!(stage.goes_on(&question).await, ["One."]);
    assert_eq!((stage.feishu.calls("edit").len(), stage.feishu.calls("patch").len()), (0, 1));
    stage.done().await;
}
