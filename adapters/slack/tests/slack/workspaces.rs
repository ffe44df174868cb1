//! One app in several workspaces, and in a whole organisation.

use serde_json::json;
use watchfloor_channel::{
    Addressed, Body, ChannelAdapter, ChannelState, ConversationId, DeliveryKey, File, InboundKind, MessageId,
    Operation, Outbound, ReceiveError, Sign, Urgency,
};
use watchfloor_sim::slack::{BOT_TOKEN, Download, EventId, Fault, Mentions, SimFile, Team};
use watchfloor_slack::Workspace;

use crate::desk::{ALICE, Bot, OPS, SECRET, WIRES, Wire, conversation, events, workspace};

const MAYA: &str = "U0MAYA";

fn two() -> Team {
    Team::new("T0TWO")
}

fn further(label: &str, bot_token: &str) -> Workspace {
    Workspace { label: label.into(), bot_token: bot_token.into() }
}

/// The app is installed in two workspaces, the bot knows the tokens of `further`.
async fn idle(further: Vec<Workspace>) -> Bot {
    idle_by(Wire::Socket, further).await
}

async fn idle_by(wire: Wire, further: Vec<Workspace>) -> Bot {
    let mut workspace = workspace();
    workspace.teams.push(two());
    let bot = Bot::idle(workspace, |config| {
        config.workspaces = further;
        if wire == Wire::Http {
            config.transport = events();
        }
    })
    .await;
    bot.slack.add_person_of("T0TWO", None, MAYA, "Maya").await;
    bot.slack.add_channel_of(&[&two()], "C0TWO", "two").await;
    bot
}

async fn in_both() -> Bot {
    in_both_by(Wire::Socket).await
}

async fn in_both_by(wire: Wire) -> Bot {
    let mut bot = idle_by(wire, vec![further("two", &two().bot_token)]).await;
    bot.start();
    bot.slack.wait_for_calls("auth.test", 2).await;
    if wire == Wire::Http {
        let url = bot.serve().await;
        bot.state(|state| *state == ChannelState::Connected).await;
        bot.slack.subscribe(&url, SECRET).await.unwrap();
    } else {
        bot.slack.connected(1).await;
        bot.state(|state| *state == ChannelState::Connected).await;
    }
    bot
}

async fn post(bot: &Bot, to: &ConversationId, key: &str, body: Body) -> MessageId {
    let operation = Operation::Post(DeliveryKey(key.into()));
    bot.adapter
        .send(&Outbound { conversation: to.clone(), question: None, operation, body, urgency: Urgency::Final })
        .await
        .unwrap()
}

fn is_degraded(state: &ChannelState, word: &str) -> bool {
    matches!(state, ChannelState::Degraded(why) if why.starts_with("two: ") && why.contains(word))
}

#[tokio::test]
async fn each_workspace_is_served_with_its_own_token_and_its_ids_are_kept_apart() {
    let bot = in_both().await;
    let asked = bot.slack.say(MAYA, "C0TWO", &format!("{} why?", two().mention())).await;
    let came = bot.desk.inbound(1).await.remove(0);
    assert_eq!(came.conversation, conversation("T0TWO/C0TWO", &asked));
    assert_eq!((came.message.room.as_str(), came.author.id.as_str()), ("T0TWO/C0TWO", "T0TWO/U0MAYA"));
    assert_eq!((came.addressed, came.text.as_str(), came.author.is_outsider), (Addressed::Mention, "why?", false));

    let post = Outbound {
        conversation: came.conversation.clone(),
        question: None,
        operation: Operation::Post(DeliveryKey("k1".into())),
        body: Body::Plain(format!("{} looking", bot.adapter.mention(&came.author.id))),
        urgency: Urgency::Final,
    };
    let posted = bot.adapter.send(&post).await.unwrap();
    assert_eq!(posted.room, "T0TWO/C0TWO");
    assert_eq!(bot.slack.message(&posted.id).text(), "<@U0MAYA> looking");
    let edit = Outbound { operation: Operation::Edit(posted.clone()), body: Body::Plain("found".into()), ..post };
    bot.adapter.send(&edit).await.unwrap();
    bot.adapter.react(&came.message, Sign::Done).await.unwrap();
    bot.slack.wait_for_reactions(&asked, &["white_check_mark"]).await;
    let found = bot.adapter.find(&came.conversation, &DeliveryKey("k1".into())).await.unwrap();
    assert_eq!(found, Some(posted.clone()));
    let thread = bot.adapter.thread(&came.conversation, 10).await.unwrap();
    let said: Vec<_> =
        thread.iter().map(|said| (said.author.id.as_str(), said.author.name.as_deref(), said.author.is_self)).collect();
    assert_eq!(said, [("T0TWO/U0MAYA", Some("maya"), false), ("T0TWO/U0TWOBOT", Some("watchfloor"), true)]);
    assert_eq!(thread[0].message_key, came.message_key);
    // Its own post came back as its own.
    assert!(bot.desk.inbound(2).await[1].author.is_self);
    bot.adapter.send(&Outbound { operation: Operation::Delete(posted.clone()), ..edit }).await.unwrap();
    assert!(bot.slack.message(&posted.id).deleted);
}

#[tokio::test]
async fn files_of_each_workspace_come_and_go_with_its_own_token() {
    for wire in WIRES {
        let bot = in_both_by(wire).await;
        let plain = SimFile::text("a.log", "pool exhausted\n");
        // As in a room that is shared with a partner: name and address are told on request.
        let hidden = SimFile { behind_info: true, ..SimFile::text("b.log", "and again\n") };
        let asked = bot.slack.share(MAYA, "C0TWO", None, &format!("{} why?", two().mention()), [plain, hidden]).await;
        let came = bot.desk.inbound(1).await.remove(0);
        let at = &came.conversation;
        assert_eq!(*at, conversation("T0TWO/C0TWO", &asked), "{wire:?}");
        let mut read = Vec::new();
        for file in &came.files {
            assert!(file.id.starts_with("T0TWO/F0"), "{}", file.id);
            read.push(bot.adapter.fetch(at, file, 100).await.unwrap());
        }
        assert_eq!(read, ["pool exhausted\n", "and again\n"]);
        let with_token = ["a.log", "b.log"].map(|name| Download { name: name.into(), with_token: true });
        assert_eq!(bot.slack.downloads(), with_token);

        let (name, media_type, comment) = ("answer.md".to_owned(), "text/markdown".to_owned(), String::new());
        let file = Body::File(File { name, media_type, content: "all of it".into(), comment });
        let posted = post(&bot, at, "k1", file).await;
        assert_eq!(posted.room, "T0TWO/C0TWO");
        assert_eq!(bot.slack.uploads()[0].ts, posted.id);
        assert_eq!(bot.slack.message(&posted.id).thread_ts, Some(asked));
        assert_eq!(bot.adapter.find(at, &DeliveryKey("k1".into())).await.unwrap(), Some(posted));
    }
}

#[tokio::test]
async fn a_person_of_a_further_workspace_is_told_in_private_there() {
    let bot = in_both().await;
    let private = bot.adapter.private_chat("T0TWO/U0MAYA").await.unwrap();
    assert_eq!(private, conversation("T0TWO/D0U0MAYA", ""));
    let posted = post(&bot, &private, "k1", Body::Plain("psst".into())).await;
    assert_eq!((posted.room.as_str(), bot.slack.message(&posted.id).text()), ("T0TWO/D0U0MAYA", "psst"));
    bot.slack.say(MAYA, "D0U0MAYA", "why?").await;
    let answered = bot.desk.inbound(2).await.remove(1);
    assert_eq!((answered.conversation, answered.addressed), (private, Addressed::Direct));
}

#[tokio::test]
async fn a_click_in_a_further_workspace_is_answered_there() {
    for wire in WIRES {
        let bot = in_both_by(wire).await;
        let posted = post(&bot, &conversation("T0TWO/C0TWO", ""), "k1", Body::Plain("approve?".into())).await;
        bot.slack.press_raw(json!({"type": "block_actions", "team": {"id": "T0TWO"}, "user": {"id": MAYA},
            "container": {"message_ts": posted.id, "channel_id": "C0TWO"},
            "actions": [{"action_id": "approve", "value": "r7"}]}));
        let shown = bot.slack.next_ephemeral(MAYA).await;
        let wanted = format!("heard: Click {{ message: MessageId {{ room: \"T0TWO/C0TWO\", id: {:?} }}", posted.id);
        assert!(shown.text().starts_with(&wanted), "{wire:?}: {}", shown.text());
    }
}

#[tokio::test]
async fn a_workspace_that_takes_our_token_away_leaves_the_others_at_work() {
    for wire in WIRES {
        let bot = in_both_by(wire).await;
        bot.slack.revoke_team(&two()).await;
        bot.adapter.private_chat("T0TWO/U0MAYA").await.unwrap_err();
        bot.state(|state| is_degraded(state, "install the app again")).await;
        bot.mention("why?").await;
        assert_eq!(bot.desk.texts(1).await, ["why?"], "{wire:?}");
    }
}

#[tokio::test]
async fn the_workspace_of_bot_token_keeps_bare_ids() {
    let bot = in_both().await;
    bot.mention("why?").await;
    let came = bot.desk.inbound(1).await.remove(0);
    assert_eq!((came.conversation.room.as_str(), came.author.id.as_str()), (OPS, ALICE));
}

#[tokio::test]
async fn a_workspace_that_does_not_take_its_token_leaves_the_others_at_work() {
    let mut bot = idle(vec![further("two", "xoxb-wrong")]).await;
    bot.start();
    bot.state(|state| is_degraded(state, "install the app again")).await;
    bot.mention("why?").await;
    assert_eq!(bot.desk.texts(1).await, ["why?"]);
}

#[tokio::test]
async fn a_further_workspace_works_while_the_first_is_out() {
    let mut bot = idle(vec![further("two", &two().bot_token)]).await;
    bot.slack.revoke_token().await;
    bot.start();
    bot.state(|state| matches!(state, ChannelState::Degraded(why) if why.starts_with("bot_token: "))).await;
    bot.slack.say(MAYA, "C0TWO", &format!("{} why?", two().mention())).await;
    assert_eq!(bot.desk.inbound(1).await[0].conversation.room, "T0TWO/C0TWO");
}

#[tokio::test]
async fn receiving_ends_when_every_workspace_is_out() {
    let mut bot = idle(vec![further("two", "xoxb-wrong")]).await;
    bot.slack.revoke_token().await;
    bot.start();
    let Err(ReceiveError::Refused(refusal)) = bot.ended().await else { panic!() };
    assert_eq!(refusal.code, "token_revoked");
}

#[tokio::test]
async fn a_workspace_that_is_slow_to_sign_in_is_waited_for() {
    let mut bot = idle(vec![further("two", &two().bot_token)]).await;
    bot.slack.fault_times("auth.test", Fault::Error("internal_error"), 6);
    bot.start();
    bot.state(|state| *state == ChannelState::Connected).await;
    bot.slack.say(MAYA, "C0TWO", &format!("{} why?", two().mention())).await;
    assert_eq!(bot.desk.texts(1).await, ["why?"]);
}

#[tokio::test]
async fn two_tokens_of_one_workspace_are_one_too_many() {
    let mut bot = idle(vec![further("two", BOT_TOKEN)]).await;
    bot.start();
    bot.state(|state| is_degraded(state, "T0SIM, as that of bot_token is: remove one of the two")).await;
    bot.mention("why?").await;
    assert_eq!(bot.desk.inbound(1).await[0].conversation.room, OPS);
}

#[tokio::test]
async fn an_event_of_a_workspace_nobody_configured_is_acknowledged_and_told_to_nobody() {
    let mut bot = idle(vec![]).await;
    bot.start();
    bot.state(|state| *state == ChannelState::Connected).await;
    bot.slack.say(MAYA, "C0TWO", &format!("{} why?", two().mention())).await;
    bot.slack.wait_for_acks(1).await;
    bot.mention("and here?").await;
    assert_eq!(bot.desk.texts(1).await, ["and here?"]);
}

#[tokio::test]
async fn what_is_said_in_a_room_of_two_installations_is_one_message() {
    for mentions in [Mentions::OnlyMention, Mentions::MessageFirst] {
        let bot = in_both().await;
        bot.slack.set_mentions(mentions);
        bot.slack.add_channel_of(&[&Team::default(), &two()], "C0BOTH", "both").await;
        bot.slack.share_channel("C0BOTH").await;
        let mut so_far = 0;
        for (bot_user, room, person) in [("U0BOT", "C0BOTH", ALICE), ("U0TWOBOT", "T0TWO/C0BOTH", MAYA)] {
            let copies = if mentions == Mentions::OnlyMention { 2 } else { 4 };
            let ts = bot.slack.say(person, "C0BOTH", &format!("<@{bot_user}> why?")).await;
            for inbound in bot.desk.inbound(so_far + copies).await.split_off(so_far) {
                assert_eq!(inbound.message_key, format!("C0BOTH/{ts}"));
                assert_eq!(inbound.conversation, conversation(room, &ts));
                assert_eq!((inbound.addressed, inbound.author.is_outsider), (Addressed::Mention, false));
            }
            // Whoever was asked learns that she takes it back.
            so_far += copies;
            bot.slack.delete("C0BOTH", &ts).await;
            for inbound in bot.desk.inbound(so_far + 2).await.split_off(so_far) {
                assert_eq!((inbound.kind, inbound.conversation), (InboundKind::Deleted, conversation(room, &ts)));
            }
            so_far += 2;
        }
    }
}

/// Installed in the organisation as a whole: events name no workspace.
#[tokio::test]
async fn one_token_serves_every_workspace_of_an_organisation() {
    let grid = Team { enterprise: Some("E0ORG".into()), org_wide: true, ..Team::new("T0GRID") };
    let mut workspace = workspace();
    workspace.teams.push(grid.clone());
    let mut bot = Bot::idle(workspace, |config| config.bot_token = grid.bot_token.clone().into()).await;
    bot.slack.add_person_of("T0SALES", Some("E0ORG"), "W0SAM", "Sam").await;
    bot.slack.add_channel_of(&[&grid], "C0GRID", "grid").await;
    bot.start();
    bot.state(|state| *state == ChannelState::Connected).await;
    let ts = bot.slack.say("W0SAM", "C0GRID", &format!("{} why?", grid.mention())).await;
    bot.slack.redeliver(&ts, EventId::New).await;
    let came = bot.desk.inbound(2).await;
    for inbound in &came {
        assert_eq!(inbound.conversation, conversation("C0GRID", &ts));
        assert_eq!((inbound.author.id.as_str(), inbound.author.is_outsider), ("W0SAM", false));
        assert_eq!(inbound.message_key, came[0].message_key);
    }
    let post = Outbound {
        conversation: came[0].conversation.clone(),
        question: None,
        operation: Operation::Post(DeliveryKey("k1".into())),
        body: Body::Plain("looking".into()),
        urgency: Urgency::Final,
    };
    assert_eq!(bot.adapter.send(&post).await.unwrap().room, "C0GRID");
}
