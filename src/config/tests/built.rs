//! What this build can and can't do, and who may talk, as an operator is told.

use super::*;

#[test]
fn each_platform_and_mode_says_which_keys_it_lacks() {
    let lacks = |keys: &str| {
        let config = loaded(&format!("[[channels]]\n{keys}"), &[]);
        let (notes, errors) = check_built(&config);
        assert_eq!(errors, []);
        let about = |note: &&Note| note.about == config.channels[0].name && note.text.starts_with("off: ");
        notes.iter().find(about).map(|note| note.text.clone()).unwrap_or_default()
    };
    let table = [
        ("kind = \"telegram\"", "off: bot_token not set"),
        ("kind = \"telegram\"\nbot_token = \"1:a\"", ""),
        ("kind = \"telegram\"\nbot_token = \"1:a\"\nmode = \"webhook\"", "off: secret_token not set"),
        ("kind = \"telegram\"\nbot_token = \"1:a\"\nmode = \"webhook\"\nsecret_token = \"s\"", ""),
        ("kind = \"feishu\"\napp_id = \"cli_1\"", "off: app_secret not set"),
        ("kind = \"feishu\"\napp_id = \"cli_1\"\napp_secret = \"s\"", ""),
        (
            "kind = \"feishu\"\napp_id = \"cli_1\"\napp_secret = \"s\"\nmode = \"webhook\"",
            "off: verification_token or encrypt_key not set",
        ),
        ("kind = \"feishu\"\napp_id = \"cli_1\"\napp_secret = \"s\"\nmode = \"webhook\"\nencrypt_key = \"e\"", ""),
        (
            "kind = \"feishu\"\napp_id = \"cli_1\"\napp_secret = \"s\"\nmode = \"webhook\"\nverification_token = \"v\"",
            "",
        ),
    ];
    for (keys, expected) in table {
        assert_eq!(lacks(keys), expected, "{keys}");
    }
}

#[test]
fn deadlines_can_be_shortened_channel_by_channel() {
    let text = "[[channels]]\nkind = \"slack\"\ninbound_deadline = \"500ms\"\n\
                [[channels]]\nkind = \"telegram\"\npoll_timeout = \"1s\"\ninbound_deadline = \"2s\"\n\
                [[channels]]\nkind = \"feishu\"\ninbound_deadline = \"3s\"\n\
                [[channels]]\nkind = \"feishu\"\nname = \"usual\"\n";
    let seconds = |duration: std::time::Duration| duration.as_secs_f64();
    let told: Vec<_> = loaded(text, &[])
        .channels
        .iter()
        .map(|channel| match &channel.platform {
            Platform::Slack(slack) => vec![seconds(slack.inbound_deadline)],
            Platform::Telegram(telegram) => {
                vec![seconds(telegram.poll_timeout), seconds(telegram.inbound_deadline)]
            }
            Platform::Feishu(feishu) => feishu.inbound_deadline.into_iter().map(seconds).collect(),
        })
        .collect();
    assert_eq!(told, [vec![0.5], vec![1.0, 2.0], vec![3.0], vec![]]);
}

#[test]
fn slack_over_http_needs_a_signing_secret_and_no_app_token() {
    let slack = |keys: &str| {
        let text = format!("[[channels]]\nkind = \"slack\"\nmode = \"events\"\n{keys}\n");
        let config = loaded(&text, &[]);
        let (notes, errors) = check_built(&config);
        assert_eq!(errors, []);
        (config.channels[0].missing(), notes.into_iter().filter(|note| note.about == "slack").map(|n| n.text).next())
    };
    let off = "off: signing_secret not set".to_owned();
    assert_eq!(
        slack("bot_token = \"b\"\nsigning_secret = \"\"\napp_token = \"a\""),
        (vec!["signing_secret"], Some(off))
    );
    assert_eq!(slack("bot_token = \"b\"\nsigning_secret = \"s\"").0, [""; 0]);
}

#[test]
fn the_request_url_for_the_platforms_settings_is_said() {
    let said = |server: &str| {
        let text = format!(
            "[server]\n{server}\n[[channels]]\nkind = \"slack\"\nname = \"ops\"\nmode = \"events\"\nbot_token = \"b\"\n\
             signing_secret = \"canary\"\n[[channels]]\nkind = \"slack\"\nmode = \"events\"\n\
             [[channels]]\nkind = \"telegram\"\nmode = \"webhook\"\nbot_token = \"canary\"\nsecret_token = \"canary\"\n\
             [[channels]]\nkind = \"feishu\"\nmode = \"webhook\"\napp_id = \"a\"\napp_secret = \"canary\"\n\
             encrypt_key = \"canary\"\n[[channels]]\nkind = \"telegram\"\nname = \"polls\"\nbot_token = \"canary\"\n"
        );
        let lines = describe(&loaded(&text, &[]));
        assert!(!lines.iter().any(|line| line.contains("canary")), "{lines:?}");
        lines.into_iter().filter(|line| line.contains("request URL")).collect::<Vec<_>>()
    };
    assert_eq!(
        said("public_url = \"https://bot.example.org/watch/\""),
        ["ops", "telegram", "feishu"]
            .map(|name| format!("{name}: request URL: https://bot.example.org/watch/channels/{name}/events"))
    );
    assert_eq!(
        said(""),
        ["ops", "telegram", "feishu"].map(|name| format!(
            "{name}: request URL: /channels/{name}/events (set server.public_url to see all of it)"
        ))
    );
}

#[test]
fn a_setting_that_would_let_somebody_down_stops_the_start() {
    let text = "[server]\nextra_ca_file = \"ca.pem\"\n[models]\nfallbacks = [\"openai/x\"]\n[hooks]\n\
                alertmanager_token = \"t\"\npagerduty_secret = \"t\"\n[[channels]]\nkind = \"slack\"\n\
                bot_token = \"t\"\nqueue_mode = \"interrupt\"\nsession_scope = \"user_thread\"\nblock_streaming = true\n";
    let (_, errors) = check_built(&loaded(text, &[]));
    assert_eq!(
        errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "config.toml: server.extra_ca_file: not part of this build yet (until then the variable SSL_CERT_FILE names the one bundle of authorities that is trusted)",
            "config.toml: models.fallbacks: another model in place of a failed one is not part of this build yet, expected []",
            "config.toml: hooks.alertmanager_token: this intake is not part of this build yet (leave it empty)",
            "config.toml: hooks.pagerduty_secret: this intake is not part of this build yet (leave it empty)",
            "config.toml: channels[0].queue_mode: \"interrupt\" is not part of this build yet, expected \"steer\"",
            "config.toml: channels[0].session_scope: \"user_thread\" is not part of this build yet, expected \"thread\"",
            "config.toml: channels[0].block_streaming: it is not part of this build yet, expected false",
        ]
    );
}

#[test]
fn a_setting_that_is_merely_missing_is_noted() {
    let text = "[sources.loki]\nurl = \"http://127.0.0.1:3100\"\n[[server.tokens]]\nname = \"ops\"\ntoken = \"canary\"\n\
                [models.providers.openai]\napi_key = \"k\"\n[models.providers.anthropic]\napi_key = \"\"\n\
                [[channels]]\nkind = \"slack\"\napp_token = \"a\"\nbot_token = \"b\"\napprovers = [\"U1\"]\n\
                timezone = \"Europe/Berlin\"\n[[channels]]\nkind = \"slack\"\nname = \"untouched\"\nqueue_mode = \"collect\"\n";
    let (notes, errors) = check_built(&loaded(text, &[("WATCHFLOOR_MODELS__DEFAULT", "openai/x")]));
    assert_eq!(errors, []);
    assert_eq!(
        notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "untouched: off: bot_token, app_token not set",
            "models.providers.anthropic: off: api_key not set",
            "sources.loki: not asked: its tools are not part of this build yet",
            "slack: no effect yet: approvers, timezone",
            "slack: pairing is not part of this build yet: private chats are for allow_from, others are told whom to ask",
        ]
    );
}

#[test]
fn who_may_talk_is_said_as_it_is_decided() {
    let said = |keys: &str| {
        let text = format!("[[channels]]\nkind = \"slack\"\n{keys}\n");
        who(&loaded(&text, &[]).channels[0])
    };
    let table = [
        ("", "everybody in no room (allow_rooms is empty); private chats: nobody (allow_from is empty)"),
        (
            "allow_rooms = [\"*\"]\nallow_from = [\"U1\", \"U2\"]",
            "U1, U2 in every room it is in; private chats: U1, U2",
        ),
        ("allow_rooms = [\"C1\"]\nallow_from = [\"*\"]", "everybody in C1; private chats: everybody"),
        ("allow_rooms = [\"C1\"]\ndm_policy = \"open\"", "everybody in C1; private chats: everybody"),
        (
            "allow_rooms = [\"C1\"]\nallow_from = [\"U1\"]\ndm_policy = \"open\"\nadmins = [\"U9\"]",
            "U1 in C1; private chats: U1; admins: U9",
        ),
        (
            "allow_rooms = [\"C1\"]\ndm_policy = \"allowlist\"",
            "everybody in C1; private chats: nobody (allow_from is empty)",
        ),
        (
            "allow_from = [\"*\"]\ndm_policy = \"disabled\"",
            "everybody in no room (allow_rooms is empty); private chats: nobody",
        ),
    ];
    for (keys, expected) in table {
        assert_eq!(said(keys), expected, "{keys}");
    }
}
