//! How it starts, and how it says why it doesn't.

use serde_json::json;

use crate::process::{Ended, Watchfloor};

const EXAMPLE: &str = include_str!("../../config.example.toml");

#[tokio::test]
async fn without_a_file_it_serves_http_alone_and_is_ready() {
    let mut serving = Watchfloor::new().env("WATCHFLOOR_CONFIG", "").env("WATCHFLOOR_LOG", "").serve().await;
    assert_eq!(serving.ready().await, (200, json!({"status": "ok", "reasons": [], "channels": []})));
    assert_eq!(
        serving.told(),
        [
            "http: 127.0.0.1:0; health; intake of changes: closed (hooks.changes_token not set)",
            "models: anthropic/claude-sonnet-4-6; providers that are on: none",
            "sources: none",
            "channels: none",
            &format!("listening on http://{}", serving.address()),
        ]
    );
    assert!(serving.home().join("data/store.db").exists());
    serving.log("no answer is possible: the provider \"anthropic\" is off").await;
}

#[tokio::test]
async fn changes_come_in_with_the_token_from_the_environment() {
    let serving = Watchfloor::new().env("WATCHFLOOR_HOOKS__CHANGES_TOKEN", "canary").serve().await;
    let change = json!({"kind": "deploy", "title": "order-api v2.41.0"});
    let (status, body) = serving.post_change("canary", &json!([change, change])).await;
    assert_eq!((status, body["ids"].as_array().map(Vec::len)), (202, Some(2)));
    assert_eq!(serving.post_change("other", &change).await.0, 401);
    assert!(!serving.everything().contains("canary"), "{}", serving.everything());
}

#[tokio::test]
async fn the_example_starts_unchanged_with_every_channel_off() {
    let serving = Watchfloor::new().file(EXAMPLE).serve().await;
    assert_eq!(serving.ready().await, (200, json!({"status": "ok", "reasons": [], "channels": []})));
    for channel in ["slack (", "telegram (", "feishu ("] {
        let lines = serving.told();
        let lines: Vec<_> = lines.iter().filter(|line| line.starts_with(channel)).collect();
        assert!(matches!(lines[..], [line] if line.contains("): off: ")), "{lines:?}");
    }
}

#[tokio::test]
async fn a_wrong_key_stops_every_command_with_its_file_path_and_what_was_expected() {
    let watchfloor = Watchfloor::new().file("[limits]\nturnz = 3\n\n[[channels]]\nkind = \"slakc\"\n");
    for command in [&["serve"][..], &["config", "check"], &["migrate"]] {
        assert_eq!(
            watchfloor.run(command).await,
            Ended {
                code: Some(1),
                out: String::new(),
                err: "watchfloor: config.toml: limits.turnz: unknown key (did you mean \"turns\"?) [line 2]\n\
                      config.toml: channels[0].kind: expected \"slack\", \"telegram\" or \"feishu\", got \"slakc\" \
                      (did you mean \"slack\"?) [line 5]\n"
                    .to_owned(),
            },
            "{command:?}"
        );
    }
}

#[tokio::test]
async fn a_file_that_is_not_there_is_named() {
    let ended = Watchfloor::new().run(&["serve", "--config", "nowhere.toml"]).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
    assert!(ended.err.starts_with("watchfloor: nowhere.toml: can't be read: "), "{}", ended.err);
}

#[tokio::test]
async fn config_check_says_what_serve_would_do() {
    let ended = Watchfloor::new().file(EXAMPLE).run(&["config", "check"]).await;
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(ended.out.contains("\nslack: off: bot_token, app_token not set\n"), "{}", ended.out);

    let ended = Watchfloor::new().file("[models]\nfallbacks = [\"openai/x\"]\n").run(&["config", "check"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("\nchannels: none\n"), "{}", ended.out);
    assert!(ended.err.starts_with("watchfloor: config.toml: models.fallbacks: "), "{}", ended.err);
}

#[tokio::test]
async fn what_is_set_up_and_not_built_stops_the_start() {
    let table = [
        ("[server]\nextra_ca_file = \"canary.pem\"\n", "server.extra_ca_file"),
        ("[hooks]\npagerduty_secret = \"canary\"\n", "hooks.pagerduty_secret"),
    ];
    for (text, path) in table {
        let ended = Watchfloor::new().file(text).run(&["serve"]).await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let line = ended.err.lines().find(|line| line.starts_with("watchfloor: "));
        let line = line.unwrap_or_else(|| panic!("{ended:?}"));
        assert!(line.starts_with(&format!("watchfloor: config.toml: {path}: ")), "{line}");
        // What to do instead.
        assert!(line.ends_with(')') && line.contains(" yet"), "{line}");
        assert!(!format!("{ended:?}").contains("canary"), "{ended:?}");
    }
}

#[tokio::test]
async fn a_port_that_is_taken_is_named_with_its_key() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = Watchfloor::new().env("WATCHFLOOR_SERVER__LISTEN", &address).run(&["serve"]).await;
    assert_eq!(ended.code, Some(1));
    let line = ended.err.lines().last().unwrap_or_default();
    assert!(line.starts_with(&format!("watchfloor: server.listen: can't listen on {address}: ")), "{ended:?}");
}

#[tokio::test]
async fn a_store_that_cannot_be_opened_stops_the_start_without_its_address() {
    let watchfloor = Watchfloor::new();
    std::fs::write(watchfloor.home().join("file"), "").unwrap();
    let below_a_file = format!("sqlite://{}/file/canary.db", watchfloor.home().display());
    let ended = watchfloor.env("WATCHFLOOR_STORE__URL", &below_a_file).run(&["serve"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("watchfloor: the store can't be opened: "), "{ended:?}");
    assert!(!ended.err.contains("canary"), "{ended:?}");
}

#[tokio::test]
async fn the_store_can_be_brought_up_to_date_any_number_of_times() {
    let watchfloor = Watchfloor::new();
    for _ in 0..2 {
        let ended = watchfloor.run(&["migrate"]).await;
        assert_eq!(ended, Ended { code: Some(0), out: "the store is up to date\n".to_owned(), err: String::new() });
    }
    assert!(watchfloor.home().join("data/store.db").exists());
}

#[tokio::test]
async fn a_log_filter_that_cannot_be_read_stops_the_start() {
    let ended = Watchfloor::new().env("WATCHFLOOR_LOG", "watchfloor=loud").run(&["migrate"]).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
    assert!(ended.err.starts_with("watchfloor: the log filter \"watchfloor=loud\" can't be read: "), "{}", ended.err);
}
