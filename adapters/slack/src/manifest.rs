//! The manifest a Slack app is created from: which scopes and events this adapter needs and why. One table, so that what
//! is asked for and what is called can be held against each other.

use url::Url;

/// Scopes of the bot token, and what each is for.
pub(crate) const SCOPES: [(&str, &str); 14] = [
    ("app_mentions:read", "to be mentioned"),
    ("channels:history", "what is said in a thread of a public channel"),
    ("groups:history", "the same in private channels"),
    ("im:history", "the same in private chats"),
    ("mpim:history", "the same in private chats of several people"),
    ("chat:write", "to answer, and to edit the answer while it grows"),
    ("im:write", "to say in private why a room takes no answer"),
    ("users:read", "people's names, and whose guests they are"),
    ("files:read", "logs and pictures that people paste (without it they are named, not read)"),
    ("files:write", "answers too long for messages, as a file (without it they come in parts)"),
    ("reactions:write", "a sign on a message that was taken"),
    ("commands", "the command above, which says how to ask"),
    ("channels:read", "for `watchfloor doctor`: whether it is in its rooms"),
    ("groups:read", "the same for private channels"),
];

/// Without these it works all the same.
pub(crate) const FOR_THE_DOCTOR: [&str; 2] = ["channels:read", "groups:read"];

pub(crate) const EVENTS: [&str; 7] = [
    "app_mention",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "app_uninstalled",
    "tokens_revoked",
];

/// How Slack brings events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Over a web socket that we open.
    Socket,
    /// As HTTP requests to this address.
    Events(Url),
}

/// What a Slack app has to be, as the text that *Create New App, From a manifest* takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// At most 35 characters, says Slack.
    pub name: String,
    pub delivery: Delivery,
    /// May be installed once for a whole Enterprise organization.
    pub org: bool,
}

impl Manifest {
    /// YAML with a comment for each scope.
    pub fn yaml(&self) -> String {
        // JSON's quotes are YAML's.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let name = quoted(&self.name);
        let address = |key: &str| match &self.delivery {
            Delivery::Socket => String::new(),
            Delivery::Events(url) => format!("\n{key}: {}", quoted(url.as_str())),
        };
        let (command_url, request_url) = (address("      url"), address("    request_url"));
        let scopes: String = SCOPES.iter().map(|(name, why)| format!("\n      - {name:<17} # {why}")).collect();
        let events: String = EVENTS.iter().map(|event| format!("\n      - {event}")).collect();
        let (org, socket) = (self.org, self.delivery == Delivery::Socket);
        format!(
            r"display_information:
  name: {name}
  description: Investigates alerts in the thread where you ask
features:
  app_home:
    home_tab_enabled: false
    messages_tab_enabled: true # without it nobody can write to it in private
    messages_tab_read_only_enabled: false
  bot_user:
    display_name: {name}
    always_online: true
  slash_commands:
    - command: /watchfloor
      description: How to ask me something
      should_escape: false{command_url}
oauth_config:
  scopes:
    bot:{scopes}
settings:
  event_subscriptions:{request_url}
    bot_events:{events}
  interactivity:
    is_enabled: true{request_url}
  org_deploy_enabled: {org}
  socket_mode_enabled: {socket}
  token_rotation_enabled: false # tokens that expire are not renewed
"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// What each scope allows: methods, events, commands.
    const ALLOWED: [(&str, &[&str]); 14] = [
        ("app_mentions:read", &["app_mention"]),
        ("channels:history", &["message.channels", "conversations.history", "conversations.replies"]),
        ("groups:history", &["message.groups", "conversations.history", "conversations.replies"]),
        ("im:history", &["message.im", "conversations.history", "conversations.replies"]),
        ("mpim:history", &["message.mpim", "conversations.history", "conversations.replies"]),
        ("chat:write", &["chat.postMessage", "chat.update", "chat.delete", "chat.postEphemeral"]),
        ("im:write", &["conversations.open"]),
        ("users:read", &["users.info"]),
        ("files:read", &["files.info"]),
        ("files:write", &["files.getUploadURLExternal", "files.completeUploadExternal"]),
        ("reactions:write", &["reactions.add"]),
        ("commands", &["/watchfloor"]),
        ("channels:read", &["conversations.info"]),
        ("groups:read", &["conversations.info"]),
    ];
    /// Methods that any token may call.
    const FREE: [&str; 2] = ["auth.test", "apps.connections.open"];

    /// The text between quotes that looks like a method: `chat.postMessage`.
    fn methods_in(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                methods_in(&path, found);
            } else if path.file_name().is_some_and(|name| name != "manifest.rs" && name != "tests.rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                let quoted = code.split('"').skip(1).step_by(2);
                let families = ["apps.", "auth.", "bots.", "chat.", "conversations.", "files.", "reactions.", "users."];
                let is_method = |text: &&str| {
                    families.iter().any(|family| text.starts_with(family))
                        && text.chars().all(|c| c.is_alphanumeric() || c == '.')
                };
                found.extend(quoted.filter(is_method).map(str::to_owned));
            }
        }
    }

    #[test]
    fn every_method_that_is_called_has_its_scope_and_no_scope_is_idle() {
        let mut called = BTreeSet::new();
        methods_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut called);
        assert!(called.contains("chat.postMessage"), "{called:?}");
        called.extend(EVENTS.iter().copied().chain(["/watchfloor"]).map(str::to_owned));
        let without_scope = ["app_uninstalled", "tokens_revoked"];
        let allowed: BTreeSet<&str> =
            ALLOWED.iter().flat_map(|(_, uses)| *uses).chain(&FREE).chain(&without_scope).copied().collect();
        let refused: Vec<_> = called.iter().filter(|use_| !allowed.contains(use_.as_str())).collect();
        assert_eq!(refused, Vec::<&String>::new(), "used, but no scope of the manifest allows it");
        assert_eq!(SCOPES.map(|(name, _)| name), ALLOWED.map(|(name, _)| name));
        assert!(FOR_THE_DOCTOR.iter().all(|scope| SCOPES.iter().any(|(name, _)| name == scope)));
        for (scope, uses) in ALLOWED {
            assert!(uses.iter().any(|use_| called.contains(*use_)), "{scope} is asked for and not needed");
        }
    }

    #[test]
    fn the_manifest_of_an_app_that_gets_http_requests_names_the_address_three_times() {
        let url: Url = "https://watchfloor.example.com/channels/slack/events".parse().unwrap();
        let events = Manifest { name: "watchfloor".to_owned(), delivery: Delivery::Events(url.clone()), org: true };
        insta::assert_snapshot!(events.yaml());
        assert_eq!(events.yaml().matches(url.as_str()).count(), 3);
        let socket = Manifest { delivery: Delivery::Socket, org: false, ..events };
        assert!(!socket.yaml().contains("request_url") && socket.yaml().contains("socket_mode_enabled: true"));
    }
}
