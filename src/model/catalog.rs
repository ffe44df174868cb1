//! Which models there are: providers by name, aliases and defaults, as the composition root put them in. Choosing another
//! model after a failure is the turn's business.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    ModelProvider,
    reference::{self, Aliases, ModelRef, ReferenceError},
};

#[derive(Debug, Default)]
pub struct Models {
    providers: BTreeMap<String, Provider>,
    aliases: Aliases,
    default: String,
    default_provider: String,
}

#[derive(Debug)]
enum Provider {
    Ready {
        provider: Arc<dyn ModelProvider>,
        /// The models its configuration lists: a bare name that only one provider lists belongs to it.
        listed: BTreeSet<String>,
        /// Its models that take pictures; `*` stands for all.
        vision: BTreeSet<String>,
    },
    /// Configured, but not usable; with what to do about it.
    Off { remedy: String },
}

/// A model that can be asked.
#[derive(Clone, Debug)]
pub struct ModelChoice {
    pub provider: Arc<dyn ModelProvider>,
    pub model: Arc<str>,
    /// `provider/model`
    pub reference: String,
    /// The one that was named, where its provider can't be asked.
    pub instead_of: Option<String>,
}

/// Each says what to write in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelLookup {
    #[error("no model is configured: set models.default to `provider/model`")]
    NoDefault,
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error("`{reference}` needs the provider `{provider}`, which is not configured: add [models.providers.{provider}]{}", instead(.known, .nearest.as_deref()))]
    UnknownProvider { reference: String, provider: String, known: Vec<String>, nearest: Option<String> },
    #[error("`{reference}` needs the provider `{provider}`, which is off: {remedy}")]
    ProviderOff { reference: String, provider: String, remedy: String },
}

fn instead(known: &[String], nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!(" (did you mean `{name}`?)"),
        None if known.is_empty() => String::new(),
        None => format!(" or use one of: {}", known.join(", ")),
    }
}

impl Models {
    pub fn new(default: impl Into<String>, default_provider: impl Into<String>, aliases: Aliases) -> Self {
        Self { providers: BTreeMap::new(), aliases, default: default.into(), default_provider: default_provider.into() }
    }

    pub fn add<I>(&mut self, name: impl Into<String>, provider: Arc<dyn ModelProvider>, listed: I)
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let listed = listed.into_iter().map(Into::into).collect();
        self.providers.insert(name.into(), Provider::Ready { provider, listed, vision: BTreeSet::new() });
    }

    /// These models of a provider that was added take pictures; `*` stands for all of them.
    pub fn give_vision<I>(&mut self, name: &str, models: I)
    where
        I: IntoIterator<Item: Into<String>>,
    {
        if let Some(Provider::Ready { vision, .. }) = self.providers.get_mut(name) {
            vision.extend(models.into_iter().map(Into::into));
        }
    }

    /// Whether the model that a reference leads to takes pictures.
    pub fn takes_pictures(&self, reference: &str) -> bool {
        self.locate(reference).is_ok_and(|ModelRef { provider, model }| match self.providers.get(&provider) {
            Some(Provider::Ready { vision, .. }) => vision.contains("*") || vision.contains(&*model),
            _ => false,
        })
    }

    /// A provider that is configured but can't be used, such as one without a key.
    pub fn add_off(&mut self, name: impl Into<String>, remedy: impl Into<String>) {
        self.providers.insert(name.into(), Provider::Off { remedy: remedy.into() });
    }

    /// The provider and its own name of the model. An empty reference means the default.
    pub fn resolve(&self, reference: &str) -> Result<(Arc<dyn ModelProvider>, Arc<str>), ModelLookup> {
        let ModelRef { provider: name, model } = self.locate(reference)?;
        let reference = || format!("{name}/{model}");
        match self.providers.get(&name) {
            Some(Provider::Ready { provider, .. }) => Ok((Arc::clone(provider), model)),
            Some(Provider::Off { remedy }) => {
                Err(ModelLookup::ProviderOff { reference: reference(), remedy: remedy.clone(), provider: name })
            }
            None => Err(ModelLookup::UnknownProvider {
                reference: reference(),
                known: self.providers.keys().cloned().collect(),
                nearest: self.nearest(&name),
                provider: name,
            }),
        }
    }

    /// Like [`resolve`](Self::resolve), but where the provider can't be asked, the default provider's model of the same name
    /// stands in if it is listed there, else the default model.
    pub fn choose(&self, reference: &str) -> Result<ModelChoice, ModelLookup> {
        let lookup = match self.resolve(reference) {
            Ok((provider, model)) => {
                let reference = self.locate(reference)?.to_string();
                return Ok(ModelChoice { provider, model, reference, instead_of: None });
            }
            Err(lookup @ (ModelLookup::UnknownProvider { .. } | ModelLookup::ProviderOff { .. })) => lookup,
            Err(lookup) => return Err(lookup),
        };
        let wanted = self.locate(reference)?;
        let stand_in = match self.providers.get(&self.default_provider) {
            Some(Provider::Ready { listed, .. }) if listed.contains(&*wanted.model) => {
                format!("{}/{}", self.default_provider, wanted.model)
            }
            _ => String::new(),
        };
        // Where nothing else answers either, what was named is what has to be mended.
        let (provider, model) = self.resolve(&stand_in).map_err(|_| lookup)?;
        let reference = self.locate(&stand_in)?.to_string();
        Ok(ModelChoice { provider, model, reference, instead_of: Some(wanted.to_string()) })
    }

    /// What to say when a persona that names this model is read: it can't be asked, and which one answers until it can.
    pub fn warning(&self, reference: &str) -> Option<String> {
        let lookup = self.resolve(reference).err()?;
        Some(match self.choose(reference) {
            Ok(choice) => format!("{lookup}; until then {} answers", choice.reference),
            Err(lookup) => lookup.to_string(),
        })
    }

    /// Where the reference leads, whether or not the provider can be used.
    pub fn locate(&self, reference: &str) -> Result<ModelRef, ModelLookup> {
        let reference = if reference.trim().is_empty() { self.default.trim() } else { reference.trim() };
        if reference.is_empty() {
            return Err(ModelLookup::NoDefault);
        }
        let name = reference::expand(reference, &self.aliases)?;
        let owner = self.only_provider_listing(name).unwrap_or(&self.default_provider);
        Ok(ModelRef::parse(name, owner)?)
    }

    fn only_provider_listing(&self, model: &str) -> Option<&str> {
        let mut owners = self.providers.iter().filter_map(|(name, provider)| match provider {
            Provider::Ready { listed, .. } if listed.contains(model) => Some(name.as_str()),
            _ => None,
        });
        owners.next().filter(|_| owners.next().is_none())
    }

    fn nearest(&self, name: &str) -> Option<String> {
        let scored = self.providers.keys().map(|known| (strsim::jaro_winkler(known, name), known));
        scored.filter(|(score, _)| *score > 0.85).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ModelRequest, ModelStream};

    struct Named(&'static str);

    impl std::fmt::Debug for Named {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl ModelProvider for Named {
        fn stream(&self, _: ModelRequest) -> ModelStream {
            Box::pin(futures::stream::empty())
        }
    }

    fn models() -> Models {
        let aliases = [("fast".to_owned(), "openai/mini".to_owned())].into();
        let mut models = Models::new("fast", "anthropic", aliases);
        models.add("openai", Arc::new(Named("openai")), ["gpt", "shared"]);
        models.add("local", Arc::new(Named("local")), ["shared"]);
        models.add_off("anthropic", "set models.providers.anthropic.api_key");
        models
    }

    fn resolved(models: &Models, reference: &str) -> Result<String, String> {
        models.resolve(reference).map(|(p, model)| format!("{p:?} {model}")).map_err(|e| e.to_string())
    }

    #[test]
    fn a_reference_leads_to_a_provider_or_to_what_must_be_configured() {
        for (reference, expected) in [
            ("", Ok("openai mini")),
            ("fast", Ok("openai mini")),
            ("local/a/b", Ok("local a/b")),
            ("gpt", Ok("openai gpt")),
            (
                "shared",
                Err(
                    "`anthropic/shared` needs the provider `anthropic`, which is off: set models.providers.anthropic.api_key",
                ),
            ),
            (
                "opnai/gpt",
                Err(
                    "`opnai/gpt` needs the provider `opnai`, which is not configured: add [models.providers.opnai] (did you mean `openai`?)",
                ),
            ),
            (
                "zzz/gpt",
                Err(
                    "`zzz/gpt` needs the provider `zzz`, which is not configured: add [models.providers.zzz] or use one of: anthropic, local, openai",
                ),
            ),
            ("openai/", Err("`openai/` names no model: write `provider/model` or an alias of [models.aliases]")),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(resolved(&models(), reference), expected, "{reference:?}");
        }
    }

    #[test]
    fn a_model_that_can_not_be_asked_is_replaced_by_its_namesake_or_the_default() {
        let mut models = models();
        models.default_provider = "local".to_owned();
        for (reference, ran, instead_of) in [
            ("", "openai/mini", None),
            ("openai/gpt", "openai/gpt", None),
            ("zhipu/shared", "local/shared", Some("zhipu/shared")),
            ("zhipu/glm/4", "openai/mini", Some("zhipu/glm/4")),
            ("anthropic/opus", "openai/mini", Some("anthropic/opus")),
            ("anthropic/shared", "local/shared", Some("anthropic/shared")),
        ] {
            let choice = models.choose(reference).unwrap();
            assert_eq!((choice.reference.as_str(), choice.instead_of.as_deref()), (ran, instead_of), "{reference:?}");
            assert!(choice.reference.ends_with(&format!("/{}", choice.model)), "{reference:?}");
            assert_eq!(models.warning(reference).is_some(), instead_of.is_some(), "{reference:?}");
        }
        assert_eq!(
            models.warning("zhipu/glm").as_deref(),
            Some(
                "`zhipu/glm` needs the provider `zhipu`, which is not configured: add [models.providers.zhipu] or use \
                 one of: anthropic, local, openai; until then openai/mini answers"
            )
        );
        assert!(models.choose("openai/").is_err() && models.warning("openai/").is_some());
    }

    #[test]
    fn without_a_default_that_answers_the_named_provider_is_what_has_to_be_mended() {
        let mut models = Models::new("anthropic/opus", "anthropic", Aliases::new());
        models.add_off("anthropic", "set its key");
        let lookup = models.choose("zhipu/glm").err().map(|lookup| lookup.to_string());
        assert_eq!(lookup, models.resolve("zhipu/glm").err().map(|lookup| lookup.to_string()));
    }

    #[test]
    fn only_models_that_are_listed_for_it_take_pictures() {
        let mut models = models();
        models.give_vision("openai", ["mini"]);
        models.give_vision("local", ["*"]);
        models.give_vision("anthropic", ["*"]);
        for (reference, takes) in [
            ("", true),
            ("fast", true),
            ("openai/gpt", false),
            ("local/any/model", true),
            ("anthropic/x", false),
            ("a/", false),
        ] {
            assert_eq!(models.takes_pictures(reference), takes, "{reference:?}");
        }
    }

    #[test]
    fn without_any_configuration_the_default_is_asked_for() {
        assert_eq!(Models::default().resolve(" ").err(), Some(ModelLookup::NoDefault));
    }
}
