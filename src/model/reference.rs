//! How people name a model: `provider/model`, an alias, or a bare model. Whether the provider exists is the catalog's
//! question.

use std::{collections::BTreeMap, fmt, sync::Arc};

/// Short names and what they stand for; a target may itself be a short name.
pub type Aliases = BTreeMap<String, String>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelRef {
    pub provider: String,
    /// The provider's own name; it may hold more slashes.
    pub model: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    #[error("`{0}` names no model: write `provider/model` or an alias of [models.aliases]")]
    Malformed(String),
    #[error("the alias `{0}` in [models.aliases] leads back to itself")]
    Circle(String),
}

impl ModelRef {
    /// Split at the first slash; without one the model belongs to `default_provider`.
    pub fn parse(reference: &str, default_provider: &str) -> Result<Self, ReferenceError> {
        let (provider, model) = reference.split_once('/').unwrap_or((default_provider, reference));
        let (provider, model) = (provider.trim(), model.trim());
        if provider.is_empty() || model.is_empty() {
            return Err(ReferenceError::Malformed(reference.trim().to_owned()));
        }
        Ok(Self { provider: provider.to_owned(), model: model.into() })
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// What the reference stands for, once every alias is followed.
pub(super) fn expand<'a>(reference: &'a str, aliases: &'a Aliases) -> Result<&'a str, ReferenceError> {
    let mut name = reference.trim();
    for _ in 0..=aliases.len() {
        match aliases.get(name) {
            Some(target) => name = target.trim(),
            None => return Ok(name),
        }
    }
    Err(ReferenceError::Circle(reference.trim().to_owned()))
}

pub fn resolve(reference: &str, aliases: &Aliases, default_provider: &str) -> Result<ModelRef, ReferenceError> {
    ModelRef::parse(expand(reference, aliases)?, default_provider)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn aliases() -> Aliases {
        [("fast", "openai/mini"), ("quick", "fast"), ("bare", "local-model"), ("a", "b"), ("b", "a"), ("self", "self")]
            .map(|(name, target)| (name.to_owned(), target.to_owned()))
            .into()
    }

    #[test]
    fn references_resolve_to_a_provider_and_its_model() {
        for (reference, expected) in [
            ("openai/gpt", Ok(("openai", "gpt"))),
            ("router/meta/llama:free", Ok(("router", "meta/llama:free"))),
            ("  openai/gpt ", Ok(("openai", "gpt"))),
            ("gpt", Ok(("home", "gpt"))),
            ("fast", Ok(("openai", "mini"))),
            ("quick", Ok(("openai", "mini"))),
            ("bare", Ok(("home", "local-model"))),
            ("", Err(ReferenceError::Malformed(String::new()))),
            ("openai/", Err(ReferenceError::Malformed("openai/".into()))),
            ("/gpt", Err(ReferenceError::Malformed("/gpt".into()))),
            ("a", Err(ReferenceError::Circle("a".into()))),
            ("self", Err(ReferenceError::Circle("self".into()))),
        ] {
            let expected = expected.map(|(p, m)| ModelRef { provider: p.into(), model: m.into() });
            assert_eq!(resolve(reference, &aliases(), "home"), expected, "{reference:?}");
        }
    }

    #[test]
    fn without_a_default_provider_a_bare_model_is_refused() {
        assert_eq!(ModelRef::parse("gpt", ""), Err(ReferenceError::Malformed("gpt".into())));
    }

    proptest! {
        #[test]
        fn a_reference_survives_being_written_and_read(provider in "[a-z0-9-]{1,8}", model in "[a-z0-9/:.-]{1,16}") {
            let written = ModelRef { provider, model: model.into() };
            prop_assert_eq!(ModelRef::parse(&written.to_string(), "other"), Ok(written));
        }
    }
}
