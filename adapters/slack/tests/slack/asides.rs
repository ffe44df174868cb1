//! Clicks and commands: acknowledged at once, answered to the one person.

use std::time::Duration;

use serde_json::{Value, json};
use watchfloor_sim::slack::{Ack, Fault, Message};

use crate::desk::{ALICE, Bot, OPS, WIRES, until, workspace};

const CLICK: &str = "Click { message: MessageId { room: \"C0OPS\", id: ";

/// What Alice was shown: the text, and the thread it stands in.
async fn shown(bot: &Bot) -> (String, Option<String>) {
    let Message { edits, thread_ts, .. } = bot.slack.next_ephemeral(ALICE).await;
    (edits[0].text.clone(), thread_ts)
}

fn passing(acks: &[Ack]) -> Vec<Option<Value>> {
    acks.iter().map(|ack| ack.payload.clone()).collect()
}

#[tokio::test]
async fn a_click_is_acknowledged_plainly_and_answered_in_its_thread_for_that_person_alone() {
    for wire in WIRES {
        let bot = Bot::connected_by(wire, workspace()).await;
        let ts = bot.mention("why?").await;
        let posted = bot.post(&ts, "k1", "approve?").await.unwrap();
        let acks = bot.slack.wait_for_acks(2).await.len();
        bot.slack.press_gone(ALICE, OPS, &posted.id, "approve", "r7.nonce").await;
        let (text, thread) = shown(&bot).await;
        assert!(text.starts_with(&format!("heard: {CLICK}{:?}", posted.id)), "{wire:?}: {text}");
        assert!(text.contains("action: \"approve\", value: \"r7.nonce\""), "{text}");
        assert_eq!(thread, Some(ts), "{wire:?}");
        assert_eq!(passing(&bot.slack.wait_for_acks(acks + 1).await[acks..]), [None], "{wire:?}");
        assert_eq!(bot.slack.calls("response_url"), []);
    }
}

#[tokio::test]
async fn both_clicks_of_a_double_click_are_answered() {
    for wire in WIRES {
        let bot = Bot::connected_by(wire, workspace()).await;
        let ts = bot.mention("why?").await;
        let posted = bot.post(&ts, "k1", "approve?").await.unwrap();
        for _ in 0..2 {
            bot.slack.press_gone(ALICE, OPS, &posted.id, "approve", "r7").await;
        }
        assert_eq!(shown(&bot).await, shown(&bot).await, "{wire:?}");
    }
}

#[tokio::test]
async fn where_we_are_not_in_the_channel_the_response_address_serves() {
    for wire in WIRES {
        let bot = Bot::connected_by(wire, workspace()).await;
        let ts = bot.mention("why?").await;
        let posted = bot.post(&ts, "k1", "approve?").await.unwrap();
        bot.slack.kick_bot(OPS).await;
        bot.slack.press_gone(ALICE, OPS, &posted.id, "approve", "r7").await;
        let (text, _) = shown(&bot).await;
        assert_eq!(bot.slack.calls("chat.postEphemeral")[0].error(), Some("not_in_channel"));
        let answer = json!({"text": text, "replace_original": false});
        assert_eq!(bot.slack.wait_for_calls("response_url", 1).await[0].args, answer, "{wire:?}");
    }
}

#[tokio::test]
async fn an_address_that_is_not_slacks_is_never_called() {
    let bot = Bot::connected_by(WIRES[1], workspace()).await;
    let stranger = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let payload = json!({"type": "block_actions", "user": {"id": ALICE}, "team": null,
        "channel": {"id": "C0ELSEWHERE"}, "container": {"type": "message", "message_ts": "1767226400.001000"},
        "response_url": format!("http://{}/actions", stranger.local_addr().unwrap()),
        "actions": [{"type": "button", "action_id": "approve", "value": "r7"}]});
    bot.slack.press_raw(payload);
    let calls = bot.slack.wait_for_calls("chat.postEphemeral", 1).await;
    assert_eq!(calls[0].args["channel"], "C0ELSEWHERE");
    until("the refusal", || bot.slack.calls("chat.postEphemeral")[0].answer.clone()).await;
    let called = tokio::time::timeout(Duration::from_millis(300), stranger.accept()).await;
    assert!(called.is_err(), "somebody called");
}

#[tokio::test]
async fn interactions_we_do_not_know_are_acknowledged_and_no_more() {
    for wire in WIRES {
        let bot = Bot::connected_by(wire, workspace()).await;
        for kind in ["view_submission", "shortcut", "invented_next_year"] {
            bot.slack.press_raw(json!({"type": kind, "user": {"id": ALICE}, "team": null}));
        }
        assert_eq!(passing(&bot.slack.wait_for_acks(3).await), [None, None, None], "{wire:?}");
        assert_eq!(bot.slack.calls("chat.postEphemeral"), []);
    }
}

#[tokio::test]
async fn a_command_is_answered_in_its_acknowledgement() {
    for wire in WIRES {
        let bot = Bot::connected_by(wire, workspace()).await;
        bot.slack.slash(ALICE, OPS, "/watchfloor", "checkout & payments, 50 %").await;
        let text = "heard: Command { name: \"/watchfloor\", text: \"checkout &amp; payments, 50 %\", us: \"U0BOT\" }";
        assert_eq!(shown(&bot).await, (text.to_owned(), None), "{wire:?}");
        let payload = json!({"response_type": "ephemeral", "text": text});
        assert_eq!(passing(&bot.slack.wait_for_acks(1).await), [Some(payload)], "{wire:?}");
    }
}

#[tokio::test]
async fn a_follow_up_whose_answer_is_lost_is_not_repeated() {
    let bot = Bot::connected_by(WIRES[0], workspace()).await;
    let ts = bot.mention("why?").await;
    let posted = bot.post(&ts, "k1", "approve?").await.unwrap();
    bot.slack.fault("chat.postEphemeral", Fault::DropResponse);
    bot.slack.press_gone(ALICE, OPS, &posted.id, "approve", "r7").await;
    shown(&bot).await;
    // Whether it was shown is not known to the bot, and a second one would be worse than none.
    bot.slack.press_gone(ALICE, OPS, &posted.id, "approve", "r8").await;
    assert!(shown(&bot).await.0.contains("r8"));
    assert_eq!(bot.slack.calls("response_url"), []);
}
