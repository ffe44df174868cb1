//! What the doctor sees of tokens, scopes and rooms, and its remedy for each.

use serde_json::json;
use watchfloor_channel::{ChannelAdapter, Finding};
use watchfloor_sim::slack::{Fault, Team};
use watchfloor_slack::Workspace;

use crate::desk::{Bot, OPS, workspace};

async fn look(bot: &Bot, rooms: &[&str]) -> Vec<Finding> {
    bot.adapter.doctor(&rooms.iter().map(|room| (*room).to_owned()).collect::<Vec<_>>()).await
}

/// Of the findings that begin so.
fn told(findings: Vec<Finding>, begin: &str) -> Vec<(bool, String, String)> {
    let told = findings.into_iter().filter(|finding| finding.what.starts_with(begin));
    told.map(|finding| (finding.ok, finding.what, finding.remedy.unwrap_or_default())).collect()
}

fn line(ok: bool, what: &str, remedy: &str) -> (bool, String, String) {
    (ok, what.to_owned(), remedy.to_owned())
}

#[tokio::test]
async fn where_all_is_well_the_doctor_says_so_and_what_it_can_not_see() {
    let bot = Bot::idle(workspace(), |_| {}).await;
    let unseen = "not to be seen from here: that Event Subscriptions (app_mention, message.channels, message.groups, \
                  message.im, message.mpim, app_uninstalled, tokens_revoked) and Interactivity are switched on, with \
                  Socket Mode";
    let whats = [
        "the bot token is accepted",
        "the bot token has the scopes of the manifest",
        "the app token opens Socket Mode connections",
        "the bot is in C0OPS",
        unseen,
    ];
    assert_eq!(look(&bot, &[OPS]).await, whats.map(Finding::fine));
}

#[tokio::test]
async fn missing_scopes_are_named_and_those_for_the_doctor_alone_are_no_fault() {
    let bot = Bot::idle(workspace(), |_| {}).await;
    let what = "the bot token has the scopes of the manifest";
    let add = |scopes| format!("add {scopes} under OAuth & Permissions, Bot Token Scopes, and install the app again");
    bot.slack.lose_scope("channels:read");
    let findings = look(&bot, &[OPS]).await;
    assert_eq!(told(findings.clone(), "the bot token has"), [line(true, what, &add("channels:read"))]);
    let unseen = "not to be seen from here: whether the bot is in C0OPS";
    assert_eq!(told(findings, "not to be seen from here: whether"), [line(true, unseen, &add("channels:read"))]);
    for scope in ["files:read", "reactions:write"] {
        bot.slack.lose_scope(scope);
    }
    let scopes = told(look(&bot, &[]).await, "the bot token has");
    assert_eq!(scopes, [line(false, what, &add("files:read, reactions:write, channels:read"))]);
}

#[tokio::test]
async fn each_room_the_bot_can_not_work_in_has_its_remedy() {
    let bot = Bot::idle(workspace(), |_| {}).await;
    for (room, name) in [("C0OUT", "out"), ("C0OLD", "old")] {
        bot.slack.add_channel(room, name).await;
    }
    bot.slack.kick_bot("C0OUT").await;
    bot.slack.archive("C0OLD").await;
    let findings = look(&bot, &[OPS, "C0OUT", "C0NONE", "C0OLD", "T0NOBODY/C1"]).await;
    let rooms: Vec<_> = findings.into_iter().filter(|finding| !finding.ok).collect();
    assert_eq!(
        rooms,
        [
            Finding::wrong(
                "the bot is in C0OUT",
                "say /invite with the bot's name in the channel, or take it out of allow_rooms"
            ),
            Finding::wrong(
                "the bot is in C0NONE",
                "Slack shows the bot no such channel: if it is private, say /invite with the bot's name there; else \
                 compare the id with the one at the bottom of the channel's details"
            ),
            Finding::wrong("C0OLD is open", "the channel is archived: unarchive it, or take it out of allow_rooms"),
            Finding::wrong(
                "the bot is in T0NOBODY/C1",
                "no token of this channel is for the workspace T0NOBODY: add it to workspaces"
            ),
        ]
    );
    bot.slack.fault("conversations.info", Fault::Error("internal_error"));
    let found = told(look(&bot, &[OPS]).await, "the bot is in C0OPS");
    assert_eq!(found, [line(false, "the bot is in C0OPS", "no clear answer from Slack: internal_error")]);
}

#[tokio::test]
async fn a_room_of_another_workspace_is_asked_about_with_its_token_and_left_out_without() {
    let (mut slack, two) = (workspace(), Team::new("T0TWO"));
    slack.teams.push(two.clone());
    let bot = Bot::idle(slack, |config| {
        let bot_token = two.bot_token.as_str().into();
        config.workspaces = vec![Workspace { label: "two".to_owned(), bot_token }];
    })
    .await;
    bot.slack.add_channel_of(&[&two], "C0TWO", "two").await;
    assert_eq!(
        told(look(&bot, &["T0TWO/C0TWO"]).await, "the bot is in"),
        [line(true, "the bot is in T0TWO/C0TWO", "")]
    );
    assert_eq!(bot.slack.calls("conversations.info")[0].args, json!({"channel": "C0TWO"}));
    bot.slack.revoke_team(&two).await;
    let wrong: Vec<_> = look(&bot, &[OPS, "T0TWO/C0TWO"]).await.into_iter().filter(|finding| !finding.ok).collect();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(wrong[0].what, "the bot token of two is accepted");
}
