//! `watchfloor slack manifest`, read as Slack would read it.

use serde_json::{Value, json};

use crate::process::Watchfloor;

async fn manifest(arguments: &[&str]) -> Value {
    let arguments = [&["slack", "manifest"], arguments].concat();
    let ended = Watchfloor::new().run(&arguments).await;
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    serde_yaml::from_str(&ended.out).unwrap()
}

#[tokio::test]
async fn an_app_for_socket_mode_needs_no_address() {
    let manifest = manifest(&[]).await;
    assert_eq!(manifest["settings"]["socket_mode_enabled"], true);
    assert_eq!(manifest["settings"]["interactivity"], json!({"is_enabled": true}));
    assert_eq!(manifest["features"]["bot_user"]["display_name"], "watchfloor");
    let command = &manifest["features"]["slash_commands"][0];
    assert_eq!((&command["command"], &command["url"]), (&json!("/watchfloor"), &Value::Null));
    let scopes = manifest["oauth_config"]["scopes"]["bot"].as_array().unwrap();
    assert!(scopes.contains(&json!("chat:write")) && scopes.contains(&json!("commands")), "{scopes:?}");
}

#[tokio::test]
async fn an_app_for_http_events_sends_everything_to_the_channels_own_address() {
    let manifest = manifest(&["events", "--url", "https://ops.example.com/bot/", "--channel", "main", "--org"]).await;
    let address = json!("https://ops.example.com/bot/channels/main/events");
    let settings = &manifest["settings"];
    assert_eq!(settings["event_subscriptions"]["request_url"], address);
    assert_eq!(settings["interactivity"]["request_url"], address);
    assert_eq!(manifest["features"]["slash_commands"][0]["url"], address);
    assert_eq!((&settings["socket_mode_enabled"], &settings["org_deploy_enabled"]), (&json!(false), &json!(true)));
}

#[tokio::test]
async fn what_slack_would_refuse_is_refused_here_with_what_to_write() {
    let long = "a-name-that-is-longer-than-slack-takes";
    for (arguments, said) in [
        (&["events", "--url", "http://ops.example.com"][..], "--url: expected an address that begins with https://"),
        (&["events"], "--url <URL>"),
        (&["socket", "--url", "https://ops.example.com"], "--url: Slack calls no address in socket mode"),
        (&["--name", long], "--name: expected 1 to 35 characters, got 38"),
    ] {
        let ended = Watchfloor::new().run(&[&["slack", "manifest"], arguments].concat()).await;
        assert_ne!(ended.code, Some(0));
        assert!(ended.err.contains(said), "{arguments:?}: {}", ended.err);
    }
}
