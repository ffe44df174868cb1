//! `watchfloor doctor`: what works, what doesn't, and how to mend it.

use serde_json::{Value, json};
use watchfloor_sim::slack::{APP_TOKEN, BOT_TOKEN};

use crate::{
    channels::{channel, workspace},
    process::{Ended, Watchfloor},
};

const WRONG: &str =
    "Slack does not accept the token: install the app again and put the new tokens in the configuration";

const UNSEEN: &str = "not to be seen from here: that Event Subscriptions (app_mention, message.channels, message.groups, \
                      message.im, message.mpim, app_uninstalled, tokens_revoked) and Interactivity are switched on, with \
                      Socket Mode";

#[tokio::test]
async fn what_works_is_ticked_and_who_may_talk_is_said() {
    let slack = workspace().await;
    let file = channel(&slack, "ops", APP_TOKEN, BOT_TOKEN) + "[[channels]]\nkind = \"telegram\"\n";
    let ended = Watchfloor::new().file(&file).run(&["doctor"]).await;
    let out = "ops (slack, socket)\n  \
               ✓ the bot token is accepted\n  \
               ✓ the bot token has the scopes of the manifest\n  \
               ✓ the app token opens Socket Mode connections\n  \
               ✓ the bot is in C0OPS\n  \
               ✓ UNSEEN\n  \
               who may talk: everybody in C0OPS; private chats: nobody (allow_from is empty)\n\
               telegram (telegram, polling): off: bot_token not set\n";
    assert_eq!(ended, Ended { code: Some(0), out: out.replace("UNSEEN", UNSEEN), err: String::new() });
}

#[tokio::test]
async fn what_does_not_work_has_its_remedy_and_a_code_for_scripts() {
    let slack = workspace().await;
    let file = [
        channel(&slack, "ops", APP_TOKEN, BOT_TOKEN),
        channel(&slack, "lab", "xapp-canary", BOT_TOKEN),
        "[[channels]]\nkind = \"feishu\"\nmode = \"webhook\"\napp_id = \"cli_1\"\napp_secret = \"canary\"\n".to_owned(),
    ];
    let watchfloor = Watchfloor::new().file(&file.concat());
    let ended = watchfloor.run(&["doctor"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for line in [
        format!("\n  ✗ the app token opens Socket Mode connections\n    {WRONG}\n"),
        "\nfeishu (feishu, webhook)\n  ✗ the channel has what it needs to be on\n    \
         set verification_token or encrypt_key\n"
            .to_owned(),
    ] {
        assert!(ended.out.contains(&line), "{line} {}", ended.out);
    }

    let json_ended = watchfloor.run(&["doctor", "--json"]).await;
    assert_eq!(json_ended.code, Some(1), "{json_ended:?}");
    let report: Value = serde_json::from_str(&json_ended.out).unwrap();
    let (channels, yes) = (&report["channels"], |what: &str| json!({"ok": true, "what": what, "remedy": null}));
    assert_eq!(
        channels[0],
        json!({
            "name": "ops",
            "kind": "slack",
            "mode": "socket",
            "off": null,
            "who_may_talk": "everybody in C0OPS; private chats: nobody (allow_from is empty)",
            "findings": [
                yes("the bot token is accepted"),
                yes("the bot token has the scopes of the manifest"),
                yes("the app token opens Socket Mode connections"),
                yes("the bot is in C0OPS"),
                yes(UNSEEN),
            ],
        })
    );
    let bad = channels.as_array().unwrap().iter().flat_map(|channel| channel["findings"].as_array().unwrap());
    assert_eq!((report["ok"].as_bool(), bad.filter(|finding| finding["ok"] == false).count()), (Some(false), 2));
    assert!(!format!("{ended:?}{json_ended:?}").contains("canary"), "{ended:?}");
}

#[tokio::test]
async fn rooms_are_looked_at_up_to_a_number_and_the_rest_is_counted() {
    let slack = workspace().await;
    slack.add_channel("C0OUT", "out").await;
    slack.kick_bot("C0OUT").await;
    slack.lose_scope("files:write");
    let look = async |rooms: &[String]| {
        let allow_rooms = format!("allow_rooms = {}", json!(rooms));
        let file = channel(&slack, "ops", APP_TOKEN, BOT_TOKEN).replace("allow_rooms = [\"C0OPS\"]", &allow_rooms);
        Watchfloor::new().file(&file).run(&["doctor"]).await
    };
    let mut rooms = vec!["C0OUT".to_owned()];
    rooms.extend((0..52).map(|room| format!("C0ROOM{room}")));
    let ended = look(&rooms).await;
    for line in [
        "\n  ✗ the bot token has the scopes of the manifest\n    add files:write under OAuth & Permissions, Bot Token \
         Scopes, and install the app again\n",
        "\n  ✗ the bot is in C0OUT\n    say /invite with the bot's name in the channel, or take it out of \
         allow_rooms\n",
        "\n  ✓ not looked at: 3 more of allow_rooms, after the first 50\n",
    ] {
        assert!(ended.out.contains(line), "{line} {}", ended.out);
    }
    assert_eq!((ended.code, slack.calls("conversations.info").len()), (Some(1), 50));
    slack.regain_scope("files:write");
    for open in [vec!["*".to_owned()], Vec::new()] {
        let ended = look(&open).await;
        assert_eq!((ended.code, slack.calls("conversations.info").len()), (Some(0), 50), "{ended:?}");
    }
}

#[tokio::test]
async fn it_writes_nothing_and_finds_nothing_wrong_where_nothing_is_set_up() {
    let watchfloor = Watchfloor::new();
    let ended = watchfloor.run(&["doctor"]).await;
    assert_eq!(ended, Ended { code: Some(0), out: "channels: none\n".to_owned(), err: String::new() });
    assert!(!watchfloor.home().join("data").exists());
}
