//! What only shows in the place where a persona runs: tools that aren't in the bag, templates that can't be rendered,
//! models whose provider isn't configured, a newer format.

use super::{
    FORMAT_VERSION, Persona, Registry, Surroundings, Tools, name,
    place::{At, place_of},
    problem::{Code, ParseProblem},
    template, yaml,
};

/// Warnings about tools and templates of every persona in the registry, in the order of their names. What loading found is
/// in `Registry::problems`.
pub fn check(registry: &Registry, tool_names: &[&str]) -> Vec<ParseProblem> {
    registry.personas().flat_map(|persona| check_tools(persona, tool_names)).collect()
}

/// All of it for one persona.
pub(super) fn check_in(persona: &Persona, here: &Surroundings) -> Vec<ParseProblem> {
    let names: Vec<&str> = here.tools.iter().map(String::as_str).collect();
    let mut problems = check_tools(persona, &names);
    let path = persona.source.to_string();
    let at = |key: &str| place_of(&persona.front_matter, key, At::Value);
    if let Some(provider) = persona.model.as_deref().and_then(|model| missing_provider(model, here)) {
        let message = format!("provider `{provider}` isn't configured; another model answers");
        let hint = format!("set models.providers.{provider}, or choose another model");
        let problem = ParseProblem::new(&path, at("model"), Code::ProviderNotConfigured, message, hint);
        problems.push(problem.about("model"));
    }
    if let Some(wanted) = persona.needs.newer_format() {
        let message = format!("it asks for version {wanted} of the format, this is {FORMAT_VERSION}");
        let hint = "what is new in it has no effect here";
        let problem = ParseProblem::new(&path, at("metadata"), Code::FormatNewer, message, hint);
        problems.push(problem.about("metadata.ongrid.min_ongrid_version"));
    }
    problems
}

/// The provider that a model would be asked of, if that can't be.
fn missing_provider<'a>(model: &'a str, here: &'a Surroundings) -> Option<&'a str> {
    let target = here.aliases.get(model).map_or(model, String::as_str);
    target.split_once('/').map(|(provider, _)| provider).filter(|provider| !here.providers.contains(*provider))
}

fn check_tools(persona: &Persona, tool_names: &[&str]) -> Vec<ParseProblem> {
    let path = persona.source.to_string();
    let mut problems = Vec::new();
    let mut warn = |key: &str, entry: Option<&str>, code: Code, message: String, hint: String| {
        let at = entry.and_then(|entry| position(persona, key, entry)).map_or(At::Value, At::Item);
        let place = place_of(&persona.front_matter, key, at);
        problems.push(ParseProblem::new(&path, place, code, message, hint).about(key));
    };

    let known = |entry: &str| tool_names.iter().any(|tool| name::entry_means(entry, tool));
    let nearest = |entry: &str| name::nearest(entry, tool_names.iter().copied());
    if let Tools::Only(entries) = &persona.tools {
        for entry in entries.iter().filter(|entry| !known(entry)) {
            let message = format!("no tool is called `{entry}`; the persona runs without it");
            let hint = nearest(entry).map(|tool| format!("did you mean `{tool}`?")).unwrap_or_default();
            warn("tools", Some(entry), Code::UnknownTool, message, hint);
        }
    }
    // To forbid what doesn't exist is harmless, unless it was meant for something that does.
    for entry in persona.disallowed_tools.iter().filter(|entry| !entry.contains('*') && !known(entry)) {
        let close = nearest(entry).filter(|tool| strsim::damerau_levenshtein(entry, tool) <= 2);
        if let Some(tool) = close {
            let message = format!("no tool is called `{entry}`; it forbids nothing");
            warn("disallowed_tools", Some(entry), Code::UnknownTool, message, format!("did you mean `{tool}`?"));
        }
    }
    if let Some(Err(error)) = persona.initial_prompt.as_deref().map(template::check) {
        warn("initial_prompt", None, Code::TemplateBroken, error.to_string(), String::new());
    }
    problems
}

/// Which item of the list in the file it is; names are trimmed and listed once, so positions may differ from ours.
fn position(persona: &Persona, key: &str, entry: &str) -> Option<usize> {
    let front = yaml::read(&persona.front_matter).ok()?;
    front.get(key)?.as_sequence()?.iter().position(|item| item.as_str().is_some_and(|item| item.trim() == entry))
}
