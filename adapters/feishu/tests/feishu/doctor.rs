//! What the doctor sees of scopes and groups, and its remedy for each.

use watchfloor_channel::{ChannelAdapter, Finding};
use watchfloor_sim::feishu::{APP_ID, Fault, GROUP, GROUP_MESSAGES, TOPICS};

use crate::desk::{Bot, tenant};

/// Without the credentials, the bot, the connection and the last line.
async fn look(bot: &Bot, rooms: &[&str]) -> Vec<Finding> {
    let mut findings = bot.adapter.doctor(&rooms.iter().map(|room| (*room).to_owned()).collect::<Vec<_>>()).await;
    findings.drain(..2);
    findings.truncate(findings.len() - 2);
    findings
}

async fn idle() -> Bot {
    let bot = Bot::idle(tenant(), |_| {}).await;
    bot.feishu.grant(GROUP_MESSAGES);
    bot
}

fn has_scopes() -> Finding {
    Finding::fine("the app has the scopes it needs")
}

#[tokio::test]
async fn missing_scopes_are_named_with_what_goes_without_and_where_to_ask() {
    let bot = idle().await;
    assert_eq!(look(&bot, &[]).await, [has_scopes()]);
    let page = |scopes: &str| {
        let base = bot.feishu.base_url();
        format!("add what is missing at {base}/app/{APP_ID}/auth?q={scopes} and publish a version")
    };
    bot.feishu.take_away(GROUP_MESSAGES);
    bot.feishu.take_away("im:message.reactions:write_only");
    let useful = format!(
        "only what mentions the bot is heard in groups, and a topic's earlier messages are not read \
         (im:message.group_msg); no sign is set on messages that were taken (im:message.reactions:write_only): {}",
        page("im:message.group_msg,im:message.reactions:write_only")
    );
    let useful = Finding::could_be_better("more would be possible with more scopes", useful);
    assert_eq!(look(&bot, &[]).await, [has_scopes(), useful.clone()]);
    // That of people's own tokens is no substitute, and one that was asked for is not there yet.
    bot.feishu.take_away("im:message.p2p_msg:readonly");
    bot.feishu.take_away("im:message:send_as_bot");
    let needed = format!(
        "private chats are not heard (im:message.p2p_msg:readonly); nothing can be said (im:message:send_as_bot): {}",
        page("im:message.p2p_msg:readonly,im:message:send_as_bot")
    );
    assert_eq!(look(&bot, &[]).await, [Finding::wrong("the app has the scopes it needs", needed), useful]);
    // Older and broader names do as well.
    for scope in ["im:message.p2p_msg", "im:message", GROUP_MESSAGES, "contact:user.base:readonly"] {
        bot.feishu.grant(scope);
    }
    bot.feishu.take_away("contact:user.basic_profile:readonly");
    bot.feishu.take_away("im:message.group_at_msg:readonly");
    assert_eq!(look(&bot, &[]).await, [has_scopes()]);
}

#[tokio::test]
async fn where_scopes_can_not_be_asked_that_is_said_and_no_fault() {
    let bot = idle().await;
    bot.feishu.fault("scopes", Fault::Code { code: 99_991_672, http: 400 });
    let found = look(&bot, &[GROUP]).await;
    assert!(found.iter().all(|finding| finding.ok) && found.len() == 2, "{found:?}");
    assert!(found[0].what.starts_with("not to be seen from here: the app's scopes ("), "{found:?}");
    assert_eq!(found[1], Finding::fine("the bot is in oc_group"));
}

#[tokio::test]
async fn each_group_the_bot_can_not_work_in_has_its_remedy() {
    let bot = idle().await;
    bot.feishu.kick_bot(TOPICS).await;
    let out = |remedy: &str| format!("{remedy}, or take it out of allow_rooms");
    let found = look(&bot, &[GROUP, TOPICS, "oc_none"]).await;
    assert_eq!(
        found,
        [
            has_scopes(),
            Finding::fine("the bot is in oc_group"),
            Finding::wrong("the bot is in oc_topics", out("the bot is not in this group: add it there")),
            Finding::wrong(
                "the bot is in oc_none",
                out("there is no such group: compare its id with the one in the group's settings")
            ),
        ]
    );
    bot.feishu.dissolve(GROUP).await;
    let found = look(&bot, &[GROUP]).await;
    let remedy = "the group was dissolved: take it out of allow_rooms";
    assert_eq!(found[1..], [Finding::wrong("the bot is in oc_group", remedy)]);
    bot.feishu.fault("chat", Fault::Http(503));
    let found = look(&bot, &[GROUP, TOPICS]).await;
    assert!(found.len() == 2 && !found[1].ok, "{found:?}");
}

#[tokio::test]
async fn without_the_scope_to_ask_about_groups_one_line_says_so_and_nothing_is_asked() {
    let bot = idle().await;
    bot.feishu.take_away("im:chat:readonly");
    let found = look(&bot, &[GROUP, TOPICS]).await;
    assert!(found.iter().all(|finding| finding.ok), "{found:?}");
    let unseen = found.last().unwrap();
    assert_eq!(unseen.what, "not to be seen from here: whether the bot is in oc_group, oc_topics");
    assert!(unseen.remedy.as_ref().unwrap().contains("/auth?q=im:chat:readonly"), "{unseen:?}");
    assert_eq!(bot.feishu.calls("chat"), []);
}
