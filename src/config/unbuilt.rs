//! Settings that are read and checked, but that nothing acts on yet. What would let somebody down while the bot runs stops
//! the start; what is merely missing gets a note. A setting leaves this list in the commit that builds it.

use super::{ChannelConfig, Config, DmPolicy, Note, QueueMode, SessionScope, read::Choice};

/// Written as if it worked: the key's path, what is wrong, and what to do instead.
pub(super) type Unbuilt = (String, String, Option<String>);

const YET: &str = "not part of this build yet";

pub(super) fn errors(config: &Config) -> Vec<Unbuilt> {
    let mut errors = Vec::new();
    let mut error = |path: &str, problem: String, hint: &str| {
        errors.push((path.to_owned(), problem, (!hint.is_empty()).then(|| hint.to_owned())));
    };
    if config.server.extra_ca_file.is_some() {
        let hint = "until then the variable SSL_CERT_FILE names the one bundle of authorities that is trusted";
        error("server.extra_ca_file", YET.to_owned(), hint);
    }
    if !config.models.fallbacks.is_empty() {
        error("models.fallbacks", format!("another model in place of a failed one is {YET}, expected []"), "");
    }
    let hooks = &config.hooks;
    for (key, set) in [
        ("alertmanager_token", hooks.alertmanager_token.is_some()),
        ("pagerduty_secret", hooks.pagerduty_secret.is_some()),
    ] {
        if set {
            error(&format!("hooks.{key}"), format!("this intake is {YET}"), "leave it empty");
        }
    }
    for (index, channel) in config.channels.iter().enumerate() {
        let behaviour = &channel.behaviour;
        if !channel.is_begun() {
            continue;
        }
        let mut error = |key: &str, problem: String| error(&format!("channels[{index}].{key}"), problem, "");
        if behaviour.queue_mode != QueueMode::Steer {
            error("queue_mode", format!("\"{}\" is {YET}, expected \"steer\"", behaviour.queue_mode.word()));
        }
        if behaviour.session_scope != SessionScope::Thread {
            error("session_scope", format!("\"{}\" is {YET}, expected \"thread\"", behaviour.session_scope.word()));
        }
        if behaviour.streaming.on {
            error("block_streaming", format!("it is {YET}, expected false"));
        }
    }
    errors
}

pub(super) fn notes(config: &Config) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut note = |about: &str, text: String| notes.push(Note { about: about.to_owned(), text });
    for (name, source) in [("loki", &config.sources.loki), ("tempo", &config.sources.tempo)] {
        if source.url.is_some() {
            note(&format!("sources.{name}"), format!("not asked: its tools are {YET}"));
        }
    }
    for channel in config.channels.iter().filter(|channel| channel.missing().is_empty()) {
        let idle = idle_keys(channel);
        if !idle.is_empty() {
            note(&channel.name, format!("no effect yet: {}", idle.join(", ")));
        }
        if channel.access.dm_policy == DmPolicy::Pairing {
            note(
                &channel.name,
                format!("pairing is {YET}: private chats are for allow_from, others are told whom to ask"),
            );
        }
    }
    notes
}

fn idle_keys(channel: &ChannelConfig) -> Vec<&'static str> {
    let (access, behaviour) = (&channel.access, &channel.behaviour);
    let keys = [
        ("approvers", !access.approvers.is_empty()),
        ("default_locale", behaviour.default_locale.is_some()),
        ("timezone", behaviour.timezone.iana_name() != Some("UTC")),
    ];
    keys.into_iter().filter(|(_, written)| *written).map(|(key, _)| key).collect()
}
