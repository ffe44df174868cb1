//! The configuration as an operator meets it: files and environments in, a `Config` or sentences out.

use std::{path::Path, time::Duration};

use secrecy::ExposeSecret;

use super::*;

mod built;

fn env(pairs: &[(&str, &str)]) -> Env {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn load_with(text: &str, pairs: &[(&str, &str)]) -> Result<Config, Vec<String>> {
    load_text(text, Some(Path::new("config.toml")), &env(pairs))
        .map_err(|errors| errors.0.iter().map(ToString::to_string).collect())
}

fn loaded(text: &str, pairs: &[(&str, &str)]) -> Config {
    load_with(text, pairs).unwrap_or_else(|errors| panic!("{}", errors.join("\n")))
}

fn mistakes(text: &str, pairs: &[(&str, &str)]) -> Vec<String> {
    load_with(text, pairs).map(|config| format!("{config:#?}")).expect_err("the configuration has mistakes")
}

const SIX_LINES: &str = r#"models.default = "openai/gpt-5.4-mini"
[[channels]]
kind = "slack"
app_token = "${SLACK_APP_TOKEN}"
bot_token = "${SLACK_BOT_TOKEN}"
allow_rooms = ["C0123456789"]
"#;

#[test]
fn the_example_loads_unchanged_and_equals_the_defaults() {
    let mut example = loaded(include_str!("../../config.example.toml"), &[]);
    let least = "[[channels]]\nkind = \"slack\"\n[[channels]]\nkind = \"telegram\"\n[[channels]]\nkind = \"feishu\"\n";
    let defaults = loaded(least, &[]);
    assert!(example.set.contains("agents.watch") && !defaults.set.contains("agents.watch"));
    assert!(!example.set.contains("sources.loki.url"), "an empty value is not set");
    // All of it is written there.
    example.set.clone_from(&defaults.set);
    assert_eq!(format!("{example:#?}"), format!("{defaults:#?}"));
    assert_eq!(example.store.url.expose_secret(), defaults.store.url.expose_secret());
    let (notes, errors) = check_built(&example);
    assert_eq!(errors, []);
    assert_eq!(
        notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "slack: off: bot_token, app_token not set",
            "telegram: off: bot_token not set",
            "feishu: off: app_id, app_secret not set",
            "models.providers.anthropic: off: api_key not set",
            "models.providers.openai: off: api_key not set",
            "models.default: no answer is possible: the provider \"anthropic\" is off",
        ]
    );
}

#[test]
fn without_a_file_there_is_the_api_alone() {
    let config = load(None, &env(&[("WATCHFLOOR_TOKEN", "canary")])).unwrap();
    assert_eq!(config.channels.len(), 0);
    assert_eq!(config.file, None);
    assert_eq!(config.store.url.expose_secret(), "sqlite://data/watchfloor.db");
    let tokens: Vec<_> = config.server.tokens.iter().map(|t| (&*t.name, t.token.expose_secret(), t.role)).collect();
    assert_eq!(tokens, [("ops", "canary", Role::Admin)]);
}

#[test]
fn six_lines_are_enough_for_slack() {
    let secrets = [("SLACK_APP_TOKEN", "xapp-1"), ("SLACK_BOT_TOKEN", "xoxb-1"), ("OPENAI_API_KEY", "sk-1")];
    let config = loaded(SIX_LINES, &secrets);
    let (notes, errors) = check_built(&config);
    assert_eq!(errors, []);
    assert_eq!(
        notes.iter().map(|note| note.about.as_str()).collect::<Vec<_>>(),
        ["models.providers.anthropic", "slack"],
    );
    assert_eq!(
        describe(&config),
        [
            "http: 127.0.0.1:8080; health; intake of changes: closed (hooks.changes_token not set)",
            "models: openai/gpt-5.4-mini; providers that are on: openai",
            "sources: none",
            "slack (slack, socket): on: everybody in C0123456789; private chats: nobody (allow_from is empty)",
        ]
    );
}

#[test]
fn an_app_may_be_installed_in_several_workspaces() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("three"), "xoxb-3\n").unwrap();
    let text = "[[channels]]\nkind = \"slack\"\napp_token = \"xapp-1\"\nbot_token = \"xoxb-1\"\n\
                allow_rooms = [\"C1\", \"T2/C1\"]\nallow_from = [\"E3/W1\"]\n\
                [[channels.workspaces]]\nname = \"two\"\nbot_token = \"\"\n\
                [[channels.workspaces]]\nbot_token_file = \"three\"\n\
                [[channels.workspaces]]\nbot_token = \"${UNSET:-}\"\n";
    let variable = ("WATCHFLOOR_CHANNELS__SLACK__WORKSPACES__TWO__BOT_TOKEN", "xoxb-2");
    let config = load_text(text, Some(&dir.path().join("config.toml")), &env(&[variable])).unwrap();
    let Platform::Slack(slack) = &config.channels[0].platform else { panic!("not Slack") };
    let seen: Vec<_> = slack.workspaces.iter().map(|w| (w.label.as_str(), w.bot_token.expose_secret())).collect();
    assert_eq!(seen, [("two", "xoxb-2"), ("workspaces[1]", "xoxb-3")]);
}

#[test]
fn each_mistake_is_named_with_its_place_and_what_would_be_right() {
    let slack = |line: &str| format!("[[channels]]\nkind = \"slack\"\n{line}\n");
    let table: Vec<(String, &str)> = vec![
        (
            slack("mode = \"sokcet\""),
            "config.toml: channels[0].mode: expected \"socket\" or \"events\", got \"sokcet\" (did you mean \"socket\"?) [line 3]",
        ),
        (
            slack("allow_room = []"),
            "config.toml: channels[0].allow_room: unknown key (did you mean \"allow_rooms\"?) [line 3]",
        ),
        (
            "[[channels]]\nkind = \"slakc\"\nbot = 1\n".to_owned(),
            "config.toml: channels[0].kind: expected \"slack\", \"telegram\" or \"feishu\", got \"slakc\" (did you mean \"slack\"?) [line 2]",
        ),
        (
            "[[channels]]\nname = \"x\"\n".to_owned(),
            "config.toml: channels[0].kind: expected \"slack\", \"telegram\" or \"feishu\", got none [line 1]",
        ),
        (
            slack("name = \"api\""),
            "config.toml: channels[0].name: expected a name of small letters, digits, single _ and -, other than \"api\", got \"api\" [line 3]",
        ),
        (
            slack("[[channels]]\nkind = \"slack\""),
            "config.toml: channels[1].name: a channel before it is named \"slack\" too, expected a name for each",
        ),
        (
            format!("{}{}", slack("app_token = \"xapp-1\""), slack("name = \"b\"\napp_token = \"xapp-1\"")),
            "config.toml: channels[1].app_token: the same as that of channels[0]: Slack would split the events between the two (list the other workspace's bot token in workspaces of one channel)",
        ),
        (
            "[[channels]]\nkind = \"telegram\"\nbot_token = \"1:a\"\n[[channels]]\nkind = \"telegram\"\nname = \"b\"\nbot_token = \"1:a\"\n".to_owned(),
            "config.toml: channels[1].bot_token: the same as that of channels[0]: the two would take turns at breaking off each other's polls (one channel serves every chat of a bot)",
        ),
        (
            "[[channels]]\nkind = \"feishu\"\napp_id = \"cli_1\"\n[[channels]]\nkind = \"feishu\"\nname = \"b\"\napp_id = \"cli_1\"\n".to_owned(),
            "config.toml: channels[1].app_id: the same as that of channels[0]: Feishu would split the events between the two (one channel serves every chat of an app)",
        ),
        (
            "[[channels]]\nkind = \"telegram\"\npoll_timeout = \"2m\"\n".to_owned(),
            "config.toml: channels[0].poll_timeout: expected a duration from \"1s\" to \"50s\", got \"2m\" [line 3]",
        ),
        (
            slack(
                "bot_token = \"xoxb-1\"\nworkspaces = [{ bot_token = \"xoxb-2\" }, { name = \"two\", bot_token = \"xoxb-1\" }]",
            ),
            "config.toml: channels[0].workspaces: the bot token of two is there twice, expected one for each workspace",
        ),
        (
            slack("allow_from = [\"U1\", \"@alice\"]"),
            "config.toml: channels[0].allow_from[1]: expected the id of a Slack member such as \"U0123456789\", or \"*\", got \"@alice\" (names can be taken over, ids can't) [line 3]",
        ),
        (
            slack("admins = [\"*\"]"),
            "config.toml: channels[0].admins[0]: expected the id of a Slack member such as \"U0123456789\", got \"*\" (names can be taken over, ids can't) [line 3]",
        ),
        (
            "[[channels]]\nkind = \"telegram\"\nallow_from = [12345]\n".to_owned(),
            "config.toml: channels[0].allow_from[0]: expected the number of a Telegram user in quotes such as \"123456789\", or \"*\", got 12345 [line 3]",
        ),
        (
            slack("timezone = \"Mars/Olympus\""),
            "config.toml: channels[0].timezone: expected a time zone such as \"UTC\" or \"Europe/Berlin\", got \"Mars/Olympus\" [line 3]",
        ),
        (
            slack("block_streaming_chunk = { min = 2000 }"),
            "config.toml: channels[0].block_streaming_chunk.min: expected no more than max, which is 1200, got 2000 [line 3]",
        ),
        (slack("bot_token = 5"), "config.toml: channels[0].bot_token: expected a text in quotes [line 3]"),
        (
            "[limits]\nturns = 0".to_owned(),
            "config.toml: limits.turns: expected a whole number from 1 to 1000, got 0 [line 2]",
        ),
        (
            "[limits]\nturn_timeout = \"30\"".to_owned(),
            "config.toml: limits.turn_timeout: expected a duration from \"1s\" to \"2days\", got \"30\" [line 2]",
        ),
        (
            "[limits]\nturn_timeout = \"5m\"\nworker_timeout = \"6m\"".to_owned(),
            "config.toml: limits.worker_timeout: expected no more than turn_timeout: a worker ends with its turn [line 3]",
        ),
        ("[stroe]\nurl = \"x\"".to_owned(), "config.toml: stroe: unknown key (did you mean \"store\"?) [line 1]"),
        ("store = 5".to_owned(), "config.toml: store: expected a table, got 5 [line 1]"),
        (
            "[store]\nurl = \"mysql://u:canary@db/w\"".to_owned(),
            "config.toml: store.url: expected an address that begins with sqlite:// or postgres://, got another text [line 2]",
        ),
        (
            "[server]\npublic_url = \"ftp://u:canary@host/\"".to_owned(),
            "config.toml: server.public_url: expected an address that begins with http:// or https://, got another text [line 2]",
        ),
        (
            "[server]\nlisten = \"8080\"".to_owned(),
            "config.toml: server.listen: expected an address and a port such as \"127.0.0.1:8080\", got \"8080\" [line 2]",
        ),
        (
            "[server]\npublic_url = \"${NOWHERE}\"".to_owned(),
            "config.toml: server.public_url: the environment variable NOWHERE is not set [line 2]",
        ),
        (
            "[models]\ndefault = \"opnai/gpt\"".to_owned(),
            "config.toml: models.default: no provider is named \"opnai\" (did you mean \"openai\"?) [line 2]",
        ),
        (
            "[models.providers.local]\napi = \"openai\"".to_owned(),
            "config.toml: models.providers.local.base_url: expected the provider's address, got none [line 1]",
        ),
        (
            slack("bot_token = xoxb-canary"),
            "config.toml: not TOML: string values must be quoted, expected literal string [line 3]",
        ),
    ];
    for (text, expected) in &table {
        assert_eq!(mistakes(text, &[]), [*expected], "{text}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text = "[limits]\nturns = -1\nworkerz = 3\n[agents]\nwatch = \"yes\"\ndir = \"${NOWHERE}\"\n";
    assert_eq!(
        mistakes(text, &[("WATCHFLOOR_STORE__URI", "x")]),
        [
            "config.toml: limits.turns: expected a whole number from 1 to 1000, got -1 [line 2]",
            "config.toml: limits.workerz: unknown key (did you mean \"workers\"?) [line 3]",
            "config.toml: agents.watch: expected true or false, got \"yes\" [line 5]",
            "config.toml: agents.dir: the environment variable NOWHERE is not set [line 6]",
            "WATCHFLOOR_STORE__URI: store.uri: unknown key (did you mean \"url\"?)",
        ]
    );
}

#[test]
fn b062_a_name_where_an_id_belongs_stops_the_start() {
    for key in ["allow_from", "admins", "allow_rooms"] {
        for name in ["Alice", "@alice", "alice@example.org", "Alice Ng", "#incidents"] {
            let told = mistakes(&format!("[[channels]]\nkind = \"slack\"\n{key} = [\"{name}\"]\n"), &[]).concat();
            assert!(told.contains(key) && told.contains(&format!("got \"{name}\"")), "{told}");
            assert!(told.contains("names can be taken over, ids can't"), "{told}");
        }
    }
}

#[test]
fn a_mistake_in_a_variable_names_the_variable() {
    assert_eq!(
        mistakes("", &[("WATCHFLOOR_STORE__URL", "redis://u:canary@db"), ("WATCHFLOOR_LIMITS__TURNS", "many")]),
        [
            "WATCHFLOOR_STORE__URL: store.url: expected an address that begins with sqlite:// or postgres://, got another text",
            "WATCHFLOOR_LIMITS__TURNS: limits.turns: expected a whole number from 1 to 1000, got \"many\"",
        ]
    );
}

#[test]
fn a_variable_with_a_double_underscore_overrides_and_no_other_does() {
    let config = loaded(
        SIX_LINES,
        &[
            ("SLACK_APP_TOKEN", "xapp-file"),
            ("SLACK_BOT_TOKEN", "xoxb-file"),
            ("WATCHFLOOR_CHANNELS__SLACK__BOT_TOKEN", "xoxb-${kept}"),
            ("WATCHFLOOR_CHANNELS__SLACK__ALLOW_ROOMS", "C1, C2"),
            ("WATCHFLOOR_CHANNELS__SLACK__BLOCK_STREAMING_CHUNK__MIN", "10"),
            ("WATCHFLOOR_LIMITS__TURNS", "3"),
            ("WATCHFLOOR_AGENTS__WATCH", "false"),
            ("WATCHFLOOR_AGENTS__DIR", ""),
            ("WATCHFLOOR_MODELS__PROVIDERS__OPENAI__BASE_URL", "http://127.0.0.1:1/v1"),
            ("WATCHFLOOR_STORE_URL", "postgres://ignored/"),
            ("WATCHFLOOR_LOG", "debug"),
            ("WATCHFLOOR_AGENTS_EXTERNAL_DIRS", "/a:b"),
        ],
    );
    let Platform::Slack(slack) = &config.channels[0].platform else { panic!("not Slack") };
    assert_eq!(slack.bot_token.as_ref().unwrap().expose_secret(), "xoxb-${kept}");
    assert_eq!(slack.app_token.as_ref().unwrap().expose_secret(), "xapp-file");
    assert_eq!(config.channels[0].access.allow_rooms, ["C1", "C2"]);
    assert_eq!(config.channels[0].behaviour.streaming.chunk, Chunk { min: 10, max: 1200 });
    assert_eq!(config.limits.turns, 3);
    assert_eq!(config.models.providers["openai"].base_url.as_str(), "http://127.0.0.1:1/v1");
    assert_eq!(config.store.url.expose_secret(), "sqlite://data/watchfloor.db");
    assert_eq!(config.log.as_deref(), Some("debug"));
    let agents = Agents {
        dir: "agents".into(),
        external_dirs: vec!["/a".into(), "b".into()],
        default_max_turns: 15,
        watch: false,
        redirects: Vec::new(),
    };
    assert_eq!(config.agents, agents);
}

#[test]
fn redirects_are_a_table_and_each_needs_a_name_and_a_target() {
    let text = "[[agents.redirects]]\nname = \"kubectl\"\ntarget = \"k8s\"\nreason = \"It knows.\"\noffered = true\n";
    let kubectl = Redirect { name: "kubectl".into(), target: "k8s".into(), reason: "It knows.".into(), offered: true };
    assert_eq!(loaded(text, &[]).agents.redirects, [kubectl]);
    assert_eq!(
        mistakes("[[agents.redirects]]\nname = \"a b\"\n", &[]),
        [
            "config.toml: agents.redirects[0].target: expected a name, got none [line 1]",
            "config.toml: agents.redirects[0].name: expected a tool's name of letters, digits, _ and -, got \"a b\" [line 2]",
        ]
    );
    let many = mistakes(&text.repeat(13), &[]);
    assert_eq!(many.len(), 1);
    assert!(many[0].contains("agents.redirects: expected at most 12 that are offered"), "{many:?}");
}

#[test]
fn an_override_that_leads_nowhere_is_a_mistake() {
    let table = [
        ("WATCHFLOOR_CHANNELS__CHAT__BOT_TOKEN", "channels.chat.bot_token: no entry of channels is named \"chat\""),
        ("WATCHFLOOR_CHANNELS__SLACK", "channels.slack: expected one more `__` and the name of a key"),
        ("WATCHFLOOR_CHANNELS__SLACK__TOKN", "channels[0].tokn: unknown key"),
        ("WATCHFLOOR_STORE__", "store.: expected key names between the double underscores"),
    ];
    for (variable, expected) in table {
        let got = mistakes("[[channels]]\nkind = \"slack\"\n", &[(variable, "x")]);
        assert_eq!(got.len(), 1, "{variable}: {got:?}");
        assert!(got[0].starts_with(&format!("{variable}: {expected}")), "{got:?}");
    }
}

#[test]
fn a_secret_may_lie_in_a_file_and_never_shows() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bot"), "xoxb-canary\n").unwrap();
    std::fs::write(dir.path().join("empty"), "\n").unwrap();
    let file = dir.path().join("config.toml");
    let text = "[store]\nurl = \"postgres://u:canary@db/w\"\n[[channels]]\nkind = \"slack\"\nbot_token_file = \"bot\"\n\
                app_token_file = \"empty\"\n[models.providers.openai]\napi_key_file = \"bot\"\n";
    std::fs::write(&file, text).unwrap();

    let config =
        load(None, &env(&[("WATCHFLOOR_CONFIG", file.to_str().unwrap()), ("OPENAI_API_KEY", "other")])).unwrap();
    let Platform::Slack(slack) = &config.channels[0].platform else { panic!("not Slack") };
    assert_eq!(slack.bot_token.as_ref().unwrap().expose_secret(), "xoxb-canary");
    assert!(slack.app_token.is_none());
    assert_eq!(config.models.providers["openai"].api_key.as_ref().unwrap().expose_secret(), "xoxb-canary");
    assert_eq!(config.agents.dir, dir.path().join("agents"));
    assert!(!format!("{config:?} {:?}", describe(&config)).contains("canary"));

    let both = load(
        Some(&file),
        &env(&[
            ("WATCHFLOOR_CHANNELS__SLACK__BOT_TOKEN", "x"),
            ("WATCHFLOOR_CHANNELS__SLACK__BOT_TOKEN_FILE", "nowhere"),
            ("WATCHFLOOR_CHANNELS__SLACK__APP_TOKEN_FILE", "nowhere"),
        ]),
    );
    let errors = both.unwrap_err().0;
    assert_eq!(
        errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(),
        ["channels[0].app_token_file", "channels[0].bot_token_file"]
    );
}

#[test]
fn a_secret_token_that_telegram_would_not_take_is_named_and_never_shown() {
    let telegram = |token: &str| format!("[[channels]]\nkind = \"telegram\"\nsecret_token = \"{token}\"\n");
    let expected = "config.toml: channels[0].secret_token: expected 1 to 256 letters, digits, _ and -, got something else \
                    (openssl rand -hex 32 makes one) [line 3]";
    for wrong in ["canary with spaces", "canary+/=", "canäry", &"c".repeat(257)] {
        assert_eq!(mistakes(&telegram(wrong), &[]), [expected], "{wrong}");
    }
    for right in ["c", "Canary_0-9", &"c".repeat(256)] {
        let config = loaded(&telegram(right), &[]);
        let Platform::Telegram(telegram) = &config.channels[0].platform else { panic!("not Telegram") };
        assert_eq!(telegram.secret_token.as_ref().unwrap().expose_secret(), right);
    }
}

#[test]
fn an_override_wins_over_the_files_other_way_to_say_it() {
    let text = "[[channels]]\nkind = \"slack\"\nbot_token_file = \"/nowhere\"\n";
    let config = loaded(text, &[("WATCHFLOOR_CHANNELS__SLACK__BOT_TOKEN", "xoxb")]);
    let Platform::Slack(slack) = &config.channels[0].platform else { panic!("not Slack") };
    assert_eq!(slack.bot_token.as_ref().unwrap().expose_secret(), "xoxb");
}

#[test]
fn a_server_of_ones_own_needs_no_key() {
    let text =
        "[models]\ndefault = \"local/qwen\"\n[models.providers.local]\nbase_url = \"http://127.0.0.1:8000/v1\"\n";
    let config = loaded(text, &[]);
    let (name, provider) = config.models.provider_of(&config.models.default).unwrap();
    assert_eq!((name, provider.api, provider.is_configured()), ("local", Api::OpenAi, true));
    let text = "[models.providers.anthropic]\nbase_url = \"http://127.0.0.1:8000\"\n";
    let own = loaded(text, &[]).models.providers["anthropic"].clone();
    assert_eq!((own.api, own.is_configured()), (Api::Anthropic, true));
    assert_eq!(config.models.provider_of("fast").map(|(name, _)| name), Some("openai"));
    assert_eq!(config.models.provider_of("plain").map(|(name, _)| name), Some("anthropic"));
}

#[test]
fn a_default_gives_way_to_a_smaller_limit_that_is_written() {
    let limits = loaded("[limits]\nturn_timeout = \"5m\"\nworkers = 2\n", &[]).limits;
    assert_eq!((limits.worker_timeout, limits.workers_per_session), (Duration::from_secs(300), 2));
}

#[test]
fn zero_turns_the_notice_off() {
    assert_eq!(loaded("", &[]).limits.notify_after, Some(Duration::from_secs(60)));
    assert_eq!(loaded("[limits]\nnotify_after = \"0s\"", &[]).limits.notify_after, None);
}

proptest::proptest! {
    #[test]
    fn no_file_makes_it_panic(text in "([\\[\\]a-z_.=\"${}:0-9 \n-]|\\[\\[channels\\]\\]\n|kind = \"slack\"\n){0,60}") {
        let _ = load_with(&text, &[]);
    }
}

#[test]
fn models_that_take_pictures_are_listed_by_their_provider() {
    let config = loaded("[models.providers.openai]\nvision = [\"gpt-5.4-mini\", \"*\"]", &[]);
    assert_eq!(config.models.providers["openai"].vision, ["gpt-5.4-mini", "*"]);
    assert_eq!(config.models.providers["anthropic"].vision, [""; 0]);
    let wrong = mistakes("[models.providers.openai]\nvision = true", &[]);
    assert!(wrong.len() == 1 && wrong[0].contains("models.providers.openai.vision"), "{wrong:#?}");
}
