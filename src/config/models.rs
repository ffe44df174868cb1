//! `[models]`: providers, aliases, and which model answers.

use std::collections::BTreeMap;

use secrecy::SecretString;
use url::Url;

use super::{
    read::{Choice, Section},
    unknown,
};

#[derive(Clone, Debug)]
pub struct Models {
    /// `provider/model`, an alias, or a model of the default provider.
    pub default: String,
    pub default_provider: String,
    /// Asked in this order when the default can't answer.
    pub fallbacks: Vec<String>,
    pub aliases: BTreeMap<String, String>,
    pub providers: BTreeMap<String, Provider>,
}

#[derive(Clone, Debug)]
pub struct Provider {
    pub api: Api,
    pub base_url: Url,
    pub api_key: Option<SecretString>,
    /// Models that it offers; empty = whatever is asked for.
    pub models: Vec<String>,
}

/// The wire format of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    OpenAi,
    Anthropic,
}

impl Api {
    pub fn as_str(self) -> &'static str {
        self.word()
    }
}

impl Choice for Api {
    const WORDS: &'static [(&'static str, Self)] = &[("openai", Self::OpenAi), ("anthropic", Self::Anthropic)];
}

impl Models {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        let default = section.text("default").unwrap_or_else(|| "anthropic/claude-sonnet-4-6".to_owned());
        let default_provider = section.text("default_provider").unwrap_or_else(|| "anthropic".to_owned());
        let fallbacks = section.texts("fallbacks").unwrap_or_default();
        let aliases = section.section("aliases", read_aliases);
        let providers = section.section("providers", read_providers);
        if !providers.contains_key(&default_provider) {
            let known: Vec<&str> = providers.keys().map(String::as_str).collect();
            let problem = format!("expected one of {}, got \"{default_provider}\"", known.join(", "));
            section.wrong("default_provider", problem);
        }
        let targets = aliases.iter().map(|(name, target)| (format!("aliases.{name}"), target));
        let fallback_paths = fallbacks.iter().enumerate().map(|(index, it)| (format!("fallbacks[{index}]"), it));
        for (key, reference) in [("default".to_owned(), &default)].into_iter().chain(fallback_paths).chain(targets) {
            if let Some((provider, _)) = reference.split_once('/')
                && !providers.contains_key(provider)
                && !aliases.contains_key(reference)
            {
                let hint = unknown::did_you_mean(provider, providers.keys().map(String::as_str));
                section.wrong_with(&key, format!("no provider is named \"{provider}\""), hint);
            }
        }
        Self { default, default_provider, fallbacks, aliases, providers }
    }
}

impl Models {
    /// The provider that a reference leads to: through an alias, by its name before the first slash, or the default one.
    pub fn provider_of<'a>(&'a self, reference: &'a str) -> Option<(&'a str, &'a Provider)> {
        let target = self.aliases.get(reference).map_or(reference, String::as_str);
        let name = target.split_once('/').map_or(self.default_provider.as_str(), |(provider, _)| provider);
        self.providers.get(name).map(|provider| (name, provider))
    }
}

fn read_aliases(section: &mut Section<'_>) -> BTreeMap<String, String> {
    let names = section.names();
    names.into_iter().filter_map(|name| section.text(&name).map(|target| (name, target))).collect()
}

fn read_providers(section: &mut Section<'_>) -> BTreeMap<String, Provider> {
    let mut providers = BTreeMap::new();
    for name in section.names() {
        if name.is_empty() || name.contains('/') {
            section.wrong(&name, "expected a provider's name without a slash");
        }
        if let Some(provider) = section.section(&name, |section| Provider::read(&name, section)) {
            providers.insert(name, provider);
        }
    }
    providers
}

impl Provider {
    /// Whether it can be asked. The two public services need a key; a server of one's own may do without.
    pub fn is_configured(&self) -> bool {
        let public = matches!(self.base_url.host_str(), Some("api.anthropic.com" | "api.openai.com"));
        self.api_key.is_some() || !public
    }

    fn read(name: &str, section: &mut Section<'_>) -> Option<Self> {
        let (api, home) = match name {
            "anthropic" => (Api::Anthropic, Some("https://api.anthropic.com")),
            "openai" => (Api::OpenAi, Some("https://api.openai.com/v1")),
            // Nearly every other server speaks it.
            _ => (Api::OpenAi, None),
        };
        let api = section.choice("api", api);
        let written = section.is_written("base_url");
        let base_url = section.url("base_url").or_else(|| home.and_then(|home| Url::parse(home).ok()));
        if base_url.is_none() && !written {
            section.wrong("base_url", "expected the provider's address, got none");
        }
        let api_key = section.secret("api_key");
        let models = section.texts("models").unwrap_or_default();
        Some(Self { api, base_url: base_url?, api_key, models })
    }
}
