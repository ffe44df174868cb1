//! Buttons: nothing of ours has any that act, so each click is answered at once with a sentence.

use serde_json::json;
use watchfloor::wording;
use watchfloor_sim::feishu::{ALICE, EXTERNAL, GROUP, GUEST};

use super::setting::Setting;
use crate::stage::by_step;

#[tokio::test]
async fn a_click_is_answered_that_the_button_is_no_longer_valid() {
    for (webhook, card_frames) in [(false, false), (false, true), (true, false)] {
        let stage = Setting::new(by_step()).line("reply_mode = \"card\"").webhook(webhook).open().await;
        stage.feishu.card_frames(card_frames);
        let question = stage.ask(ALICE, "why is it slow?").await;
        let card = stage.feishu.next_message(GROUP).await;
        stage.idle().await;
        for value in [json!({"action": "approve", "value": "1"}), json!("odd"), json!(null)] {
            let pressed = stage.feishu.press_gone(ALICE, &card.id, &value).await;
            assert_eq!((pressed.toast(), pressed.error), (Some(wording::button_expired().as_str()), None), "{value}");
        }
        assert_eq!(stage.shown(&question), ["One."]);
        stage.done().await;
    }
}

#[tokio::test]
async fn a_click_from_another_company_gets_no_word_of_ours() {
    let stage = Setting::new(by_step()).line("reply_mode = \"card\"").open().await;
    stage.ask_at(EXTERNAL, ALICE, "why is it slow?").await;
    let card = stage.feishu.next_message(EXTERNAL).await;
    stage.idle().await;
    let pressed = stage.feishu.press_gone(GUEST, &card.id, &json!({"action": "approve", "value": "1"})).await;
    assert_eq!((pressed.toast(), pressed.error), (None, None));
    stage.done().await;
}
