//! What this build can't do yet. A pure judgement of a configuration; the composition root acts on it.

use std::fmt;

use super::{Config, error::ConfigError, unbuilt};

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

/// What is configured and not built stops the start. What nobody has set up is off, with a note.
pub fn check_built(config: &Config) -> (Vec<Note>, Vec<ConfigError>) {
    let mut notes = Vec::new();
    let mut errors = Vec::new();
    let place = config.file.as_ref().map_or_else(|| "environment".to_owned(), |file| file.display().to_string());
    let mut error = |path: String, problem: String, hint: Option<String>| {
        errors.push(ConfigError { place: place.clone(), line: None, path, problem, hint });
    };
    let mut note = |about: &str, text: String| notes.push(Note { about: about.to_owned(), text });

    for channel in &config.channels {
        let missing = channel.missing();
        if !missing.is_empty() {
            note(&channel.name, format!("off: {} not set", missing.join(", ")));
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
