//! What this build can't do yet. A pure judgement of a configuration; the composition root acts on it.

use std::fmt;

use super::{
    Config,
    error::ConfigError,
    platform::{Platform, SlackMode},
    unbuilt,
};

/// Something that is off, and why: worth a line at the start, no reason to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// A key's path or a channel's name.
    pub about: String,
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.about, self.text)
    }
}

/// Of a part that isn't built: the key that asks for it, and what to write instead. `None` = it is built.
fn unbuilt_platform(platform: &Platform) -> Option<(&'static str, &'static str)> {
    match platform {
        Platform::Slack(slack) => match slack.mode {
            SlackMode::Socket => None,
            SlackMode::Events => Some(("mode", "\"socket\"")),
        },
        Platform::Telegram(_) | Platform::Feishu(_) => Some(("kind", "\"slack\"")),
    }
}

pub(super) fn is_built(platform: &Platform) -> bool {
    unbuilt_platform(platform).is_none()
}

/// What is configured and not built stops the start. What nobody has set up is off, with a note.
pub fn check_built(config: &Config) -> (Vec<Note>, Vec<ConfigError>) {
    let mut notes = Vec::new();
    let mut errors = Vec::new();
    let place = config.file.as_ref().map_or_else(|| "environment".to_owned(), |file| file.display().to_string());
    let mut error = |path: String, problem: String, hint: Option<String>| {
        errors.push(ConfigError { place: place.clone(), line: None, path, problem, hint });
    };
    let mut note = |about: &str, text: String| notes.push(Note { about: about.to_owned(), text });

    for (index, channel) in config.channels.iter().enumerate() {
        let missing = channel.missing();
        match unbuilt_platform(&channel.platform) {
            Some((key, expected)) if channel.is_begun() => {
                let got = if key == "kind" { channel.kind().as_str() } else { channel.platform.mode() };
                let problem = format!("this build has no \"{got}\" yet, expected {expected}");
                let hint = Some("remove its tokens to leave it off".to_owned());
                error(format!("channels[{index}].{key}"), problem, hint);
            }
            Some(_) => note(&channel.name, "off: not part of this build yet".to_owned()),
            None if !missing.is_empty() => note(&channel.name, format!("off: {} not set", missing.join(", "))),
            None => {}
        }
    }
    for (name, provider) in &config.models.providers {
        if !provider.is_configured() {
            note(&format!("models.providers.{name}"), "off: api_key not set".to_owned());
        }
    }
    if let Some((name, provider)) = config.models.provider_of(&config.models.default)
        && !provider.is_configured()
    {
        note("models.default", format!("no answer is possible: the provider \"{name}\" is off"));
    }
    for (path, problem, hint) in unbuilt::errors(config) {
        error(path, problem, hint);
    }
    notes.extend(unbuilt::notes(config));
    (notes, errors)
}
