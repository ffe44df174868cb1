//! What this build can and can't do, and who may talk, as an operator is told.

use super::*;

#[test]
fn what_is_set_up_and_not_built_stops_the_start() {
    let text = "[[channels]]\nkind = \"telegram\"\nbot_token = \"t\"\n\
                [[channels]]\nkind = \"slack\"\nmode = \"events\"\nbot_token = \"t\"\n";
    let (_, errors) = check_built(&loaded(text, &[]));
    assert_eq!(
        errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "config.toml: channels[0].kind: this build has no \"telegram\" yet, expected \"slack\" (remove its tokens to leave it off)",
            "config.toml: channels[1].mode: this build has no \"events\" yet, expected \"socket\" (remove its tokens to leave it off)",
        ]
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
            "server.tokens: not used: the API they open is not part of this build yet",
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
