//! Slack Connect: people of other organisations in a room of ours.

use std::time::Duration;

use watchfloor_channel::{ChannelAdapter, ChannelState};
use watchfloor_sim::slack::{Fault, Team};

use crate::desk::{ALICE, Bot, OPS, WIRES, conversation, workspace};

const EVE: &str = "U0EVE";

async fn shared() -> Bot {
    let bot = Bot::connected(workspace(), |_| {}).await;
    bot.slack.add_person_of("T0FAR", None, EVE, "Eve").await;
    bot.slack.share_channel(OPS).await;
    bot
}

/// Whether the author of each of the first `count` messages is an outsider.
async fn outsiders(bot: &Bot, count: usize) -> Vec<bool> {
    bot.desk.inbound(count).await.iter().map(|inbound| inbound.author.is_outsider).collect()
}

#[tokio::test]
async fn an_event_tells_who_is_of_another_organisation() {
    let bot = shared().await;
    let ts = bot.mention("why?").await;
    bot.desk.inbound(1).await;
    bot.slack.reply(EVE, OPS, &ts, "<@U0BOT> and for us?").await;
    assert_eq!(outsiders(&bot, 2).await, [false, true]);
    let thread = bot.adapter.thread(&conversation(OPS, &ts), 10).await.unwrap();
    let marked: Vec<_> = thread.iter().map(|said| (said.author.id.as_str(), said.author.is_outsider)).collect();
    assert_eq!(marked, [(ALICE, false), (EVE, true)]);
}

#[tokio::test]
async fn who_is_of_another_organisation_is_so_in_a_room_that_is_not_marked_as_shared() {
    let bot = Bot::connected(workspace(), |_| {}).await;
    bot.slack.add_person_of("T0FAR", None, EVE, "Eve").await;
    bot.slack.say(EVE, OPS, "<@U0BOT> why?").await;
    assert_eq!(outsiders(&bot, 1).await, [true]);
}

#[tokio::test]
async fn where_the_event_does_not_tell_slack_is_asked_before_the_message_is_handed_on() {
    let bot = shared().await;
    bot.slack.hide_teams();
    bot.mention("why?").await;
    bot.desk.inbound(1).await;
    bot.slack.say(EVE, OPS, "<@U0BOT> why?").await;
    bot.desk.inbound(2).await;
    bot.mention("and now?").await;
    assert_eq!(outsiders(&bot, 3).await, [false, true, false]);
    assert_eq!(bot.slack.calls("users.info").len(), 2);
}

#[tokio::test]
async fn who_may_not_be_looked_up_is_an_outsider() {
    let bot = shared().await;
    bot.slack.hide_teams();
    bot.slack.fault("users.info", Fault::Error("missing_scope"));
    bot.mention("why?").await;
    assert_eq!(outsiders(&bot, 1).await, [true]);
    // The next one may be luckier.
    bot.mention("why?").await;
    assert_eq!(outsiders(&bot, 2).await, [true, false]);
}

#[tokio::test]
async fn a_message_whose_author_cannot_be_looked_up_just_now_is_left_for_slack_to_bring_again() {
    for (wire, fault) in WIRES.into_iter().zip([Fault::Http(500), Fault::Hang]) {
        let mut workspace = workspace();
        workspace.ack_deadline = Duration::from_millis(500);
        workspace.redeliver_after = vec![Duration::ZERO; 3];
        let bot = Bot::connected_by(wire, workspace).await;
        bot.slack.share_channel(OPS).await;
        bot.slack.hide_teams();
        bot.slack.fault("users.info", fault);
        bot.mention("why?").await;
        assert!(bot.slack.wait_for_acks(1).await[0].attempt > 0, "{wire:?}");
        assert!(!outsiders(&bot, 1).await[0], "{wire:?}");
    }
}

#[tokio::test]
async fn a_workspace_of_the_same_organisation_is_at_home() {
    let grid = Team { enterprise: Some("E0ORG".into()), ..Team::new("T0GRID") };
    let mut workspace = workspace();
    workspace.teams.push(grid.clone());
    let mut bot = Bot::idle(workspace, |config| config.bot_token = grid.bot_token.clone().into()).await;
    bot.slack.add_person_of("T0SALES", Some("E0ORG"), "W0SAM", "Sam").await;
    bot.slack.add_person_of("T0FAR", Some("E0FAR"), EVE, "Eve").await;
    bot.slack.add_channel_of(&[&grid], "C0GRID", "grid").await;
    bot.slack.share_channel("C0GRID").await;
    bot.start();
    bot.state(|state| *state == ChannelState::Connected).await;
    bot.slack.say("W0SAM", "C0GRID", &format!("{} why?", grid.mention())).await;
    bot.desk.inbound(1).await;
    bot.slack.say(EVE, "C0GRID", &format!("{} why?", grid.mention())).await;
    assert_eq!(outsiders(&bot, 2).await, [false, true]);
}
