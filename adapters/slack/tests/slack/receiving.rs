//! Events and their acknowledgements, on both transports where both have them.

use std::time::Duration;

use watchfloor_channel::{Addressed, Body, InboundKind, Operation};
use watchfloor_sim::slack::{EventId, Fault, Mentions};

use crate::desk::{ALICE, Bot, OPS, WIRES, until, workspace};

#[tokio::test]
async fn an_event_is_acknowledged_only_after_its_verdict() {
    for wire in WIRES {
        let bot = Bot::connected_by(wire, workspace()).await;
        bot.desk.hold("slow");
        bot.mention("slow?").await;
        bot.desk.texts(1).await;
        assert_eq!(bot.slack.acks(), []);
        bot.desk.release();
        let acks = bot.slack.wait_for_acks(1).await;
        assert_eq!(acks[0].attempt, 0);
    }
}

#[tokio::test]
async fn an_event_the_store_refused_is_not_acknowledged_and_comes_again() {
    for wire in WIRES {
        let mut workspace = workspace();
        workspace.ack_deadline = Duration::from_millis(200);
        workspace.redeliver_after = vec![Duration::ZERO; 3];
        let bot = Bot::connected_by(wire, workspace).await;
        bot.desk.refuse(1);
        bot.mention("why?").await;
        let acks = bot.slack.wait_for_acks(1).await;
        assert_eq!(acks[0].attempt, 1);
        // Only the name may have been learned meanwhile.
        let mut came = bot.desk.inbound(2).await;
        came[1].author.name = came[0].author.name.clone();
        assert_eq!(came[0], came[1]);
    }
}

#[tokio::test]
async fn a_person_is_looked_up_once_and_no_message_waits_for_it() {
    let bot = Bot::connected(workspace(), |_| {}).await;
    bot.slack.fault("users.info", Fault::DelayBefore(Duration::from_millis(300)));
    bot.mention("first").await;
    assert_eq!(bot.desk.inbound(1).await[0].author.name, None);
    bot.slack.wait_for_calls("users.info", 1).await;
    for said in 2.. {
        bot.mention("again").await;
        let came = bot.desk.inbound(said).await;
        if came[said - 1].author.name.is_some() {
            break;
        }
    }
    assert_eq!(bot.slack.calls("users.info").len(), 1);
}

#[tokio::test]
async fn a_slow_delivery_does_not_hold_up_the_next() {
    for wire in WIRES {
        let bot = Bot::connected_by(wire, workspace()).await;
        bot.desk.hold("slow");
        bot.mention("slow").await;
        bot.desk.texts(1).await;
        bot.mention("quick").await;
        bot.slack.wait_for_acks(1).await;
        assert_eq!(bot.desk.texts(2).await, ["slow", "quick"]);
        bot.desk.release();
        bot.slack.wait_for_acks(2).await;
    }
}

#[tokio::test]
async fn a_mention_its_twin_and_its_redelivery_carry_one_key() {
    for wire in WIRES {
        let mut workspace = workspace();
        workspace.mentions = Mentions::MessageFirst;
        let bot = Bot::connected_by(wire, workspace).await;
        let ts = bot.mention("why?").await;
        bot.desk.inbound(2).await;
        bot.slack.redeliver(&ts, EventId::Same).await;
        let came = bot.desk.inbound(4).await;
        for inbound in &came {
            assert_eq!(inbound.message_key, format!("C0OPS/{ts}"));
            assert_eq!((inbound.addressed, inbound.kind), (Addressed::Mention, InboundKind::Message));
        }
        assert_eq!(bot.slack.wait_for_acks(4).await.len(), 4);
    }
}

#[tokio::test]
async fn a_changed_message_comes_as_an_edit_of_the_same_message() {
    for wire in WIRES {
        let mut workspace = workspace();
        workspace.mentions = Mentions::OnlyMessage;
        let bot = Bot::connected_by(wire, workspace).await;
        let ts = bot.slack.say(ALICE, OPS, "why?").await;
        bot.slack.edit(OPS, &ts, "<@U0BOT> why?").await;
        let came = bot.desk.inbound(2).await;
        assert_eq!((came[0].kind, came[0].addressed), (InboundKind::Message, Addressed::Overheard));
        assert_eq!((came[1].kind, came[1].addressed), (InboundKind::Edit, Addressed::Mention));
        assert_eq!(came[0].message_key, came[1].message_key);
        assert_eq!(came[1].text, "why?");
    }
}

#[tokio::test]
async fn our_own_post_comes_back_as_our_own_and_our_own_edit_not_at_all() {
    for wire in WIRES {
        let bot = Bot::connected_by(wire, workspace()).await;
        let ts = bot.mention("why?").await;
        let posted = bot.post(&ts, "k1", "looking").await.unwrap();
        bot.edit(&posted, "found it").await.unwrap();
        bot.mention("and now?").await;
        let came = bot.desk.inbound(3).await;
        let seen: Vec<_> = came.iter().map(|inbound| (inbound.text.as_str(), inbound.author.is_self)).collect();
        assert_eq!(seen, [("why?", false), ("looking", true), ("and now?", false)]);
        // The event of the edit is acknowledged all the same.
        bot.slack.wait_for_acks(4).await;
    }
}

#[tokio::test]
async fn a_deleted_message_comes_as_the_end_of_that_message_also_under_a_tombstone() {
    for replies in [0, 1] {
        let bot = Bot::connected(workspace(), |_| {}).await;
        let ts = bot.mention("never mind").await;
        for _ in 0..replies {
            bot.post(&ts, "k1", "looking …").await.unwrap();
        }
        bot.slack.delete(OPS, &ts).await;
        bot.slack.wait_for_acks(2 + replies).await;
        let mut came = bot.desk.inbound(2 + replies).await;
        let (last, first) = (came.pop().unwrap(), came.swap_remove(0));
        assert_eq!((last.kind, last.author.id.as_str()), (InboundKind::Deleted, ALICE));
        assert_eq!((last.message_key, last.conversation), (first.message_key, first.conversation));
    }
}

#[tokio::test]
async fn our_own_message_that_is_deleted_is_told_to_nobody() {
    let bot = Bot::connected(workspace(), |_| {}).await;
    let ts = bot.mention("why?").await;
    let ours = bot.post(&ts, "k1", "looking …").await.unwrap();
    bot.send(&ts, Operation::Delete(ours), Body::Plain(String::new())).await.unwrap();
    bot.slack.wait_for_acks(3).await;
    assert_eq!(bot.desk.texts(2).await, ["why?", "looking …"]);
}

#[tokio::test]
async fn frames_we_do_not_know_are_ignored_and_envelopes_we_do_not_use_are_acknowledged() {
    let bot = Bot::connected(workspace(), |_| {}).await;
    for frame in [
        "not json",
        "[1, 2]",
        r#"{"type":"invented_next_year"}"#,
        r#"{"type":"invented_next_year","envelope_id":"e-new","payload":{}}"#,
        r#"{"type":"interactive","envelope_id":"e-press","payload":{"type":"block_actions"}}"#,
        r#"{"type":"slash_commands","envelope_id":"e-slash","payload":{"command":"/ask"},"accepts_response_payload":true}"#,
        r#"{"type":"events_api","envelope_id":"e-odd","payload":{"type":"app_rate_limited"}}"#,
    ] {
        bot.slack.send_frame(frame);
    }
    bot.mention("still there?").await;
    bot.slack.wait_for_acks(1).await;
    assert_eq!(bot.desk.texts(1).await, ["still there?"]);
    // The workspace did not send these by its own rules, so it finds their acknowledgements odd.
    let odd = until("acknowledgements", || Some(bot.slack.unread()).filter(|odd| odd.len() >= 4)).await;
    let wanted = ["e-new", "e-press", "e-slash", "e-odd"];
    assert_eq!(odd, wanted.map(|envelope| format!("an acknowledgement of the unknown envelope {envelope}")));
}
