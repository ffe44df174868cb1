//! What is said about channels while they come and go.

use serde_json::json;
use watchfloor_sim::slack::{APP_TOKEN, BOT_TOKEN, SlackConfig, SlackSim};

use crate::process::Watchfloor;

const OFF: &str = "Slack does not accept the token: install the app again and put the new tokens in the configuration";

pub(crate) async fn workspace() -> SlackSim {
    let slack = SlackSim::start(SlackConfig::default()).await.unwrap();
    slack.add_channel("C0OPS", "ops").await;
    slack.add_person("U0MAYA", "Maya").await;
    slack
}

pub(crate) fn channel(slack: &SlackSim, name: &str, app_token: &str, bot_token: &str) -> String {
    let url = slack.api_url();
    format!(
        "[[channels]]\nkind = \"slack\"\nname = \"{name}\"\napi_url = \"{url}\"\napp_token = \"{app_token}\"\n\
         bot_token = \"{bot_token}\"\nallow_rooms = [\"C0OPS\"]\n"
    )
}

#[tokio::test]
async fn each_channel_says_who_may_talk_when_it_connects_and_when_it_is_lost() {
    let slack = workspace().await;
    let mut serving = Watchfloor::new().file(&channel(&slack, "ops", APP_TOKEN, BOT_TOKEN)).serve().await;
    let line = serving.line("ops: connected").await;
    assert_eq!(line, "ops: connected: everybody in C0OPS; private chats: nobody (allow_from is empty)");
    let connected = json!({"name": "ops", "kind": "slack", "state": "connected", "reason": null});
    assert_eq!(serving.ready().await, (200, json!({"status": "ok", "reasons": [], "channels": [connected]})));

    slack.refuse_connections(true);
    slack.cut_connections();
    serving.line("ops: disconnected, being retried: ").await;
    let (status, health) = serving.ready().await;
    assert_eq!(
        (status, &health["status"], &health["channels"][0]["state"]),
        (503, &json!("down"), &json!("disconnected"))
    );

    slack.refuse_connections(false);
    assert_eq!(serving.line("ops: connected again").await, "ops: connected again");
    assert_eq!(serving.ready().await.0, 200);
    let everything = serving.everything();
    assert!(!everything.contains(BOT_TOKEN) && !everything.contains(APP_TOKEN), "{everything}");
}

#[tokio::test]
async fn a_token_that_is_refused_switches_the_channel_off_with_the_remedy_and_nothing_else() {
    let slack = workspace().await;
    let file = [
        channel(&slack, "one", "xapp-one", "xoxb-canary"),
        channel(&slack, "two", "xapp-canary", BOT_TOKEN),
        channel(&slack, "three", APP_TOKEN, BOT_TOKEN),
        "[[channels]]\nkind = \"slack\"\nname = \"four\"\nbot_token = \"xoxb-canary\"\n".to_owned(),
    ];
    let mut serving = Watchfloor::new().file(&file.concat()).serve().await;
    assert_eq!(serving.line("one: off").await, format!("one: off: {OFF}"));
    assert_eq!(serving.line("two: off").await, format!("two: off: {OFF}"));
    serving.line("three: connected").await;
    let off = |name: &str, reason: &str| json!({"name": name, "kind": "slack", "state": "off", "reason": reason});
    assert_eq!(
        serving.ready().await,
        (
            200,
            json!({
                "status": "degraded",
                "reasons": ["four is off: app_token not set", format!("one is off: {OFF}"), format!("two is off: {OFF}")],
                "channels": [
                    off("four", "app_token not set"),
                    off("one", OFF),
                    off("two", OFF),
                    {"name": "three", "kind": "slack", "state": "connected", "reason": null},
                ],
            })
        )
    );
    let everything = serving.everything();
    assert!(!everything.contains("canary"), "{everything}");
}

#[tokio::test]
async fn without_a_key_for_the_model_a_mention_is_answered_with_what_to_set() {
    let slack = workspace().await;
    let file = format!("models.default = \"openai/gpt-5.4-mini\"\n{}", channel(&slack, "ops", APP_TOKEN, BOT_TOKEN));
    let mut serving = Watchfloor::new().file(&file).serve().await;
    serving.line("ops: connected").await;
    slack.say("U0MAYA", "C0OPS", &format!("{} are you there?", slack.bot_mention())).await;
    let message = slack.next_message("C0OPS").await;
    slack.wait_for_text(&message.ts, |text| text.contains("models.providers.openai.api_key")).await;
}
