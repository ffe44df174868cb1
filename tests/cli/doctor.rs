//! `watchfloor doctor`: what works, what doesn't, and how to mend it.

use serde_json::{Value, json};
use watchfloor_sim::slack::{APP_TOKEN, BOT_TOKEN};

use crate::{
    channels::{channel, workspace},
    process::{Ended, Watchfloor},
};

const WRONG: &str =
    "Slack does not accept the token: install the app again and put the new tokens in the configuration";

#[tokio::test]
async fn what_works_is_ticked_and_who_may_talk_is_said() {
    let slack = workspace().await;
    let file = channel(&slack, "ops", APP_TOKEN, BOT_TOKEN) + "[[channels]]\nkind = \"telegram\"\n";
    let ended = Watchfloor::new().file(&file).run(&["doctor"]).await;
    let out = "ops (slack, socket)\n  \
               ✓ the bot token is accepted\n  \
               ✓ the app token opens Socket Mode connections\n  \
               who may talk: everybody in C0OPS; private chats: nobody (allow_from is empty)\n\
               telegram (telegram, polling): off: bot_token not set\n";
    assert_eq!(ended, Ended { code: Some(0), out: out.to_owned(), err: String::new() });
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
            "findings": [yes("the bot token is accepted"), yes("the app token opens Socket Mode connections")],
        })
    );
    let bad = channels.as_array().unwrap().iter().flat_map(|channel| channel["findings"].as_array().unwrap());
    assert_eq!((report["ok"].as_bool(), bad.filter(|finding| finding["ok"] == false).count()), (Some(false), 2));
    assert!(!format!("{ended:?}{json_ended:?}").contains("canary"), "{ended:?}");
}

#[tokio::test]
async fn it_writes_nothing_and_finds_nothing_wrong_where_nothing_is_set_up() {
    let watchfloor = Watchfloor::new();
    let ended = watchfloor.run(&["doctor"]).await;
    assert_eq!(ended, Ended { code: Some(0), out: "channels: none\n".to_owned(), err: String::new() });
    assert!(!watchfloor.home().join("data").exists());
}
